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
from functools import lru_cache

FURTHEST = 10
"""So many times n trials are the most that n trials are asked about."""
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


@lru_cache
def fewest_if_none(share: float, level: float) -> int:
    """Return how few trials show that it is no larger a share, where none of them is one.

    Examples
    --------
    >>> fewest_if_none(0.05, 0.05), fewest_if_none(0.5, 0.25)
    (59, 2)
    """
    return smallest(lambda n: is_small(0, n, share, level))


def larger_sample(n: int, enough: Callable[[int], bool]) -> int | None:
    """Return about how many would be enough, of what n are not; None where n are too few to tell.

    It is a number of two digits and noughts: more would say more than is known.

    Examples
    --------
    >>> larger_sample(96, lambda many: many >= 1234), larger_sample(96, lambda many: many % 100 == 0)
    (None, 100)
    >>> larger_sample(150, lambda many: many >= 1234)
    1300
    """
    many = _next_round(n)
    while not enough(many):
        many = _next_round(many)
        if many > FURTHEST * n:
            return None
    return many


def _next_round(number: int) -> int:
    step: int = 10 ** max(len(str(number)) - 2, 0)
    return (number // step + 1) * step


def feared(k: int, n: int, many: int) -> int:
    """Return how many of many to reckon with where k of n were seen: these may be few by luck.

    That is one more and two thirds of a standard deviation, as only one in four sets is so lucky: of several
    thresholds the luckiest comes nearest, and where hardly any number would do, only luck tells one.

    Examples
    --------
    >>> feared(0, 100, 1000), feared(4, 100, 1000)
    (10, 64)
    """
    return math.ceil((k + 1 + 2 / 3 * math.sqrt(k)) * many / n)
