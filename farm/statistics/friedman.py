"""Do several monitors differ at all, by how they rank on many sets?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from farm.api.arrays import FloatArray
from farm.errors import DataError
from farm.measures.measure import Measure, undefined
from farm.statistics.ties import settled


@dataclass(frozen=True, slots=True)
class Significance:
    """A statistic, its degrees of freedom and p."""

    statistic: Measure
    degrees_of_freedom: tuple[int, ...]
    p: Measure


@dataclass(frozen=True, slots=True)
class Friedman:
    """Friedman's chi-squared, corrected for ties, and the F that Iman and Davenport make of it.

    `tie_correction` is what the uncorrected chi-squared was divided by: 1 without ties, less with them.
    """

    chi_squared: Significance
    iman_davenport: Significance
    tie_correction: float


def set_ranks(values: FloatArray, higher_is_better: bool = True) -> FloatArray:
    """Rank the monitors (columns) on each set (row), 1 being best; ties share their mean rank.

    Examples
    --------
    >>> set_ranks(np.array([[0.9, 0.5, 0.5], [0.1, 0.2, 0.3]])).tolist()
    [[1.0, 2.5, 2.5], [3.0, 2.0, 1.0]]
    """
    if values.ndim != 2 or min(values.shape) < 2:
        raise DataError(f"ranks: values have shape {values.shape}; expected sets x monitors, two of each")
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise DataError(f"ranks: monitor {j} has {values[i, j]} on set {i}; expected a finite number")
    rows = [settled(row, float(np.abs(row).max())) for row in values]
    ranks = stats.rankdata(np.array(rows) * (-1 if higher_is_better else 1), axis=1)
    return np.asarray(ranks, dtype=np.float64)


def friedman(ranks: FloatArray) -> Friedman:
    """Test whether the monitors' mean ranks differ by more than chance.

    Friedman's chi-squared is known to be cautious; Iman and Davenport's F is the one to decide by. Where
    every set gives the very same ranks, F is infinite and its p would be 0; the p given then is the chance
    that all sets agree if every order is equally likely.

    References
    ----------
    M. Friedman, "The use of ranks to avoid the assumption of normality implicit in the analysis of
    variance", Journal of the American Statistical Association 32 (1937).
    R. L. Iman and J. M. Davenport, "Approximations of the critical region of the Friedman statistic",
    Communications in Statistics A9 (1980).

    Examples
    --------
    >>> result = friedman(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 1.0, 3.0]]))
    >>> round(result.chi_squared.statistic.value, 3), round(result.iman_davenport.p.value, 3)
    (4.667, 0.049)
    """
    n, k = ranks.shape
    deviations = ranks - (k + 1) / 2
    spread = float((deviations**2).sum())
    freedom = (k - 1, (k - 1) * (n - 1))
    if spread == 0:
        tied = undefined(f"all {k} monitors tie on each of the {n} sets")
        return Friedman(Significance(tied, freedom[:1], tied), Significance(tied, freedom, tied), 0.0)
    chi_squared = (k - 1) * float((deviations.sum(axis=0) ** 2).sum()) / spread
    first = Significance(
        Measure(chi_squared), freedom[:1], Measure(float(stats.chi2.sf(chi_squared, freedom[0])))
    )
    correction = spread / (n * k * (k * k - 1) / 12)
    if (ranks == ranks[0]).all():
        infinite = undefined(f"each of the {n} sets gives the same ranks, so that F is infinite")
        agreed = Significance(infinite, freedom, Measure(_chance_to_agree(ranks[0], n)))
        return Friedman(first, agreed, correction)
    f = (n - 1) * chi_squared / (n * (k - 1) - chi_squared)
    second = Significance(Measure(f), freedom, Measure(float(stats.f.sf(f, *freedom))))
    return Friedman(first, second, correction)


def _chance_to_agree(ranks: FloatArray, n: int) -> float:
    _, tied = np.unique(ranks, return_counts=True)
    orders = math.factorial(len(ranks)) / math.prod(math.factorial(int(t)) for t in tied)
    return float(orders ** (1 - n))
