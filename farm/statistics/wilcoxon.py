"""Two monitors over the same sets: Wilcoxon's signed-rank test, exact where that is affordable.

scipy's `method="exact"` takes for granted that no differences tie and none is 0, and benchmark sets break
both. The distribution under the null hypothesis is simple all the same: given the sizes of the differences,
each sign is a fair coin. So it is worked out here by adding one rank after another; scipy gives the normal
approximation beyond `EXACT_UP_TO`.

Zeros are treated as Pratt does: they take part in the ranking, and then their ranks count for neither side.
(Splitting those ranks evenly, as Demsar does, adds the same constant to both sums and leaves the exact p.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from farm.api.arrays import FloatArray
from farm.errors import DataError
from farm.statistics.full_table import FullTable
from farm.statistics.ties import settled

EXACT_UP_TO = 100
"""The number of sets up to which p is exact."""


@dataclass(frozen=True, slots=True)
class SignedRank:
    """Two monitors compared set by set.

    `first_sum` and `second_sum` are the rank sums of the sets on which each was better; `n_equal` counts the
    sets on which neither was. Where all are equal, p is 1: no coin is left to toss. `p_holm` is p adjusted
    for all the pairs that were compared along with this one.
    """

    first: str
    second: str
    first_sum: float
    second_sum: float
    n: int
    n_equal: int
    p: float
    p_holm: float
    exact: bool


def signed_rank_pairs(table: FullTable) -> tuple[SignedRank, ...]:
    """Compare each monitor with each other one, with Holm's correction for the number of pairs.

    References
    ----------
    F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945).
    J. W. Pratt, "Remarks on zeros and ties in the Wilcoxon signed rank procedures", Journal of the American
    Statistical Association 54 (1959).
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6
    (1979).

    Examples
    --------
    >>> values = tuple((i / 10, i / 9) for i in range(1, 7))
    >>> table = FullTable("mcc", tuple("abcdef"), ("odin", "oob"), values)
    >>> pair, = signed_rank_pairs(table)
    >>> pair.first_sum, pair.second_sum, pair.p
    (0.0, 21.0, 0.03125)
    """
    values = table.array if table.higher_is_better else -table.array
    pairs = [(i, j) for i in range(len(table.monitors)) for j in range(i + 1, len(table.monitors))]
    tests = [signed_rank(values[:, i], values[:, j]) for i, j in pairs]
    return tuple(
        SignedRank(table.monitors[i], table.monitors[j], *sums, len(values), n_equal, p, p_holm, exact)
        for (i, j), (sums, n_equal, p, exact), p_holm in zip(
            pairs, tests, holm([test[2] for test in tests]), strict=True
        )
    )


def signed_rank(first: FloatArray, second: FloatArray) -> tuple[tuple[float, float], int, float, bool]:
    """Give the two rank sums, the number of equal sets, the two-sided p and whether it is exact.

    Examples
    --------
    >>> signed_rank(np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 1.0, 2.0, 2.0]))
    ((9.0, 0.0), 1, 0.25, True)
    """
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise DataError("signed rank: a value is not a finite number; expected one on every set")
    differences = settled(first - second, float(max(np.abs(first).max(), np.abs(second).max())))
    ranks = stats.rankdata(np.abs(differences))
    sums = float(ranks[differences > 0].sum()), float(ranks[differences < 0].sum())
    n_equal = int((differences == 0).sum())
    if len(differences) <= EXACT_UP_TO or n_equal == len(differences):
        return sums, n_equal, _exact_p(ranks[differences != 0], min(sums)), True
    # With more than 50 differences, scipy's choice is the normal approximation, corrected for zeros and ties.
    p = stats.wilcoxon(differences, zero_method="pratt", correction=True, method="auto").pvalue
    return sums, n_equal, float(p), False


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust several p-values, so that any wrong rejection among them all is no likelier than alpha.

    statsmodels' `multipletests` gives the same numbers, at the cost of a second to import it and of a full
    collection of garbage at each call.

    Examples
    --------
    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    return [float(each) for each in np.minimum(adjusted, 1.0)]


def _exact_p(ranks: FloatArray, smaller: float) -> float:
    """Chance that fair coins give a rank sum as far from its middle; tied ranks are halves, hence doubled."""
    steps = np.rint(2 * ranks).astype(np.int64)
    chance = np.ones(1)
    for step in steps.tolist():
        grown = np.zeros(len(chance) + step)
        grown[: len(chance)] += chance / 2
        grown[step:] += chance / 2
        chance = grown
    return float(min(2 * chance[: round(2 * smaller) + 1].sum(), 1.0))
