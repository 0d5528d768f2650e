"""How a measure falls as a fault grows: a small panel a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from farm.report.figures import style
from farm.report.figures.keys import Legend

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
WIDTH, HEIGHT, ACROSS, DOWN = 2.1, 1.45, 0.22, 0.62
"""The size of a panel, and what lies between two, in inches."""
DODGE = 0.5
"""Over so much of a step of severity monitors stand side by side, that their intervals can be seen."""


@style.applied()
def severity_curves(frame: pd.DataFrame, *, measure: str, title: str = "") -> Figure:
    """Draw a measure against severity: a panel a fault, a curve a monitor, whiskers for its interval.

    Parameters
    ----------
    frame
        Columns `faultload`, `severity` (NaN where it means nothing), `monitor`, `value`, `low` and `high`;
        faults and monitors stand in the order in which they come.
    measure
        Its name.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("fog", level, "oob", level / 10, level / 20, level / 5) for level in (1, 3, 5)]
    >>> columns = ["faultload", "severity", "monitor", "value", "low", "high"]
    >>> axes = severity_curves(pd.DataFrame(rows, columns=columns), measure="FNR").axes[0]
    >>> axes.get_title("left"), [text.get_text() for text in axes.get_xticklabels()]
    ('fog', ['1', '3', '5'])
    """
    values = frame[["value", "low", "high"]].to_numpy(dtype=float) if len(frame) else np.empty(0)
    if not np.isfinite(values).any():
        return style.said(f"No {measure} is defined here.", title=title)
    faults, monitors = (list(dict.fromkeys(frame[name])) for name in ("faultload", "monitor"))
    columns = min(COLUMNS, len(faults))
    rows = -(-len(faults) // columns)
    width = 0.7 + columns * (WIDTH + ACROSS)
    legend = Legend([str(name) for name in monitors], max(width, 5.0) - 0.8)
    bottom = legend.height + 0.3 + style.LINE_HEIGHT
    sheet = style.figure(max(width, 5.0), bottom + rows * (HEIGHT + DOWN), title=title)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    slack = max(0.06 * (high - low), 0.02)
    limits = low - slack if low < 0 else max(low - slack, 0.0), high + slack
    for place, fault in enumerate(faults):
        row, column = divmod(place, columns)
        left, up = 0.65 + column * (WIDTH + ACROSS), bottom + (rows - 1 - row) * (HEIGHT + DOWN) + 0.3
        axes = style.panel(sheet, left, up, WIDTH, HEIGHT)
        axes.set_ylim(limits)
        _fault(axes, frame[frame["faultload"] == fault], monitors, first=column == 0)
        style.name_panel(
            axes,
            style.shortened(str(fault), WIDTH, style.BOLD * style.NORMAL),
            y="" if column else style.shortened(measure, HEIGHT),
        )
    style.write(sheet, 0.65, bottom - 0.12, "Across each panel: severity. Whiskers: the interval.")
    legend.draw(sheet, 0.65, bottom - 0.22)
    return sheet


def _fault(axes: Axes, frame: pd.DataFrame, monitors: list[Any], *, first: bool) -> None:
    from matplotlib.collections import LineCollection

    severities = sorted({float(s) for s in frame["severity"].dropna()})
    places = {severity: float(at) for at, severity in enumerate(severities)}
    marks = {at: f"{severity:g}" for severity, at in places.items()}
    if frame["severity"].isna().any():
        marks = {-1.0: "no severity"} | marks
    axes.set_xlim(min(marks) - 0.5, max(marks) + 0.5)
    whiskers, colours = [], []
    for index, monitor in enumerate(monitors):
        own = frame[frame["monitor"] == monitor].sort_values("severity")
        if own.empty:
            continue
        look, aside = style.Look.of(index), DODGE * ((index + 0.5) / len(monitors) - 0.5)
        at = own["severity"].map(lambda s: places.get(s, -1.0)).to_numpy(dtype=float) + aside
        value, low, high = (own[name].to_numpy(dtype=float) for name in ("value", "low", "high"))
        shape = {"linestyle": look.dashes, "linewidth": 1.2, "marker": look.marker, "markersize": 4}
        axes.plot(at, value, color=look.colour, markeredgewidth=0, clip_on=False, **shape)
        for x, *ends in zip(at, low, high, strict=True):
            if np.isfinite(ends).all():
                whiskers.append([(x, ends[0]), (x, ends[1])])
                colours.append(look.colour)
    axes.add_collection(LineCollection(whiskers, colors=colours, linewidths=0.8, clip_on=False))
    style.ticks(axes, x=marks, y=style.steps(*axes.get_ylim(), 4), grid="y")
    if axes.get_ylim()[0] < 0:
        axes.spines["bottom"].set_position(("data", 0))
    axes.tick_params(axis="y", labelleft=first)
