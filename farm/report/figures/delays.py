"""How soon monitors notice a fault, against how often they cry wolf: a curve each over its thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from farm.report.figures import style
from farm.report.figures.keys import Legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT, LEFT = 5.0, 2.4, 0.6
NOTE = "A curve has a gap where half of the onsets or more are missed."


@dataclass(frozen=True)
class DelayCurve:
    """The median delay of one monitor at some rates of false alarms; NaN where it has none."""

    monitor: str
    false_alarms: Sequence[float]
    """A thousand quiet instances."""
    median: Sequence[float]


@style.applied()
def delay_curves(curves: Sequence[DelayCurve], *, title: str = "") -> Figure:
    """Draw the median delay against false alarms, which stand on steps of equal width.

    Examples
    --------
    >>> axes = delay_curves([DelayCurve("oob", (1.0, 10.0), (float("nan"), 3.0))]).axes[0]
    >>> [text.get_text() for text in axes.get_xticklabels()], axes.lines[0].get_ydata().tolist()
    (['1', '10'], [nan, 3.0])
    """
    known = [each for curve in curves for each in curve.median if np.isfinite(each)]
    if not known:
        return style.said("Every monitor misses half of the onsets or more.", title=title)
    rates = sorted({rate for curve in curves for rate in curve.false_alarms})
    legend = Legend([curve.monitor for curve in curves], WIDTH)
    bottom = legend.height + style.LINE_HEIGHT + 0.75
    sheet = style.figure(LEFT + WIDTH + 0.2, bottom + HEIGHT + 0.3, title=title)
    axes = style.panel(sheet, LEFT, bottom, WIDTH, HEIGHT)
    axes.set(xlim=(-0.4, len(rates) - 0.6), ylim=(0, max(max(known) * 1.06, 1.0)))
    for index, curve in enumerate(curves):
        look = style.Look.of(index)
        shape = {"linestyle": look.dashes, "linewidth": 1.2, "marker": look.marker, "markersize": 4}
        places = [rates.index(rate) for rate in curve.false_alarms]
        axes.plot(places, list(curve.median), color=look.colour, clip_on=False, markeredgewidth=0, **shape)
    words = {"x": "False alarms a thousand quiet instances", "y": "Median delay in instances"}
    style.name_panel(axes, "Delay", "better ↓", **words)
    marks = {float(place): f"{rate:g}" for place, rate in enumerate(rates)}
    style.ticks(axes, x=marks, y=style.steps(*axes.get_ylim(), 5), grid="y")
    style.write(sheet, LEFT, legend.height + 0.2, NOTE)
    legend.draw(sheet, LEFT, legend.height + 0.1)
    return sheet
