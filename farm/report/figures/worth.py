"""Does a monitor help, and at what cost?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from farm.report.figures import style
from farm.report.figures.keys import key
from farm.report.figures.scatter import defined, draw_monitors, tell_missing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROW = 0.36
TASKS = {
    "specific": (style.SERIES[0], "o", 0.13, "specific: does it tell OOD from ID?"),
    "overall": (style.SERIES[1], "s", -0.13, "overall: does it stop what the classifier gets wrong?"),
}


@style.applied()
def specific_and_overall(frame: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw both MCCs of each monitor with their intervals: a good detector need not help.

    Parameters
    ----------
    frame
        Columns `monitor`, `specific`, `specific_low`, `specific_high`, `overall`, `overall_low` and
        `overall_high`; any number may be NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"monitor": "oob", "specific": 0.7, "specific_low": 0.6, "specific_high": 0.8}
    >>> row |= {"overall": 0.1, "overall_low": 0.0, "overall_high": 0.2}
    >>> [t.get_text() for t in specific_and_overall(pd.DataFrame([row])).axes[0].get_yticklabels()]
    ['oob']
    """
    numbers = [f"{task}{end}" for task in TASKS for end in ("", "_low", "_high")]
    values = frame[numbers].to_numpy(dtype=float) if len(frame) else np.empty((0, 6))
    if not np.isfinite(values).any():
        return style.said("No MCC is defined here.", title=title)
    left = max(style.width_of(style.shortened(str(name))) for name in frame["monitor"]) + 0.2
    n, bottom = len(frame), 0.5
    sheet = style.figure(left + 5.2, bottom + ROW * n + 0.6, title=title)
    axes = style.panel(sheet, left, bottom, 5, ROW * n)
    low, high = min(float(np.nanmin(values)), -0.02), max(float(np.nanmax(values)), 0.1)
    axes.set(xlim=(low - 0.02, min(high + 0.05, 1.02)), ylim=(n - 0.5, -0.5))
    style.ticks(
        axes,
        x=style.steps(*axes.get_xlim(), 6),
        y={i: style.shortened(str(m)) for i, m in enumerate(frame["monitor"])},
        grid="x",
    )
    axes.tick_params(axis="y", labelcolor=style.INK)
    axes.axvline(0, color=style.LINE, linewidth=1)
    style.name_panel(axes, "", "better →", x="MCC: 0 is no better than chance, 1 is perfect")
    both = frame[["specific", "overall"]].to_numpy(dtype=float)
    axes.hlines(np.arange(n), both.min(axis=1), both.max(axis=1), color=style.GRID, linewidth=4, zorder=1)
    for row in np.flatnonzero(np.isnan(both).any(axis=1)):
        missing = " and ".join(task for task, value in zip(TASKS, both[row], strict=True) if np.isnan(value))
        # On the side where the other one is not.
        other = float(np.nan_to_num(both[row], nan=low).max())
        x, side = (0.01, "left") if other > (low + high) / 2 else (axes.get_xlim()[1], "right")
        style.write(axes, x, row + 0.1, f"{missing} undefined", ha=side)
    for line, (task, (colour, marker, up, words)) in enumerate(TASKS.items()):
        rows = np.arange(n) - up
        ends = frame[f"{task}_low"].to_numpy(dtype=float), frame[f"{task}_high"].to_numpy(dtype=float)
        axes.hlines(rows, *ends, color=colour, linewidth=1.2, clip_on=False)
        axes.plot(both[:, line], rows, linestyle="none", marker=marker, color=colour, **style.POINT)
        place = left + 0.1, bottom + ROW * n + 0.42 - line * style.LINE_HEIGHT
        key(sheet, *place, [(words, {"color": colour, "marker": marker})])
    return sheet


