"""OpenMax against a plain Python transcription, and its Weibull fit against the likelihood's own equation."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import brentq

from farm.api import FunctionClassifier
from farm.errors import ParameterError, RequirementError
from monitors.openmax import OpenMax, weibull_of_tail
from tests.wording import refused


def likeliest_weibull(x: np.ndarray) -> tuple[float, float]:
    """Solve the equation that the likeliest shape fulfils; the scale follows from it."""
    unit = x / x.max()

    def slope(c: float) -> float:
        power = unit**c
        return float((power * np.log(unit)).sum() / power.sum() - 1 / c - np.log(unit).mean())

    c = brentq(slope, 1e-3, 1e4, xtol=1e-12)
    return c, float((unit**c).mean() ** (1 / c) * x.max())


def probability_of_unknown(
    row: list[float], means: dict[int, list[float]], fits: dict[int, tuple[float, float]], alpha: int
) -> float:
    ranked = sorted(range(len(row)), key=lambda k: -row[k])
    alpha = min(alpha, len(row))
    unknown, revised = 0.0, list(row)
    for i, k in enumerate(ranked[:alpha], start=1):
        shape, scale = fits[k]
        outlying = 1 - math.exp(-((math.dist(row, means[k]) / scale) ** shape))
        share = 1 - outlying * (alpha + 1 - i) / alpha
        revised[k] = row[k] * share
        unknown += row[k] * (1 - share)
    total = math.exp(unknown) + sum(math.exp(z) for z in revised)
    return math.exp(unknown) / total


def transcription(small, tail: int, alpha: int) -> list[float]:
    by_class: dict[int, list[np.ndarray]] = {}
    for seen, labels in small.material:
        for row, label in zip(seen.logits.astype(np.float64), labels.tolist(), strict=True):
            if row.argmax() == label:
                by_class.setdefault(label, []).append(row)
    means = {k: np.mean(rows, axis=0).tolist() for k, rows in by_class.items()}
    fits = {}
    for k, rows in by_class.items():
        distances = sorted(math.dist(row.tolist(), means[k]) for row in rows)
        fits[k] = likeliest_weibull(np.array(distances[-tail:]))
    rows = small.test.logits.astype(np.float64).tolist()
    return [probability_of_unknown(row, means, fits, alpha) for row in rows]


@pytest.mark.parametrize(("tail", "alpha"), [(20, 10), (20, 3), (5, 10), (20, 100)])
def test_scores_equal_the_transcription(small, fitted, tail: int, alpha: int) -> None:
    score = fitted(OpenMax(tail=tail, alpha=alpha)).score(small.test)
    expected = transcription(small, tail, alpha)
    np.testing.assert_allclose(1 / (1 + np.exp(-score)), expected, rtol=5e-3, atol=1e-9)


@pytest.mark.parametrize("shape", [0.7, 2.0, 30.0])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e12])
def test_the_fit_is_the_likeliest_one(shape: float, unit: float) -> None:
    drawn = np.random.default_rng(0).weibull(shape, 200) * unit
    expected = likeliest_weibull(np.sort(drawn)[-20:])
    assert weibull_of_tail(drawn, 20) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("distances", [[], [0.0] * 30, [1.0, 2.0], [5.0] * 40])
def test_too_few_different_distances_give_no_distribution(distances: list[float]) -> None:
    assert weibull_of_tail(np.array(distances), 20) is None


def test_a_class_without_points_gives_all_of_its_logit_away(small, fitted) -> None:
    whole = fitted(OpenMax())
    assert whole.notes() == {"classes_without_distribution": 0, "classes_with_a_short_tail": 0}
    state = {name: values.copy() for name, values in whole.state.items()}
    state["mean"][3], state["weibull"][3], state["counts"][3] = 0.0, 0.0, 0
    without = OpenMax().restore(state, small.classifier)
    assert without.notes() == {"classes_without_distribution": 1, "classes_with_a_short_tail": 1}
    threes = small.test.predicted == 3
    assert np.all(without.score(small.test)[threes] > whole.score(small.test)[threes])


@pytest.mark.parametrize("other", [{"tail": 5}, {"alpha": 2}], ids=["tail", "alpha"])
def test_each_parameter_changes_the_ranking(small, fitted, other: dict[str, int]) -> None:
    one, another = fitted(OpenMax()).score(small.test), fitted(OpenMax(**other)).score(small.test)
    assert np.any(one.argsort() != another.argsort())


@pytest.mark.parametrize("value", [0.0, 3e38, -3e38])
def test_constant_and_huge_logits_give_finite_scores(small, fitted, value: float) -> None:
    seen = small.classifier.observe(np.zeros((2, 1, 16, 16), np.float32))
    logits = np.full((2, 10), value, np.float32)
    logits[1, 0] = 1.0
    assert np.isfinite(fitted(OpenMax()).score(dataclasses.replace(seen, logits=logits))).all()


def test_noise_scores_higher_than_id_data(small, fitted) -> None:
    noise = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    monitor = fitted(OpenMax())
    assert monitor.score(small.classifier.observe(noise)).mean() > monitor.score(small.test).mean() + 0.1


@pytest.mark.parametrize(
    "wrong",
    [
        {"tail": 2},
        {"alpha": 0},
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, int]) -> None:
    with refused(ParameterError):
        OpenMax(**wrong)


def test_a_black_box_is_refused_before_the_fit(small) -> None:
    box = FunctionClassifier(lambda x: np.full((len(x), 10), 0.1), small.workload.classes)
    with refused(RequirementError):
        OpenMax().fit(small.material, box)
