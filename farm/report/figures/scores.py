"""How the scores of ID and OOD instances lie about the threshold: a row a monitor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farm.api.arrays import FloatArray
from farm.report.figures import style
from farm.report.figures.keys import Entry, key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS, WIDEST = 48, (-4.0, 6.0)
"""How many bins a row has, and how far it may reach."""
ROW = 0.46
MIDDLE = (0.1, 0.9)
"""The quantiles of the ID scores that are one unit apart."""

KEY: Sequence[Entry] = (
    ("ID", {"color": style.ID, "alpha": 0.55, "linewidth": 8}),
    ("OOD", {"color": style.OOD, "linewidth": 1.3}),
    ("threshold: an alarm to its right", {"color": style.INK, "linewidth": 1.3}),
)


@dataclass(frozen=True)
class MonitorScores:
    """The scores of one monitor; no threshold where it differs from class to class, or is infinite."""

    monitor: str
    id_scores: FloatArray
    ood_scores: FloatArray
    threshold: float | None = None

    @property
    def zero(self) -> float | None:
        """The threshold where there is one to draw."""
        return self.threshold if self.threshold is not None and np.isfinite(self.threshold) else None


@style.applied()
def score_distributions(scores: Sequence[MonitorScores], *, title: str = "") -> Figure:
    """Draw the scores of ID and of OOD instances over each other, the threshold at 0.

    The unit is how wide the middle 80 % of a monitor's ID scores are, so that all share one axis.

    Examples
    --------
    >>> own = MonitorScores("oob", np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.9]), threshold=0.35)
    >>> [text.get_text() for text in score_distributions([own]).axes[0].get_yticklabels()]
    ['oob']
    """
    if not any(len(own.id_scores) + len(own.ood_scores) for own in scores):
        return style.said("There are no scores to show.", title=title)
    placed = [_placed(own) for own in scores]
    low, high = _limits([part for own in placed for part in own])
    names = [style.shortened(own.monitor) for own in scores]
    left, n, bottom = max(style.width_of(name) for name in names) + 0.25, len(scores), 0.5
    sheet = style.figure(left + 6.4, bottom + ROW * (n + 0.3) + 0.45, title=title)
    axes = style.panel(sheet, left, bottom, 5.6, ROW * (n + 0.3))
    axes.set(xlim=(low, high), ylim=(-0.05, n + 0.25))
    style.name_panel(axes, "", x="Score less threshold, in widths of the middle 80 % of ID scores")
    marks = {n - 0.65 - row: name for row, name in enumerate(names)}
    style.ticks(axes, x=style.steps(low, high, 8), y=marks, grid="x")
    axes.tick_params(axis="y", labelcolor=style.INK)
    _draw(axes, scores, placed, (low, high))
    y = bottom + ROW * (n + 0.3) + 0.2
    end = key(sheet, left, y, KEY)
    style.write(sheet, end, y, "12 % → so much lies further out")
    return sheet


def _placed(own: MonitorScores) -> tuple[FloatArray, FloatArray]:
    """Return both kinds of scores on the common axis, without those that are missing."""
    known = [part[~np.isnan(part)].astype(np.float64) for part in (own.id_scores, own.ood_scores)]
    finite = [part[np.isfinite(part)] for part in known]
    ends = np.quantile(finite[0] if finite[0].size else [0.0], MIDDLE)
    every = np.concatenate(finite)
    unit = float(ends[1] - ends[0]) or (float(np.ptp(every)) if every.size else 0.0) or 1.0
    middle = float(np.median(finite[0] if finite[0].size else every if every.size else [0.0]))
    zero = middle if own.zero is None else own.zero
    with np.errstate(over="ignore", invalid="ignore"):
        return (known[0] - zero) / unit, (known[1] - zero) / unit


def _limits(parts: Sequence[FloatArray]) -> tuple[float, float]:
    """Return ends between which nearly all of each lies, as far as the widest allow."""
    ends = [np.quantile(np.clip(part, *WIDEST), (0.005, 0.995)) for part in parts if part.size]
    low, high = min(float(e[0]) for e in ends), max(float(e[1]) for e in ends)
    return max(np.floor(2 * min(low, -0.25)) / 2, WIDEST[0]), min(np.ceil(2 * max(high, 0.25)) / 2, WIDEST[1])


def _draw(
    axes: Axes,
    scores: Sequence[MonitorScores],
    placed: Sequence[tuple[FloatArray, FloatArray]],
    limits: tuple[float, float],
) -> None:
    from matplotlib.collections import LineCollection, PolyCollection

    # The threshold is an end of a bin, and what lies at it is no alarm: bins hold their upper ends.
    width = 0.5 / max(round(BINS / 2 / (limits[1] - limits[0])), 1)
    edges = width * np.arange(round(limits[0] / width), round(limits[1] / width) + 1)
    across = np.concatenate([[edges[0]], np.repeat(edges[1:-1], 2), [edges[-1]]])
    filled, outlines, thresholds = [], [], []
    for row, (own, parts) in enumerate(zip(scores, placed, strict=True)):
        ground = len(scores) - 1 - row
        shares = [np.histogram(-part, -edges[::-1])[0][::-1] / max(part.size, 1) for part in parts]
        highest = max(float(share.max()) for share in shares) or 1.0
        shapes = [
            np.column_stack([across, ground + 0.88 * np.repeat(share / highest, 2)]) for share in shares
        ]
        filled.append(np.vstack([[limits[0], ground], shapes[0], [limits[1], ground]]))
        held = np.flatnonzero(shares[1])
        if held.size:
            # From the ground at its first bin to the ground at its last.
            (x, y), ends = shapes[1].T, slice(2 * held[0], 2 * held[-1] + 2)
            x, y = x[ends], np.concatenate([[ground], y[ends], [ground]])
            outlines.append(np.column_stack([np.concatenate([x[:1], x, x[-1:]]), y]))
        if own.zero is not None:
            thresholds.append([(0.0, ground), (0.0, ground + 0.95)])
        _tell(axes, own, parts, limits, ground)
    axes.hlines(range(len(scores)), *limits, color=style.GRID, linewidth=0.6)
    collections = (
        PolyCollection(filled, facecolors=style.ID, alpha=0.55, linewidths=0),
        LineCollection(outlines, colors=style.OOD, linewidths=1.1),
        LineCollection(thresholds, colors=style.INK, linewidths=1.3),
    )
    for collection in collections:
        collection.set_clip_on(False)
        axes.add_collection(collection, autolim=False)


def _tell(
    axes: Axes,
    own: MonitorScores,
    parts: tuple[FloatArray, FloatArray],
    limits: tuple[float, float],
    ground: float,
) -> None:
    """Say what the shapes do not show: what lies outside, what is missing, and where 0 is no threshold."""
    reach = limits[1] - limits[0]
    for part, colour, up in zip(parts, (style.ID, style.OOD), (0.05, 0.42), strict=True):
        outside = (part > limits[1], limits[1], "{:.0f} % →"), (part < limits[0], limits[0], "← {:.0f} %")
        for beyond, x, form in outside:
            share = float(np.mean(beyond)) if part.size else 0.0
            if share >= 0.005:
                style.write(axes, x + 0.01 * reach, ground + up, form.format(share * 100), color=colour)
    missing = [kind for kind, part in zip(("ID", "OOD"), parts, strict=True) if not part.size]
    if missing:
        style.write(axes, limits[1], ground + 0.6, f"no {' and no '.join(missing)} scores", ha="right")
    elif own.zero is None:
        style.write(axes, limits[1], ground + 0.6, "no one threshold: 0 is the median of ID", ha="right")
