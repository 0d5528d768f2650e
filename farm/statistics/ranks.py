"""Which monitors differ over many benchmark sets, by rank.

Three questions, a test for each:

- *Do any differ?* Friedman's test, in Iman and Davenport's form.
- *Which differ?* Nemenyi's test: two mean ranks further apart than the critical difference. It only speaks
  where the first test found something, and the critical-difference diagram shows it.
- *Does this pair differ?* Wilcoxon's signed-rank test with Holm's correction. It looks at two monitors alone,
  so that no third one changes their p, and at the sizes of the differences; often it tells more apart. Where
  one monitor is the control, its pairs alone are tested.

Where there are so few sets that the third can tell no pair apart, the others are not asked either: one
question has one answer, and over three sets Friedman's test finds a difference in 19 % of tables of three
monitors that are alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

import numpy as np
import scipy

from farm.api.arrays import FloatArray
from farm.errors import ParameterError
from farm.measures.measure import Measure, undefined
from farm.statistics.groups import groups_of
from farm.statistics.table import FullTable
from farm.statistics.wilcoxon import SignedRank, settled, signed_rank_pairs

ALPHA = 0.05
"""The chance of seeing a difference where there is none that is put up with, unless asked otherwise."""


@dataclass(frozen=True, slots=True)
class Friedman:
    """Friedman's chi-squared with its correction for ties, and Iman and Davenport's F that is made of it."""

    statistic: Measure
    degrees_of_freedom: tuple[int, int]
    p: Measure
    chi_squared: Measure
    chi_squared_p: Measure

    def __str__(self) -> str:
        """Return what was found, in a few signs."""
        first, second = self.degrees_of_freedom
        chi_squared = _found(f"chi-squared({first})", self.chi_squared, self.chi_squared_p)
        f = _found(f"F({first}, {second})", self.statistic, self.p)
        if not self.chi_squared.defined:
            return f
        return f"{chi_squared}; as Iman and Davenport's {f}"


def _found(name: str, statistic: Measure, p: Measure) -> str:
    told = "p < 0.001" if p.value < 0.001 else f"p = {p.value:.3f}" if p.defined else "no p"
    if statistic.defined:
        return f"{name} = {statistic.value:.2f}, {told}"
    return f"{name} is undefined ({statistic.reason}), {told}"


@dataclass(frozen=True)
class RankComparison:
    """All that ranks say about monitors over sets; the monitors are in order, best mean rank first.

    Attributes
    ----------
    sets, a_set_is
        The sets that count, and what one of them is.
    mean_ranks
        Of each monitor; 1 would be best on every set.
    friedman
        Whether any monitors differ.
    critical_difference
        Nemenyi's: the least distance between two mean ranks that counts as a difference.
    wilcoxon
        Each pair by itself, with corrections for all of them; the control's pairs alone where there is one.
    notes
        What was done about values that are undefined or missing.
    control
        The monitor that the others are compared with; None where all are compared with each other.
    """

    measure: str
    higher_is_better: bool
    monitors: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    sets: tuple[str, ...]
    a_set_is: str
    alpha: float
    friedman: Friedman
    critical_difference: float
    wilcoxon: tuple[SignedRank, ...]
    notes: tuple[str, ...]
    control: str | None = None

    @property
    def n_sets(self) -> int:
        """The number of sets."""
        return len(self.sets)

    @property
    def floor(self) -> float:
        """The least p that a pair can have: all sets favour one monitor, and all pairs are accounted for."""
        return min(1.0, _floor(len(self.wilcoxon), self.n_sets))

    @property
    def sets_needed(self) -> int:
        """The fewest sets with which the least p there can be is below alpha."""
        return sets_needed(len(self.wilcoxon), self.alpha)

    @property
    def too_few(self) -> str | None:
        """Say that no test can tell any pair apart over so few sets; None where there are enough."""
        if self.n_sets >= self.sets_needed:
            return None
        k = len(self.monitors)
        whom = "tell two monitors apart" if k == 2 else f"tell any two of {k} monitors apart"
        if self.control is not None:
            whom = f"tell any monitor from {self.control}"
        return f"n = {self.n_sets} sets are too few to {whom}, which takes at least {self.sets_needed}"

    @property
    def counted(self) -> str:
        """Say what N is and what it counts."""
        return f"N = {self.n_sets} sets; a set is {self.a_set_is}"

    @property
    def any_differ(self) -> bool:
        """Whether Iman and Davenport's test finds a difference at `alpha`, over enough sets for any pair."""
        p = self.friedman.p
        return self.too_few is None and p.defined and p.value < self.alpha

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The largest groups that Nemenyi's test cannot tell apart; all in one unless `any_differ`."""
        ranks = np.array(self.mean_ranks)
        distances = np.abs(ranks[:, None] - ranks[None, :])
        groups = groups_of((distances > self.critical_difference) & self.any_differ)
        return tuple(tuple(self.monitors[i] for i in group) for group in groups)

    def pair(self, first: str, second: str) -> SignedRank:
        """Return the signed-rank test of two monitors, as it was made."""
        return next(each for each in self.wilcoxon if {each.first, each.second} == {first, second})

    def favours(self, one: str, other: str) -> bool:
        """Return whether the rank sums of two monitors speak for the first."""
        pair = self.pair(one, other)
        return (pair.first_sum > pair.second_sum) == (pair.first == one) and pair.first_sum != pair.second_sum

    def nemenyi_p(self, first: str, second: str) -> float:
        """Return the p of two mean ranks by Nemenyi's test, which is corrected for all pairs of monitors."""
        distance = abs(
            self.mean_ranks[self.monitors.index(first)] - self.mean_ranks[self.monitors.index(second)]
        )
        k = len(self.monitors)
        return float(
            scipy.stats.studentized_range.sf(math.sqrt(2) * distance / _error(k, self.n_sets), k, np.inf)
        )

    @property
    def tests(self) -> tuple[str, ...]:
        """Say, one sentence a test, which test was made and what it found."""
        k, alpha = len(self.monitors), f"{self.alpha:g}"
        compared = f"{len(self.wilcoxon)} pairs" + ("" if self.control is None else f" with {self.control}")
        finds = "the monitors differ" if self.any_differ else "no difference between the monitors is shown"
        if self.too_few:
            finds = f"not asked, since {self.too_few}"
        pairs = f"{k * (k - 1) // 2} pairs"
        told = sum(each.p_holm < self.alpha for each in self.wilcoxon)
        gate = "" if self.any_differ else ", not asked, since the first finds none"
        if self.too_few:
            gate = ", not asked over so few sets"
        return (
            f"Friedman's test: {self.friedman}: {finds} (alpha {alpha})",
            f"Nemenyi's test: mean ranks further apart than {self.critical_difference:.3f} differ "
            f"(alpha {alpha} for all {pairs} together){gate}",
            f"Wilcoxon's signed-rank test with Holm's correction: {told} of {compared} differ "
            f"(alpha {alpha})",
        )


