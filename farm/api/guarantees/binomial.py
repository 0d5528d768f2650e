"""Counts of independent trials, exactly: which rank bounds a share, and how few trials can.

Of n independent scores the k-th lowest accepts a share that is at least as high as the k-th lowest of n
uniform numbers is, whatever their distribution (ties only make it larger). So it accepts `accept` or more
with a chance of at least P(Binomial(n, accept) < k).

References
----------
S. S. Wilks, "Determination of sample sizes for setting tolerance limits", The Annals of Mathematical
Statistics 12 (1941).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

MOST = 10**7
"""More trials than these nobody has."""
_ROUNDING = 1e-12
"""So that a chance that is just the level counts as that on any processor."""


def chance_of_at_most(k: int, n: int, share: float) -> float:
    """Return the chance of at most k of n, each with this share.

    Examples
    --------
    >>> round(chance_of_at_most(1, 3, 0.5), 12), chance_of_at_most(-1, 3, 0.5), chance_of_at_most(3, 3, 0.5)
    (0.5, 0.0, 1.0)
    """
    from scipy.special import bdtr  # not before: most thresholds need none of it

    return 0.0 if k < 0 else float(bdtr(min(k, n), n, share))


def is_small(k: int, n: int, share: float, level: float) -> bool:
    """Say whether at most k of n would be seen no oftener than this level, if it were so large a share."""
    return chance_of_at_most(k, n, share) <= level + _ROUNDING


def lowest_rank(n: int, accept: float, confidence: float) -> int | None:
    """Return which of n scores in rising order is the lowest that accepts so much; None where none does.

    Examples
    --------
    >>> lowest_rank(89, 0.95, 0.99), lowest_rank(90, 0.95, 0.99), lowest_rank(300, 0.95, 0.99)
    (None, 90, 294)
    """

    def sure(rank: int) -> bool:
        return chance_of_at_most(rank - 1, n, accept) >= confidence - _ROUNDING

    rank = 1 + bisect_left(range(1, n + 1), True, key=sure)
    return rank if rank <= n else None


def smallest(enough: Callable[[int], bool], at_least: int = 1) -> int:
    """Return the smallest whole number that is enough, where every greater one is as well.

    Examples
    --------
    >>> smallest(lambda n: n * n >= 50)
    8
    """
    high = at_least
    while not enough(high):
        high *= 2
    # What lies below was too few, or is not asked for.
    return bisect_left(range(high), True, lo=max(high // 2 + 1, at_least), key=enough)


def larger_sample(k: int, n: int, share: float, level: float) -> int | None:
    """Return about how many trials would do, if k of n is what it stays like; None where hardly any would."""

    def enough(m: int) -> bool:
        return is_small(math.ceil(k * m / n), m, share, level)

    return smallest(enough, at_least=n) if n and enough(MOST) else None
