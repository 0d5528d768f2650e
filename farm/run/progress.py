"""Progress for people: bars in a terminal, plain lines elsewhere. Always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from farm.api import Progress, Silent

T = TypeVar("T")


@contextmanager
def shown_progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Return the progress that suits where standard error goes."""
    console = Console(stderr=True, file=sys.stderr)  # never what rich puts before it while bars are drawn
    if quiet:
        yield Silent()
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description:<26}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with RichProgress(*columns, console=console) as bars:
            yield _Bars(bars)
    else:
        yield _Lines()


class _Bars:
    def __init__(self, bars: RichProgress) -> None:
        self._bars = bars

    def track(self, items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
        yield from self._bars.track(items, total=_total(items, total), description=description)

    def note(self, message: str) -> None:
        self._bars.console.print(message, style="yellow", highlight=False, markup=False, emoji=False)


class _Lines:
    def track(self, items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
        started, count = time.perf_counter(), _total(items, total)
        _say(f"{description} ({count} steps) ..." if count is not None else f"{description} ...")
        yield from items
        _say(f"{description} done in {time.perf_counter() - started:.1f} s")

    def note(self, message: str) -> None:
        _say(message)


def _total(items: Iterable[T], total: int | None) -> int | None:
    if total is not None:
        return total
    return len(items) if isinstance(items, Sized) else None


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