def compare_ranks(table: FullTable, alpha: float = ALPHA, control: str | None = None) -> RankComparison:
    """Rank the monitors on each set and test which of them differ, or which differ from a control.

    References
    ----------
    J. Demsar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine Learning
    Research 7 (2006).
    P. B. Nemenyi, "Distribution-free multiple comparisons", PhD thesis, Princeton University (1963).

    Examples
    --------
    >>> values = tuple((0.1 + i / 50, 0.2 + i / 60, 0.6 + i / 70) for i in range(8))
    >>> result = compare_ranks(FullTable("mcc", tuple("abcdefgh"), ("msp", "odin", "oob"), values))
    >>> result.monitors, result.mean_ranks
    (('oob', 'odin', 'msp'), (1.0, 2.0, 3.0))
    >>> round(result.critical_difference, 3), result.groups
    (1.172, (('oob', 'odin'), ('odin', 'msp')))
    """
    if not 0 < alpha < 1:
        raise ParameterError(f"compare_ranks: alpha = {alpha}; expected a number between 0 and 1")
    ranks = set_ranks(table.array, table.higher_is_better)
    best_first = np.argsort(ranks.mean(axis=0), kind="stable")
    ranks = ranks[:, best_first]
    monitors = tuple(table.monitors[i] for i in best_first)
    n, k = ranks.shape
    mean_ranks = ranks.sum(axis=0) / n
    return RankComparison(
        measure=table.measure,
        higher_is_better=table.higher_is_better,
        monitors=monitors,
        mean_ranks=tuple(mean_ranks.tolist()),
        sets=table.sets,
        a_set_is=table.a_set_is,
        alpha=alpha,
        friedman=friedman(ranks),
        critical_difference=critical_difference(k, n, alpha),
        wilcoxon=signed_rank_pairs(table, control),
        notes=table.notes,
        control=control,
    )


