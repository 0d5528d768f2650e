"""Scores along a stream: when faults begin, and how long it takes until the first alarm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.report.figures import style
from farm.report.figures.keys import Entry, key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 180
"""Of so many parts of the stream the lowest and the highest score are drawn."""
WIDTH, HEIGHT, DOWN = 8.8, 0.9, 0.4
MIDDLE, REACH = (0.01, 0.99), 3
"""A panel shows what lies between these quantiles, or not further off than so many times their distance."""
FLOOR, CEILING = -0.16, 1.36
"""Scores go from 0 to 1; alarms stand below them, and words on episodes above."""

KEY: Sequence[Entry] = (
    ("scores", {"color": style.ID, "linewidth": 2.5}),
    ("threshold", {"color": style.INK, "linewidth": 0.8, "linestyle": (0, (4, 2))}),
    ("alarms (below the scores)", {"color": style.ALARM, "linewidth": 5}),
    ("fault", {"color": style.OOD, "linewidth": 9, "alpha": 0.15}),
    ("from onset to first alarm (+ places)", {"color": style.ALARM, "linewidth": 2.5}),
)


@dataclass(frozen=True)
class ScoresOverTime:
    """What one monitor said along a stream."""

    monitor: str
    position: IntArray
    """The places in the stream, rising."""
    score: FloatArray
    alarm: BoolArray
    threshold: float | None
    """None where it differs from class to class; it is drawn where it is finite."""
    delays: Sequence[int | str]
    """Each episode's delay; a word where it has none."""


@style.applied()
def along_stream(
    rows: Sequence[ScoresOverTime], episodes: Sequence[tuple[int, int]], *, title: str = ""
) -> Figure:
    """Draw the scores of each monitor along a stream, its alarms below them, episodes of faults shaded.

    Parameters
    ----------
    rows
        A panel each.
    episodes
        The first place of each, and the first place after it.

    Examples
    --------
    >>> score = np.array([0.1, 0.2, 0.1, 0.8, 0.9])
    >>> row = ScoresOverTime("oob", np.arange(5), score, score > 0.5, 0.5, [1])
    >>> [text.get_text() for text in along_stream([row], [(2, 5)]).axes[0].texts]
    ['+1']
    """
    rows = [row for row in rows if len(row.position)]
    if not rows:
        return style.said("The stream is empty.", title=title)
    start = float(min(row.position[0] for row in rows))
    end = float(max(max(row.position[-1] for row in rows), start + 1))
    bottom, n = 0.62, len(rows)
    sheet = style.figure(WIDTH + 0.45, bottom + n * (HEIGHT + DOWN), title=title)
    for place, row in enumerate(rows):
        axes = style.panel(sheet, 0.2, bottom + (n - 1 - place) * (HEIGHT + DOWN), WIDTH, HEIGHT)
        axes.set(xlim=(start, end), ylim=(FLOOR, CEILING))
        places = style.steps(start, end, 9) if place == n - 1 else {}
        style.ticks(axes, x={at: f"{at:,.0f}" for at in places}, y={}, grid="")
        missed = sum(delay in ("missed", "after") for delay in row.delays)
        told = f"{missed} of {len(episodes)} episodes missed" if episodes else "no faults"
        style.name_panel(axes, style.shortened(row.monitor, 6.0, style.BOLD * style.NORMAL), told)
        _scores(axes, row, start, end)
        _episodes(axes, row, episodes, (end - start) / WIDTH)
    axes.set_xlabel("Place in the stream", fontsize=8, color=style.INK)
    key(sheet, 0.2, 0.12, KEY)
    return sheet


def _scores(axes: Axes, row: ScoresOverTime, start: float, end: float) -> None:
    low, high = _range(row)
    shown = np.clip((row.score - low) / (high - low), 0, 1)
    first = np.unique(np.linspace(0, len(shown), BINS, endpoint=False, dtype=int))
    if len(shown) > 2 * BINS:
        ends = np.fmin.reduceat(shown, first), np.fmax.reduceat(shown, first)
        axes.fill_between(row.position[first], *ends, color=style.ID, alpha=0.7, linewidth=0.5)
    else:
        axes.plot(row.position, shown, color=style.ID, linewidth=0.9)
    if row.threshold is not None and np.isfinite(row.threshold):
        level = (row.threshold - low) / (high - low)
        axes.plot([start, end], [level, level], color=style.INK, linewidth=0.8, linestyle=(0, (4, 2)))
    # Alarms next to each other, as far as can be seen, are one bar.
    step = (end - start) / (2 * BINS)
    bins = np.unique((row.position[row.alarm] - start) // step)
    breaks = np.flatnonzero(np.diff(bins) > 1)
    begins, stops = (
        np.concatenate(ends) for ends in ((bins[:1], bins[breaks + 1]), (bins[breaks], bins[-1:]))
    )
    ends = start + begins * step, start + (stops + 0.9) * step
    axes.hlines([FLOOR / 2] * len(begins), *ends, color=style.ALARM, linewidth=5)
    for line in (*axes.lines, *axes.collections):
        line.set_clip_on(False)


def _range(row: ScoresOverTime) -> tuple[float, float]:
    """Return the scores that the panel reaches from and to: a single huge one does not flatten the others."""
    finite = row.score[np.isfinite(row.score)]
    if not finite.size:
        finite = np.array([0.0, 1.0])
    low, high = np.quantile(finite, MIDDLE)
    reach = (REACH + 0.5) * (high - low) or np.inf
    near = finite[np.abs(finite - (low + high) / 2) <= reach]
    ends = near.min(initial=low), near.max(initial=high)
    level = ends[0] if row.threshold is None or not np.isfinite(row.threshold) else row.threshold
    low, high = min(float(ends[0]), float(level)), max(float(ends[1]), float(level))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _episodes(axes: Axes, row: ScoresOverTime, episodes: Sequence[tuple[int, int]], inch: float) -> None:
    """Shade faults, mark their onset, and tell the delay, or that no alarm came."""
    from matplotlib.collections import LineCollection, PolyCollection

    corners = [[(a, FLOOR), (b, FLOOR), (b, CEILING), (a, CEILING)] for a, b in episodes]
    axes.add_collection(PolyCollection(corners, facecolors=style.OOD, alpha=0.15, linewidths=0, zorder=0))
    onsets = [[(a, FLOOR), (a, CEILING)] for a, _ in episodes]
    axes.add_collection(LineCollection(onsets, colors=style.OOD, linewidths=1.2))
    delays = []
    for (begin, _), late in zip(episodes, row.delays, strict=True):
        after = min((other for other, _ in episodes if other > begin), default=axes.get_xlim()[1])
        room, x = (after - begin) / inch - 0.08, begin + 0.04 * inch
        if isinstance(late, str):
            words = late if style.width_of(late) < room else "\N{MULTIPLICATION SIGN}"
            style.write(axes, x, 1.11, words, color=style.ALARM, weight="bold")
            continue
        delays.append([(begin, CEILING), (begin + late, CEILING)])
        if style.width_of(delay := f"+{late:,}") < room:
            style.write(axes, x, 1.11, delay)
    axes.add_collection(LineCollection(delays, colors=style.ALARM, linewidths=2.5))
    for collection in axes.collections:
        collection.set_clip_on(False)
