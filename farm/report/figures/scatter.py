"""Monitors as points, their names beside them, moved until they do not lie on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farm.api.arrays import FloatArray
from farm.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Box = tuple[float, float, float, float]
HEIGHT, POINT = 0.14, 0.07
"""Inches: how high a name is, and how far a marker reaches."""
CROWD = 12
"""Of more points than this, names are shorter."""
FAR = 0.2
"""A name further away than this is joined to its point by a line."""


def defined(frame: pd.DataFrame, *columns: str) -> tuple[pd.DataFrame, list[str]]:
    """Part the monitors that have numbers from the names of the others."""
    if not len(frame):
        return frame, []
    has = np.isfinite(frame[list(columns)].to_numpy(dtype=float)).all(axis=1)
    return frame[has], frame["monitor"].astype(str)[~has].tolist()


def tell_missing(sheet: Figure, left: float, missing: list[str]) -> None:
    """Write below a figure who is not in it."""
    if missing:
        words = f"\N{EN DASH} undefined, and so not drawn: {', '.join(missing)}"
        style.write(sheet, left, 0.1, style.shortened(words, sheet.get_figwidth() - left - 0.2))


def draw_monitors(
    axes: Axes, frame: pd.DataFrame, x: FloatArray, y: FloatArray, size: tuple[float, float]
) -> None:
    """Draw a frame's monitors there, yardsticks hollow; the axes are of `size` inches, their limits set."""
    pale = frame["yardstick"].tolist() if "yardstick" in frame else [False] * len(frame)
    edge = {"markerfacecolor": style.PAPER, "markeredgecolor": style.FAINT, "markeredgewidth": 1.0}
    for place, *point, is_pale in zip(frame.index, x, y, pale, strict=True):
        look = style.Look.of(int(place))
        own: dict[str, Any] = style.POINT | (edge if is_pale else {})
        axes.plot(*point, color=look.colour, marker=look.marker, zorder=3, **own)
    inks = [style.FAINT if is_pale else style.INK for is_pale in pale]
    _name(axes, np.column_stack([x, y]), frame["monitor"].astype(str).tolist(), inks, size)


def _name(
    axes: Axes, points: FloatArray, names: Sequence[str], inks: Sequence[str], size: tuple[float, float]
) -> None:
    """Write each name beside its point.

    Places are tried one by one, near ones first; where none is free, the one is taken that covers least.
    """
    corner = np.array([axes.get_xlim()[0], axes.get_ylim()[0]])
    inch = np.array([np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())]) / size
    at = [(float(x), float(y)) for x, y in (points - corner) / inch]
    taken: list[Box] = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in at]
    for index in sorted(range(len(at)), key=lambda i: at[i]):
        name = style.shortened(names[index], 1.6 if len(names) <= CROWD else 1.1)
        wide, (x, y) = style.width_of(name), at[index]
        free, least = (0.0, 0.0, 0.0, 0.0), math.inf
        for dx, dy in _places(wide):
            box = (x + dx, y + dy, x + dx + wide, y + dy + HEIGHT)
            if (cost := _cost(box, taken, size)) < least:
                free, least = box, cost
            if cost == 0:
                break
        taken.append(free)
        near = min(max(x, free[0]), free[2]), min(max(y, free[1]), free[3])
        if math.dist(near, (x, y)) > FAR:
            ends = corner + np.array([(x, y), near]) * inch
            axes.plot(*ends.T, color=style.LINE, linewidth=0.5, clip_on=False, zorder=1)
        left, low = corner + np.array([free[0], free[1] + 0.03]) * inch
        style.write(axes, left, low, name, color=inks[index])


def _places(wide: float) -> list[tuple[float, float]]:
    """Return the lower left corners that a name may have, as seen from its point."""
    low = -HEIGHT / 2
    found = []
    for rise in (0.0, 0.12, -0.12, 0.24, -0.24, 0.36, -0.36, 0.5, -0.5, 0.7, -0.7):
        found += [(0.1 + abs(rise) / 3, low + rise), (-0.1 - wide - abs(rise) / 3, low + rise)]
        if rise:
            found.append((-wide / 2, low + rise * 1.2))
    return found


def _cost(box: Box, taken: Sequence[Box], size: tuple[float, float]) -> float:
    """Return how much of other things a name would cover, and how far it would stand outside."""
    covered = 0.0
    for left, low, right, high in taken:
        if left < box[2] and box[0] < right and low < box[3] and box[1] < high:
            covered += (min(box[2], right) - max(box[0], left)) * (min(box[3], high) - max(box[1], low))
    outside = max(-box[0], 0) + max(box[2] - size[0], 0) + max(-box[1], 0) + max(box[3] - size[1], 0)
    return covered + outside