def set_ranks(values: FloatArray, higher_is_better: bool = True) -> FloatArray:
    """Rank the monitors (columns) on each set (row), 1 being best; ties share their mean rank.

    Examples
    --------
    >>> set_ranks(np.array([[0.9, 0.5, 0.5], [0.1, 0.2, 0.3]])).tolist()
    [[1.0, 2.5, 2.5], [3.0, 2.0, 1.0]]
    """
    rows = [settled(row, float(np.abs(row).max())) for row in values]
    ranks = scipy.stats.rankdata(np.array(rows) * (-1 if higher_is_better else 1), axis=1)
    return np.asarray(ranks, dtype=np.float64)


def friedman(ranks: FloatArray) -> Friedman:
    """Test whether the monitors' mean ranks differ by more than chance.

    Friedman's chi-squared is known to be cautious; Iman and Davenport's F is the one to decide by. Where
    every set gives the very same ranks, F is infinite and its p would be 0; the p given then is the chance
    that all sets agree if every order is equally likely. scipy's `friedmanchisquare` has neither F nor that.

    References
    ----------
    M. Friedman, "The use of ranks to avoid the assumption of normality implicit in the analysis of
    variance", Journal of the American Statistical Association 32 (1937).
    R. L. Iman and J. M. Davenport, "Approximations of the critical region of the Friedman statistic",
    Communications in Statistics A9 (1980).

    Examples
    --------
    >>> print(friedman(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 1.0, 3.0]])))
    chi-squared(2) = 4.67, p = 0.097; as Iman and Davenport's F(2, 4) = 7.00, p = 0.049
    """
    n, k = ranks.shape
    deviations = ranks - (k + 1) / 2
    spread = float((deviations**2).sum())
    freedom = (k - 1, (k - 1) * (n - 1))
    if spread == 0:
        tied = undefined(f"all {k} monitors tie on each of the {n} sets")
        return Friedman(tied, freedom, tied, tied, tied)
    chi_squared = (k - 1) * float((deviations.sum(axis=0) ** 2).sum()) / spread
    of_chi_squared = Measure(chi_squared), Measure(float(scipy.stats.chi2.sf(chi_squared, k - 1)))
    if (ranks == ranks[0]).all():
        infinite = undefined(f"each of the {n} sets gives the same ranks, so that F is infinite")
        _, tied_ranks = np.unique(ranks[0], return_counts=True)
        orders = math.factorial(k) / math.prod(map(math.factorial, tied_ranks.tolist()))
        return Friedman(infinite, freedom, Measure(float(orders ** (1 - n))), *of_chi_squared)
    f = (n - 1) * chi_squared / (n * (k - 1) - chi_squared)
    return Friedman(Measure(f), freedom, Measure(float(scipy.stats.f.sf(f, *freedom))), *of_chi_squared)


def critical_q(n_monitors: int, alpha: float = ALPHA) -> float:
    """Nemenyi's q: the studentized range at `alpha` for any number of instances, divided by the root of 2.

    Examples
    --------
    >>> round(critical_q(4), 3)
    2.569
    """
    return float(scipy.stats.studentized_range.isf(alpha, n_monitors, np.inf)) / float(np.sqrt(2))


def critical_difference(n_monitors: int, n_sets: int, alpha: float = ALPHA) -> float:
    """Return the least distance between two mean ranks over `n_sets` sets that Nemenyi's test sees.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    return critical_q(n_monitors, alpha) * _error(n_monitors, n_sets)


def sets_needed(n_pairs: int, alpha: float = ALPHA) -> int:
    """Return the fewest sets over which signed ranks can tell any of so many pairs apart, as Holm corrects.

    Examples
    --------
    >>> sets_needed(1), sets_needed(3), sets_needed(28)
    (6, 7, 11)
    """
    return next(n for n in count(2) if _floor(n_pairs, n) < alpha)


def _floor(n_pairs: int, n_sets: int) -> float:
    return 2 * 0.5**n_sets * n_pairs


def _error(n_monitors: int, n_sets: int) -> float:
    """Return the standard error of the distance between two mean ranks, where all monitors are alike."""
    return math.sqrt(n_monitors * (n_monitors + 1) / (6 * n_sets))
