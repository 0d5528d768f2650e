"""How far a campaign is while it runs: what is done, what is under way, what failed, and what is left.

How long the rest takes, and how much disk, is told as its finished cells did.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from statistics import median
from typing import Any, Literal, Self

from farm.campaign.jobs import News, Outcome
from farm.store.amounts import in_words

SCHEMA = 1
REASONS_SHOWN = 5
OVERRUN = 0.1
"""A cell that takes longer than the median is taken to need this share of its time again."""

Features = Mapping[str, Any]
"""Of a cell, its `workload` and `classifier` by name; of a finished one also its `seconds` and `nbytes`."""

State = Literal["running", "finished", "stopped", "interrupted"]
"""`finished`: no cell is left that has not failed. `interrupted`: somebody ended it. `stopped`: it is not at
work, and nobody said why."""


@dataclass(frozen=True)
class Running:
    """A cell that is being computed."""

    cell: str
    title: str
    doing: str = ""
    at: int = 0
    total: int | None = None
    seconds: float = 0.0
    """For how long."""


@dataclass(frozen=True)
class Status:
    """What there is to tell of a campaign at one moment; `failed` are cells, beside those `done`."""

    name: str
    state: State
    total: int
    done: int
    failed: int = 0
    failed_monitors: int = 0
    """In cells that are done."""
    reasons: tuple[str, ...] = ()
    """Why the first of them failed."""
    running: tuple[Running, ...] = ()
    started: float | None = None
    """When it was started, in seconds since 1970; None where it is not running."""
    seconds_left: float | None = None
    workers: int = 0
    folder: str = ""

    @property
    def over(self) -> int:
        """How many cells there is nothing more to do about."""
        return self.done + self.failed

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Make it again."""
        from pydantic import TypeAdapter  # not before: who only counts needs none

        return TypeAdapter(cls).validate_python({n: value for n, value in values.items() if n != "schema"})


