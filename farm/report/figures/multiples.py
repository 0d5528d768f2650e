"""Panels of one kind side by side, and what they share."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from farm.api.arrays import FloatArray
from farm.report.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS, DOWN = 0.24, 0.7
"""What lies between two panels, in inches."""
HEADING = 0.3
"""The room above the upper panels for their names."""


def height_of(n: int, columns: int, height: float) -> float:
    """Return how high all panels are together, with their names."""
    rows = -(-n // columns)
    return rows * height + (rows - 1) * DOWN + HEADING


def laid_out(
    sheet: Figure,
    n: int,
    columns: int,
    corner: tuple[float, float],
    size: tuple[float, float],
    across: float = ACROSS,
) -> Iterator[tuple[int, bool, Axes]]:
    """Add panels row by row above a corner: each with its column, and whether none stands below it."""
    rows = -(-n // columns)
    for place in range(n):
        row, column = divmod(place, columns)
        left, up = corner[0] + column * (size[0] + across), corner[1] + (rows - 1 - row) * (size[1] + DOWN)
        yield column, place + columns >= n, style.panel(sheet, left, up, *size)


def scale(points: FloatArray, ends: FloatArray, room: float) -> tuple[tuple[float, float], style.Ticks]:
    """Return the ends of an axis so long that shows all, and its ticks.

    Whiskers may go beyond what a share can be; ticks do not.

    Examples
    --------
    >>> import numpy as np
    >>> list(scale(np.array([0.8, 0.95]), np.array([0.7, 1.25]), 1.5)[1].values())
    ['0.8', '1']
    """
    values = np.concatenate([points, ends])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    slack = max(0.05 * (high - low), 0.01)
    known = points[np.isfinite(points)]
    share = bool(len(known)) and known.min() >= 0 and known.max() <= 1
    marks = style.steps(low - slack, high + slack, max(int(room / 0.45), 4))
    return (low - slack, high + slack), {
        at: words for at, words in marks.items() if not share or 0 <= at <= 1
    }


def told(value: Any) -> str:
    """Write a name or a number on one line.

    Examples
    --------
    >>> told(3.0), told("fog")
    ('3', 'fog')
    """
    return style.number(float(value), "g") if is_number(value) else str(value)


def titled(column: str, value: Any) -> str:
    """Name a panel: a number says nothing without what it is of.

    Examples
    --------
    >>> titled("level", 3), titled("level", "all")
    ('Level 3', 'all')
    """
    return f"{worded(column)} {told(value)}" if is_number(value) else told(value)


def worded(column: str) -> str:
    """Return a column's name as words.

    Examples
    --------
    >>> worded("ood_set"), worded("OOD set")
    ('Ood set', 'OOD set')
    """
    return (column[:1].upper() + column[1:]).replace("_", " ")


def is_number(value: Any) -> bool:
    """Say whether something is a number and no name."""
    return isinstance(value, Real) and not isinstance(value, bool)
