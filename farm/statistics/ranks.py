"""Which monitors differ over many benchmark sets, by rank.

Three questions, a test for each:

- *Do any differ?* Friedman's test, in Iman and Davenport's form.
- *Which differ?* Nemenyi's test: two mean ranks further apart than the critical difference. It only speaks
  where the first test found something, and the critical-difference diagram shows it.
- *Does this pair differ?* Wilcoxon's signed-rank test with Holm's correction. It looks at two monitors alone,
  so that no third one changes their p, and at the sizes of the differences; often it tells more apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from farm.api.arrays import BoolArray, FloatArray
from farm.errors import ParameterError
from farm.statistics.friedman import Friedman, friedman, set_ranks
from farm.statistics.full_table import FullTable
from farm.statistics.groups import groups_of
from farm.statistics.wilcoxon import SignedRank, signed_rank_pairs

ALPHA = 0.05
"""The chance of seeing a difference where there is none that is put up with, unless asked otherwise."""


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
    critical_q, critical_difference
        Nemenyi's: the studentized range at `alpha`, divided by the root of 2, and the least distance between
        two mean ranks that counts as a difference.
    nemenyi_p
        Symmetric, monitors x monitors.
    wilcoxon
        Each pair by itself, with Holm's correction.
    groups
        The largest groups of monitors that Nemenyi's test cannot tell apart; all in one where Friedman's
        finds no difference.
    wilcoxon_groups
        The same, by Wilcoxon's test with Holm's correction.
    notes
        What was done about values that are undefined or missing.
    """

    measure: str
    higher_is_better: bool
    monitors: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    sets: tuple[str, ...]
    a_set_is: str
    alpha: float
    friedman: Friedman
    critical_q: float
    critical_difference: float
    nemenyi_p: tuple[tuple[float, ...], ...]
    wilcoxon: tuple[SignedRank, ...]
    groups: tuple[tuple[str, ...], ...]
    wilcoxon_groups: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    @property
    def n_sets(self) -> int:
        """The number of sets."""
        return len(self.sets)

    @property
    def counted(self) -> str:
        """Say what N is and what it counts."""
        return f"N = {self.n_sets} sets; a set is {self.a_set_is}"

    @property
    def any_differ(self) -> bool:
        """Whether Iman and Davenport's test finds a difference at `alpha`."""
        p = self.friedman.iman_davenport.p
        return p.defined and p.value < self.alpha

    @property
    def like_the_best(self) -> tuple[str, ...]:
        """The monitors that Nemenyi's test cannot tell from the one with the best mean rank, and that one."""
        best = self.monitors[0]
        joined = {name for group in self.groups if best in group for name in group}
        return tuple(name for name in self.monitors if name in joined)

    def pair(self, first: str, second: str) -> SignedRank:
        """Give the signed-rank test of two monitors, as it was made."""
        return next(each for each in self.wilcoxon if {each.first, each.second} == {first, second})

    @property
    def tests(self) -> tuple[str, ...]:
        """Say, one sentence a test, which test was made and what it found."""
        k, alpha = len(self.monitors), f"{self.alpha:g}"
        finds = "the monitors differ" if self.any_differ else "no difference between the monitors is shown"
        pairs = f"{k * (k - 1) // 2} pairs"
        told = sum(each.p_holm < self.alpha for each in self.wilcoxon)
        gate = "" if self.any_differ else ", not asked, since the first finds none"
        return (
            f"Friedman's test as Iman and Davenport's {_described(self.friedman)}: {finds} (alpha {alpha})",
            f"Nemenyi's test: mean ranks further apart than {self.critical_difference:.3f} differ "
            f"(alpha {alpha} for all {pairs} together){gate}",
            f"Wilcoxon's signed-rank test with Holm's correction: {told} of {pairs} differ (alpha {alpha})",
        )


def compare_ranks(table: FullTable, alpha: float = ALPHA) -> RankComparison:
    """Rank the monitors on each set and test which of them differ.

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
    omnibus = friedman(ranks)
    differ = omnibus.iman_davenport.p.defined and omnibus.iman_davenport.p.value < alpha
    q = critical_q(k, alpha)
    critical = q * _standard_error(k, n)
    distances = np.abs(mean_ranks[:, None] - mean_ranks[None, :])
    pairs = signed_rank_pairs(table)
    return RankComparison(
        measure=table.measure,
        higher_is_better=table.higher_is_better,
        monitors=monitors,
        mean_ranks=tuple(mean_ranks.tolist()),
        sets=table.sets,
        a_set_is=table.a_set_is,
        alpha=alpha,
        friedman=omnibus,
        critical_q=q,
        critical_difference=critical,
        nemenyi_p=tuple(map(tuple, _nemenyi_p(distances, k, n).tolist())),
        wilcoxon=pairs,
        groups=groups_of(monitors, (distances > critical) & differ),
        wilcoxon_groups=groups_of(monitors, _apart(monitors, pairs, alpha)),
        notes=table.notes,
    )


def critical_q(n_monitors: int, alpha: float = ALPHA) -> float:
    """Nemenyi's q: the studentized range at `alpha` for any number of instances, divided by the root of 2.

    Examples
    --------
    >>> round(critical_q(4), 3)
    2.569
    """
    return float(stats.studentized_range.isf(alpha, n_monitors, np.inf)) / float(np.sqrt(2))


def critical_difference(n_monitors: int, n_sets: int, alpha: float = ALPHA) -> float:
    """Give the least distance between two mean ranks over `n_sets` sets that Nemenyi's test sees.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    return critical_q(n_monitors, alpha) * _standard_error(n_monitors, n_sets)


def _standard_error(k: int, n: int) -> float:
    return float(np.sqrt(k * (k + 1) / (6 * n)))


def _nemenyi_p(distances: FloatArray, k: int, n: int) -> FloatArray:
    q = distances / _standard_error(k, n) * np.sqrt(2)
    return np.asarray(stats.studentized_range.sf(q, k, np.inf), dtype=np.float64)


def _apart(monitors: tuple[str, ...], pairs: tuple[SignedRank, ...], alpha: float) -> BoolArray:
    place = {name: i for i, name in enumerate(monitors)}
    apart = np.zeros((len(monitors), len(monitors)), dtype=np.bool_)
    for each in pairs:
        i, j = place[each.first], place[each.second]
        apart[i, j] = apart[j, i] = each.p_holm < alpha
    return apart


def _described(result: Friedman) -> str:
    test = result.iman_davenport
    freedom = ", ".join(map(str, test.degrees_of_freedom))
    value, reason = test.statistic.value, test.statistic.reason
    p = "no p" if not test.p.defined else f"p = {test.p.value:.3f}" if test.p.value >= 0.001 else "p < 0.001"
    return f"F({freedom}) " + (f"= {value:.2f}, {p}" if reason is None else f"is undefined ({reason}), {p}")