class CampaignProgress:
    """Counts cells, and returns the status of any moment. Several threads may use it.

    Parameters
    ----------
    known
        What is known at the beginning, when there is nothing under way.
    todo
        The cells to be computed: each with its `id` and `title`, its `workload` and `classifier`.
    finished
        What those that were done before took; see `Estimator`.
    """

    def __init__(
        self,
        known: Status,
        todo: Iterable[Mapping[str, Any]] = (),
        finished: Iterable[Features] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._counted = replace(known, started=time.time())
        self._lock, self._clock = threading.RLock(), clock
        self._cells = {cell["id"]: cell for cell in todo}
        self._waiting = dict(self._cells)
        self._running: dict[str, tuple[Running, float]] = {}
        self._at_once = 0
        self._estimator = Estimator(finished)

    def begin(self, cell: str) -> Running:
        """Note that a cell was taken up; where its worker died, by another one."""
        with self._lock:
            self._waiting.pop(cell, None)
            new = Running(cell, str(self._cells.get(cell, {}).get("title", cell)))
            running, _ = self._running.setdefault(cell, (new, self._clock()))
            self._at_once = len(self._running)
            return running

    def news(self, news: News) -> Running:
        """Note what a cell does; return all that it does now."""
        with self._lock:
            running = self.begin(news.cell)
            if not news.note:
                running = replace(running, doing=news.doing, at=news.at, total=news.total)
                self._running[news.cell] = running, self._running[news.cell][1]
            return running

    def finish(self, outcome: Outcome) -> list[str]:
        """Note what became of a cell; return why it failed, or its monitors did."""
        done = outcome.state == "done"
        reasons = [*([] if done else [outcome.reason or outcome.state]), *outcome.failures.values()]
        with self._lock:
            self._at_once = len(self._running)  # its worker takes up another cell at once
            self._waiting.pop(outcome.cell, None)
            now = self._clock()
            _, begun = self._running.pop(outcome.cell, (None, now))
            cell = self._cells.get(outcome.cell, {})
            if done:
                seconds = max(outcome.seconds, now - begun)
                self._estimator.add({**cell, "seconds": seconds, "nbytes": outcome.nbytes})
            was = self._counted
            told = [f"{cell.get('title', outcome.cell)}: {why}" for why in reasons]
            self._counted = replace(
                was,
                done=was.done + done,
                failed=was.failed + (not done),
                failed_monitors=was.failed_monitors + (len(outcome.failures) if done else 0),
                reasons=(*was.reasons, *told)[:REASONS_SHOWN],
            )
        return reasons

    def status(self, state: State = "running") -> Status:
        """Return the status of now; the time left is None where nothing is finished yet."""
        with self._lock:
            now = self._clock()
            running = [replace(one, seconds=now - begun) for one, begun in self._running.values()]
            under_way = [(self._cells.get(one.cell, {}), one.seconds) for one in running]
            at_once = max(len(under_way), self._at_once) or self._counted.workers
            left = self._estimator.seconds(self._waiting.values(), under_way, at_once)
            return replace(self._counted, state=state, running=tuple(running), seconds_left=left)


class Estimator:
    """Estimates a cell by the median of the finished ones with its workload and classifier, or else of all.

    A first cell that had to train a classifier so says little of the others.

    Examples
    --------
    >>> cell = {"workload": "signs", "classifier": "lenet"}
    >>> estimator = Estimator([{**cell, "seconds": seconds} for seconds in (60, 4, 5)])
    >>> estimator.seconds([cell] * 10, workers=2)
    25.0
    """

    def __init__(self, finished: Iterable[Features] = ()) -> None:
        self._finished = list(finished)

    def add(self, cell: Features) -> None:
        """Learn what a finished cell took."""
        self._finished.append(cell)

    @property
    def basis(self) -> str:
        """What an estimate is from, for people."""
        n = len(self._finished)
        if not n:
            return "no cell is finished yet: the first cells will tell"
        return f"as {n} finished cell{'' if n == 1 else 's'} did"

    def seconds(
        self, waiting: Iterable[Features], under_way: Iterable[tuple[Features, float]] = (), workers: int = 1
    ) -> float | None:
        """Return the time left; None where nothing is finished.

        Parameters
        ----------
        waiting
            The cells that nobody has begun.
        under_way
            Those that are being computed, and for how many seconds.
        workers
            How many are computed at the same time.
        """
        waiting, under_way = list(waiting), list(under_way)
        if not waiting and not under_way:
            return 0.0
        if (typical := self._typical("seconds")) is None:
            return None
        # What overruns ends sometime; nobody knows when, but hardly now.
        left = [max(typical(cell) - spent, OVERRUN * spent) for cell, spent in under_way]
        left += [typical(cell) for cell in waiting]
        # The last cell ends no earlier than the longest does, however many workers there are.
        return max(sum(left) / max(workers, 1), *left)

    def nbytes(self, waiting: Sequence[Features]) -> int | None:
        """Return the disk that cells will take; None where nothing is known of any."""
        typical = self._typical("nbytes")
        return None if typical is None else round(sum(map(typical, waiting)))

    def _typical(self, what: str) -> Callable[[Features], float] | None:
        amounts: dict[Hashable, list[float]] = defaultdict(list)
        for cell in self._finished:
            if cell.get(what) is not None:
                amounts[_kind(cell)].append(cell[what])
        if not amounts:
            return None
        overall = median(chain.from_iterable(amounts.values()))
        medians = {kind: median(own) for kind, own in amounts.items()}
        return lambda cell: float(medians.get(_kind(cell), overall))


def time_left(seconds: float | None) -> str:
    """Say how much time is left, as far as it is known."""
    return "time left not known yet" if seconds is None else f"{in_words(seconds)} left"


def _kind(cell: Features) -> Hashable:
    return cell.get("workload"), cell.get("classifier")
