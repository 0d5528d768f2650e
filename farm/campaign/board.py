"""What is shown of a campaign while it runs: bars in a terminal, plain lines elsewhere, on standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from farm.campaign.jobs import News, Outcome
from farm.campaign.progress import CampaignProgress, Running, Status, time_left

HEARTBEAT = 60.0
"""Seconds after which a plain line says that all is well, where nothing else was said meanwhile."""
WIDE = 120
"""From this width on a terminal has room for whole titles; below, bars are shorter and titles cut."""


class Board:
    """Shows what failed, and nothing else. Several threads may use it."""

    quiet = True

    def __init__(self, console: Console) -> None:
        self._console, self._lock, self._noted = console, threading.RLock(), set[str]()
        self.progress = CampaignProgress(Status("campaign", "running", 0, 0))
        """What is known by now."""

    def start(self, progress: CampaignProgress) -> None:
        """Begin to show a campaign."""
        self.progress = progress

    def news(self, news: News) -> None:
        """Show what a cell does; of a note that many make, the first. Their logs have them all."""
        with self._lock:
            running = self.progress.news(news)
            if (fact := news.note.removeprefix(f"{running.title}: ")) and fact not in self._noted:
                self._noted.add(fact)
                self.note(news.note)
            self._show(running)

    def finish(self, outcome: Outcome, title: str) -> None:
        """Show what became of a cell."""
        with self._lock:
            reasons = self.progress.finish(outcome)
            self._remove(outcome, title)
            for why in reasons:
                self._print(f"{self._place()} {title}: failed: {why}", style="red")

    def note(self, message: str) -> None:
        """Say one line that stays, where more than failures is shown."""
        if not self.quiet:
            with self._lock:
                self._print(message, style="yellow")

    def close(self) -> None:
        """Show nothing more."""

    def _show(self, running: Running) -> None:
        """Show what a cell does now."""

    def _remove(self, outcome: Outcome, title: str) -> None:
        """Show that a cell is not under way any more."""

    def _place(self) -> str:
        now = self.progress.status()
        return f"[{now.over}/{now.total}]"

    def _print(self, line: str, style: str = "") -> None:
        # Never folded: in a log, a line is what is searched for.
        self._console.print(Text(" ".join(line.split()), style=style), soft_wrap=True)


class Lines(Board):
    """One line for each cell that is finished."""

    quiet = False

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console)
        self._clock, self._printed = clock, clock()

    def start(self, progress: CampaignProgress) -> None:
        """Say what is there already."""
        super().start(progress)
        now = progress.status()
        self._print(f"{now.name}: {now.done} of {now.total} cells are done{self._left()}")

    def _show(self, running: Running) -> None:
        del running
        if self._clock() - self._printed >= HEARTBEAT:
            titles = "; ".join(one.title for one in self.progress.status().running)
            self._print(f"{self._place()} computing {titles}{self._left()}")

    def _remove(self, outcome: Outcome, title: str) -> None:
        if outcome.state == "done":
            self._print(f"{self._place()} {title}: done in {outcome.seconds:.1f} s{self._left()}")

    def _left(self) -> str:
        now = self.progress.status()
        unknown = now.seconds_left is None or now.over == now.total
        return "" if unknown else f" ({time_left(now.seconds_left)})"

    def _print(self, line: str, style: str = "") -> None:
        self._printed = self._clock()
        super()._print(line, style)


class Bars(Board):
    """One bar for the campaign, and one for each cell that is being computed; lines stay above them."""

    quiet = False

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._cells: dict[str, TaskID] = {}
        wide = console.width >= WIDE
        self._width = 40 if wide else max(console.width - 54, 12)
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16 if wide else 8),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[doing]}", markup=False, style="progress.remaining"),
            console=console,
        )

    def start(self, progress: CampaignProgress) -> None:
        """Draw the campaign's bar."""
        super().start(progress)
        now = progress.status()
        self._campaign = self._bars.add_task(self._fit(now.name), total=now.total, doing="")
        self._draw_campaign()
        self._bars.start()

    def close(self) -> None:
        """Leave the campaign's bar, as it is now."""
        with self._lock:
            for task in self._cells.values():
                self._bars.remove_task(task)
            self._cells.clear()
            self._bars.stop()

    def _show(self, running: Running) -> None:
        if running.cell not in self._cells:
            self._cells[running.cell] = self._bars.add_task(self._fit(running.title), total=None, doing="")
        self._bars.update(
            self._cells[running.cell],
            completed=running.at,
            total=running.total,
            doing=running.doing or "starting",
        )
        self._draw_campaign()

    def _remove(self, outcome: Outcome, title: str) -> None:
        del title
        if (task := self._cells.pop(outcome.cell, None)) is not None:
            self._bars.remove_task(task)
        self._draw_campaign()

    def _draw_campaign(self) -> None:
        now = self.progress.status()
        left = "" if now.over == now.total else time_left(now.seconds_left)
        self._bars.update(self._campaign, completed=now.over, doing=left)

    def _fit(self, title: str) -> str:
        """Return a title of one width: bars that move to and fro cannot be read."""
        if len(title) <= self._width:
            return title.ljust(self._width)
        return "…" + title[1 - self._width :]  # what tells cells apart is at the end: fault, severity, seed


def suitable_board(*, quiet: bool = False, console: Console | None = None) -> Board:
    """Return the board that suits where standard error goes."""
    console = console or Console(stderr=True, file=sys.stderr)
    if quiet:
        return Board(console)
    return Bars(console) if console.is_terminal else Lines(console)
