"""What is planned along a stream: when each fault comes, how it grows and fades, and what is an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.report.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT, DOWN, LEFT = 7.0, 0.42, 0.2, 2.1


@dataclass(frozen=True)
class PlannedInterval:
    """One interval along the stream."""

    faults: str
    strength: FloatArray
    """From 0 to 1 for each instance: how strongly it acts, or upon which share."""


@style.applied()
def timeline(
    intervals: Sequence[PlannedInterval],
    episode: IntArray,
    *,
    frame_rate: float | None = None,
    title: str = "",
) -> Figure:
    """Draw intervals one below another over the instances of a stream, and the episodes below them.

    Examples
    --------
    >>> fog = PlannedInterval("fog", np.array([0.0, 0.5, 1.0, 0.0]))
    >>> sheet = timeline([fog], np.array([-1, 0, 0, -1]))
    >>> len(sheet.axes)
    2
    """
    n, rows = len(episode), len(intervals) + 1
    bottom = 0.55
    sheet = style.figure(LEFT + WIDTH + 0.4, bottom + rows * (HEIGHT + DOWN), title=title)
    edges = np.arange(n + 1)
    for row, interval in enumerate(
        [*intervals, PlannedInterval("episodes", (episode >= 0).astype(np.float64))]
    ):
        low = bottom + (rows - 1 - row) * (HEIGHT + DOWN)
        axes = style.panel(sheet, LEFT, low, WIDTH, HEIGHT)
        axes.set(xlim=(0, n), ylim=(0, 1.05))
        colour = style.ALARM if row == rows - 1 else style.SERIES[row % len(style.SERIES)]
        steps = np.append(interval.strength, interval.strength[-1:])
        axes.fill_between(edges, steps, step="post", color=colour, alpha=0.55, linewidth=0)
        style.write(sheet, 0.1, low + HEIGHT / 2 - 0.05, style.shortened(interval.faults, LEFT - 0.2))
        style.ticks(axes, x={} if row < rows - 1 else _ticks(n, frame_rate), y={}, grid="")
    for number, start in zip(*np.unique(episode[episode >= 0], return_index=True), strict=True):
        place = int(np.flatnonzero(episode >= 0)[start])
        axes.axvline(place, color=style.INK, linewidth=0.8)
        if len(np.unique(episode)) <= 40:  # else numbers would stand upon each other
            axes.annotate(
                str(number), (place, 0.5), xytext=(2, 0), textcoords="offset points", fontsize=style.SMALL
            )
    unit = "seconds" if frame_rate else "instances"
    style.write(sheet, LEFT, 0.1, f"{unit} from the stream's start", size=style.SMALL, color=style.FAINT)
    return sheet


def _ticks(n: int, frame_rate: float | None) -> dict[float, str]:
    per = frame_rate or 1.0
    step = 10 ** np.floor(np.log10(max(n / per, 1)))
    step = next(step * part for part in (0.1, 0.2, 0.5, 1.0) if n / per / (step * part) <= 10)
    return {float(at * per): f"{at:g}" for at in np.arange(0, n / per + 1e-9, step)}
