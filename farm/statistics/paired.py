"""Which of two monitors is right more often on the same stream?

Instances independent of each other: McNemar's test, exact. It looks at those on which one monitor alone is
right. Its approximation by chi-squared is left out, since the exact sum costs next to nothing at any n.

Instances in groups (the frames of a track): McNemar's test would take each frame of a track for new
evidence. If there is no difference between the monitors, exchanging their names within a whole group
changes nothing. So every group's difference may take either sign, and the p-value is the share of all such
flips that make the summed difference at least as large as the one seen. With groups of one instance each
this is McNemar's test. statsmodels' `mcnemar` gives the same p of independent instances, at the cost of a
second to import it; scipy's `permutation_test` goes through flips one by one, of which there are too many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.api.randomness import generator
from farm.errors import DataError
from farm.measures.measure import Measure, undefined
from farm.measures.oracle import OUTCOMES, OutcomeCodes
from farm.statistics.resampling import codes

FLIPS = 100_000
"""How many flips are drawn where they cannot all be counted."""
MOST_STEPS = 10**8
"""Up to so many additions all flips are counted: about a tenth of a second."""


@dataclass(frozen=True)
class Paired:
    """How two monitors' verdicts on the same instances compare."""

    n: int
    n_groups: int
    both: int
    """Instances on which both are right."""
    first: int
    """Those on which the first alone is right."""
    second: int
    neither: int
    p: Measure
    """Two-sided, for the hypothesis that both are right equally often."""
    method: Literal["exact binomial", "all sign flips", "drawn sign flips"]

    @property
    def better(self) -> Literal["first", "second"] | None:
        """Which is right more often on these instances, whether or not that may be chance."""
        if self.first == self.second:
            return None
        return "first" if self.first > self.second else "second"


def right(outcomes: OutcomeCodes) -> BoolArray:
    """Say on which instances a verdict was right.

    Examples
    --------
    >>> from farm.measures.oracle import specific
    >>> right(specific(np.array([True, True, False]), is_ood=np.array([True, False, False]))).tolist()
    [True, False, True]
    """
    return np.asarray((outcomes == OUTCOMES.index("tn")) | (outcomes == OUTCOMES.index("tp")))


def paired(
    first: BoolArray,
    second: BoolArray,
    *,
    group: NDArray[Any] | None = None,
    seed: int = 0,
) -> Paired:
    """Compare on which instances each of two monitors was right.

    Parameters
    ----------
    first, second
        Whether each was right: of the specific task, of the overall one, or on some of the instances only.
    group
        What each instance belongs to: its track. None, or each of its own: McNemar's test.
    seed
        Of the drawn flips; not used where all can be counted.

    References
    ----------
    Q. McNemar, "Note on the sampling error of the difference between correlated proportions or
    percentages", Psychometrika 12 (1947).

    Examples
    --------
    >>> first, second = np.repeat([True, False], [9, 1]), np.repeat([False, True], [8, 2])
    >>> found = paired(first, second)
    >>> found.first, found.second, found.better, found.p.value
    (8, 1, 'first', 0.0390625)
    >>> round(paired(first, second, group=np.arange(10) // 2).p.value, 3)
    0.125
    """
    n = len(first)
    if len(second) != n or (group is not None and len(group) != n):
        lengths = f"{n}, {len(second)}" + ("" if group is None else f" and {len(group)}")
        raise DataError(f"paired: arrays of {lengths} instances; expected as many in each")
    code = np.arange(n) if group is None else codes(group)
    n_groups = int(code.max(initial=-1)) + 1
    b, c = int(np.count_nonzero(first & ~second)), int(np.count_nonzero(second & ~first))
    both = int(np.count_nonzero(first & second))
    method: Literal["exact binomial", "all sign flips", "drawn sign flips"] = "exact binomial"
    if n == 0:
        p = undefined("no instances")
    elif n_groups == n:
        p = Measure(1.0 if b == c else 2 * float(scipy.stats.binom.cdf(min(b, c), b + c, 0.5)))
    else:
        by_group = np.bincount(code, weights=first.astype(np.float64) - second)
        chance, counted = _sign_flips(np.abs(by_group).astype(np.int64), abs(b - c), seed)
        method = "all sign flips" if counted else "drawn sign flips"
        p = Measure(chance) if n_groups > 1 else undefined(f"each of the {n} instances is of one group")
    return Paired(n, n_groups, both, b, c, n - both - b - c, p, method)


def _sign_flips(sizes: IntArray, seen: int, seed: int) -> tuple[float, bool]:
    """Return the chance that differences of these sizes and random signs sum to at least `seen` either way.

    Also whether that is of all flips, not of drawn ones.
    """
    values, counts = np.unique(sizes[sizes > 0], return_counts=True)
    if int(values @ counts) * int(counts.sum()) <= MOST_STEPS:
        return _all_flips(values, counts, seen), True
    random = generator(seed, "paired", "sign flips")
    sums = np.zeros(FLIPS, dtype=np.int64)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        sums += value * (2 * random.binomial(count, 0.5, FLIPS) - count)
    # The flip that was seen is one of them: a p-value of 0 would claim more than was drawn.
    return (1 + int(np.count_nonzero(np.abs(sums) >= seen))) / (1 + FLIPS), False


def _all_flips(values: IntArray, counts: IntArray, seen: int) -> float:
    """Build up the distribution of the sum: equal sizes are a binomial, and different ones are independent.

    Entry i is the chance that the positive ones sum to i; of a whole t, the sum is 2 i - t.
    """
    chances: FloatArray = np.ones(1)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        longer = np.zeros(len(chances) + value * count)
        for positive, chance in enumerate(scipy.stats.binom.pmf(np.arange(count + 1), count, 0.5).tolist()):
            longer[value * positive : value * positive + len(chances)] += chance * chances
        chances = longer
    sums = 2 * np.arange(len(chances)) - (len(chances) - 1)
    return min(float(chances[np.abs(sums) >= seen].sum()), 1.0)
