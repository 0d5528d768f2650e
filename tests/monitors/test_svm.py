"""The linear support-vector machine, against the dual problem solved by another optimiser."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from farm.errors import ComponentFailure
from monitors import _svm
from monitors._svm import fit_svm
from monitors.score_svm import ScoreSvm
from tests.monitors.own_networks import WATCHED, Given, given, images
from tests.wording import refused, same_text


def reference(inside: np.ndarray, outside: np.ndarray) -> tuple[np.ndarray, float]:
    """Solve the dual of mean(weighted hinge) + |(w, b)|^2 / (2 m) on standardised features."""
    mean = (inside.mean(axis=0) + outside.mean(axis=0)) / 2
    spread = np.sqrt((((inside - mean) ** 2).mean(axis=0) + ((outside - mean) ** 2).mean(axis=0)) / 2)
    rows = (np.concatenate([inside, outside]) - mean) / spread
    m = len(rows)
    signed = (
        np.column_stack([rows, np.ones(m)]) * np.repeat([-1.0, 1.0], [len(inside), len(outside)])[:, None]
    )
    most = np.repeat([m / (2 * len(inside)), m / (2 * len(outside))], [len(inside), len(outside)])

    def negative_dual(a: np.ndarray) -> tuple[float, np.ndarray]:
        w = signed.T @ a
        return w @ w / 2 - a.sum(), signed @ w - 1

    found = minimize(
        negative_dual,
        np.zeros(m),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, each) for each in most],
        options={"maxiter": 10000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-9},
    )
    w = signed.T @ found.x
    return w[:-1] / spread, float(w[-1] - mean @ (w[:-1] / spread))


@pytest.mark.parametrize("sizes", [(40, 40), (90, 15)])
def test_it_is_the_machine_that_the_source_describes(sizes) -> None:
    rng = np.random.default_rng(0)
    inside = rng.normal(0, [1, 20, 0.1], (sizes[0], 3))
    outside = rng.normal([1, 10, 0.1], [2, 20, 0.1], (sizes[1], 3))
    fitted = fit_svm(inside, outside)
    weights, bias = reference(inside, outside)
    np.testing.assert_allclose(fitted["weights"], weights, rtol=2e-2, atol=2e-3)
    np.testing.assert_allclose(fitted["bias"], bias, rtol=2e-2, atol=2e-3)
    values = inside @ fitted["weights"] + fitted["bias"], outside @ fitted["weights"] + fitted["bias"]
    assert fitted["balanced_accuracy"] == ((values[0] <= 0).mean() + (values[1] > 0).mean()) / 2
    assert fitted["converged"]


def test_the_larger_class_does_not_outvote_the_smaller() -> None:
    rng = np.random.default_rng(0)
    fitted = fit_svm(rng.normal(0, 1, (2000, 1)), rng.normal(2, 1, (20, 1)))
    assert float(-fitted["bias"] / fitted["weights"][0]) == pytest.approx(1.0, abs=0.4)


def test_the_unit_of_a_feature_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(0, 1, (50, 2)), rng.normal(1, 1, (50, 2))
    unit = np.array([1e6, 1e-6])
    one, other = fit_svm(inside, outside), fit_svm(inside * unit, outside * unit)
    np.testing.assert_allclose(other["weights"] * unit, one["weights"], rtol=1e-6)


def test_a_feature_that_never_varies_gets_no_weight() -> None:
    rng = np.random.default_rng(0)
    inside, outside = (np.column_stack([rng.normal(m, 1, 30), np.full(30, 0.1)]) for m in (0, 3))
    assert fit_svm(inside, outside)["weights"][1] == 0


def test_it_comes_out_the_same_each_time() -> None:
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(0, 1, (300, 8)), rng.normal(0.3, 1, (300, 8))
    one, other = fit_svm(inside, outside), fit_svm(inside, outside)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_a_fit_that_was_stopped_is_noted_and_not_printed(monkeypatch) -> None:
    monkeypatch.setattr(_svm, "STEPS", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monitor = ScoreSvm().fit(given(), WATCHED)
    assert not monitor.state["converged"]
    same_text(str(monitor.notes()["warning"]))


def test_both_samples_must_be_there() -> None:
    whole = given()
    with refused(ComponentFailure):
        ScoreSvm().fit(Given(whole.train, whole.validation, None), WATCHED)
    with refused(ComponentFailure):
        ScoreSvm().fit(given(inside=images(0, 0)), WATCHED)
