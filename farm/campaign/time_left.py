"""How long a campaign still takes, told while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from statistics import median

OVERRUN = 0.1
"""A cell that took longer than cells like it do is taken to need this share of its time again."""


class TimeLeft:
    """Learns from the cells that are finished how long the others take.

    A cell is taken to need the median of its group, so that a first one that had to train a classifier says
    little of the others; where none of its group is finished, the median of all.

    Parameters
    ----------
    groups
        The cells that are to be computed, by their ids, and what they have in common with others: the same
        workload and classifier.
    workers
        How many are computed at the same time, until it is seen how many really are.
    guess
        Seconds for all of them, from earlier ones, which counts until the first one is finished.
    clock
        What gives the time in seconds.

    Examples
    --------
    >>> now = [0.0]
    >>> left = TimeLeft({"a": "signs", "b": "signs", "c": "signs"}, clock=lambda: now[0])
    >>> left.begin("a"); now[0] = 4.0; left.finish("a", 4.0)
    >>> left.seconds()
    8.0
    """

    def __init__(
        self,
        groups: Mapping[str, Hashable],
        workers: int = 1,
        guess: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._waiting = dict(groups)
        self._under_way: dict[str, tuple[Hashable, float]] = {}
        self._took: dict[Hashable, list[float]] = {}
        self._workers, self._clock = max(workers, 1), clock
        self._at_once = 0
        self._guess = None if guess is None or not groups else guess * self._workers / len(groups)

    def begin(self, cell: str) -> None:
        """Say that a cell is being computed; a second time says nothing new."""
        if cell in self._under_way:
            return
        self._under_way[cell] = (self._waiting.pop(cell, None), self._clock())
        self._at_once = len(self._under_way)

    def finish(self, cell: str, seconds: float, *, done: bool = True) -> None:
        """Say that a cell ended; one that failed tells nothing of how long others take."""
        # Its worker takes up another one at once: until then it counts as one that runs.
        self._at_once = len(self._under_way)
        if cell in self._under_way:
            group, begun = self._under_way.pop(cell)
            seconds = max(seconds, self._clock() - begun)
        else:
            group = self._waiting.pop(cell, None)
        if done:
            self._took.setdefault(group, []).append(seconds)

    def took(self, cell: str) -> float:
        """Tell for how long a cell has been under way."""
        return self._clock() - self._under_way[cell][1] if cell in self._under_way else 0.0

    def seconds(self) -> float | None:
        """Give the time left; None before anything is known."""
        if not self._waiting and not self._under_way:
            return 0.0
        units = {group: median(own) for group, own in self._took.items()}
        overall = median([t for own in self._took.values() for t in own]) if self._took else self._guess
        if overall is None:
            return None
        now = self._clock()
        # What overruns ends sometime; nobody knows when, but hardly now.
        under_way = [
            max(units.get(group, overall) - (now - begun), OVERRUN * (now - begun))
            for group, begun in self._under_way.values()
        ]
        work = sum(under_way) + sum(units.get(group, overall) for group in self._waiting.values())
        at_once = max(len(self._under_way), self._at_once) or self._workers
        return max(work / at_once, *under_way, 0.0)
