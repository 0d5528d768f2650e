"""What a monitor can say of its scores to people: why one is what it is, and where instances lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from farm.api.arrays import JSON, FloatArray
from farm.errors import ComponentFailure


@dataclass(frozen=True)
class Explanation:
    """What a monitor can say of one score to people who must act on it; what it does not know it leaves out.

    `contributions` are the parts of the input to the score that weigh most, heaviest first: neurons
    (`last-hidden[17]`), components, checks or member monitors, each with how much it adds. `nearest` are ids
    of the training images that are most alike, nearest first. `details` are numbers for a program.
    """

    reason: str = ""
    contributions: Mapping[str, float] = field(default_factory=dict)
    nearest: tuple[str, ...] = ()
    details: Mapping[str, JSON] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return it as JSON, without what is empty."""
        return {key: value for key, value in asdict(self).items() if value}


@dataclass(frozen=True)
class Plane:
    """Where instances of one predicted class lie in two dimensions of a method, beside what it accepts there.

    `points` has two coordinates an instance, NaN where it has no place. A box is the lowest and the highest
    value in the first dimension, then in the second; where a method has more dimensions than two, what lies
    inside may be outside in another. `axes` name the two, such as `last-hidden[0]`.
    """

    points: FloatArray
    boxes: Sequence[tuple[float, float, float, float]]
    axes: tuple[str, str]

    def checked(self, who: str, n: int) -> Plane:
        """Return it with plain types; raise where it is not of so many instances, or no plane."""
        try:
            points = np.asarray(self.points, dtype=np.float64)
            boxes = np.asarray(self.boxes, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ComponentFailure(f"{who} gave points or boxes that are no numbers: {error}") from error
        if points.shape != (n, 2):
            raise ComponentFailure(f"{who} gave points of shape {points.shape}; expected {(n, 2)}")
        if len(boxes) and boxes.shape[1:] != (4,):
            raise ComponentFailure(f"{who} gave boxes of shape {boxes.shape}; expected four sides each")
        axes = tuple(self.axes)
        if len(axes) != 2 or not all(isinstance(axis, str) for axis in axes):
            raise ComponentFailure(f"{who} gave the axes {self.axes!r}; expected two names")
        return Plane(points, [(a, b, c, d) for a, b, c, d in boxes.tolist()], (axes[0], axes[1]))
