"""A confidence sequence by betting: a mean is ruled out once a gambler against it has grown rich.

Against each possible mean m a gambler bets that values are higher, another that they are lower. While m is
the mean, neither can expect to gain, so that by Ville's inequality the chance that their capital ever reaches
2 / (1 - level) times the stake is (1 - level) / 2.

With a stake s, told before the value x, the capital is multiplied by (1 + s x) / (1 + s m). All gamblers have
the same stakes, out of a few sizes, so that how often each was staked gives the capital against every m: none
is left out between the points of a grid, and memory is constant.
"""

from __future__ import annotations

import math

import numpy as np

from farm.api.arrays import FloatArray
from farm.statistics.anytime.sequence import Bets, ConfidenceSequence, running

MOST = 0.75
"""The largest part of the capital that is at risk."""
STAKES = 2.0 ** np.arange(-16, 24, 0.25)
"""The sizes of stakes."""
_BETWEEN = np.sqrt(STAKES[1:] * STAKES[:-1])
_ROUNDS = 60


class BettingSequence(ConfidenceSequence):
    """Bounds of a mean by hedged betting.

    References
    ----------
    I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the
    Royal Statistical Society B 86 (2024), section 4.

    Examples
    --------
    >>> found = BettingSequence()
    >>> found.add(np.arange(1000) % 4 == 0)
    >>> found.n, found.mean, round(found.low, 3), round(found.high, 3)
    (1000, 0.25, 0.195, 0.32)
    """

    def __init__(self, level: float = 0.95, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(level, low, high)
        self._plan = Bets(self.level)
        limit = math.log(2 / (1 - self.level))
        self._higher, self._lower = _Gamblers(limit), _Gamblers(limit)

    def _follow(self, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
        expected, bets = self._plan.follow(unit)
        # Who bets that values are lower bets that what they lack of 1 is higher.
        lacking = self._lower.follow(1.0 - unit, 1.0 - expected, bets)
        return self._higher.follow(unit, expected, bets), 1.0 - lacking


class _Gamblers:
    """Bet against every possible mean that values are higher."""

    def __init__(self, limit: float) -> None:
        self._limit, self._ruled_out = limit, 0.0
        self._won = 0.0
        self._staked = np.zeros(len(STAKES))
        """How often each stake was put."""

    def follow(self, unit: FloatArray, expected: FloatArray, bets: FloatArray) -> FloatArray:
        """Return the highest mean that is ruled out after each value; 0 where none is."""
        at_risk = np.minimum(bets * expected, MOST)
        size = np.searchsorted(_BETWEEN, at_risk / (1.0 - at_risk) / expected)
        stakes = STAKES[size]
        won = running(self._won, np.log1p(stakes * unit))
        paid = running(
            float(self._staked @ np.log1p(STAKES * self._ruled_out)), np.log1p(stakes * self._ruled_out)
        )
        found = np.full(len(unit), self._ruled_out)
        richer = np.flatnonzero(won - paid > self._limit)
        before, self._staked = self._staked, self._staked + np.bincount(size, minlength=len(STAKES))
        if len(richer):
            used = np.flatnonzero(self._staked)
            staked = before[used] + np.cumsum(size[:, None] == used, axis=0)[richer]
            found[richer] = _highest(STAKES[used], staked, won[richer] - self._limit, self._ruled_out)
        np.maximum.accumulate(found, out=found)
        self._won, self._ruled_out = float(won[-1]), float(found[-1])
        return found


def _highest(stakes: FloatArray, staked: FloatArray, won: FloatArray, start: float) -> FloatArray:
    """Return against which mean as much was won as it cost, for each row of how often stakes were put.

    The cost is concave in the mean, so that Newton's steps from below never go beyond it.
    """
    means = np.full(len(won), start)
    for _ in range(_ROUNDS):
        grown = 1.0 + stakes * means[:, None]
        cost, rises = (staked * np.log(grown)).sum(axis=1), (staked * stakes / grown).sum(axis=1)
        step = (won - cost) / rises
        means = np.minimum(means + np.maximum(step, 0.0), 1.0)
        if (step < 1e-12).all():
            break
    return means
