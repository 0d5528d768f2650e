"""ODIN's search on a validation fault: against a plain transcription of the grid."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from farm.api import best_threshold
from farm.errors import ComponentFailure, ParameterError
from monitors._nudges import STEPS, TEMPERATURES, best_pair, scores_on_grid
from monitors.max_softmax import log_odds_against
from monitors.odin import Odin
from tests.wording import refused

PAIRS = (len(STEPS), len(TEMPERATURES))


@pytest.fixture(scope="module")
def with_outliers(small):
    noise = np.random.default_rng(0).random((120, 1, 16, 16), dtype=np.float32)
    blurred = (noise + np.roll(noise, 1, 2) + np.roll(noise, 1, 3)) / 3
    outliers = [small.classifier.observe(part) for part in np.array_split(blurred, 3)]
    return dataclasses.replace(small.material, outliers=outliers)


def test_the_grid_is_that_of_the_source() -> None:
    assert np.allclose(STEPS, np.linspace(0, 0.004, 21))
    assert TEMPERATURES == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def test_scores_on_the_grid_equal_a_direct_transcription(small) -> None:
    images = small.test.images[:6]
    found = scores_on_grid(small.classifier, images)
    assert found.shape == (*PAIRS, 6)
    for i, j in [(0, 0), (0, 9), (1, 0), (10, 4), (20, 9)]:
        pixels = torch.tensor(images, requires_grad=True)
        logits = small.classifier.differentiable(pixels) / TEMPERATURES[j]
        torch.log_softmax(logits, 1).max(1).values.sum().backward()
        with torch.no_grad():
            nudged = small.classifier.differentiable(pixels + STEPS[i] * pixels.grad.sign())
        expected = log_odds_against(nudged.numpy() / np.float32(TEMPERATURES[j]))
        np.testing.assert_allclose(found[i, j], expected, rtol=1e-4, atol=1e-4)


def test_the_pair_is_judged_on_what_set_no_threshold() -> None:
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(0, 1, (*PAIRS, 50)), rng.normal(0.5, 1, (*PAIRS, 30))
    chosen = best_pair(inside, outside, np.random.default_rng(1))
    again = np.random.default_rng(1)
    one, other = again.permutation(50), again.permutation(30)
    by_hand = np.empty(PAIRS)
    for pair in np.ndindex(PAIRS):
        threshold, _ = best_threshold(inside[pair][one[:40]], outside[pair][other[:24]])
        accepted = (inside[pair][one[40:]] <= threshold).mean()
        by_hand[pair] = (accepted + (outside[pair][other[24:]] > threshold).mean()) / 2
    np.testing.assert_allclose(chosen.accuracies, by_hand)
    i, j = np.argwhere(np.isclose(by_hand, by_hand.max()))[0]
    assert (chosen.magnitude, chosen.temperature) == (STEPS[i], TEMPERATURES[j])


def test_of_equally_good_pairs_the_smallest_is_taken() -> None:
    inside, outside = np.zeros((*PAIRS, 10)), np.zeros((*PAIRS, 10))
    outside[3:, 2:] = 1.0
    outside[5, 1] = 1.0
    chosen = best_pair(inside, outside, np.random.default_rng(0))
    assert (chosen.magnitude, chosen.temperature) == (STEPS[3], TEMPERATURES[2])


def test_it_scores_with_what_it_has_chosen(small, with_outliers) -> None:
    monitor = Odin(selection="validation-fault", selection_images=60)
    assert monitor.needs.outliers
    monitor.fit(with_outliers, small.classifier)
    notes = monitor.notes()
    assert notes["magnitude"] in STEPS
    assert notes["temperature"] in TEMPERATURES
    assert notes["balanced_accuracy_held_out"] == monitor.state["accuracies"].max() > 0.6
    alike = {"magnitude": notes["magnitude"], "temperature": notes["temperature"]}
    plain = Odin(**alike).fit(small.material, small.classifier)
    assert monitor.score(small.test).tobytes() == plain.score(small.test).tobytes()
    again = Odin(selection="validation-fault").restore(monitor.state, small.classifier)
    assert again.score(small.test).tobytes() == monitor.score(small.test).tobytes()
    assert again.notes() == notes
    assert f"temperature {notes['temperature']:g}" in monitor.explain(small.test.take([0]))[0].reason


def test_it_comes_out_the_same_each_time_and_otherwise_for_another_seed(small, with_outliers) -> None:
    def accuracies(seed: int) -> bytes:
        data = dataclasses.replace(with_outliers, seed=seed)
        monitor = Odin(selection="validation-fault", selection_images=20)
        return monitor.fit(data, small.classifier).state["accuracies"].tobytes()

    assert accuracies(0) == accuracies(0) != accuracies(1)


def test_no_more_images_are_run_than_is_said(small, with_outliers, monkeypatch) -> None:
    ran = []
    plain = type(small.classifier).differentiable
    monkeypatch.setattr(
        type(small.classifier),
        "differentiable",
        lambda self, images: ran.append(len(images)) or plain(self, images),
    )
    Odin(selection="validation-fault", selection_images=10).fit(with_outliers, small.classifier)
    assert sum(ran) == 2 * 10 * 202


def test_by_default_it_asks_for_no_outliers(small, fitted) -> None:
    assert Odin().needs.outliers is False
    assert set(fitted(Odin()).state) == {"candidates", "sums", "magnitude"}


@pytest.mark.parametrize("outliers", [None, 1], ids=["none", "one"])
def test_too_few_outliers_are_refused(small, with_outliers, outliers) -> None:
    some = None if outliers is None else [with_outliers.outliers[0].take([0])]
    data = dataclasses.replace(with_outliers, outliers=some)
    with refused(ComponentFailure):
        Odin(selection="validation-fault", selection_images=4).fit(data, small.classifier)


@pytest.mark.parametrize(
    "wrong",
    [
        {"selection": "test"},
        {"selection_images": 1},
        {"selection_images": 100},
        {"selection": "validation-fault", "magnitude": 0.0},
        {"selection": "validation-fault", "temperature": 10.0},
        {"selection": "validation-fault", "selection_temperature": 10.0},
    ],
)
def test_wrong_parameters_are_named(wrong) -> None:
    with refused(ParameterError):
        Odin(**wrong)
