"""Activation patterns against a plain Python transcription of their definition."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farm.api import CalibrationRule, FunctionClassifier, Observation
from farm.errors import ParameterError, RequirementError
from monitors._pattern_sets import packed, unpacked
from monitors.patterns import ActivationPatterns
from tests.wording import refused


def switched(observation: Observation, layer: str) -> list[tuple[bool, ...]]:
    return [tuple(bool(v > 0) for v in row) for row in observation.features(layer).tolist()]


def transcription(small, layer: str, watched: list[list[int]]) -> list[int]:
    """The smallest number of watched neurons that differ from a pattern of the predicted class."""
    known: dict[int, set[tuple[bool, ...]]] = {label: set() for label in range(10)}
    for seen, labels in small.material:
        for pattern, predicted, label in zip(switched(seen, layer), seen.predicted, labels, strict=True):
            if predicted == label:
                known[int(label)].add(tuple(pattern[i] for i in watched[label]))
    distances = []
    for pattern, predicted in zip(switched(small.test, layer), small.test.predicted.tolist(), strict=True):
        mine = [pattern[i] for i in watched[predicted]]
        distances.append(
            min(sum(a != b for a, b in zip(mine, other, strict=True)) for other in known[predicted])
        )
    return distances


def largest_weights(small, share: float) -> list[list[int]]:
    weights = np.abs(small.classifier.head.weights).tolist()
    count = round(share * len(weights[0]))
    return [sorted(range(len(row)), key=lambda i: -row[i])[:count] for row in weights]


@pytest.mark.parametrize("layer", ["last-hidden", "conv2"])
def test_scores_equal_the_transcription(small, fitted, layer: str) -> None:
    width = small.test.features(layer).shape[1]
    expected = transcription(small, layer, [list(range(width))] * 10)
    score = fitted(ActivationPatterns(layer=layer, pool="none")).score(small.test)
    assert score.tolist() == expected
    assert 0 < np.mean(expected) < width


def test_a_list_of_neurons_equals_the_transcription(small, fitted) -> None:
    chosen = [0, 3, 17, 80, 41]
    score = fitted(ActivationPatterns(neurons=chosen)).score(small.test)
    assert score.tolist() == transcription(small, "last-hidden", [chosen] * 10)


def test_a_share_takes_the_neurons_with_the_largest_weights_to_the_class(small, fitted) -> None:
    score = fitted(ActivationPatterns(neurons=0.25)).score(small.test)
    assert score.tolist() == transcription(small, "last-hidden", largest_weights(small, 0.25))


@given(arrays(np.bool_, st.tuples(st.integers(0, 3), st.integers(1, 140))))
def test_packing_keeps_every_distance(on: np.ndarray) -> None:
    words = packed(on)
    found = np.bitwise_count(words[:, None] ^ words[None]).sum(axis=2)
    np.testing.assert_array_equal(found, (on[:, None] != on[None]).sum(axis=2))
    np.testing.assert_array_equal(unpacked(words, on.shape[1]), on)


def test_training_data_that_is_classified_correctly_is_at_no_distance(small, fitted) -> None:
    monitor = fitted(ActivationPatterns())
    for seen, labels in small.material:
        assert not monitor.score(seen)[seen.predicted == labels].any()


def test_a_set_gamma_alarms_where_more_neurons_differ(small, fitted) -> None:
    monitor = fitted(ActivationPatterns(gamma=2))
    calibration = monitor.calibrate(small.material.validation, CalibrationRule(), 10)
    assert calibration.threshold == 2.5
    verdict = monitor.judge(small.test)
    np.testing.assert_array_equal(verdict.alarms, verdict.scores > 2)
    assert 0 < verdict.alarms.mean() < 1


def test_no_gamma_is_calibrated(small, fitted) -> None:
    monitor = fitted(ActivationPatterns())
    assert monitor.fixed_threshold is None
    calibration = monitor.calibrate(small.material.validation, CalibrationRule(accept=0.9), 10)
    assert calibration.validation_acceptance >= 0.9


def test_a_class_without_patterns_is_farther_than_all_neurons(small, fitted) -> None:
    class NothingRight:
        classes, seed, outliers, networks = small.workload.classes, 0, None, {}

        def __iter__(self):
            for seen, labels in small.material:
                yield seen, np.where(labels == 3, 4, labels)

    monitor = ActivationPatterns().fit(NothingRight(), small.classifier)
    assert monitor.notes()["classes_without_patterns"] == 1
    threes = small.test.predicted == 3
    width = small.test.features("last-hidden").shape[1]
    assert set(monitor.score(small.test)[threes]) == {width + 1.0}
    assert monitor.score(small.test)[~threes].max() <= width
    assert fitted(ActivationPatterns()).notes()["classes_without_patterns"] == 0


def test_equal_patterns_are_kept_once(small, fitted) -> None:
    monitor = fitted(ActivationPatterns(neurons=[0, 1]))
    assert monitor.notes()["patterns"] == len(monitor.state["patterns"]) <= 10 * 4


@pytest.mark.parametrize(
    "other", [{"layer": "conv2"}, {"neurons": 0.5}, {"neurons": [1, 2, 3]}], ids=["layer", "share", "list"]
)
def test_each_parameter_changes_scores(small, fitted, other: dict[str, Any]) -> None:
    one, another = (fitted(ActivationPatterns(**p)).score(small.test) for p in ({}, other))
    assert np.any(one != another)


def test_noise_scores_higher_than_id_data(small, fitted) -> None:
    noise = np.random.default_rng(0).random((200, 1, 16, 16), dtype=np.float32)
    seen = small.classifier.observe(noise, ("last-hidden",))
    monitor = fitted(ActivationPatterns())
    assert monitor.score(seen).mean() > monitor.score(small.test).mean() + 0.5


def test_more_instances_than_are_compared_at_once(small, fitted) -> None:
    monitor = fitted(ActivationPatterns())
    many = dataclasses.replace(
        small.test,
        activations={"last-hidden": np.tile(small.test.activations["last-hidden"], (3, 1))},
        predicted=np.tile(small.test.predicted, 3),
    )
    np.testing.assert_array_equal(monitor.score(many), np.tile(monitor.score(small.test), 3))


@pytest.mark.parametrize(
    "wrong",
    [
        {"gamma": -1},
        {"gamma": 1.5},
        {"neurons": 0.0},
        {"neurons": []},
        {"neurons": [-1]},
        {"neurons": [3, 7, 3]},
        {"neurons": 0.5, "layer": "conv2"},
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, Any]) -> None:
    with refused(ParameterError):
        ActivationPatterns(**wrong)


def test_a_neuron_that_the_layer_lacks_is_named(fitted) -> None:
    monitor = ActivationPatterns(neurons=[0, 4000])
    monitor.name = "mine"
    with refused(ParameterError):
        fitted(monitor)


def test_a_black_box_is_refused_before_the_fit(small) -> None:
    box = FunctionClassifier(lambda x: np.full((len(x), 10), 0.1), small.workload.classes)
    with refused(RequirementError):
        ActivationPatterns().fit(small.material, box)
