"""P-values of several hypotheses, adjusted so that any wrong rejection is no likelier than alpha.

Holm's procedure asks nothing of the hypotheses. Shaffer's static one uses that all pairs are related: where
two of three monitors differ, only one of the other two pairs can still be equal. That holds where being equal
is transitive, as of monitors that differ by a constant and noise. Of signed ranks it need not hold: A - B and
B - C may be symmetric around 0 and A - C not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from farm.api.arrays import IntArray


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values whatever their hypotheses have to do with each other.

    statsmodels' `multipletests` gives the same numbers, at the cost of a second to import it and of a full
    collection of garbage at each call.

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6
    (1979).

    Examples
    --------
    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    return _stepped_down(p_values, len(p_values) - np.arange(len(p_values)))


def shaffer(p_values: Sequence[float], n_monitors: int) -> list[float]:
    """Adjust the p-values of all pairs of monitors; none is larger than Holm's.

    References
    ----------
    J. P. Shaffer, "Modified sequentially rejective multiple test procedures", Journal of the American
    Statistical Association 81 (1986).
    S. Garcia and F. Herrera, "An extension on 'Statistical comparisons of classifiers over multiple data
    sets' for all pairwise comparisons", Journal of Machine Learning Research 9 (2008).

    Examples
    --------
    >>> [round(p, 6) for p in shaffer([0.01, 0.03, 0.04], 3)], [round(p, 6) for p in holm([0.01, 0.03, 0.04])]
    ([0.03, 0.03, 0.04], [0.03, 0.06, 0.06])
    """
    left = len(p_values) - np.arange(len(p_values))
    numbers = np.array(true_pairs(n_monitors))
    # Of those that are left, so many at the most can be true together.
    return _stepped_down(p_values, numbers[np.searchsorted(numbers, left, side="right") - 1])


@cache
def true_pairs(n_monitors: int) -> tuple[int, ...]:
    """Return how many of all pairs of monitors can be equal at once: those within groups of equal ones.

    Examples
    --------
    >>> true_pairs(3), true_pairs(5)
    ((0, 1, 3), (0, 1, 2, 3, 4, 6, 10))
    """
    if n_monitors < 2:
        return (0,)
    sizes = range(1, n_monitors + 1)
    return tuple(sorted({n * (n - 1) // 2 + rest for n in sizes for rest in true_pairs(n_monitors - n)}))


def _stepped_down(p_values: Sequence[float], hypotheses: IntArray) -> list[float]:
    """Multiply each p, the smallest first, with the number of hypotheses that may still be true."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(hypotheses * p[order])
    return [float(each) for each in np.minimum(adjusted, 1.0)]
