"""How sure a quantile is: exact bounds from one side; and how many trials would decide about a share.

How many of n independent values lie below the quantile q is binomial with the share q, whatever their
distribution. So a quantile lies between two of the values that were seen, in their order. A maximum has no
upper bound of this kind: of what was not seen anything may be greater.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from farm.api.arrays import FloatArray
from farm.api.guarantees.binomial import smallest
from farm.measures import Measure, undefined
from farm.statistics.planning import onsets_for_delay_bound

MOST = 10**9
"""Beyond so many trials nothing is decided."""


@dataclass(frozen=True)
class Trials:
    """What was asked, put as a question about a share of independent trials: is it above or below `at`?"""

    seen: float
    n: float
    at: float

    def needed(self, level: float, power: float) -> int | None:
        """Return how many trials decide with this chance, were their share the one seen; None if none do.

        The chance does not rise evenly with the number: it falls a little wherever one more trial may fail.

        Examples
        --------
        >>> [Trials(seen=seen, n=20, at=0.05).needed(0.95, 0.8) for seen in (0, 1, 2)]
        [59, None, 180]
        """
        share = self.seen / self.n

        def enough(n: int) -> bool:
            if share > self.at:  # so many have to be more than the bound explains
                return (
                    float(scipy.stats.binom.sf(scipy.stats.binom.isf(1 - level, n, self.at), n, share))
                    >= power
                )
            few = scipy.stats.binom.ppf(1 - level, n, self.at)
            most = few if scipy.stats.binom.cdf(few, n, self.at) <= 1 - level else few - 1
            return float(scipy.stats.binom.cdf(most, n, share)) >= power

        return smallest(enough) if share != self.at and enough(MOST) else None


def ranks(n: int, q: float, level: float) -> tuple[int, int | None]:
    """Return the ranks, of n values in rising order, of a quantile's lower and upper bound at this level.

    0 stands for no lower bound, None for no upper one.

    References
    ----------
    W. J. Conover, "Practical Nonparametric Statistics" (1999), chapter 3.2.

    Examples
    --------
    >>> ranks(100, 0.5, 0.95), ranks(59, 0.95, 0.95), ranks(58, 0.95, 0.95)
    ((42, 59), (53, 59), (52, None))
    """
    below = int(scipy.stats.binom.ppf(1 - level, n, q))
    low = below + 1 if scipy.stats.binom.cdf(below, n, q) <= 1 - level else below
    high = int(scipy.stats.binom.ppf(level, n, q)) + 1
    return low, high if high <= n else None


def quantile_bounds(
    values: FloatArray, q: float, level: float, *, independent: int | None = None, what: str = "values"
) -> tuple[Measure, Measure]:
    """Return a lower and an upper bound of a quantile of values that are none of them below 0.

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

    def at(rank: int) -> Measure:
        """Return the value of a rank among m; each of these stands for as many values."""
        return Measure(float(ordered[math.ceil(rank / m * len(ordered) - 1e-9) - 1]))

    # No value is below 0, so that 0 is a bound where no value is one.
    lowest = at(low) if low else Measure(0.0)
    if high is not None:
        return lowest, at(high)
    fewest = onsets_for_delay_bound(0, q, level)
    return lowest, undefined(
        f"there are {m} {what}; an upper bound of p{100 * q:g} at {100 * level:g} % needs at least {fewest}"
    )


def as_trials(values: FloatArray, q: float, bound: float, *, strict: bool, independent: int) -> Trials:
    """Ask whether the quantile meets a bound as whether a share of at least `q` of the values does."""
    met = float(np.mean(values < bound if strict else values <= bound))
    return Trials(met * independent, independent, q)
