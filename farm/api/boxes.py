"""What a classifier that also says where an object is returns beside its classes, and what that must be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from farm.errors import ComponentFailure

BOX, BOX_SPREAD = "box", "box_spread"
"""Outputs of an observation, instances x 4: left, top, right, bottom in pixels of the image that was seen,
and the standard deviation of each where there is one."""
SIDES = ("left", "top", "right", "bottom")
TRUE_BOX = tuple(f"box_{side}" for side in SIDES)
PREDICTED_BOX = tuple(f"predicted_box_{side}" for side in SIDES)
SPREAD_OF_BOX = tuple(f"box_spread_{side}" for side in SIDES)
"""The columns of instances that hold where the object is, where it is said to be, and how surely."""
BOX_LOST = "box_lost"
"""The column that says why an object is nowhere."""
OF_BOXES = (*TRUE_BOX, BOX_LOST, *PREDICTED_BOX, *SPREAD_OF_BOX)
"""All columns that boxes have."""
NO_CLASSES = "classes"
"""The note of a classifier that says where an object is and not what: why classes mean nothing."""
SPREAD_DDOF = "box_spread_ddof"
"""The note of a classifier that tells the degrees of freedom its spread took off the number of members."""


def check_boxes(outputs: Mapping[str, NDArray[np.generic]], n: int, classifier: str) -> None:
    """Raise where boxes, or their spread, are none of n instances.

    Examples
    --------
    >>> check_boxes({"box": np.zeros((2, 4))}, 2, "net")
    >>> check_boxes({"box": np.zeros((4, 2))}, 2, "net")
    Traceback (most recent call last):
    farm.errors.ComponentFailure: classifier 'net' returned outputs['box'] of shape (4, 2); expected (2, 4):
        left, top, right and bottom of each instance, in pixels
    """
    if BOX_SPREAD in outputs and BOX not in outputs:
        raise ComponentFailure(
            f"classifier '{classifier}' returned outputs['{BOX_SPREAD}'] and no outputs['{BOX}']; expected "
            "the boxes that it is the spread of"
        )
    for name in (BOX, BOX_SPREAD):
        if name in outputs:
            _check(outputs[name], n, f"classifier '{classifier}' returned outputs['{name}']", name)


def _check(values: NDArray[np.generic], n: int, what: str, name: str) -> None:
    if np.shape(values) != (n, 4):
        raise ComponentFailure(
            f"{what} of shape {np.shape(values)}; expected {(n, 4)}: left, top, right and bottom of each "
            "instance, in pixels"
        )
    if not np.issubdtype(np.asarray(values).dtype, np.floating):
        raise ComponentFailure(f"{what} of type {np.asarray(values).dtype}; expected floating-point numbers")
    wrong = ~np.isfinite(values)
    expected = "finite numbers"
    if name == BOX_SPREAD:
        wrong |= np.less(values, 0)
        expected = f"standard deviations from 0; without any, leave outputs['{BOX_SPREAD}'] out"
    if wrong.any():
        at = int(np.flatnonzero(wrong.any(axis=1))[0])
        told = ", ".join(f"{value:.4g}" for value in np.asarray(values[at], dtype=np.float64))
        raise ComponentFailure(f"{what} [{told}] for instance {at}; expected {expected}")
