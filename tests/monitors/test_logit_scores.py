"""Formulas over logits, against scipy and against plain Python in exact fractions of the softmax."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.special import logsumexp, softmax

from farm.api import FunctionClassifier
from farm.errors import ParameterError, RequirementError
from monitors._logits import LogitMonitor
from monitors.logit_scores import Energy, Entropy, GeneralisedEntropy, Margin, MaxLogit
from tests.wording import refused

LOGITS = arrays(np.float64, (3, 5), elements=st.floats(-30, 30, width=32))
ALL = [MaxLogit, Entropy, Margin, Energy, GeneralisedEntropy]


def gen(row: list[float], gamma: float, m: int) -> float:
    """The published formula, term by term; 1 - p is summed from the other classes."""
    weights = [math.exp(z - max(row)) for z in row]
    terms = []
    for i, weight in enumerate(weights):
        others = math.fsum(weights[:i] + weights[i + 1 :])
        terms.append((weight / math.fsum(weights), others / math.fsum(weights)))
    likeliest = sorted(terms, reverse=True)[:m]
    return math.fsum(p**gamma * q**gamma for p, q in likeliest)


@given(LOGITS)
def test_max_logit_and_margin_equal_sorting(logits: np.ndarray) -> None:
    ranked = [sorted(row) for row in logits.tolist()]
    assert MaxLogit().of(logits).tolist() == [-row[-1] for row in ranked]
    assert Margin().of(logits).tolist() == [row[-2] - row[-1] for row in ranked]


@given(LOGITS)
def test_entropy_equals_that_of_scipy(logits: np.ndarray) -> None:
    expected = stats.entropy(softmax(logits, axis=1), axis=1)
    np.testing.assert_allclose(Entropy().of(logits), expected, rtol=1e-9, atol=1e-12)


@given(LOGITS, st.floats(0.1, 10))
def test_energy_equals_that_of_scipy(logits: np.ndarray, temperature: float) -> None:
    expected = -temperature * logsumexp(logits / temperature, axis=1)
    found = Energy(temperature=temperature).of(logits)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@given(LOGITS, st.floats(0.05, 1), st.integers(1, 8))
def test_generalised_entropy_equals_its_formula(logits: np.ndarray, gamma: float, m: int) -> None:
    expected = [gen(row, gamma, m) for row in logits.tolist()]
    found = GeneralisedEntropy(gamma=gamma, m=m).of(logits)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_generalised_entropy_tells_certain_instances_apart() -> None:
    """Where 1 - p rounds to 0, the doubt is still counted."""
    sure, surer = GeneralisedEntropy(m=1).of(np.array([[50.0, 0.0], [60.0, 0.0]]))
    assert sure > surer > 0


@pytest.mark.parametrize("make", ALL)
def test_a_monitor_scores_the_observed_logits(small, fitted, make) -> None:
    monitor = fitted(make())
    assert small.test.logits is not None
    np.testing.assert_array_equal(
        monitor.score(small.test), monitor.of(np.asarray(small.test.logits, dtype=np.float64))
    )


@pytest.mark.parametrize("make", ALL)
def test_noise_scores_higher_than_id_data(small, fitted, make) -> None:
    noise = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    monitor = fitted(make())
    assert monitor.score(small.classifier.observe(noise)).mean() > monitor.score(small.test).mean() + 0.1


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("value", [0.0, 3e38, -3e38])
def test_constant_and_huge_logits_give_finite_scores(make, value: float) -> None:
    logits = np.full((2, 4), value)
    logits[1, 0] = 1.0
    assert np.isfinite(make().of(logits)).all()
    assert make().of(logits[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Energy(temperature=1.0), Energy(temperature=2.0)),
        (GeneralisedEntropy(gamma=0.1), GeneralisedEntropy(gamma=0.5)),
        (GeneralisedEntropy(m=10), GeneralisedEntropy(m=2)),
    ],
    ids=["temperature", "gamma", "m"],
)
def test_each_parameter_changes_the_ranking(small, one: LogitMonitor, other: LogitMonitor) -> None:
    logits = np.asarray(small.test.logits, dtype=np.float64)
    assert np.any(one.of(logits).argsort() != other.of(logits).argsort())


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (Energy, {"temperature": 0}),
        (GeneralisedEntropy, {"gamma": 0}),
        (GeneralisedEntropy, {"m": 2.5}),
    ],
)
def test_wrong_parameters_are_named(make, wrong: dict[str, float]) -> None:
    with refused(ParameterError):
        make(**wrong)


@pytest.mark.parametrize("make", [MaxLogit, Margin, Energy])
def test_a_black_box_is_refused_before_the_fit(small, make) -> None:
    box = FunctionClassifier(lambda x: np.full((len(x), 10), 0.1), small.workload.classes)
    with refused(RequirementError):
        make().fit(small.material, box)


def score_of_black_box(monitor: LogitMonitor, rows: np.ndarray) -> np.ndarray:
    box = FunctionClassifier(lambda images: rows, [f"class {i}" for i in range(rows.shape[1])])
    box.resolve(monitor.needs, "it")
    return monitor.restore({}, box).score(box.observe(np.zeros((len(rows), 1, 16, 16), np.float32)))


def test_a_black_box_is_scored_by_its_probabilities() -> None:
    rows = np.random.default_rng(0).dirichlet(np.full(10, 0.2), 50)
    expected = [gen(np.log(row).tolist(), 0.1, 10) for row in rows]
    np.testing.assert_allclose(score_of_black_box(GeneralisedEntropy(), rows), expected, rtol=1e-9)
    rows[0], rows[1], rows[2, :2] = np.eye(10)[0], 0.1, [0.0, rows[2, :2].sum()]
    np.testing.assert_allclose(score_of_black_box(Entropy(), rows), stats.entropy(rows, axis=1), rtol=1e-9)


def test_what_is_rounded_below_nought_counts_as_nought() -> None:
    assert score_of_black_box(Entropy(), np.array([[1.0 + 1e-8, -1e-8]])).tolist() == [0.0]
