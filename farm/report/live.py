"""The table that `farm stream` updates while it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.table import Table

from farm.judging.live_bounds import REFERENCE
from farm.measures.delays import Outcome
from farm.report.cells import DASH, interval
from farm.statistics.wording import listed, one_in_words

if TYPE_CHECKING:
    from farm.judging.live import Watch, Watched
    from farm.judging.live_bounds import LiveShare
    from farm.measures import Measure

_BARS = "▁▂▃▄▅▆▇█"


def live_table(watch: Watch, window: int, width: int, rows: int | None = None, page: int = 0) -> Table:
    """Show what is known by now, a row a monitor. Numbers are whole: names are cut where there is no room.

    Parameters
    ----------
    width
        Of the terminal. What holds at all moments is shown where there is room beside whole names; where it
        is too narrow there are no sparklines either.
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
    watch.evidence.take()
    lasting = any(w.by_alarm.delays != w.by_cancelling.delays for w in watch.monitors.values())
    sound = [w for w in every if w.failure is None]
    shown = [_Written.of(column, sound, watch) for column in LIVE if lasting or column is not _CANCELLED]
    free = width - sum(each.size for each in shown) - 1 - max((cell_len(w.name) for w in every), default=0)
    for column in ANYTIME:
        more = _Written.of(column, sound, watch)
        if more.size > free:
            break
        shown, free = [*shown, more], free - more.size
        title += "" if column.legend is None else f"\n{column.legend}"
    if sum(each.size for each in shown) + SHORTEST_NAME >= width:
        shown = [each for each in shown if each.heading]
    room = max(width - sum(each.size for each in shown) - 1, 1)
    table = Table(title=title, title_justify="left", box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("monitor", no_wrap=True, overflow="ellipsis", max_width=room)
    for each in shown:
        justify: Literal["left", "right"] = "right" if each.heading else "left"
        table.add_column(each.heading, justify=justify, no_wrap=True, min_width=each.size - 1)
    cells = zip(*(each.cells for each in shown), strict=True)
    for watched in every:
        told = ["failed"] if watched.failure is not None else next(cells)
        table.add_row(watched.name, *told)
    return table


def last_words(watch: Watch) -> Iterator[str]:
    """Say at the end whether the stream moved away from how it began, and what peeking would have said."""
    evidence = watch.evidence
    evidence.take()
    if not evidence.has_reference:
        yield (
            f"Whether scores moved is not told: {evidence.n_reference} visits of tracks were quiet, and it "
            f"takes the first {REFERENCE} to hold others against."
        )
        return
    names = listed(list(evidence.growth)) + (" together" if len(evidence.growth) > 1 else "")
    yield (
        f"{names}: evidence that scores are no longer like those of the first {REFERENCE} quiet visits "
        f"{evidence.together.words('instance', watch.n)}."
    )
    found = [(test.at, name) for name, test in evidence.peeking.items() if test.at is not None]
    if found:
        at, name = min(found)
        told = f"would have found that of {name} above what it was in these at instance {at:,}"
    else:
        told = "would have found none above what it was in these"
    yield f"Peeking: a test of alarm rates for a fixed number, repeated after each instance, {told}."


@dataclass(frozen=True)
class LiveColumn:
    """A column of the live table; a sparkline has no heading."""

    heading: str
    write: Callable[[Watched, Watch], str]
    legend: str | None = None
    """What the title says of it."""


@dataclass(frozen=True)
class _Written:
    """A column with its texts, and how much room it takes."""

    heading: str
    cells: Sequence[str]
    size: int

    @classmethod
    def of(cls, column: LiveColumn, monitors: Sequence[Watched], watch: Watch) -> _Written:
        cells = [column.write(watched, watch) for watched in monitors]
        return cls(column.heading, cells, 1 + max(map(cell_len, (*column.heading.split("\n"), *cells))))


def _bounds(share: LiveShare) -> str:
    """Write between what a share is, in per cent."""
    found = share.share
    if not found.value.defined:
        return DASH
    if not found.low.defined:
        return "moved"
    return interval(100 * found.low.value, 100 * found.high.value, 1)


def _evidence(watched: Watched, watch: Watch) -> str:
    evidence = watch.evidence
    return one_in_words(evidence.growth[watched.name].log_e) if evidence.has_reference else DASH


_CANCELLED = LiveColumn(
    "until\ncancelled", lambda w, _: _number(w.by_cancelling.delays.quantile(0.5), "{:g}")
)
LIVE = (
    LiveColumn("overall\nMCC", lambda w, _: _number(w.window.overall_mcc, "{:.2f}")),
    LiveColumn("", lambda w, _: sparkline(w.mcc_history, -1.0, 1.0)),
    LiveColumn("alarm\nrate", lambda w, _: _number(w.window.alarm_rate, "{:.3f}")),
    LiveColumn("", lambda w, _: sparkline(w.alarm_history, 0.0, 1.0)),
    LiveColumn("false\nper 1000", lambda w, watch: _number(w.false_alarms_per_1000(watch.quiet), "{:.1f}")),
    LiveColumn("found", lambda w, _: f"{w.by_alarm.delays[Outcome.FOUND]:,}"),
    LiveColumn("missed", lambda w, _: f"{w.by_alarm.delays.missed:,}"),
    LiveColumn("open", lambda w, _: f"{w.by_alarm.delays[Outcome.OPEN]:,}"),
    LiveColumn("no\ndelay", lambda w, _: f"{w.by_alarm.delays.without:,}"),
    LiveColumn("median\ndelay", lambda w, _: _number(w.by_alarm.delays.quantile(0.5), "{:g}")),
    _CANCELLED,
)
ANYTIME = (
    LiveColumn(
        "evidence\nof change",
        _evidence,
        f"evidence 1 in N: the chance of ever seeing as much, were scores like those of the first {REFERENCE}"
        " quiet visits",
    ),
    LiveColumn(
        "false\nalarms %",
        lambda w, _: _bounds(w.false_alarm_rate),
        "false alarms, risk, coverage: 95 % bounds at all moments together, each visit of a track one value",
    ),
    LiveColumn("risk if\naccepted %", lambda w, _: _bounds(w.risk)),
    LiveColumn("coverage\n%", lambda w, _: _bounds(w.coverage)),
)
"""What holds whoever looks when, in the order in which there is to be room for it."""
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
