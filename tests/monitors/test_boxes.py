"""Boxes against a hand-worked example and a transcription of their definition."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA

from farm.api import CalibrationRule, Labelled, collect
from farm.errors import ParameterError, RequirementError
from farm.store.cache import DiskCache
from monitors.boxes import NO_BOX
from monitors.oob import OutsideTheBox, OutsideTheBoxPCA
from monitors.oob_isomap import OutsideTheBoxIsomap
from tests.monitors.boxes_by_hand import ALL_BOXES, BOTH, LABELS, POINTS, ByHand, Make, WhiteBox, fit
from tests.monitors.points import seen
from tests.wording import refused


def scores(monitor: OutsideTheBox, points: list[list[float]], predicted: int = 0) -> list[float]:
    array = np.array(points, dtype=np.float32)
    return monitor.score(seen(array, np.full(len(array), predicted))).tolist()


def test_score_is_the_smallest_tau_that_lets_an_instance_in() -> None:
    monitor = fit(neurons="all")
    assert scores(monitor, [[0.5, 1.0]]) == [-0.5]  # half-way between the faces of the narrower dimension
    assert scores(monitor, [[1.0, 1.0]]) == [0.0]  # on a face
    assert scores(monitor, [[3.0, 1.0]]) == [2.0]  # two outside the first box
    assert scores(monitor, [[9.0, 8.0]]) == [2.0]  # the nearest box counts, and there the farther dimension
    assert scores(monitor, [[5.5, 5.5]], predicted=1) == [-0.5]
    assert scores(monitor, [[5.5, 5.5]], predicted=0) == [4.5]  # boxes of the predicted class only


def test_misclassified_training_data_build_no_box() -> None:
    assert scores(fit(neurons="all"), [[100, 100]], predicted=1) == [79.0]


def test_tau_in_widths_is_a_fraction_of_each_dimension() -> None:
    monitor = fit(neurons="all", tau_unit="width")
    assert scores(monitor, [[2.0, 1.0]]) == [1.0]  # one outside a box one wide
    assert scores(monitor, [[0.5, 3.0]]) == [0.5]  # one outside, where it is two high


def test_a_point_on_a_face_is_inside_unless_the_boundary_is_strict() -> None:
    face, inside = [[0.0, 1.0]], [[0.5, 1.0]]
    for boundary, alarms in (("closed", False), ("strict", True)):
        monitor = fit(neurons="all", tau=0.0, boundary=boundary)
        calibration = monitor.calibrate(ByHand(), CalibrationRule(), 2)
        assert calibration.threshold == 0.0
        assert calibration.method == "fixed"
        got = [monitor.judge(seen(np.array(p), np.zeros(1, int))).alarms[0] for p in (face, inside)]
        assert got == [alarms, False]


def test_a_strict_boundary_alarms_at_the_zeros_of_a_relu_layer() -> None:
    """The trouble of the source: values that are exactly 0 lie on the face of a box that starts at 0."""
    zero = seen(np.array([[0.0, 0.0]]), np.zeros(1, int))
    closed, strict = (fit(neurons="all", tau=0.0, boundary=b) for b in ("closed", "strict"))
    for monitor in (closed, strict):
        monitor.calibrate(ByHand(), CalibrationRule(), 2)
    assert not closed.judge(zero).alarms[0]
    assert strict.judge(zero).alarms[0]
    roomy = fit(neurons="all", tau=0.0001, boundary="strict")
    roomy.calibrate(ByHand(), CalibrationRule(), 2)
    assert not roomy.judge(zero).alarms[0]  # the source's way out: a tau slightly above 0


def test_the_chosen_neurons_span_the_boxes() -> None:
    wide = np.hstack([POINTS, np.full((11, 3), 7, np.float32), POINTS[:, :1]])

    class Wide(ByHand):
        def __iter__(self) -> Iterator[Labelled]:
            yield Labelled(seen(wide, LABELS), LABELS)

    box = WhiteBox(lambda images: np.full((len(images), 2), 0.5), ("a", "b"))
    first_last = OutsideTheBox(clusters=2).fit(Wide(), box)
    named = OutsideTheBox(clusters=2, neurons=[0, 5]).fit(Wide(), box)
    assert first_last.state["neurons"].tolist() == [0, 5]
    np.testing.assert_array_equal(first_last.state["low"], named.state["low"])
    with refused(ParameterError):
        OutsideTheBox(neurons=[0, 6]).fit(Wide(), box)


def test_a_class_without_correct_training_data_has_no_box_and_always_alarms() -> None:
    class OneClass(ByHand):
        def __iter__(self) -> Iterator[Labelled]:
            yield Labelled(seen(POINTS[:6], np.zeros(6, int)), np.zeros(6, int))

    box = WhiteBox(lambda images: np.full((len(images), 2), 0.5), ("a", "b"))
    monitor = OutsideTheBox(neurons="all").fit(OneClass(), box)
    assert scores(monitor, [[5.5, 5.5]], predicted=1) == [NO_BOX]
    assert monitor.notes() == {"classes_without_box": 1}


def test_strict_without_tau_is_refused_since_it_would_do_nothing() -> None:
    with refused(ParameterError):
        OutsideTheBox(boundary="strict")


def test_boxes_equal_a_plain_transcription_of_their_definition(small, fitted) -> None:
    monitor = fitted(OutsideTheBox(neurons="all", clusters=1))
    train = collect(small.material, "last-hidden")
    features, predicted = small.test.features("last-hidden"), small.test.predicted
    expected = []
    for row, label in zip(features, predicted, strict=True):
        own = train.features[(train.labels == label) & (train.predicted == label)]
        low, high = own.min(axis=0), own.max(axis=0)
        # Differences, their least and their greatest: nothing is rounded in an order that could differ.
        expected.append(max(max(lo - v, v - hi) for v, lo, hi in zip(row, low, high, strict=True)))
    np.testing.assert_array_equal(monitor.score(small.test), np.array(expected, dtype=np.float64))


def test_pca_projects_as_scikit_learn_does(small, fitted) -> None:
    monitor = fitted(OutsideTheBoxPCA())
    train = collect(small.material, "last-hidden")
    label = 3
    own = train.features[(train.labels == label) & (train.predicted == label)]
    features = small.test.features("last-hidden")
    expected = PCA(2, svd_solver="full").fit(own).transform(features)
    got = monitor._boxes[0]._space.project(features, np.full(len(features), label))
    np.testing.assert_allclose(got, expected, atol=1e-4)


def test_all_training_data_of_a_class_lie_inside_its_boxes(small, fitted) -> None:
    for monitor in (OutsideTheBox(), OutsideTheBox(neurons="all"), OutsideTheBoxPCA()):
        fitted(monitor)
        for observation, labels in small.material:
            right = observation.predicted == labels
            # A projection's last bits may differ between the fit and the score.
            assert (monitor.score(observation)[right] <= 1e-4).all()


# Several layers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ALL_BOXES)
@pytest.mark.parametrize("tau_unit", ["activation", "width"])
def test_of_several_layers_the_farthest_decides(small, fitted, make: Make, tau_unit: str) -> None:
    singly = [fitted(make(layer=layer, tau_unit=tau_unit)).score(small.test).tolist() for layer in BOTH]
    both = fitted(make(layer=BOTH, tau_unit=tau_unit)).score(small.test)
    assert both.tolist() == [max(pair) for pair in zip(*singly, strict=True)]
    assert all(both.tolist() != alone for alone in singly)  # each layer decides somewhere


@pytest.mark.parametrize("make", ALL_BOXES)
def test_what_is_outside_at_any_layer_alarms(small, fitted, make: Make) -> None:
    """The published rule: an instance is accepted where every watched layer is inside of its boxes."""

    watched = [*BOTH, BOTH]
    states = [fitted(make(layer=layer)).state for layer in watched]
    for boundary in ("closed", "strict"):
        alarms = []
        for layer, state in zip(watched, states, strict=True):
            monitor = make(layer=layer, tau=0.0, boundary=boundary).restore(state, small.classifier)
            monitor.calibrate(small.material.validation, CalibrationRule(), 10)
            alarms.append(monitor.judge(small.test).alarms)
        np.testing.assert_array_equal(alarms[2], alarms[0] | alarms[1])


@pytest.mark.parametrize("make", ALL_BOXES)
def test_a_list_of_one_layer_is_that_layer(fitted, make: Make) -> None:
    plain, listed = fitted(make(layer="conv2")), fitted(make(layer=["conv2"]))
    assert plain.notes() == listed.notes()
    assert plain.state.keys() == listed.state.keys()
    for name, array in plain.state.items():
        np.testing.assert_array_equal(array, listed.state[name])


@pytest.mark.parametrize("make", ALL_BOXES)
def test_several_layers_survive_the_disk(small, fitted, make: Make, tmp_path) -> None:
    monitor = fitted(make(layer=BOTH))
    cache = DiskCache(tmp_path)
    cache.arrays("monitor", {}, lambda: monitor.state)
    restored = make(layer=BOTH).restore(cache.arrays("monitor", {}, dict), small.classifier)
    np.testing.assert_array_equal(restored.score(small.test), monitor.score(small.test))


def test_the_layers_are_needed_and_noted_one_by_one(small, fitted) -> None:
    monitor = OutsideTheBox(layer=BOTH)
    assert monitor.needs.layers == ("conv2", "last-hidden")
    assert fitted(monitor).notes() == {layer: {"classes_without_box": 0} for layer in BOTH}
    isomap = fitted(OutsideTheBoxIsomap(landmarks=30, layer=BOTH)).notes()
    assert isomap == {layer: {"classes_without_box": 0, "classes_with_joined_graph": 0} for layer in BOTH}
    with refused(RequirementError):
        fitted(OutsideTheBox(layer=["last-hidden", "conv7"]))


def test_a_neuron_is_listed_once() -> None:
    with refused(ParameterError):
        OutsideTheBox(neurons=[3, 3])


def test_listed_neurons_must_be_in_every_layer(fitted) -> None:
    with refused(ParameterError):
        fitted(OutsideTheBox(neurons=[0, 100], layer=["last-hidden", "conv2"]))


@pytest.mark.parametrize("make", ALL_BOXES)
@pytest.mark.parametrize("wrong", [[], ["conv2", "conv2"], 3, [3], None, {"conv2": 1}], ids=repr)
def test_layers_are_named_each_once(make: Make, wrong: Any) -> None:
    with refused(ParameterError):
        make(layer=wrong)


# What no data prepare for ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ALL_BOXES)
@pytest.mark.parametrize("layer", ["conv2", BOTH], ids=["one", "several"])
def test_a_classifier_that_is_never_right_gets_no_box(small, make: Make, layer: Any) -> None:
    class NothingRight:
        classes, seed, outliers, networks = small.workload.classes, 0, None, {}

        def __iter__(self) -> Iterator[Labelled]:
            for observation, _ in small.material:
                yield Labelled(observation, (observation.predicted + 1) % 10)

    monitor = make(layer=layer).fit(NothingRight(), small.classifier)
    assert set(monitor.score(small.test)) == {NO_BOX}


@pytest.mark.parametrize("make", ALL_BOXES)
@pytest.mark.parametrize("tau_unit", ["activation", "width"])
def test_absurdly_large_values_are_outside_of_everything(small, fitted, make: Make, tau_unit: str) -> None:
    monitor = fitted(make(layer=BOTH, tau_unit=tau_unit))
    for value in (1e20, -1e20, 3e38, -3e38):
        values = {layer: np.full_like(v, value) for layer, v in small.test.activations.items()}
        assert set(monitor.score(dataclasses.replace(small.test, activations=values))) == {NO_BOX}
