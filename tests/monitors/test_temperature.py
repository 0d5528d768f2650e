"""Temperature scaling against a search of another kind and against a known answer."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from farm.api import FunctionClassifier
from farm.errors import RequirementError
from monitors.max_softmax import MaxSoftmax
from monitors.temperature import TemperatureScaling, best_temperature
from tests.wording import refused


def nll(logits: np.ndarray, labels: np.ndarray, temperature: float) -> float:
    scaled = logits.astype(np.float64) / temperature
    own = scaled[np.arange(len(labels)), labels]
    return float((logsumexp(scaled, axis=1) - own).mean())


def validation(small) -> tuple[np.ndarray, np.ndarray]:
    rows = [(seen.logits, labels) for seen, labels in small.material.validation]
    logits, labels = (np.concatenate(column) for column in zip(*rows, strict=True))
    return logits, labels


def test_two_classes_have_a_closed_answer() -> None:
    """With a gap g and a share s that is right, softmax(g / T) = s at the minimum."""
    logits, labels = np.tile([3.0, 0.0], (10, 1)), np.array([0] * 8 + [1] * 2)
    assert best_temperature(logits, labels) == pytest.approx(3 / np.log(8 / 2), rel=1e-5)


def test_the_temperature_has_the_least_loss_of_a_grid(small, fitted) -> None:
    found = fitted(TemperatureScaling()).notes()["temperature"]
    logits, labels = validation(small)
    grid = np.geomspace(0.1, 10, 2001)
    losses = [nll(logits, labels, t) for t in grid]
    assert nll(logits, labels, found) <= min(losses) + 1e-12
    assert found == pytest.approx(grid[int(np.argmin(losses))], rel=0.003)


def test_logits_drawn_at_a_temperature_give_it_back() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (20_000, 5))
    labels = np.array([rng.choice(5, p=p) for p in softmax(logits / 2.5, axis=1)])
    assert best_temperature(logits, labels) == pytest.approx(2.5, rel=0.03)


def test_the_score_is_the_log_odds_at_that_temperature(small, fitted) -> None:
    monitor = fitted(TemperatureScaling())
    p = softmax(small.test.logits.astype(np.float64) / monitor.notes()["temperature"], axis=1).max(axis=1)
    np.testing.assert_allclose(1 / (1 + np.exp(monitor.score(small.test))), p, rtol=1e-9)


def test_it_does_not_rank_as_max_softmax_does(small, fitted) -> None:
    scaled, plain = (fitted(make()).score(small.test) for make in (TemperatureScaling, MaxSoftmax))
    assert np.any(scaled.argsort() != plain.argsort())


def test_a_classifier_that_is_always_right_ends_at_the_edge(small, fitted) -> None:
    monitor = TemperatureScaling()
    assert fitted(monitor).notes()["at_edge"] is False
    temperature = best_temperature(np.eye(4) * 5.0, np.arange(4))
    monitor.restore({"temperature": np.array(temperature)}, small.classifier)
    assert monitor.notes() == {"temperature": 0.01, "at_edge": True}


def test_a_blind_classifier_ends_at_the_other_edge() -> None:
    """Its labels contradict its logits: the less they count, the better."""
    logits, labels = np.tile([3.0, 0.0], (4, 1)), np.array([0, 1, 1, 1])
    assert best_temperature(logits, labels) == pytest.approx(100.0, rel=1e-3)


@pytest.mark.parametrize("value", [0.0, 3e38, -3e38])
def test_constant_and_huge_logits_give_finite_scores(small, fitted, value: float) -> None:
    seen = small.classifier.observe(np.zeros((2, 1, 16, 16), np.float32))
    logits = np.full((2, 10), value, np.float32)
    logits[1, 0] = 1.0
    monitor = fitted(TemperatureScaling())
    assert np.isfinite(monitor.score(dataclasses.replace(seen, logits=logits))).all()


def test_noise_scores_higher_than_id_data(small, fitted) -> None:
    noise = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    monitor = fitted(TemperatureScaling())
    assert monitor.score(small.classifier.observe(noise)).mean() > monitor.score(small.test).mean() + 0.1


def test_a_black_box_is_refused_before_the_fit(small) -> None:
    box = FunctionClassifier(lambda x: np.full((len(x), 10), 0.1), small.workload.classes)
    with refused(RequirementError):
        TemperatureScaling().fit(small.material, box)
