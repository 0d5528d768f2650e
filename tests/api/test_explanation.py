"""Where instances lie for a monitor: its hook sees what it declared, and what the hook gives is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from farm.api import LAST_HIDDEN, Classifier, Monitor, Needs, Observation, Plane, Workload
from farm.errors import ComponentFailure
from farm.testing.fakes import FakeMonitor
from tests.wording import refused

N = 3
AXES = ("a", "b")
BOX = (0.0, 1.0, 0.0, 2.0)


@pytest.fixture
def observation(classifier: Classifier, tiny: Workload) -> Observation:
    return classifier.observe(tiny.test.images.read(np.arange(N)), [LAST_HIDDEN])


def placing(classifier: Classifier, gives: Any, **arguments: Any) -> Monitor:
    """Return a monitor whose plane is what is given, or what a function makes of the observation."""

    class Placing(FakeMonitor):
        def _plane(self, seen: Observation) -> Any:
            return gives(seen) if callable(gives) else gives

    return Placing(**arguments).fit([], classifier)  # type: ignore[arg-type]


def test_a_monitor_without_a_plane_has_none(classifier: Classifier, observation: Observation) -> None:
    assert FakeMonitor().fit([], classifier).plane(observation) is None  # type: ignore[arg-type]


def test_a_plane_comes_in_plain_types(classifier: Classifier, observation: Observation) -> None:
    points = np.array([[0, 1], [2, 3], [np.nan, 5]], np.float32)
    plane = placing(classifier, Plane(points, np.array([BOX]), ["a", "b"])).plane(observation)  # type: ignore[arg-type]
    assert plane is not None
    assert plane.points.dtype == np.float64
    np.testing.assert_array_equal(plane.points, points)
    assert (plane.boxes, plane.axes) == ([BOX], AXES)
    assert type(plane.boxes[0][3]) is float


def test_without_boxes_there_is_still_a_plane(classifier: Classifier, observation: Observation) -> None:
    plane = placing(classifier, Plane(np.zeros((N, 2)), [], AXES)).plane(observation)
    assert plane is not None
    assert plane.boxes == []


def test_the_hook_sees_the_layers_alone_that_the_monitor_declared(
    classifier: Classifier, observation: Observation
) -> None:
    seen: list[list[str]] = []

    def note(one: Observation) -> Plane:
        seen.append(list(one.activations))
        return Plane(np.zeros((len(one), 2)), [BOX], AXES)

    placing(classifier, note).plane(observation)
    placing(classifier, note, needs=Needs(layers=(LAST_HIDDEN,))).plane(observation)
    assert seen == [[], [LAST_HIDDEN]]


def failing(seen: Observation) -> Plane:
    raise ValueError("no axes")


@pytest.mark.parametrize(
    "gives",
    [
        failing,
        "a plane",
        Plane(np.zeros((N + 1, 2)), [BOX], AXES),
        Plane(np.zeros((N, 3)), [BOX], AXES),
        Plane(np.array([["x", "y"]] * N), [BOX], AXES),  # type: ignore[arg-type]
        Plane(np.zeros((N, 2)), [(0.0, 1.0)], AXES),  # type: ignore[list-item]
        Plane(np.zeros((N, 2)), [BOX, (0.0, 1.0)], AXES),  # type: ignore[list-item]
        Plane(np.zeros((N, 2)), [BOX], ("a",)),  # type: ignore[arg-type]
        Plane(np.zeros((N, 2)), [BOX], ("a", 1)),  # type: ignore[arg-type]
    ],
    ids=["raises", "text", "too many", "3d", "words", "two sides", "ragged", "one axis", "number"],
)
def test_what_is_no_plane_is_a_failure_that_names_the_monitor(
    classifier: Classifier, observation: Observation, gives: Any
) -> None:
    with refused(ComponentFailure) as caught:
        placing(classifier, gives, name="placing").plane(observation)
    assert "monitor 'placing'" in str(caught.value)
