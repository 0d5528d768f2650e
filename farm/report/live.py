"""The tables that `farm stream` updates while it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from farm.judging.live_bounds import LEVEL, REFERENCE
from farm.measures.delays import Outcome
from farm.report.cells import DASH, interval
from farm.report.terminal import Paragraph, printed
from farm.statistics.wording import counted, listed, one_in_words

if TYPE_CHECKING:
    from farm.judging.live import Watch, Watched
    from farm.judging.live_bounds import LiveShare
    from farm.measures import Measure

_BARS = "▁▂▃▄▅▆▇█"
MONITOR = "monitor"
HEADING = 9
"""So many lines of a table show no monitor."""


def live_tables(
    watch: Watch, window: int, width: int, height: int | None = None, page: int = 0
) -> RenderableType:
    """Show what is known by now and, below, what holds at all times together, a row a monitor.

    Parameters
    ----------
    width, height
        Of the terminal. Where there are fewer lines than both tables have, pages take turns; None: there are
        enough.
    page
        Which of the pages is shown, again from the first one after the last.
    """
    watch.evidence.take()
    every = list(watch.monitors.values())
    tables: Sequence[Callable[[Watch, int, Sequence[Watched]], RenderableType]] = (
        partial(_now, window),
        _at_all_times,
    )
    known, lasting = (table(watch, width, every) for table in tables)
    whole = Group(known, Text(), lasting)
    if height is None or printed(whole, width=width).count("\n") <= height:
        return whole
    rows = max(height - HEADING, 1)
    pages = [(table, first) for table in tables for first in range(0, len(every), rows)]
    table, first = pages[page % len(pages)]
    shown = every[first : first + rows]
    told = f"page {page % len(pages) + 1} of {len(pages)}"
    if len(shown) < len(every):
        told += f": monitors {first + 1} to {first + len(shown)} of {len(every)}"
    return Group(Text(told), table(watch, width, shown))


def _now(window: int, watch: Watch, width: int, monitors: Sequence[Watched]) -> RenderableType:
    """Show what is known by now."""
    counts = counted(watch.n, "instance"), f"{watch.n_ood:,} OOD", counted(watch.onsets, "onset")
    lasting = any(w.by_alarm.delays != w.by_cancelling.delays for w in watch.monitors.values())
    columns = [column for column in LIVE if lasting or column is not _CANCELLED]
    return _table(f"{', '.join(counts)}; windows of {window:,}", columns, watch, width, monitors)


def _at_all_times(watch: Watch, width: int, monitors: Sequence[Watched]) -> RenderableType:
    """Show what holds whoever looks when."""
    visits = f"a track's instances in a row counted together, {watch.longest:,} at most"
    taken = "instances counted one by one" if watch.longest == 1 else visits
    told = f"at all times together: bounds of {100 * LEVEL:g} % each, {taken}"
    if watch.evidence.has_reference:
        told += (
            "; evidence 1 in N: the chance of ever seeing as much, were scores like those of the first "
            f"{REFERENCE} quiet visits"
        )
        if any(w.name not in watch.evidence.growth for w in monitors):
            told += "; yardsticks give none"
    else:
        told += f"; evidence from {REFERENCE} quiet visits on"
    return _table(told, ANYTIME, watch, width, monitors)


def _table(
    title: str, columns: Sequence[LiveColumn], watch: Watch, width: int, monitors: Sequence[Watched]
) -> RenderableType:
    """Make a table in which numbers are whole; where there is no room, names are cut, then columns go."""
    sound = [w for w in monitors if w.failure is None]
    shown = [_Written.of(column, sound, watch) for column in columns]
    longest = max(map(cell_len, (MONITOR, *(w.name for w in monitors))))
    gone: list[str] = []
    while len(shown) > 1:
        last = max(range(len(shown)), key=lambda place: (shown[place].column.spare, place))
        spare = shown[last].column.spare
        if sum(each.size for each in shown) + min(longest, SHORTEST_NAME[spare]) < width:
            break
        gone += [shown.pop(last).column.heading.replace("\n", " ")]
    if left_out := [heading for heading in gone[::-1] if heading]:
        title += f"; too narrow for {listed(left_out)}"
    if any("moved" in each.cells for each in shown):
        title += "; moved: no single value goes with all that came"
    room = max(width - sum(each.size for each in shown) - 1, 1)
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column(MONITOR, no_wrap=True, overflow="ellipsis", max_width=room)
    for each in shown:
        heading = each.column.heading
        justify: Literal["left", "right"] = "right" if heading else "left"
        table.add_column(heading, justify=justify, no_wrap=True, min_width=each.size - 1)
    cells = zip(*(each.cells for each in shown), strict=True)
    for watched in monitors:
        told = ["failed"] if watched.failure is not None else next(cells)
        table.add_row(watched.name, *told)
    return Group(Paragraph(title, "italic"), table)


def last_words(watch: Watch) -> Iterator[str]:
    """Say at the end whether the stream moved away from how it began, and what peeking would have said."""
    evidence = watch.evidence
    evidence.take()
    if not evidence.has_reference:
        visits = counted(evidence.n_reference, "quiet visit")
        yield (
            f"Whether scores moved is not told after {visits}: it takes the first {REFERENCE} to hold others "
            "against."
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
    spare: int = 0
    """The higher, the sooner it goes where there is no room."""


@dataclass(frozen=True)
class _Written:
    """A column with its texts, and how much room it takes."""

    column: LiveColumn
    cells: Sequence[str]
    size: int

    @classmethod
    def of(cls, column: LiveColumn, monitors: Sequence[Watched], watch: Watch) -> _Written:
        cells = [column.write(watched, watch) for watched in monitors]
        return cls(column, cells, 1 + max(map(cell_len, (*column.heading.split("\n"), *cells))))


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
    asked = evidence.has_reference and watched.name in evidence.growth
    return one_in_words(evidence.growth[watched.name].log_e) if asked else DASH


_CANCELLED = LiveColumn(
    "until\ncancelled", lambda w, _: _number(w.by_cancelling.delays.quantile(0.5), "{:,.0f}")
)
LIVE = (
    LiveColumn("overall\nMCC", lambda w, _: _number(w.window.overall_mcc, "{:.2f}")),
    LiveColumn("", lambda w, _: sparkline(w.mcc_history, -1.0, 1.0), spare=2),
    LiveColumn("alarm\nrate", lambda w, _: _number(w.window.alarm_rate, "{:.3f}")),
    LiveColumn("", lambda w, _: sparkline(w.alarm_history, 0.0, 1.0), spare=2),
    LiveColumn("false\nper 1000", lambda w, watch: _number(w.false_alarms_per_1000(watch.quiet), "{:.1f}")),
    LiveColumn("found", lambda w, _: f"{w.by_alarm.delays[Outcome.FOUND]:,}"),
    LiveColumn("missed", lambda w, _: f"{w.by_alarm.delays.missed:,}"),
    LiveColumn("open", lambda w, _: f"{w.by_alarm.delays[Outcome.OPEN]:,}", spare=1),
    LiveColumn("no\ndelay", lambda w, _: f"{w.by_alarm.delays.without:,}", spare=1),
    LiveColumn("median\ndelay", lambda w, _: _number(w.by_alarm.delays.quantile(0.5), "{:,.0f}")),
    _CANCELLED,
)
ANYTIME = (
    LiveColumn("false\nalarms %", lambda w, _: _bounds(w.false_alarm_rate)),
    LiveColumn("risk if\naccepted %", lambda w, _: _bounds(w.risk)),
    LiveColumn("coverage\n%", lambda w, _: _bounds(w.coverage)),
    LiveColumn("evidence\nof change", _evidence),
)
SHORTEST_NAME = (8, 8, 12)
"""So much room a name has before columns go that are spare as little or as much as this."""


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
