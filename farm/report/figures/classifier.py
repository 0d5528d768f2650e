"""The classifier itself: is it as sure as it is right, and what does it take for what?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.measures.calibration import Bin
from farm.report.figures import style
from farm.report.figures.heat import heat_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WRITTEN = 15
"""With more classes than this, the numbers do not fit into the cells."""
LARGEST = 10
CELLS = 3_000
"""Of more cells than this, the darkest are drawn."""
NAME = 1.3


@style.applied()
def reliability(bins: Sequence[Bin], *, title: str = "") -> Figure:
    """Draw how often the classifier is right against how sure it is, and below it, how often it is so sure.

    Examples
    --------
    >>> from farm.measures.calibration import reliability as table
    >>> bins = table(np.array([0.6, 0.7, 0.9, 1.0]), np.array([True, False, True, True]), bins=5)
    >>> [axes.get_ylabel() for axes in reliability(bins).axes]
    ['Accuracy', 'Instances']
    """
    held = [one for one in bins if one.n]
    if not held:
        return style.said("There is no confidence to show.", title=title)
    size, small, left, bottom = 3.6, 0.75, 0.75, 0.5
    sheet = style.figure(left + size + 0.2, bottom + small + 0.3 + size + 0.3, title=title)
    axes = style.panel(sheet, left, bottom + small + 0.3, size, size)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    style.ticks(axes, x=style.unit(), y=style.unit())
    axes.tick_params(axis="x", labelbottom=False)
    style.name_panel(axes, "", "below the line: too sure", y="Accuracy")
    axes.plot([0, 1], [0, 1], **style.REFERENCE)
    sure, right, low, high = (
        np.array([getattr(one, name).value for one in held])
        for name in ("confidence", "accuracy", "accuracy_low", "accuracy_high")
    )
    axes.vlines(sure, low, high, color=style.SERIES[0], linewidth=1.2, clip_on=False)
    axes.plot(sure, right, color=style.SERIES[0], marker="o", markersize=5, linewidth=1, clip_on=False)
    counts = style.panel(sheet, left, bottom, size, small)
    most = max(one.n for one in held)
    counts.set(xlim=(0, 1), ylim=(0, most * 1.05))
    gap = 0.004
    counts.bar(
        [one.low + gap for one in held],
        [one.n for one in held],
        [max(one.high - one.low - 2 * gap, gap) for one in held],
        align="edge",
        color=style.LINE,
        clip_on=False,
    )
    style.ticks(counts, x=style.unit(), y={0.0: "0", float(most): f"{most:,}"})
    style.name_panel(counts, "", x="Confidence", y="Instances")
    return sheet


@style.applied()
def confusion(counts: IntArray, classes: Sequence[str], *, title: str = "") -> Figure:
    """Draw what is taken for what: a row a label, a column a prediction, dark where a label's share is large.

    Examples
    --------
    >>> axes = confusion(np.array([[8, 2], [0, 5]]), ["stop", "yield"]).axes[0]
    >>> [text.get_text() for text in axes.texts]
    ['8', '2', '5', 'stop', 'yield']
    """
    n, total = len(classes), np.asarray(counts, dtype=np.int64)
    if not total.sum():
        return style.said("There are no predictions to show.", title=title)
    few = n <= WRITTEN
    names = [style.shortened(str(name), NAME) for name in classes]
    left = (max(style.width_of(name) for name in names) if few else 0.3) + 0.35
    cell = min(4.5 / n, 0.42)
    size, above = cell * n, 0.8 * (left - 0.35) + 0.35 if few else 0.45
    beside = 0.7 * max(style.width_of(name) for name in names) if few else 4.3
    foot = 0.3 if few else 0.3 + max(2.4 - size, 0.0)
    sheet = style.figure(left + max(size + beside + 0.1, 3.4), foot + size + above, title=title)
    axes = style.panel(sheet, left, foot, size, size)
    axes.set(xlim=(0, n), ylim=(n, 0))
    axes.spines[["bottom"]].set_visible(False)
    shares = total / np.maximum(total.sum(axis=1, keepdims=True), 1)
    _cells(axes, shares)
    if few:
        for row, column in np.argwhere(total):
            ink = _shade(shares[row, column])[1]
            told = f"{total[row, column]:,}"
            letters = min(7.5, 0.9 * cell / style.width_of(told, 1))
            style.write(axes, column + 0.5, row + 0.5, told, color=ink, size=letters, **style.CENTRED)
        style.ticks(axes, x={}, y={at + 0.5: name for at, name in enumerate(names)}, grid="")
        axes.tick_params(axis="y", labelcolor=style.INK)
        for column, name in enumerate(names):
            style.write(axes, column + 0.4, -0.15, name, color=style.INK, rotation=40)
    else:
        marks = {at + 0.5: str(at) for at in range(0, n, -(-n // 50) * 5)}
        style.ticks(axes, x=marks, y=marks, grid="")
        axes.tick_params(axis="x", labelbottom=False, labeltop=True)
        _largest(sheet, left + size + 0.3, foot + size - 0.1, total, [str(name) for name in classes])
    axes.set_ylabel("Label", fontsize=8, color=style.INK)
    style.write(sheet, left, 0.06, "across: predicted; dark: a large share of the row")
    return sheet


def _cells(axes: Axes, shares: FloatArray) -> None:
    """Fill the cells that hold anything."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Rectangle

    n = len(shares)
    ground = heat_colour(0.0, 0.0, 1.0)[0]
    axes.add_patch(Rectangle((0, 0), n, n, facecolor=ground, linewidth=0, clip_on=False))
    held = sorted(np.argwhere(shares), key=lambda at: float(shares[tuple(at)]))[-CELLS:]
    corners = [[(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)] for y, x in held]
    fills = [_shade(shares[tuple(at)])[0] for at in held]
    axes.add_collection(PolyCollection(corners, facecolors=fills, linewidths=0, clip_on=False), autolim=False)


def _shade(share: float) -> tuple[str, str]:
    """Return a colour by the root of a share, so that a few in a hundred are seen."""
    return heat_colour(round(float(np.sqrt(share)), 2), 0.0, 1.0)


def _largest(sheet: Figure, left: float, top: float, counts: IntArray, classes: list[str]) -> None:
    """Write what is most often taken for what."""
    mistakes = counts - np.diag(np.diag(counts))
    order = np.argsort(-mistakes, axis=None, kind="stable")[:LARGEST]
    heading = "The largest confusions: label as prediction"
    style.write(sheet, left, top, heading, color=style.INK, weight="bold")
    for line, at in enumerate(order, start=1):
        row, column = divmod(int(at), len(classes))
        if not mistakes[row, column]:
            break
        label, predicted = (f"{style.shortened(classes[i], 1.2)} ({i})" for i in (row, column))
        number = f"{mistakes[row, column]:,} of {counts[row].sum():,}"
        y = top - line * style.LINE_HEIGHT
        style.write(sheet, left + 0.75, y, number, ha="right")
        style.write(sheet, left + 0.85, y, f"{label} as {predicted}", color=style.INK)
