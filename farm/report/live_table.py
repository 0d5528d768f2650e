"""The table that `farm stream` updates while it runs."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rich.table import Table

from farm.live import Watch
from farm.measures.measure import Measure
from farm.report.cells import DASH

_BARS = "▁▂▃▄▅▆▇█"


def live_table(watch: Watch, window: int) -> Table:
    """Show what is known by now, a row a monitor."""
    title = f"{watch.n} instances, {watch.n_ood} OOD, {watch.onsets} onsets; windows of {window}"
    table = Table(title=title, title_justify="left", box=None, header_style="bold", padding=(0, 1, 0, 0))
    headings = ("monitor", "overall\nMCC", "", "alarm\nrate", "", "false alarms\nper 1000 ID", "noticed")
    for heading in (*headings, "missed", "median\ndelay"):
        table.add_column(heading, justify="left" if heading in ("monitor", "") else "right", no_wrap=True)
    for watched in watch.monitors.values():
        if watched.failure is not None:
            table.add_row(watched.name, "failed", *[""] * 7)
            continue
        table.add_row(
            watched.name,
            _number(watched.window.overall_mcc, "{:.2f}"),
            sparkline(watched.mcc_history, -1.0, 1.0),
            _number(watched.window.alarm_rate, "{:.3f}"),
            sparkline(watched.alarm_history, 0.0, 1.0),
            _number(watched.false_alarms_per_1000(watch.quiet), "{:.1f}"),
            str(watched.noticed),
            str(watched.missed),
            _number(watched.median_delay, "{:g}"),
        )
    return table


def sparkline(values: Iterable[float], low: float, high: float) -> str:
    """Draw numbers as a row of bars; what is undefined is a dot.

    Examples
    --------
    >>> sparkline([0.0, 0.5, 1.0, float("nan")], 0.0, 1.0)
    '▁▅█·'
    """
    steps = len(_BARS) - 1
    return "".join(
        "·" if math.isnan(v) else _BARS[round(steps * min(max((v - low) / (high - low), 0.0), 1.0))]
        for v in values
    )


def _number(measure: Measure, form: str) -> str:
    return form.format(measure.value) if measure.defined else DASH
