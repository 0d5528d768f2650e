"""When tests that are made for a fixed number of instances would first alarm, if repeated after each."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import FloatArray
from farm.api.component import check_number
from farm.statistics.anytime.sequence import check_level, checked


def repeated_fixed_n(
    values: FloatArray, bound: float, level: float = 0.95, *, at_least: bool = False
) -> int | None:
    """Return after how many values a bound for a fixed number first contradicts a claim; None: never.

    Clopper and Pearson's one-sided bound is right with a chance of `level` where it is looked at once. Looked
    at after every instance it is wrong far more often: of 1,000 streams of independent instances with a rate
    of exactly 5 %, 95 % bounds contradicted "at most 5 %" in 28 % within 1,000 instances and in 40 % within
    10,000.

    Parameters
    ----------
    values
        0 or 1 each, or a number between.
    bound
        The claim is that their mean is at most this.
    at_least
        The claim is that it is at least this.

    Examples
    --------
    >>> repeated_fixed_n(np.arange(200) % 5 == 0, 0.05)
    6
    """
    check_level(level)
    check_number("bound", bound, low=0, high=1)
    unit = checked(values, 0.0, 1.0)
    first = np.flatnonzero(
        contradicted(np.cumsum(1.0 - unit if at_least else unit), 1.0 - bound if at_least else bound, level)
    )
    return int(first[0]) + 1 if len(first) else None


def contradicted(
    hits: FloatArray, bound: float, level: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return whether so many hits so far contradict a rate of at most `bound`; instances on the last axis."""
    from scipy.special import betainc  # not before: who only bounds means does not need it

    n = np.arange(1, hits.shape[-1] + 1)
    # The chance of as many hits or more, were the rate the bound. What a last bit decides is no alarm.
    chance = betainc(np.maximum(hits, 1e-300), n - hits + 1, bound)
    return np.asarray((hits > 0) & (chance < (1 - level) * (1 - 1e-9)))
