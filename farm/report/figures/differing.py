"""Which conditions differ from one another: means with comparison intervals, the greatest first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from farm.report.figures import style
from farm.report.figures.multiples import scale, told

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROW, NAME, WIDTH = 0.25, 2.4, 4.6
"""The height of a row, and how wide a name and the axes are, in inches."""
HOW_TO_READ = (
    "Conditions that share a letter are not told apart.",
    "Whatever stands above a dashed line differs from whatever stands below it.",
)


@style.applied()
def comparison_intervals(
    frame: pd.DataFrame, *, measure: str, groups: Sequence[Collection[str]] | None = None, title: str = ""
) -> Figure:
    """Draw means with comparison intervals, the greatest first, and lines between groups that differ.

    Parameters
    ----------
    frame
        Columns `name`, `mean`, `low` and `high` (NaN: no interval), and `letters`: names that share one are
        not told apart.
    measure
        Its name.
    groups
        The names that are not told apart from one another, where letters do not say so.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("fog", 0.7, 0.6, 0.8, "b"), ("rain", 0.97, 0.9, 1.04, "a")]
    >>> frame = pd.DataFrame(rows, columns=["name", "mean", "low", "high", "letters"])
    >>> axes = comparison_intervals(frame, measure="accuracy").axes[0]
    >>> [text.get_text() for text in axes.get_yticklabels()], [text.get_text() for text in axes.texts]
    (['rain', 'fog'], ['letters', 'a', 'b'])
    """
    if not len(frame) or not np.isfinite(frame["mean"].to_numpy(dtype=float)).any():
        return style.said(f"No mean {measure} is defined here.", title=title)
    frame = frame.sort_values("mean", ascending=False, kind="stable")
    names, n = [style.shortened(told(name), NAME) for name in frame["name"]], len(frame)
    letters = [str(each) for each in frame["letters"]]
    left, bottom = max(map(style.width_of, names)) + 0.2, 0.55 + len(HOW_TO_READ) * style.LINE_HEIGHT
    right = max(map(style.width_of, [*letters, "letters"])) + 0.25
    sheet = style.figure(left + WIDTH + right + 0.1, bottom + ROW * n + 0.32, title=title)
    axes = style.panel(sheet, left, bottom, WIDTH, ROW * n)
    rows, (mean, low, high) = np.arange(n), frame[["mean", "low", "high"]].to_numpy(dtype=float).T
    limits, marks = scale(mean, np.concatenate([low, high]), WIDTH)
    axes.set(xlim=limits, ylim=(n - 0.5, -0.5))
    style.ticks(axes, x=marks, y=dict(enumerate(names)), grid="x")
    axes.tick_params(axis="y", labelcolor=style.INK)
    known = np.isfinite(low) & np.isfinite(high)
    colour = style.SERIES[0]
    axes.hlines(rows[known], low[known], high[known], color=colour, linewidth=1.6, clip_on=False)
    axes.plot(mean, rows, color=colour, marker="o", linestyle="none", **style.POINT | {"markeredgewidth": 0})
    beside: dict[str, Any] = {"ha": "right", "transform": axes.get_yaxis_transform()}
    style.write(axes, 1 + right / WIDTH, -0.75, "letters", **beside)
    for row, each in enumerate(letters):
        style.write(axes, 1 + right / WIDTH, row, each, color=style.INK, va="center_baseline", **beside)
    alike = [set(frame["name"][[letter in each for each in letters]]) for letter in set("".join(letters))]
    order = list(frame["name"])
    for row in range(1, n):
        if not any({*order[:row]} & {*group} and {*order[row:]} & {*group} for group in groups or alike):
            axes.axhline(row - 0.5, 0, 1, **style.REFERENCE)
    style.name_panel(axes, "", x=style.shortened(f"Mean {measure}, with its comparison interval", WIDTH))
    for line, words in enumerate(reversed(HOW_TO_READ)):
        style.write(sheet, 0.1, 0.1 + line * style.LINE_HEIGHT, words)
    return sheet
