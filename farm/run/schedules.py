"""When faults come over a stream: from an instant on, growing, in bursts, object by object.

A schedule is asked for one stretch of the stream after another and keeps nothing but its place, so that a
stream may be endless.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from farm.api import FloatArray, IntArray, Schedule, Stretch, check_choice, check_number, generator

STRETCH = 1024
"""How many instances are planned at a time."""


class _ByChance(Schedule):
    """A schedule by which, within an episode, an instance is OOD with the probability `share`."""

    def __init__(self, *, share: float) -> None:
        check_number("share", share, above=0, high=1)
        self._share = share

    def stretches(self, seed: int) -> Iterator[Stretch]:
        """Plan the stream, from its start, stretch by stretch, without end."""
        start = 0
        for episode, share, intensity in self._episodes(seed):
            chance = generator(seed, "stream", "chance", start).random(len(episode))
            yield Stretch(chance < share, intensity, episode)
            start += len(episode)

    @abstractmethod
    def _episodes(self, seed: int) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Return each stretch's episodes (-1: none), probabilities of OOD, and parts of the severity."""


class Onset(_ByChance):
    """Faults begin at one instant and stay.

    Parameters
    ----------
    at
        How many instances come before.
    share
        The share of OOD instances from then on.

    Examples
    --------
    >>> plan = next(Onset(at=3).stretches(seed=0))
    >>> plan.is_ood[:5].tolist(), plan.episode[:5].tolist()
    ([False, False, False, True, True], [-1, -1, -1, 0, 0])
    """

    def __init__(self, *, at: int, share: float = 1.0) -> None:
        super().__init__(share=share)
        check_number("at", at, low=0, whole=True)
        self._at = at

    def _episodes(self, seed: int) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        del seed
        for position in _positions():
            begun = position >= self._at
            yield np.where(begun, 0, -1), np.where(begun, self._share, 0.0), np.ones(len(position))


class Ramp(_ByChance):
    """Faults grow from nothing, in number or in severity.

    Parameters
    ----------
    begin, end
        Where the growth begins and where it is complete.
    of
        `share`: ever more instances are OOD; `severity`: from the beginning on they are, ever more severely.
    share
        The share of OOD instances, in the end.

    Examples
    --------
    >>> plan = next(Ramp(begin=0, end=4, of="severity").stretches(seed=0))
    >>> plan.intensity[:6].tolist()
    [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    """

    def __init__(self, *, begin: int = 0, end: int, of: str = "share", share: float = 1.0) -> None:
        super().__init__(share=share)
        check_number("begin", begin, low=0, whole=True)
        check_number("end", end, low=begin + 1, whole=True)
        check_choice("of", of, ("share", "severity"))
        self._begin, self._end, self._of = begin, end, of
        self.ramps_severity = of == "severity"

    def _episodes(self, seed: int) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        del seed
        for position in _positions():
            grown = np.clip((position - self._begin + 1) / (self._end - self._begin), 0.0, 1.0)
            begun = position >= self._begin
            if self._of == "share":
                share, intensity = self._share * grown, np.ones(len(position))
            else:
                share, intensity = np.where(begun, self._share, 0.0), grown
            yield np.where(begun, 0, -1), share, intensity


class Recurring(_ByChance):
    """Faults come back at fixed distances.

    Parameters
    ----------
    period
        From one onset to the next.
    burst
        How many instances an episode has; it is the last part of its period.
    share
        The share of OOD instances within an episode.

    Examples
    --------
    >>> next(Recurring(period=4, burst=1).stretches(seed=0)).episode[:9].tolist()
    [-1, -1, -1, 0, -1, -1, -1, 1, -1]
    """

    def __init__(self, *, period: int = 100, burst: int = 20, share: float = 1.0) -> None:
        super().__init__(share=share)
        check_number("period", period, low=2, whole=True)
        check_number("burst", burst, low=1, high=period - 1, whole=True)
        self._period, self._burst = period, burst

    def _episodes(self, seed: int) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        del seed
        for position in _positions():
            number, place = np.divmod(position, self._period)
            inside = place >= self._period - self._burst
            yield np.where(inside, number, -1), np.where(inside, self._share, 0.0), np.ones(len(position))


class Bursts(_ByChance):
    """Faults come and go at random.

    Parameters
    ----------
    gap, burst
        How many instances lie between episodes, and how many an episode has, on average; each is drawn from
        a geometric distribution, so that nobody can wait for the next.
    share
        The share of OOD instances within an episode.

    Examples
    --------
    >>> plan = next(Bursts(gap=50, burst=10).stretches(seed=0))
    >>> int(plan.episode.max()) > 5
    True
    """

    def __init__(self, *, gap: int = 100, burst: int = 20, share: float = 1.0) -> None:
        super().__init__(share=share)
        check_number("gap", gap, low=1, whole=True)
        check_number("burst", burst, low=1, whole=True)
        self._gap, self._burst = gap, burst

    def _episodes(self, seed: int) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        rng = generator(seed, "stream", "bursts")
        waiting: list[IntArray] = []
        held, number = 0, 0
        while True:
            while held < STRETCH:
                quiet, burst = int(rng.geometric(1 / self._gap)), int(rng.geometric(1 / self._burst))
                waiting += [np.full(quiet, -1), np.full(burst, number)]
                held, number = held + quiet + burst, number + 1
            planned = np.concatenate(waiting)
            episode, rest = planned[:STRETCH], planned[STRETCH:]
            waiting, held = [rest], len(rest)
            yield episode, np.where(episode >= 0, self._share, 0.0), np.ones(STRETCH)


class Sequence(Schedule):
    """Objects come one after the other, each seen several times in a row; some of them are OOD.

    Where the workload has groups (the frames of a track), the views are one group's, in order; else they
    are the same image with a little sensor noise.

    Parameters
    ----------
    views
        How many views of an object come in a row.
    share
        The share of objects that are OOD; each is an episode.

    Examples
    --------
    >>> plan = next(Sequence(views=3, share=0.5).stretches(seed=0))
    >>> bool((plan.is_ood[0:3] == plan.is_ood[0]).all())
    True
    """

    def __init__(self, *, views: int = 10, share: float = 0.2) -> None:
        check_number("views", views, low=1, whole=True)
        check_number("share", share, above=0, high=1)
        self.objects, self._share = views, share

    def stretches(self, seed: int) -> Iterator[Stretch]:
        """Plan object by object: all views of one are alike OOD or not."""
        rng = generator(seed, "stream", "objects")
        at_a_time, episodes = max(STRETCH // self.objects, 1), 0
        while True:
            chosen = rng.random(at_a_time) < self._share
            number = np.where(chosen, episodes + np.cumsum(chosen) - 1, -1)
            episodes += int(chosen.sum())
            is_ood = chosen.repeat(self.objects)
            yield Stretch(is_ood, np.ones(len(is_ood)), number.repeat(self.objects))


def _positions() -> Iterator[IntArray]:
    start = 0
    while True:
        yield np.arange(start, start + STRETCH)
        start += STRETCH
