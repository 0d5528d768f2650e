"""The table that `farm stream` updates while it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.table import Table

from farm.measures.delays import Outcome
from farm.report.cells import DASH

if TYPE_CHECKING:
    from farm.judging.live import Watch, Watched
    from farm.measures import Measure

_BARS = "▁▂▃▄▅▆▇█"


def live_table(watch: Watch, window: int, width: int, rows: int | None = None, page: int = 0) -> Table:
    """Show what is known by now, a row a monitor. Numbers are whole: names are cut where there is no room.

    Parameters
    ----------
    width
        Of the terminal. Where it is too narrow there are no sparklines.
    rows, page
        How many monitors are shown at a time, and which of the pages this is, again from the first one after
        the last; None: all.
    """
    title = f"{watch.n:,} instances, {watch.n_ood:,} OOD, {watch.onsets:,} onsets; windows of {window:,}"
    every = list(watch.monitors.values())
    if rows is not None and len(every) > rows:
        pages = -(-len(every) // rows)
        first = page % pages * rows
        title += f"\nmonitors {first + 1} to {min(first + rows, len(every))} of {len(every)}"
        every = every[first : first + rows]
    lasting = any(w.by_alarm.delays != w.by_cancelling.delays for w in watch.monitors.values())
    shown = [column for column in LIVE if lasting or column is not _CANCELLED]
    texts = [[column.write(w, watch.quiet) for column in shown] for w in every if w.failure is None]
    sizes = [
        1 + max(map(cell_len, (*column.heading.split("\n"), *(row[i] for row in texts))))
        for i, column in enumerate(shown)
    ]
    if sum(sizes) + SHORTEST_NAME >= width:
        kept = [i for i, column in enumerate(shown) if column.heading]
        shown, sizes = [shown[i] for i in kept], [sizes[i] for i in kept]
        texts = [[row[i] for i in kept] for row in texts]
    room = max(width - sum(sizes) - 1, 1)
    table = Table(title=title, title_justify="left", box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("monitor", no_wrap=True, overflow="ellipsis", max_width=room)
    for column, size in zip(shown, sizes, strict=True):
        justify: Literal["left", "right"] = "right" if column.heading else "left"
        table.add_column(column.heading, justify=justify, no_wrap=True, min_width=size - 1)
    cells = iter(texts)
    for watched in every:
        told = ["failed"] if watched.failure is not None else next(cells)
        table.add_row(watched.name, *told)
    return table


@dataclass(frozen=True)
class LiveColumn:
    """A column of the live table; a sparkline has no heading."""

    heading: str
    write: Callable[[Watched, int], str]
    """From a monitor and the number of quiet instances."""


_CANCELLED = LiveColumn(
    "until\ncancelled", lambda w, _: _number(w.by_cancelling.delays.quantile(0.5), "{:g}")
)
LIVE = (
    LiveColumn("overall\nMCC", lambda w, _: _number(w.window.overall_mcc, "{:.2f}")),
    LiveColumn("", lambda w, _: sparkline(w.mcc_history, -1.0, 1.0)),
    LiveColumn("alarm\nrate", lambda w, _: _number(w.window.alarm_rate, "{:.3f}")),
    LiveColumn("", lambda w, _: sparkline(w.alarm_history, 0.0, 1.0)),
    LiveColumn("false\nper 1000", lambda w, quiet: _number(w.false_alarms_per_1000(quiet), "{:.1f}")),
    LiveColumn("found", lambda w, _: f"{w.by_alarm.delays[Outcome.FOUND]:,}"),
    LiveColumn("missed", lambda w, _: f"{w.by_alarm.delays.missed:,}"),
    LiveColumn("open", lambda w, _: f"{w.by_alarm.delays[Outcome.OPEN]:,}"),
    LiveColumn("no\ndelay", lambda w, _: f"{w.by_alarm.delays.without:,}"),
    LiveColumn("median\ndelay", lambda w, _: _number(w.by_alarm.delays.quantile(0.5), "{:g}")),
    _CANCELLED,
)
SHORTEST_NAME = 12
"""So much room a name has before sparklines are left out."""


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