@style.applied()
def trade_off(frame: pd.DataFrame, *, error_rate: float = math.nan, title: str = "") -> Figure:
    """Draw what each monitor gains in safety against what it costs in availability.

    Parameters
    ----------
    frame
        Columns `monitor`, `availability_cost`, `safety_gain` and `yardstick` (drawn pale).
    error_rate
        The classifier's own, which is the most that can be gained; NaN where it is unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"monitor": "oob", "availability_cost": 0.05, "safety_gain": 0.2, "yardstick": False}
    >>> [text.get_text() for text in trade_off(pd.DataFrame([row]), error_rate=0.3).axes[0].texts]
    ['all wrong decisions: 0.30', 'cancelling by chance', 'oob']
    """
    shown, missing = defined(frame.reset_index(drop=True), "availability_cost", "safety_gain")
    if not len(shown):
        return style.said("No gain and no cost is defined here.", title=title)
    costs, gains = (shown[name].to_numpy(dtype=float) for name in ("availability_cost", "safety_gain"))
    size, left, bottom = (6.2, 3.8), 0.65, 0.76 if missing else 0.52
    sheet = style.figure(left + size[0] + 0.25, bottom + size[1] + 0.3, title=title)
    axes = style.panel(sheet, left, bottom, *size)
    top = max(float(gains.max()), error_rate if math.isfinite(error_rate) else 0.0, 0.01) * 1.12
    right = max(float(costs.max()), 0.02) * 1.2
    lows = min(float(costs.min()), 0.0), min(float(gains.min()), 0.0)
    axes.set(xlim=(lows[0] - 0.02 * right, right), ylim=(lows[1] - 0.02 * top, top))
    style.ticks(axes, x=style.steps(lows[0], right), y=style.steps(lows[1], top))
    style.name_panel(
        axes,
        "",
        "better ↖ safer, and less is lost",
        x="Availability cost: right decisions lost, as a share of all",
        y="Safety gain: wrong decisions stopped, as a share of all",
    )
    if 0 < error_rate < 1:
        axes.plot(axes.get_xlim(), [error_rate] * 2, **style.REFERENCE)
        told = f"all wrong decisions: {style.number(error_rate)}"
        style.write(axes, right, error_rate + 0.012 * top, told, ha="right")
        slope = error_rate / (1 - error_rate)
        end = min(right, error_rate / slope)
        axes.plot([0, end], [0, slope * end], **style.REFERENCE)
        inches = size[0] / np.ptp(axes.get_xlim()), size[1] / np.ptp(axes.get_ylim())
        angle = math.degrees(math.atan(slope * inches[1] / inches[0]))
        style.write(axes, end, slope * end, "cancelling by chance", ha="right", va="top", rotation=angle)
    draw_monitors(axes, shown, costs, gains, size)
    tell_missing(sheet, left, missing)
    return sheet


@style.applied()
def worth_against_cost(frame: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the MCC of each monitor against its time for one instance, and against its memory.

    Parameters
    ----------
    frame
        Columns `monitor`, `time_us` (median), `nbytes` and `mcc`.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"monitor": "oob", "time_us": 12.0, "nbytes": 2048, "mcc": 0.4}
    >>> [axes.get_xlabel() for axes in worth_against_cost(pd.DataFrame([row])).axes]
    ['Time for one instance (median)', 'Memory of the fitted monitor']
    """
    kinds = (
        ("time_us", "Time for one instance (median)", _time),
        ("nbytes", "Memory of the fitted monitor", _memory),
    )
    shown, missing = defined(frame.reset_index(drop=True), "mcc")
    if not len(shown):
        return style.said("No MCC is defined here.", title=title)
    without = [
        [f"{name} ({words.split()[0].lower()})" for name in defined(shown, column)[1]]
        for column, words, _ in kinds
    ]
    missing += [name for names in without for name in names]
    size, gap, bottom = (4.1, 3.2), 0.7, 0.76 if missing else 0.52
    sheet = style.figure(2 * (gap + size[0]) + 0.2, bottom + size[1] + 0.3, title=title)
    mcc = shown["mcc"].to_numpy(dtype=float)
    low, high = min(float(mcc.min()), 0.0), max(float(mcc.max()), 0.1)
    for place, (column, words, written) in enumerate(kinds):
        axes = style.panel(sheet, gap + place * (gap + size[0]), bottom, *size)
        own, _ = defined(shown, column)
        at, marks = _magnitudes(own[column].to_numpy(dtype=float), written)
        axes.set(
            # Where only every second power has a tick, a point may lie beyond the last.
            xlim=(min(marks) - 0.15, max([*marks, *at]) + 0.15),
            ylim=(low - 0.05 * (high - low), high + 0.08 * (high - low)),
        )
        style.ticks(axes, x=marks, y=style.steps(*axes.get_ylim()))
        style.name_panel(axes, "", "better ↖", x=words, y="" if place else "MCC")
        draw_monitors(axes, own, at, own["mcc"].to_numpy(dtype=float), size)
    tell_missing(sheet, gap, missing)
    return sheet


def _magnitudes(values: Any, written: Any) -> tuple[Any, dict[float, str]]:
    """Return places on a scale of powers of ten, and its ticks; what costs nothing stands at its left end."""
    above = values[values > 0]
    low = math.floor(np.log10(above.min())) if above.size else 0
    high = max(math.ceil(np.log10(above.max())), low + 1) if above.size else 1
    every = 1 + (high - low) // 6
    marks = {float(power): written(10.0**power) for power in range(low, high + 1, every)}
    if (values <= 0).any():
        marks = {low - 1.0: "0"} | marks
    return np.log10(values, out=np.full(len(values), low - 1.0), where=values > 0), marks


def _time(us: float) -> str:
    for size, unit in ((1e6, "s"), (1e3, "ms"), (1.0, "µs")):
        if us >= size:
            return f"{us / size:g} {unit}"
    return f"{us * 1e3:g} ns"


def _memory(nbytes: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if nbytes >= size:
            return f"{nbytes / size:g} {unit}"
    return f"{nbytes:g} B"
