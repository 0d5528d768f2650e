"""Where a quantile lies, whatever the distribution: between two of the values that were seen, in their order.

How many of n independent values lie below the quantile q is binomial with the share q, and nothing else need
be known. A maximum has no upper bound of this kind: of what was not seen anything may be greater.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

from farm.api.arrays import FloatArray
from farm.check.binomial import Trials
from farm.measures import Measure, undefined
from farm.statistics.planning import onsets_for_delay_bound


def ranks(n: int, q: float, level: float) -> tuple[int, int | None]:
    """Give the ranks, of n values in rising order, of a lower and of an upper bound, each at this level.

    0 stands for no lower bound, None for no upper one.

    References
    ----------
    W. J. Conover, "Practical Nonparametric Statistics" (1999), chapter 3.2.

    Examples
    --------
    >>> ranks(100, 0.5, 0.95), ranks(59, 0.95, 0.95), ranks(58, 0.95, 0.95)
    ((42, 59), (53, 59), (52, None))
    """
    below = int(binom.ppf(1 - level, n, q))
    low = below + 1 if binom.cdf(below, n, q) <= 1 - level else below
    high = int(binom.ppf(level, n, q)) + 1
    return low, high if high <= n else None


def quantile_bounds(
    values: FloatArray, q: float, level: float, *, independent: int | None = None, what: str = "values"
) -> tuple[Measure, Measure]:
    """Give a lower and an upper bound of a quantile of values that are none of them below 0.

    Parameters
    ----------
    values
        In any order; infinite ones are allowed.
    independent
        As how many they count, where several were measured together.
    what
        What they are, for the reason where there is no bound.

    Examples
    --------
    >>> low, high = quantile_bounds(np.arange(1000.0), 0.5, 0.95)
    >>> low.value, high.value
    (473.0, 526.0)
    >>> quantile_bounds(np.arange(20.0), 0.95, 0.95)[1].reason
    'there are 20 values; an upper bound of p95 at 95 % needs at least 59'
    """
    ordered, m = np.sort(values), len(values) if independent is None else independent
    low, high = ranks(m, q, level)
    # No value is below 0, so that 0 is a bound where no value is one.
    lowest = Measure(_at(ordered, low, m) if low else 0.0)
    if high is not None:
        return lowest, Measure(_at(ordered, high, m))
    fewest = onsets_for_delay_bound(0, q, level)
    return lowest, undefined(
        f"there are {m} {what}; an upper bound of p{100 * q:g} at {100 * level:g} % needs at least {fewest}"
    )


def as_trials(values: FloatArray, q: float, bound: float, *, strict: bool, independent: int) -> Trials:
    """Ask whether the quantile meets a bound as whether a share of at least `q` of the values does."""
    met = float(np.mean(values < bound if strict else values <= bound))
    return Trials(met * independent, independent, q)


def _at(ordered: FloatArray, rank: int, m: int) -> float:
    """Give the value of a rank among m; each of these stands for as many values."""
    return float(ordered[math.ceil(rank / m * len(ordered) - 1e-9) - 1])
