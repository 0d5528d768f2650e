"""Two monitors over the same sets: Wilcoxon's signed-rank test, exact where that is affordable.

scipy's `method="exact"` takes for granted that no differences tie and none is 0, and benchmark sets break
both. The distribution under the null hypothesis is simple all the same: given the sizes of the differences,
each sign is a fair coin. So it is worked out here by adding one rank after another; scipy gives the normal
approximation beyond `EXACT_UP_TO`.

Zeros are treated as Pratt does: they take part in the ranking, and then their ranks count for neither side.
(Splitting those ranks evenly, as Demsar does, adds the same constant to both sums and leaves the exact p.)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from farm.api.arrays import FloatArray
from farm.statistics.corrections import holm, shaffer
from farm.statistics.table import FullTable

EXACT_UP_TO = 100
"""The number of sets up to which p is exact."""
DIGITS = 12
"""Values that agree to so many significant digits tie. A float64 holds nearly 16; sums lose some."""


@dataclass(frozen=True, slots=True)
class SignedRank:
    """Two monitors compared set by set.

    `first_sum` and `second_sum` are the rank sums of the sets on which each was better; `n_equal` counts the
    sets on which neither was. Where all are equal, p is 1: no coin is left to toss. `p_holm` is p adjusted
    for all the pairs that were compared along with this one; `p_shaffer` too, or None where these are not
    all pairs of the monitors.
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
    p_shaffer: float | None


def signed_rank_pairs(table: FullTable, control: str | None = None) -> tuple[SignedRank, ...]:
    """Compare each monitor with each other one, or with a control alone; corrected for the number of pairs.

    References
    ----------
    F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945).
    J. W. Pratt, "Remarks on zeros and ties in the Wilcoxon signed rank procedures", Journal of the American
    Statistical Association 54 (1959).

    Examples
    --------
    >>> values = tuple((i / 10, i / 9) for i in range(1, 7))
    >>> table = FullTable("mcc", tuple("abcdef"), ("odin", "oob"), values)
    >>> pair, = signed_rank_pairs(table)
    >>> pair.first_sum, pair.second_sum, pair.p
    (0.0, 21.0, 0.03125)
    """
    columns = dict(
        zip(table.monitors, (table.array if table.higher_is_better else -table.array).T, strict=True)
    )
    others = [name for name in table.monitors if name != control]
    pairs = list(combinations(others, 2)) if control is None else [(control, name) for name in others]
    tests = [signed_rank(columns[one], columns[other]) for one, other in pairs]
    raw = [p for _, _, p, _ in tests]
    by_shaffer = shaffer(raw, len(others)) if control is None else [None] * len(pairs)
    return tuple(
        SignedRank(*pair, *sums, len(table.sets), n_equal, p, p_holm, exact, p_shaffer)
        for pair, (sums, n_equal, p, exact), p_holm, p_shaffer in zip(
            pairs, tests, holm(raw), by_shaffer, strict=True
        )
    )


def signed_rank(first: FloatArray, second: FloatArray) -> tuple[tuple[float, float], int, float, bool]:
    """Return the two rank sums, the number of equal sets, the two-sided p and whether it is exact.

    Examples
    --------
    >>> signed_rank(np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 1.0, 2.0, 2.0]))
    ((9.0, 0.0), 1, 0.25, True)
    """
    differences = settled(first - second, float(max(np.abs(first).max(), np.abs(second).max())))
    ranks = scipy.stats.rankdata(np.abs(differences))
    sums = float(ranks[differences > 0].sum()), float(ranks[differences < 0].sum())
    n_equal = int((differences == 0).sum())
    if len(differences) <= EXACT_UP_TO or n_equal == len(differences):
        return sums, n_equal, _exact_p(ranks[differences != 0], min(sums)), True
    # With more than 50 differences, scipy's choice is the normal approximation, corrected for zeros and ties.
    p = scipy.stats.wilcoxon(differences, zero_method="pratt", correction=True, method="auto").pvalue
    return sums, n_equal, float(p), False


def settled(values: FloatArray, scale: float) -> FloatArray:
    """Round to 12 significant digits of `scale`, so that 0.3 - 0.2 and 0.2 - 0.1 tie.

    Examples
    --------
    >>> differences = np.array([0.3 - 0.2, 0.2 - 0.1])
    >>> len(set(differences.tolist())), len(set(settled(differences, 0.3).tolist()))
    (2, 1)
    """
    # A scale below 1e-200 is as good as 0, and 10 to the power of its digits would overflow.
    if scale < 1e-200:
        return values
    return np.asarray(np.round(values, DIGITS - 1 - int(np.floor(np.log10(scale)))), dtype=np.float64)


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
