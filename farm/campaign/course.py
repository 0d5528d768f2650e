"""Follows a campaign while it runs: what is done, what is under way, what failed, what is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from farm.campaign.estimate import Estimate
from farm.campaign.jobs import News, Outcome
from farm.campaign.status import REASONS_SHOWN, Running, State, Status
from farm.campaign.time_left import TimeLeft


class Course:
    """Counts, and gives the status of any moment. May be told and asked from several threads.

    Parameters
    ----------
    name
        The campaign's.
    total, done, failed
        How many cells it has, and how many of them were done, and had failed, before.
    estimate
        What was thought beforehand of the time that is left.
    todo
        The cells to be computed: each with its `id` and `title`, its `workload` and `classifier`.
    workers
        How many are computed at the same time.
    folder
        The campaign's.
    """

    def __init__(
        self,
        *,
        name: str,
        total: int,
        done: int,
        failed: int = 0,
        estimate: Estimate | None = None,
        todo: Sequence[Mapping[str, Any]] = (),
        workers: int = 1,
        folder: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.total, self.done, self.failed = name, total, done, failed
        self._lock = threading.RLock()
        self._reasons: list[str] = []
        self._titles = {cell["id"]: str(cell["title"]) for cell in todo}
        groups = {cell["id"]: (cell.get("workload"), cell.get("classifier")) for cell in todo}
        self._left = TimeLeft(groups, workers, estimate.seconds if estimate else None, clock)
        self._running: dict[str, Running] = {}
        self._failed_monitors = 0
        self._started, self._workers, self._folder = time.time(), workers, folder

    @property
    def over(self) -> int:
        """How many cells there is nothing more to do about."""
        return self.done + self.failed

    @property
    def running(self) -> list[Running]:
        """What is under way now."""
        with self._lock:
            return [replace(one, seconds=self._left.took(cell)) for cell, one in self._running.items()]

    @property
    def seconds_left(self) -> float | None:
        """The time left; None where nothing is known."""
        with self._lock:
            return self._left.seconds()

    def begin(self, cell: str, worker: str = "") -> Running:
        """Say that a cell was taken up; where its worker died, by another one."""
        with self._lock:
            self._left.begin(cell)
            known = self._running.get(cell, Running(cell, self._titles.get(cell, cell)))
            self._running[cell] = replace(known, worker=worker or known.worker)
            return self._running[cell]

    def news(self, news: News) -> Running:
        """Take down what a cell does; give all that it does now."""
        with self._lock:
            known = self.begin(news.cell)
            if not news.note:
                self._running[news.cell] = replace(known, doing=news.doing, at=news.at, total=news.total)
            return self._running[news.cell]

    def finished(self, outcome: Outcome) -> list[str]:
        """Take down what became of a cell; give what failed in it."""
        done = outcome.state == "done"
        told = [*([] if done else [outcome.reason or outcome.state]), *outcome.failures.values()]
        with self._lock:
            self._left.finish(outcome.cell, outcome.seconds, done=done)
            self._running.pop(outcome.cell, None)
            self.done += done
            self.failed += not done
            self._failed_monitors += len(outcome.failures) if done else 0
            room = max(REASONS_SHOWN - len(self._reasons), 0)
            title = self._titles.get(outcome.cell, outcome.cell)
            self._reasons += [f"{title}: {why}" for why in told[:room]]
        return told

    def status(self, state: State = "running") -> Status:
        """Give the status of now."""
        with self._lock:
            return Status(
                name=self.name,
                state=state,
                total=self.total,
                done=self.done,
                failed=self.failed,
                failed_monitors=self._failed_monitors,
                reasons=tuple(self._reasons),
                running=tuple(self.running),
                started=self._started,
                seconds_left=self.seconds_left,
                workers=self._workers,
                folder=self._folder,
            )
