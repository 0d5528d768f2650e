"""Boxes against a hand-worked example and a transcription of their definition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.decomposition import PCA

from farm.api import CalibrationRule, FunctionClassifier, Labelled, Observation, collect
from farm.errors import ParameterError
from monitors.boxes import NO_BOX
from monitors.oob import OutsideTheBox, OutsideTheBoxPCA

# Class 0 fills the boxes (0..1, 0..2) and (10..12, 10..11), class 1 (5..6, 5..6) and (20..21, 20..21).
POINTS = np.array(
    [
        [0, 0],
        [1, 2],
        [0.5, 1],
        [10, 10],
        [12, 11],
        [11, 10.5],
        [5, 5],
        [6, 6],
        [5.5, 5.5],
        [20, 20],
        [21, 21],
    ],
    dtype=np.float32,
)
LABELS = np.array([0] * 6 + [1] * 5)


def seen(points: np.ndarray, predicted: np.ndarray) -> Observation:
    n = len(points)
    return Observation(
        ids=np.arange(n).astype(str),
        images=np.zeros((n, 1, 2, 2), np.float32),
        probabilities=np.eye(2)[predicted],
        predicted=predicted,
        confidence=np.ones(n),
        activations={"last-hidden": points.astype(np.float32)},
    )


class ByHand:
    """Training data of the example; the last instance is misclassified and must not widen a box."""

    classes = ("a", "b")
    seed = 0
    outliers = None
    networks: dict[str, object] = {}  # noqa: RUF012

    def __iter__(self) -> Iterator[Labelled]:
        points = np.vstack([POINTS, [[100, 100]]])
        predicted = np.append(LABELS, 1)
        yield Labelled(seen(points, predicted), np.append(LABELS, 0))

    @property
    def validation(self) -> Iterator[Labelled]:
        return iter(self)


class WhiteBox(FunctionClassifier):
    capabilities = type(FunctionClassifier.capabilities)(layers=("last-hidden",))


def fit(**parameters: object) -> OutsideTheBox:
    box = WhiteBox(lambda images: np.full((len(images), 2), 0.5), ("a", "b"))
    return OutsideTheBox(clusters=2, **parameters).fit(ByHand(), box)  # type: ignore[arg-type]


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
    with pytest.raises(ParameterError, match=r"neurons names 6; layer 'last-hidden' has 0 to 5"):
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
    with pytest.raises(ParameterError, match="boundary is 'strict', which means nothing without a tau"):
        OutsideTheBox(boundary="strict")


def test_boxes_equal_a_plain_transcription_of_their_definition(small, fitted) -> None:
    monitor = fitted(OutsideTheBox(neurons="all", clusters=1))
    train = collect(small.material, "last-hidden")
    features, predicted = small.test.features("last-hidden"), small.test.predicted
    expected = []
    for row, label in zip(features, predicted, strict=True):
        own = train.features[(train.labels == label) & (train.predicted == label)]
        low, high = own.min(axis=0), own.max(axis=0)
        expected.append(max(max(lo - v, v - hi) for v, lo, hi in zip(row, low, high, strict=True)))
    np.testing.assert_array_equal(monitor.score(small.test), np.array(expected, dtype=np.float64))


def test_pca_projects_as_scikit_learn_does(small, fitted) -> None:
    monitor = fitted(OutsideTheBoxPCA())
    train = collect(small.material, "last-hidden")
    label = 3
    own = train.features[(train.labels == label) & (train.predicted == label)]
    features = small.test.features("last-hidden")
    expected = PCA(2, svd_solver="full").fit(own).transform(features)
    got = monitor._project(features, np.full(len(features), label))
    np.testing.assert_allclose(got, expected, atol=1e-4)


def test_all_training_data_of_a_class_lie_inside_its_boxes(small, fitted) -> None:
    for monitor in (OutsideTheBox(), OutsideTheBox(neurons="all"), OutsideTheBoxPCA()):
        fitted(monitor)
        for observation, labels in small.material:
            right = observation.predicted == labels
            # A projection's last bits may differ between the fit and the score.
            assert (monitor.score(observation)[right] <= 1e-4).all()
