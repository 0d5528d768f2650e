"""What is seen of a campaign while it runs: bars in a terminal, plain lines elsewhere, on standard error."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from farm.campaign.course import Course
from farm.campaign.estimate import Estimate, in_words
from farm.campaign.jobs import News, Outcome
from farm.campaign.status import Running, State, Status

HEARTBEAT = 60.0
"""Seconds after which a plain line says that all is well, where nothing else was said meanwhile."""
WIDE = 110
"""From this width on a terminal has room for whole titles; below, bars are shorter and titles cut."""


class Board(ABC):
    """Shows a campaign, and follows its course. May be told things from several threads."""

    def __init__(self, console: Console) -> None:
        self._console, self._lock, self._noted = console, threading.RLock(), set[str]()
        self.course = Course(name="", total=0, done=0)
        """What is known by now."""

    def start(
        self,
        total: int,
        done: int,
        estimate: Estimate | None,
        *,
        name: str = "campaign",
        failed: int = 0,
        todo: Sequence[Mapping[str, Any]] = (),
        workers: int = 1,
        folder: str = "",
    ) -> None:
        """Begin; the parameters are those of `Course`."""
        self.course = Course(
            name=name,
            total=total,
            done=done,
            failed=failed,
            estimate=estimate,
            todo=todo,
            workers=workers,
            folder=folder,
        )
        self._started()

    def begin(self, cell: str, worker: str = "") -> None:
        """Say that a cell was taken up, and by whom."""
        with self._lock:
            self._changed(self.course.begin(cell, worker))

    def news(self, news: News) -> None:
        """Show what a cell does; of a note that many make, the first. Their logs have them all."""
        with self._lock:
            running = self.course.news(news)
            if (fact := news.note.removeprefix(f"{running.title}: ")) and fact not in self._noted:
                self._noted.add(fact)
                self.note(news.note)
            self._changed(running)

    def finished(self, outcome: Outcome, title: str) -> None:
        """Show what became of a cell."""
        with self._lock:
            failures = self.course.finished(outcome)
            self._ended(outcome, title)
            for why in failures:
                self._say(f"{self._place()} {title}: failed: {why}", style="red")

    def note(self, message: str) -> None:
        """Say one line that stays."""
        with self._lock:
            self._say(message, style="yellow")

    def status(self, state: State = "running") -> Status:
        """Give what is written for others to read."""
        return self.course.status(state)

    @abstractmethod
    def close(self) -> None:
        """Show nothing more."""

    def _place(self) -> str:
        return f"[{self.course.over}/{self.course.total}]"

    def _say(self, line: str, style: str = "") -> None:
        # Never folded: in a log, a line is what is searched for.
        self._console.print(Text(" ".join(line.split()), style=style), soft_wrap=True)

    @abstractmethod
    def _started(self) -> None:
        """Show the beginning."""

    @abstractmethod
    def _changed(self, running: Running) -> None:
        """Show that a cell is under way."""

    @abstractmethod
    def _ended(self, outcome: Outcome, title: str) -> None:
        """Show that a cell is not under way any more."""


class Bars(Board):
    """One bar for the campaign, and one for each cell that is being computed."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._cells: dict[str, TaskID] = {}
        wide = console.width >= WIDE
        self._width = 40 if wide else max(console.width - 54, 12)
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16 if wide else 8),
            MofNCompleteColumn(),
            TextColumn("{task.fields[doing]:<16}", markup=False),
            _Time(self),
            console=console,
        )

    def _started(self) -> None:
        course = self.course
        self._campaign = self._bars.add_task(
            self._short(course.name), total=course.total, completed=course.over, doing="cells"
        )
        self._bars.start()

    def _changed(self, running: Running) -> None:
        cell = running.cell
        if cell not in self._cells:
            self._cells[cell] = self._bars.add_task(
                self._short(running.title), total=None, doing="", cell=cell
            )
        self._bars.update(
            self._cells[cell],
            completed=running.at,
            total=running.total,
            doing=running.doing or "starting",
        )

    def _ended(self, outcome: Outcome, title: str) -> None:
        del title
        if (task := self._cells.pop(outcome.cell, None)) is not None:
            self._bars.remove_task(task)
        self._bars.update(self._campaign, completed=self.course.over)

    def _short(self, title: str) -> str:
        """Fill or cut a title to one width: bars that move to and fro cannot be read."""
        if len(title) <= self._width:
            return title.ljust(self._width)
        return "…" + title[1 - self._width :]  # what tells cells apart is at the end: fault, severity, seed

    def close(self) -> None:
        """Leave the campaign's bar, as it is now."""
        with self._lock:
            for task in self._cells.values():
                self._bars.remove_task(task)
            self._cells.clear()
            self._bars.stop()


class Lines(Board):
    """One line for each cell that is finished."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console)
        self._clock, self._said = clock, clock()

    def _started(self) -> None:
        course = self.course
        self._say(f"{course.name}: {course.done} of {course.total} cells are done{self._left()}")

    def _changed(self, running: Running) -> None:
        del running
        if self._clock() - self._said >= HEARTBEAT:
            doing = "; ".join(one.title for one in self.course.running)
            self._say(f"{self._place()} computing {doing}{self._left()}")

    def _ended(self, outcome: Outcome, title: str) -> None:
        if outcome.state == "done":
            self._say(f"{self._place()} {title}: done in {outcome.seconds:.1f} s{self._left()}")

    def close(self) -> None:
        """Have nothing to end."""

    def _left(self) -> str:
        left = self.course.seconds_left
        return "" if left is None or self.course.over == self.course.total else f" ({in_words(left)} left)"

    def _say(self, line: str, style: str = "") -> None:
        self._said = self._clock()
        super()._say(line, style)


class Quiet(Board):
    """Says what failed, and nothing else."""

    def note(self, message: str) -> None:
        """Say nothing."""

    def close(self) -> None:
        """Have nothing to end."""

    def _started(self) -> None:
        """Show nothing."""

    def _changed(self, running: Running) -> None:
        """Show nothing."""

    def _ended(self, outcome: Outcome, title: str) -> None:
        """Show nothing."""


def suitable_board(*, quiet: bool = False, console: Console | None = None) -> Board:
    """Give the board that suits where standard error goes."""
    console = console or Console(stderr=True)
    if quiet:
        return Quiet(console)
    return Bars(console) if console.is_terminal else Lines(console)


class _Time(ProgressColumn):
    """Of the campaign the time left; of a cell the time it took until now."""

    def __init__(self, board: Board) -> None:
        super().__init__(Column(no_wrap=True))
        self._board = board

    def render(self, task: Task) -> Text:
        """Give it as text; called by a thread that draws."""
        course = self._board.course
        if "cell" in task.fields:
            return Text(f"{task.elapsed or 0:.0f} s", style="progress.elapsed")
        if course.over == course.total:
            return Text()
        left = course.seconds_left
        told = "time left not known yet" if left is None else f"{in_words(left)} left"
        return Text(told, style="progress.remaining")
