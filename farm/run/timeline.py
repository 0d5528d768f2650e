"""Intervals along a stream: when they begin and end, how they grow and fade, and what is an episode of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from farm.api import BoolArray, FloatArray, IntArray, Stretch, generator

STRETCH = 1024
"""How many instances are planned at a time."""


@dataclass(frozen=True)
class Interval:
    """A time in which faults act: once, again and again, or at random.

    Counted in instances. `lasting` None has no end. `every` is the distance from one coming to the next. With
    `gap` it comes at random: so many instances lie between two comings on average, and each lasts `lasting`
    on average. Over `rise` instances it grows from nothing, over the last `fall` it fades: its share of
    the instances or, where `of` is `severity`, its severity.
    """

    begin: int = 0
    lasting: int | None = None
    every: int | None = None
    gap: int | None = None
    rise: int = 0
    fall: int = 0
    of: str = "severity"
    share: float = 1.0

    @property
    def ramps_severity(self) -> bool:
        """Whether it passes through severities."""
        return self.of == "severity" and bool(self.rise or self.fall)

    @property
    def comes_again(self) -> bool:
        """Whether it comes more than once."""
        return self.every is not None or self.gap is not None

    def comings(self, seed: int, number: int) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Return for each stretch which coming it is (-1: none), the instances since, and those left."""
        if self.gap is not None:
            yield from self._at_random(generator(seed, "stream", "bursts", number))
        start = 0
        lasting = np.inf if self.lasting is None else self.lasting
        while True:
            since = np.arange(start, start + STRETCH) - self.begin
            coming = np.zeros(STRETCH, dtype=np.int64)
            if self.every is not None:
                coming, since = np.divmod(since, self.every)
            inside = (since >= 0) & (since < lasting) & (coming >= 0)
            yield np.where(inside, coming, -1), since, np.asarray(lasting - since, dtype=np.float64)
            start += STRETCH

    def _at_random(self, rng: np.random.Generator) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        assert self.gap is not None
        assert self.lasting is not None
        number = 0
        held = np.array([[-1, 0, 0]] * self.begin, dtype=np.int64).reshape(-1, 3)
        while True:
            parts = [held]
            missing = STRETCH - len(held)
            while missing > 0:
                quiet, lasts = int(rng.geometric(1 / self.gap)), int(rng.geometric(1 / self.lasting))
                parts.append(np.array([[-1, 0, 0]] * quiet))
                since = np.arange(lasts)
                parts.append(np.column_stack([np.full(lasts, number), since, lasts - since]))
                number, missing = number + 1, missing - quiet - lasts
            held = np.concatenate(parts)
            coming, since, left = held[:STRETCH].T
            yield coming, since, left.astype(np.float64)
            held = held[STRETCH:]

    def planned(self, coming: IntArray, since: IntArray, left: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the share and the intensity at these instances."""
        inside = coming >= 0
        grown = np.ones(len(coming))
        if self.rise:
            grown = np.minimum(grown, (since + 1) / self.rise)
        if self.fall:
            grown = np.minimum(grown, left / self.fall)
        grown = np.clip(grown, 0.0, 1.0)
        share = np.where(inside, self.share, 0.0)
        return (share, grown) if self.of == "severity" else (share * grown, np.ones(len(coming)))


def stretches(intervals: Sequence[Interval], seed: int) -> Iterator[Stretch]:
    """Plan intervals side by side, stretch by stretch, without end.

    An episode begins where an interval begins, and lasts until the next one does or until nothing is left.

    Examples
    --------
    >>> plan = next(stretches([Interval(begin=1, lasting=4), Interval(begin=3, lasting=4)], seed=0))
    >>> plan.episode[:8].tolist()
    [-1, 0, 0, 1, 1, 1, 1, -1]
    """
    before, begun = np.full(len(intervals), -1), 0
    planned = [each.comings(seed, number) for number, each in enumerate(intervals)]
    for now in zip(*planned, strict=True):
        columns = [each.planned(*times) for each, times in zip(intervals, now, strict=True)]
        coming = np.column_stack([times[0] for times in now])
        begins = _begins(coming, before)
        episode = np.where((coming >= 0).any(axis=1), begun - 1 + np.cumsum(begins), -1)
        before, begun = coming[-1], begun + int(begins.sum())
        share, intensity = (np.column_stack(column) for column in zip(*columns, strict=True))
        yield Stretch(share, intensity, coming, episode)


def _begins(coming: IntArray, before: IntArray) -> BoolArray:
    """Say where some interval comes that was not there one instance ago."""
    earlier = np.concatenate([before[None], coming[:-1]])
    begins: BoolArray = ((coming >= 0) & (coming != earlier)).any(axis=1)
    return begins
