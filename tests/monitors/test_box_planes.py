"""Where instances lie beside the boxes of their class, in two dimensions."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from farm.api import CalibrationRule, Plane
from monitors.oob import OutsideTheBox
from tests.monitors.boxes_by_hand import ALL_BOXES, BOTH, ByHand, Make, fit
from tests.monitors.points import seen


def planed(points: list[list[float]], predicted: int = 0, threshold: float = 0.0, **parameters: Any) -> Plane:
    """Return the plane of the example's boxes, with a threshold."""
    monitor = fit(**{"neurons": "all", **parameters})
    monitor.calibrate(ByHand(), CalibrationRule("fixed", threshold=threshold), 2)
    array = np.array(points, dtype=np.float32)
    plane = monitor.plane(seen(array, np.full(len(array), predicted)))
    assert plane is not None
    return plane


def test_a_plane_has_the_points_and_the_boxes_of_their_class() -> None:
    plane = planed([[0.5, 1.0], [30, -2]])
    assert plane.points.tolist() == [[0.5, 1.0], [30.0, -2.0]]
    assert sorted(plane.boxes) == [(0.0, 1.0, 0.0, 2.0), (10.0, 12.0, 10.0, 11.0)]
    assert plane.axes == ("last-hidden[0]", "last-hidden[1]")
    assert sorted(planed([[0, 0]], predicted=1).boxes) == [(5.0, 6.0, 5.0, 6.0), (20.0, 21.0, 20.0, 21.0)]


def test_boxes_in_a_plane_are_as_alarmed() -> None:
    """Enlarged by the threshold, in widths where tau is; made smaller, nothing may be left of them."""
    assert sorted(planed([[0, 0]], threshold=0.5).boxes) == [(-0.5, 1.5, -0.5, 2.5), (9.5, 12.5, 9.5, 11.5)]
    wide = planed([[0, 0]], threshold=0.5, tau_unit="width")
    assert sorted(wide.boxes) == [(-0.5, 1.5, -1.0, 3.0), (9.0, 13.0, 9.5, 11.5)]
    smaller = planed([[0, 0]], threshold=-0.5)
    assert sorted(smaller.boxes) == [(0.5, 0.5, 0.5, 1.5), (10.5, 11.5, 10.5, 10.5)]
    assert planed([[0, 0]], threshold=-0.6).boxes == []


def test_the_threshold_in_a_plane_is_that_of_the_class() -> None:
    monitor = fit(neurons="all")
    monitor.calibrate(ByHand(), CalibrationRule(), 2)
    own = dataclasses.replace(monitor.calibration, per_class=np.array([7.0, 1.0]))
    monitor.restore(monitor.state, monitor.classifier, own)
    plane = monitor.plane(seen(np.zeros((1, 2)), np.ones(1, int)))
    assert plane is not None
    assert min(plane.boxes) == (4.0, 7.0, 4.0, 7.0)


@pytest.mark.parametrize("make", ALL_BOXES)
def test_what_is_alarmed_for_the_first_two_dimensions_lies_outside_in_the_plane(
    small, fitted, make: Make
) -> None:
    monitor = fitted(make())
    monitor.calibrate(small.material.validation, CalibrationRule(), 10)
    rows = small.test.take(np.flatnonzero(small.test.predicted == 3))
    plane = monitor.plane(rows)
    x, y = plane.points.T
    inside = np.zeros(len(rows), dtype=bool)
    for low_x, high_x, low_y, high_y in plane.boxes:
        inside |= (low_x <= x) & (x <= high_x) & (low_y <= y) & (y <= high_y)
    accepted = ~monitor.judge(rows).alarms
    assert accepted.any()
    assert inside[accepted].all()
    if plane.axes[0].startswith("component"):  # two dimensions are all that these have
        assert (inside == accepted).all()


def test_of_several_layers_the_first_has_the_plane(small, fitted) -> None:
    monitor = fitted(OutsideTheBox(layer=BOTH))
    monitor.calibrate(small.material.validation, CalibrationRule(), 10)
    plane = monitor.plane(small.test.take(np.flatnonzero(small.test.predicted == 3)))
    assert plane.axes[0] == "conv2[0]"


def test_one_dimension_or_no_box_is_no_plane(small, fitted) -> None:
    flat = fit(neurons=[0])
    flat.calibrate(ByHand(), CalibrationRule(), 2)
    assert flat.plane(seen(np.zeros((1, 2)), np.zeros(1, int))) is None
    boxless = fit(neurons="all")
    nowhere = np.full((2, 2, 2), np.inf, np.float32)
    boxless.restore({**boxless.state, "low": nowhere, "high": -nowhere}, boxless.classifier)
    boxless.calibrate(ByHand(), CalibrationRule(), 2)
    assert boxless.plane(seen(np.zeros((1, 2)), np.zeros(1, int))) is None
