"""A scene in time: which object passes at each instant, and which faults act upon what the camera sees."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from farm.api import HELD, Schedule, Stretch, generator, uniform_by_id
from farm.run.objects import View, passing
from farm.run.rows import Rows
from farm.run.sources import Sources

REMEMBERED = 64
"""So many instants back a camera can lag; what it showed last is remembered beside."""


class Acting(NamedTuple):
    """A fault that acts upon an instance."""

    number: int
    intensity: float
    coming: int
    """A number of the time for which it acts."""
    interval: int


class Instant(NamedTuple):
    """One instance of the scene."""

    pool: int
    view: View
    position: int
    episode: int
    acting: Sequence[Acting]


class Scene:
    """Decides instance by instance what comes.

    A turn is one object that passes. For each turn it is drawn once which intervals' faults act upon it, as
    far as they are there by then: so a fault may begin, or end, in the middle of a track. Where a fault
    brings images from elsewhere, its objects pass meanwhile, and the interrupted one goes on afterwards.

    Parameters
    ----------
    sources
        The test split, and the faults.
    schedule
        Says when faults come.
    named
        The numbers of each interval's faults; none are for one of the first `mixed` faults.
    mixed
        So many of the faults are the experiment's own.
    seed
        The experiment's seed.
    """

    def __init__(
        self, sources: Sources, schedule: Schedule, named: Sequence[Sequence[int]], mixed: int, seed: int
    ) -> None:
        self._sources, self._schedule, self._named, self._seed = sources, schedule, named, seed
        shares = np.cumsum([fault.share for fault in sources.faults[:mixed]])
        self._shares = shares / shares[-1] if mixed else shares
        self._width = sum(len(numbers) or 1 for numbers in named)

    def rows(self) -> Iterator[Rows]:
        """Return the scene from its start, stretch by stretch, without end."""
        course = _Course(self._sources, self._schedule, self._named, self._shares, self._seed)
        for plan in self._schedule.stretches(self._seed):
            instants, shown = course.over(plan)
            other = any(one is not own for one, own in zip(shown, instants, strict=True))
            yield replace(self._as_rows(instants), shown=self._as_rows(shown) if other else None)

    def _as_rows(self, instants: Sequence[Instant]) -> Rows:
        n, width = len(instants), self._width
        fault, coming = np.zeros((n, width), dtype=np.int64), np.zeros((n, width), dtype=np.int64)
        intensity = np.ones((n, width))
        for row, instant in enumerate(instants):
            for column, acting in enumerate(instant.acting):
                fault[row, column], intensity[row, column], coming[row, column] = acting[:3]
        views = [instant.view for instant in instants]
        return Rows(
            pool=np.array([instant.pool for instant in instants], dtype=np.int64),
            index=np.array([view.place for view in views], dtype=np.int64),
            visit=np.array([view.visit for view in views], dtype=np.int64),
            again=np.array([view.again for view in views], dtype=np.bool_),
            position=np.array([instant.position for instant in instants], dtype=np.int64),
            object=np.array([view.object for view in views], dtype=np.int64),
            episode=np.array([instant.episode for instant in instants], dtype=np.int64),
            fault=fault,
            intensity=intensity,
            coming=coming,
        )


class _Course:
    """A scene on its way: what is remembered from one instant to the next."""

    def __init__(
        self,
        sources: Sources,
        schedule: Schedule,
        named: Sequence[Sequence[int]],
        shares: np.ndarray,
        seed: int,
    ) -> None:
        self._sources, self._schedule, self._named, self._shares = sources, schedule, named, shares
        self._seed, self._views = seed, {}  # type: ignore[var-annotated] # of ints to iterators
        self._chances = _rows_of(generator(seed, "stream", "chance"), len(named))
        self._which = _rows_of(generator(seed, "stream", "which fault"), len(named))
        self._chance: list[float] = []
        self._mixed: list[float] = []
        self._turn, self._turn_is_over, self._position = -1, True, 0
        self._episodes, self._counted = -1, -1
        self._begun = [(-1, 0)] * len(named)
        """Of each interval which coming it is in, and where that began."""
        self._chosen = [(-1, 0)] * len(named)
        """The fault of its latest coming."""
        self._numbers = _Numbers()
        self._past: deque[Instant] = deque(maxlen=REMEMBERED)
        self._last_shown: Instant | None = None

    def over(self, plan: Stretch) -> tuple[list[Instant], list[Instant]]:
        """Return the instants of a stretch, and those that the camera shows at each."""
        instants, shown = [], []
        columns = (plan.share, plan.intensity, plan.coming, plan.episode)
        for share, intensity, coming, planned in zip(*(each.tolist() for each in columns), strict=True):
            if self._turn_is_over:
                self._turn += 1
                self._chance, self._mixed = next(self._chances), next(self._which)
            begins = self._note_begins(coming)
            acting = self._acting(share, intensity, coming)
            pool = self._sources.pools[acting[0].number] if acting else 0
            view = self._next_view(pool)
            lags = [one for one in acting if self._sources.faults[one.number - 1].faultload.lags]
            earlier = self._held_back(lags) if lags else None
            if lags and earlier is None:  # a camera that shows the present has no fault
                acting = [one for one in acting if one not in lags]
            if self._schedule.each_object:
                episode = self._episode_of_turn() if acting else -1
            else:
                episode = self._numbers.follow(planned, begins, coming, acting)
            instant = Instant(pool, view, self._position, episode, acting)
            instants.append(instant)
            shown.append(earlier or instant)
            self._past.append(instant)
            self._last_shown = shown[-1]
            self._turn_is_over, self._position = view.last, self._position + 1
        return instants, shown

    def _note_begins(self, coming: Sequence[int]) -> set[int]:
        """Note which intervals begin now, and return them."""
        begins = set()
        for interval, now in enumerate(coming):
            number = self._turn if self._schedule.each_object and now >= 0 else now
            if number >= 0 and number != self._begun[interval][0]:
                self._begun[interval] = (number, self._position)
                begins.add(interval)
        return begins

    def _acting(
        self, share: Sequence[float], intensity: Sequence[float], coming: Sequence[int]
    ) -> list[Acting]:
        """Return the faults that act now.

        Of those whose images come from elsewhere one acts, that of the interval which began last, and first.
        """
        acting: list[Acting] = []
        brings: list[Acting] = []
        for interval, numbers in enumerate(self._named):
            if coming[interval] < 0 or self._chance[interval] >= share[interval]:
                continue
            time = self._begun[interval][0] * len(self._named) + interval
            for number in numbers or (self._one_of_them(interval, coming[interval]),):
                one = Acting(number, intensity[interval], time, interval)
                (brings if self._sources.pools[number] else acting).append(one)
        return sorted(brings, key=lambda one: self._begun[one.interval][1])[-1:] + acting

    def _one_of_them(self, interval: int, coming: int) -> int:
        """Choose one of the experiment's faults: for a coming where there are several, else for an object."""
        if len(self._shares) == 1:
            return 1
        if not self._schedule.intervals[interval].comes_again:
            return self._reached(self._mixed[interval])
        if self._chosen[interval][0] != coming:
            which = generator(self._seed, "stream", "which fault", interval, coming).random()
            self._chosen[interval] = (coming, self._reached(which))
        return self._chosen[interval][1]

    def _reached(self, which: float) -> int:
        return 1 + int(np.searchsorted(self._shares[:-1], which, side="right"))

    def _next_view(self, pool: int) -> View:
        if pool not in self._views:
            if pool:
                targets = self._sources.faults[pool - 1].targets
                groups = targets.split.groups[targets.indices]
            else:
                groups = self._sources.workload.test.groups
            self._views[pool] = passing(groups, self._schedule.views, self._seed, pool)
        view: View = next(self._views[pool])
        return view

    def _episode_of_turn(self) -> int:
        if self._counted != self._turn:
            self._counted, self._episodes = self._turn, self._episodes + 1
        return self._episodes

    def _held_back(self, acting: Sequence[Acting]) -> Instant | None:
        """Return the earlier instant that the camera shows, which lags by these; None: the present one."""
        if not self._past:
            return None
        lags = [self._lag(one) for one in acting]
        if HELD in lags:
            return self._last_shown
        return self._past[-min(max(lags), len(self._past))] if max(lags) else None

    def _lag(self, acting: Acting) -> int:
        fault = self._sources.faults[acting.number - 1]
        key = np.array([f"coming {acting.coming}:{self._position}"])
        chance = float(uniform_by_id(self._seed, fault.faultload.name, key)[0])
        return fault.faultload.lag(fault.faultload.check_severity(fault.severity) * acting.intensity, chance)


class _Numbers:
    """Numbers the episodes of a scene as they come to pass.

    A planned episode is there once an interval that began with it hits something: until then what was there
    before goes on, where that still lasts.
    """

    def __init__(self) -> None:
        self._planned = self._number = -1
        self._openers: set[int] = set()

    def follow(self, planned: int, begins: set[int], coming: Sequence[int], acting: Sequence[Acting]) -> int:
        """Return the episode of the next instance.

        `planned` is the episode by plan, `begins` the intervals that begin, `coming` tells of each interval
        whether it is there (else -1), and `acting` are the faults that act.
        """
        if planned != self._planned:
            self._planned, self._openers = planned, begins
        if planned != self._number:
            hit = any(one.interval in self._openers for one in acting)
            others = any(now >= 0 and interval not in self._openers for interval, now in enumerate(coming))
            if planned < 0 or hit or not others:
                self._number = planned
        return self._number


def _rows_of(rng: np.random.Generator, width: int) -> Iterator[list[float]]:
    while True:
        yield from rng.random((1024, width)).tolist()
