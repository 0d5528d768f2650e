"""A share of instances that come in tracks of unequal length, at all times together.

Such a share is a ratio of sums, in which a long track counts for more than a short one. It is at most b
while hits less b times the instances can be expected to be at most 0 in each track, given all before. Against
each b of a grid a gambler bets that they are more, another that they are less; a share is ruled out once one
of them has grown rich. Shares between those of the grid are told outwards.

In simulations of 300 streams of 300 tracks each (of 1 and 30 instances, with rates that go with the length or
do not, tracks of hits alone, tracks of which a part counts) a bound of 90 % was ever wrong in 0.3 to 6 % of
the streams. Bounds of the tracks' means, told of the same share, were wrong in up to all of them.
"""

from __future__ import annotations

import math

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.api.component import check_number
from farm.errors import DataError
from farm.statistics.anytime.betting import MOST, BettingSequence
from farm.statistics.anytime.sequence import check_level, checked

GRID = np.sin(np.arange(1, 1000) * np.pi / 2000) ** 2
"""The shares that are bet against: nearer to each other where shares spread less."""
_BLOCK = 64


class RatioSequence:
    """Bounds of a share, a ratio of sums over tracks, that hold after every track.

    Promised is what `ConfidenceSequence` promises, of tracks in order: each has, given all before, the same
    ratio of the hits to the instances that can be expected of it. Tracks in which nothing counts tell
    nothing and are passed over.

    Parameters
    ----------
    longest
        No track has more instances.
    level
        The chance that the share lies between the bounds at all times.
    beyond
        Hits that are estimated may be below 0, or above the number of instances, by so many in a track.

    References
    ----------
    I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the
    Royal Statistical Society B 86 (2024), section 4.

    Examples
    --------
    >>> counts = np.where(np.arange(400) % 4 == 0, 30, 1)
    >>> hits = np.where(np.arange(400) % 4 == 0, 6, 0)
    >>> found = RatioSequence(longest=30)
    >>> found.add(hits, counts)
    >>> found.n, round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (400, 0.182, 0.168, 0.218)
    """

    def __init__(self, longest: int, level: float = 0.95, beyond: float = 0.0) -> None:
        check_level(level)
        check_number("longest", longest, low=1)
        check_number("beyond", beyond, low=0)
        self._longest, self._beyond = int(longest), float(beyond)
        self._least, self._most = -beyond / longest, 1.0 + beyond / longest
        # Single instances are alike in size, so that no grid is needed.
        self._single = BettingSequence(level, self._least, self._most) if longest == 1 else None
        self._limit = math.log(2 / (1 - level))
        self._n, self._hits, self._counts = 0, 0.0, 0.0
        self._squares = np.zeros(3)
        """Sums of hits squared, of hits times counts and of counts squared."""
        self._higher, self._lower = np.zeros(len(GRID)), np.zeros(len(GRID))
        """What those who bet on more, and on less, own; as logarithms."""
        self._ruled_out: tuple[BoolArray, BoolArray] = (self._higher > 0, self._lower > 0)
        """Which shares are ruled out from below, and from above."""
        self._bounds = 0.0, 1.0

    @property
    def n(self) -> int:
        """How many tracks there were in which something counts."""
        return self._n

    @property
    def mean(self) -> float:
        """The share of all instances so far; NaN before the first."""
        return self._hits / self._counts if self._n else math.nan

    @property
    def low(self) -> float:
        """The highest lower bound so far."""
        return self._bounds[0]

    @property
    def high(self) -> float:
        """The lowest upper bound so far."""
        return self._bounds[1]

    @property
    def moved(self) -> bool:
        """Whether the bounds have passed each other: no single share goes with all tracks."""
        return self.low > self.high

    def add(self, hits: FloatArray, counts: FloatArray) -> None:
        """Take the next tracks, in order: the sum of their hits, and of how many instances."""
        self.follow(hits, counts)

    def follow(self, hits: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Take the next tracks, and return both bounds after each in which something counts."""
        counts = checked(counts, 0.0, self._longest, self._n)
        hits = np.asarray(hits, dtype=np.float64).reshape(-1)
        self._check(hits, counts)
        hits, counts = hits[counts > 0], counts[counts > 0]
        if self._single is not None:
            return self._follow_single(self._single, hits)
        ends = np.empty((2, len(counts)))
        for start in range(0, len(counts), _BLOCK):
            part = slice(start, min(start + _BLOCK, len(counts)))
            lows, highs = self._follow(hits[part], counts[part])
            ends[0, part] = np.maximum.accumulate(np.maximum(lows, self._bounds[0]))
            ends[1, part] = np.minimum.accumulate(np.minimum(highs, self._bounds[1]))
            self._bounds = float(ends[0, part.stop - 1]), float(ends[1, part.stop - 1])
            self._note(hits[part], counts[part])
        return ends[0], ends[1]

    def _follow_single(self, single: BettingSequence, hits: FloatArray) -> tuple[FloatArray, FloatArray]:
        lows, highs = single.follow(np.clip(hits, self._least, self._most))
        self._bounds = max(single.low, 0.0), min(single.high, 1.0)
        self._note(hits, np.ones(len(hits)))
        return np.maximum(lows, 0.0), np.minimum(highs, 1.0)

    def _note(self, hits: FloatArray, counts: FloatArray) -> None:
        self._n += len(hits)
        self._hits += float(hits.sum())
        self._counts += float(counts.sum())

    def _check(self, hits: FloatArray, counts: FloatArray) -> None:
        if len(hits) != len(counts):
            raise DataError(f"hits of {len(hits)} tracks, counts of {len(counts)}; expected as many of each")
        slack = self._beyond + 1e-9 * self._longest * self._most
        possible = (hits >= -slack) & (hits <= counts + slack)
        if len(out := np.flatnonzero(~possible | (counts % 1 != 0))):
            by = f", by up to {self._beyond:g} beyond" if self._beyond else ""
            raise DataError(
                f"track {self._n + out[0]} has {hits[out[0]]:g} hits in {counts[out[0]]:g} instances; "
                f"expected 0 to 1 for each of a whole number{by}"
            )

    def _follow(self, hits: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        own, of = hits / self._longest, counts / self._longest
        bets = self._bets(own, of)
        gained = own[:, None] - GRID * of[:, None]
        # Nobody puts at risk more than a part of what is there, whatever the track will be.
        higher = np.log1p(np.minimum(bets, MOST / (GRID - self._least)) * gained)
        lower = np.log1p(-np.minimum(bets, MOST / (self._most - GRID)) * gained)
        higher[0], lower[0] = higher[0] + self._higher, lower[0] + self._lower
        above, below = np.cumsum(higher, axis=0), np.cumsum(lower, axis=0)
        self._higher, self._lower = above[-1].copy(), below[-1].copy()
        # On its way to a bound a share must have been ruled out, at whatever time: to be wrong, a bound must
        # have ruled out the first of the grid beyond the true share.
        above = np.maximum.accumulate(above > self._limit) | self._ruled_out[0]
        below = np.maximum.accumulate(below > self._limit) | self._ruled_out[1]
        self._ruled_out = above[-1].copy(), below[-1].copy()
        return _reached(above), 1.0 - _reached(below[:, ::-1])

    def _bets(self, own: FloatArray, of: FloatArray) -> FloatArray:
        """Return what is bet on each track against each share of the grid, known before the track."""
        products = np.column_stack([own * own, own * of, of * of])
        sums = self._squares + np.cumsum(products, axis=0)
        before = np.concatenate([self._squares[None], sums[:-1]])
        self._squares = sums[-1].copy()
        spread = np.maximum(before @ np.stack([np.ones_like(GRID), -2.0 * GRID, GRID**2]), 0.0)
        doubt = (GRID - self._least) * (self._most - GRID)
        later = np.log(self._n + np.arange(2, len(own) + 2))
        return np.asarray(np.sqrt(2 * self._limit / ((spread + doubt) * later[:, None])))


def _reached(ruled_out: BoolArray) -> FloatArray:
    """Return the last share of the grid before the first that is left; 0 where that is the first."""
    left = np.column_stack([~ruled_out, np.ones(len(ruled_out), dtype=np.bool_)])
    return np.asarray(np.concatenate([[0.0], GRID])[left.argmax(axis=1)])
