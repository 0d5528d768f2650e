"""Means and how far single results lie from them, condition by condition.

A bar that begins anywhere but at 0 would tell a wrong size, so all are points.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from farm.report.figures import style
from farm.report.figures.keys import Legend, key
from farm.report.figures.multiples import ACROSS, height_of, laid_out, scale, titled, told, worded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOM, NAME = 9.8, 2.4
"""How wide a figure may become, and the name of a condition, in inches."""
HEIGHT, ROW, DODGE, AIR = 1.9, 0.23, 0.1, 0.16
"""The height of a panel whose conditions stand along x, the least height of a row, and what lies between two
markers of one condition, and between those of two conditions."""
ACROSS_NUMBERS = 0.5
"""What lies between two panels that each have numbers beside them."""
NARROW, WIDE = 1.45, 4.6
"""How narrow and how wide a panel may be."""
SEPARATOR: dict[str, Any] = {"color": style.GRID, "linewidth": 0.6, "zorder": 0.5}
CHANCE: dict[str, Any] = style.REFERENCE | {"color": style.INK}


@style.applied()
def means_with_spread(
    frame: pd.DataFrame,
    *,
    x: str,
    group: str,
    panel: str | None = None,
    measure: str | None,
    order: Sequence[Any] | None = None,
    chance: float | Mapping[Any, float] | None = None,
    title: str = "",
) -> Figure:
    """Draw means with their standard deviations: a place a condition, a marker a group, small multiples.

    Conditions stand along x where there is room for their names, and in rows otherwise.

    Parameters
    ----------
    frame
        The columns named below, and `mean` and `sd` (NaN: no whisker).
    x, group, panel
        The columns of conditions, of what is compared (classifiers), and of panels, if there are any.
    measure
        Its name; None where each panel is of another one, named by it, and has an axis of its own.
    order
        The conditions to draw, in their order; None stands for all in that in which they come.
    chance
        What blind guessing would have: a thin line, in all panels or in those that a mapping names.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("fog", "baseline", 0.81, 0.1), ("fog", "dropout", 0.84, 0.1), ("rain", "dropout", 0.97, 0)]
    >>> frame = pd.DataFrame(rows, columns=["fault", "classifier", "mean", "sd"])
    >>> axes = means_with_spread(frame, x="fault", group="classifier", measure="accuracy").axes[0]
    >>> axes.get_ylabel(), [text.get_text() for text in axes.get_xticklabels()]
    ('accuracy', ['fog', 'rain'])
    """
    if len(frame) and order is not None:
        frame = frame[frame[x].isin(order)]
    if not len(frame) or not np.isfinite(frame["mean"].to_numpy(dtype=float)).any():
        return style.said(f"No {measure or 'mean'} is defined here.", title=title)
    there = list(dict.fromkeys(frame[x]))
    conditions = there if order is None else [one for one in order if one in there]
    groups = list(dict.fromkeys(frame[group]))
    panels = {"": frame}
    if panel is not None:
        panels = {one: frame[frame[panel] == one] for one in dict.fromkeys(frame[panel])}
    plan = _Plan.of(conditions, len(groups), len(panels), ACROSS if measure is not None else ACROSS_NUMBERS)
    wide = max(plan.left + plan.columns * (plan.width + plan.across), 5.0)
    legend = Legend([told(one) for one in groups], wide - 0.2)
    notes = style.LINE_HEIGHT * (1 if chance is None else 2) + 0.1
    bottom = legend.height + notes + 0.5
    height = height_of(len(panels), plan.columns, plan.height) - 0.2 * (panel is None)
    sheet = style.figure(wide, bottom + height, title=title)
    size = plan.width, plan.height
    places = laid_out(sheet, len(panels), plan.columns, (plan.left, bottom), size, plan.across)
    for (name, own), (column, last, axes) in zip(panels.items(), places, strict=True):
        level = chance.get(name) if isinstance(chance, Mapping) else chance
        plan.grounds(axes, own if measure is None else frame, level, named=not column)
        if plan.upright and column and measure is not None:
            axes.tick_params(axis="y", labelleft=False)
        for at, one in enumerate(groups):
            aside = (at - (len(groups) - 1) / 2) * plan.dodge
            of_group = own[own[group] == one].set_index(x).reindex(conditions)
            plan.points(axes, of_group, aside, style.Look.of(at))
        plan.lacking(axes, own.dropna(subset=["mean"])[x], conditions)
        heading = "" if panel is None else titled(panel, name)
        value, condition = style.shortened(measure or "", plan.room), style.shortened(worded(x), plan.width)
        style.name_panel(
            axes,
            style.shortened(heading, plan.width, style.BOLD * style.NORMAL),
            x="" if not last else condition if plan.upright else value,
            y=value if plan.upright and not column else "",
        )
    words = "Markers: means. Whiskers: one standard deviation to each side."
    style.write(sheet, 0.1, legend.height + notes - 0.1, words)
    if chance is not None:
        key(sheet, 0.1, legend.height + 0.1, [(_chance_words(chance), CHANCE)])
    legend.draw(sheet, 0.1, legend.height + 0.06)
    return sheet


@dataclass(frozen=True)
class _Plan:
    """Where conditions stand: along x, or in rows; lengths are in inches."""

    names: Sequence[str]
    upright: bool
    left: float
    columns: int
    width: float
    height: float
    across: float
    """What lies between two panels."""
    dodge: float
    """What lies between two groups, of a condition's step."""

    @classmethod
    def of(cls, conditions: Sequence[Any], n_groups: int, n_panels: int, across: float) -> _Plan:
        """Let conditions stand along x where two such panels, or the only one, fit side by side."""
        names = [style.shortened(told(one), NAME) for one in conditions]
        widest, markers = max(map(style.width_of, names)), DODGE * n_groups + AIR
        left, step = 0.7, max(markers, widest + 0.14)
        width, height = max(step * len(names), NARROW), HEIGHT
        columns = int((ROOM - left + across) / (width + across))
        upright = columns >= min(n_panels, 2)
        if not upright:
            left, step, across = widest + 0.2, max(markers, ROW), ACROSS
            columns = min(n_panels, int((ROOM - left + across) / (NARROW + across)))
        columns = -(-n_panels // -(-n_panels // columns))  # rows of panels are of about one length
        if upright:
            width = min(
                max(width, (ROOM - left) / max(columns, 3) - across), max(2 * step * len(names), NARROW)
            )
        else:
            width, height = min((ROOM - left) / columns - across, WIDE), step * len(names)
        dodge = DODGE / ((width if upright else height) / len(names))
        return cls(names, upright, left, columns, width, height, across, dodge)

    @property
    def room(self) -> float:
        """How long the axis of values is."""
        return self.height if self.upright else self.width

    def grounds(self, axes: Axes, frame: pd.DataFrame, chance: float | None, *, named: bool) -> None:
        """Set both axes, draw what separates conditions, and chance."""
        n, (limits, marks) = len(self.names), _scale(frame, chance, self.room)
        names = {float(at): name if named or self.upright else "" for at, name in enumerate(self.names)}
        if self.upright:
            axes.set(xlim=(-0.5, n - 0.5), ylim=limits)
            style.ticks(axes, x=names, y=marks, grid="y")
        else:
            axes.set(xlim=limits, ylim=(n - 0.5, -0.5))
            style.ticks(axes, x=marks, y=names, grid="x")
        axes.tick_params(axis="x" if self.upright else "y", labelcolor=style.INK)
        across, along = (axes.axvline, axes.axhline) if self.upright else (axes.axhline, axes.axvline)
        for at in range(n - 1):
            across(at + 0.5, **SEPARATOR)
        if chance is not None:
            along(chance, **CHANCE)

    def points(self, axes: Axes, frame: pd.DataFrame, aside: float, look: style.Look) -> None:
        """Draw one group's means, each with its whisker."""
        at = np.arange(len(frame)) + aside
        mean, sd = (frame[name].to_numpy(dtype=float) for name in ("mean", "sd"))
        bounded = np.isfinite(mean) & np.isfinite(sd)
        whiskers = axes.vlines if self.upright else axes.hlines
        low, high = mean[bounded] - sd[bounded], mean[bounded] + sd[bounded]
        whiskers(at[bounded], low, high, color=look.colour, linewidth=1.2, clip_on=False)
        ends = (at, mean) if self.upright else (mean, at)
        shape = style.POINT | {"markersize": 5, "markeredgewidth": 0, "marker": look.marker}
        axes.plot(*ends, color=look.colour, linestyle="none", **shape)

    def lacking(self, axes: Axes, known: Collection[Any], conditions: Sequence[Any]) -> None:
        """Say in the places of conditions without any mean that there is none."""
        there, middle = set(known), sum(axes.get_ylim() if self.upright else axes.get_xlim()) / 2
        for at, one in enumerate(conditions):
            if one not in there:
                x, y = (at, middle) if self.upright else (middle, at)
                style.write(axes, x, y, "no result", rotation=90 * self.upright, ha="center", va="center")


def _scale(frame: pd.DataFrame, chance: float | None, room: float) -> tuple[tuple[float, float], style.Ticks]:
    """Return the ends of an axis that shows all means, whiskers and chance, and its ticks."""
    mean, sd = (frame[name].to_numpy(dtype=float) for name in ("mean", "sd"))
    level = np.array([] if chance is None else [chance], dtype=float)
    return scale(np.concatenate([mean, level]), np.concatenate([mean - sd, mean + sd]), room)


def _chance_words(chance: float | Mapping[Any, float]) -> str:
    if not isinstance(chance, Mapping):
        return f"chance ({style.number(chance, 'g')})"
    levels = [f"{told(name)}: {style.number(at, 'g')}" for name, at in chance.items()]
    return f"chance ({', '.join(levels)})"
