"""When tests that are made for a fixed number of instances would first alarm, if repeated after each."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.api.component import check_number
from farm.statistics.anytime.sequence import check_level, checked

FEWEST = 10
"""Of fewer tracks nobody would test a sum."""


def repeated_fixed_n(
    values: FloatArray,
    bound: float,
    level: float = 0.95,
    *,
    at_least: bool = False,
    sizes: FloatArray | None = None,
) -> int | None:
    """Return after how many values a bound for a fixed number first contradicts a claim; None: never.

    Clopper and Pearson's one-sided bound is right with a chance of `level` where it is looked at once. Looked
    at after every instance it is wrong far more often: of 1,000 streams of independent instances with a rate
    of exactly 5 %, 95 % bounds contradicted "at most 5 %" in 28 % within 1,000 instances and in 40 % within
    10,000.

    Parameters
    ----------
    values
        0 or 1 each; or how many of a track's instances are hits.
    bound
        The claim is that their mean is at most this.
    at_least
        The claim is that it is at least this.
    sizes
        How many instances each track has. Then the test is Wald's, of the tracks' sums.

    Examples
    --------
    >>> repeated_fixed_n(np.arange(200) % 5 == 0, 0.05)
    6
    """
    check_level(level)
    check_number("bound", bound, low=0, high=1)
    most = np.ones(len(values)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    hits = checked(values, 0.0, most.max(initial=1.0))
    hits, bound = (most - hits, 1.0 - bound) if at_least else (hits, bound)
    if sizes is None:
        alarms = contradicted(np.cumsum(hits), bound, level)
    else:
        alarms = contradicted_by_tracks(hits, most, bound, level)
    first = np.flatnonzero(alarms)
    return int(first[0]) + 1 if len(first) else None


def contradicted(hits: FloatArray, bound: float, level: float) -> BoolArray:
    """Return whether so many hits so far contradict a rate of at most `bound`; instances on the last axis."""
    from scipy.special import betainc  # not before: who only bounds means does not need it

    n = np.arange(1, hits.shape[-1] + 1)
    # The chance of as many hits or more, were the rate the bound. What a last bit decides is no alarm.
    chance = betainc(np.maximum(hits, 1e-300), n - hits + 1, bound)
    return np.asarray((hits > 0) & (chance < (1 - level) * (1 - 1e-9)))


def contradicted_by_tracks(hits: FloatArray, sizes: FloatArray, bound: float, level: float) -> BoolArray:
    """Return whether tracks with so many hits each contradict a share of at most `bound`, after each."""
    n, over = np.arange(1, len(hits) + 1), hits - bound * sizes
    total, of, all_hits = np.cumsum(over), np.cumsum(sizes), np.cumsum(hits)
    variance = (np.cumsum(over**2) - total**2 / n) * n / np.maximum(n - 1, 1)
    # Where all instances are alike nothing varies: as if each track were of hits alone, or of none.
    alike = (all_hits == 0) | (all_hits == of)
    variance = np.where(alike, bound * (1 - bound) * np.cumsum(sizes**2), np.maximum(variance, 0.0))
    beyond = total - NormalDist().inv_cdf(level) * np.sqrt(variance)
    return np.asarray((n >= FEWEST) & (beyond > 1e-9 * of))
