"""How small a p of differences between monitors can be, by the number of replicates, groups and monitors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from farm.api.guarantees.binomial import smallest
from farm.errors import ExperimentError

REPLICATES = 2000
MOST_REPLICATES = 50_000
MOST_ASKED = 1_000_000
"""More than this may be asked for by nobody: it is a slip of the pen, and would take days."""
BEYOND = 10
"""So many replicates are wanted beyond the ends of the interval that a test asks for."""
MOST_GROUPS = 100_000
"""Where so many groups give no answer, more give none."""


def check_replicates(replicates: int | None) -> None:
    """Raise where somebody asks for a number of replicates that nobody can want."""
    if replicates is not None and not 1 <= replicates <= MOST_ASKED:
        raise ExperimentError(f"--replicates is {replicates}; expected 1 to {MOST_ASKED:,}")


def of_all_pairs(p: float, monitors: int) -> float:
    """Correct the p of one pair for having been looked for among all pairs of so many monitors.

    Whoever comes first was chosen by what was seen: of many monitors of the same worth the best and the worst
    lie far apart. So this asks how often the range of as many is so wide (Tukey's studentized range).

    References
    ----------
    J. W. Tukey, "The problem of multiple comparisons" (1953), in his Collected Works, volume 8.

    Examples
    --------
    >>> round(of_all_pairs(0.01, 2), 3), round(of_all_pairs(0.01, 3), 3), round(of_all_pairs(0.01, 20), 2)
    (0.01, 0.027, 0.52)
    """
    if monitors <= 2 or p >= 1:
        return p
    width = math.sqrt(2) * float(scipy.stats.norm.isf(p / 2))
    return min(max(float(scipy.stats.studentized_range.sf(width, monitors, np.inf)), p), 1.0)


@dataclass(frozen=True)
class Resolution:
    """How small a p of differences can be at all: replicates are counted, and few groups have few draws.

    The most extreme draw of k groups is one of them k times, whose chance is 1 in k to the k: what is rarer
    than that nobody has seen.
    """

    fewest: int
    """Groups of the part with the fewest."""
    replicates: int
    monitors: int
    """Among so many the pairs are looked for."""
    alpha: float
    control: bool = False
    """Whether all others are compared with one of the monitors that was named beforehand."""

    @classmethod
    def planned(cls, fewest: int, monitors: int, alpha: float, control: bool = False) -> Resolution:
        """Choose the replicates that so many monitors ask for, where the groups can give an answer.

        Examples
        --------
        >>> [Resolution.planned(600, n, 0.05).replicates for n in (2, 5, 20)]
        [2000, 3253, 50000]
        >>> Resolution.planned(600, 20, 0.05, control=True).replicates
        7991
        """
        found = cls(fewest, MOST_REPLICATES, monitors, alpha, control)
        if not found.enough:
            return replace(found, replicates=REPLICATES)
        if control:
            asked = alpha / max(monitors - 1, 1)
        else:
            width = float(scipy.stats.studentized_range.isf(alpha, max(monitors, 2), np.inf)) / math.sqrt(2)
            asked = 2 * float(scipy.stats.norm.sf(width))
        wanted = math.ceil(BEYOND / tail_of(asked, fewest))
        return replace(found, replicates=min(max(wanted, REPLICATES), MOST_REPLICATES))

    @cached_property
    def floor(self) -> float:
        """The smallest p that there can be, corrected.

        Examples
        --------
        >>> round(Resolution(5, 2000, 3, 0.05).floor, 3), round(Resolution(600, 2000, 60, 0.05).floor, 2)
        (0.105, 0.48)
        """
        tail = max(1 / (1 + self.replicates), rarest(self.fewest))
        p = p_of(tail, self.fewest) if tail < 1 else 1.0  # a single group is drawn each time
        # Beside a control the smallest p is corrected the most, and the others only where that one is small.
        return min((self.monitors - 1) * p, 1.0) if self.control else of_all_pairs(p, self.monitors)

    @cached_property
    def enough(self) -> bool:
        """Whether any difference can be seen."""
        return self.floor < self.alpha

    @property
    def words(self) -> str:
        """Say why nothing can be told apart, and what would change that."""
        if self.needed is None:
            return f"of {self.monitors} monitors p is at least {self.floor:.2g}; compare fewer"
        what, number = self.needed
        if what == "tracks":
            few, more = f"{self.fewest} tracks", f"{number} tracks of ID and {number} of OOD instances"
        else:
            few, more = f"{self.replicates:,} replicates", f"--replicates {number}"
        return f"with {few} p is at least {self.floor:.2g}; {more} could tell"

    @cached_property
    def needed(self) -> tuple[str, int] | None:
        """How many `tracks` a part, or `replicates`, it takes to see one.

        None where none are missing, or where no number helps.

        Examples
        --------
        >>> Resolution(5, 2000, 3, 0.05).needed, Resolution(600, 2000, 20, 0.05).needed
        (('tracks', 6), ('replicates', 50000))
        """
        if self.enough:
            return None
        more = Resolution.planned(self.fewest, self.monitors, self.alpha, self.control)
        if more.enough:
            return "replicates", more.replicates

        def enough(groups: int) -> bool:
            return replace(self, fewest=groups, replicates=MOST_REPLICATES).enough

        return ("tracks", smallest(enough, self.fewest)) if enough(MOST_GROUPS) else None


def rarest(fewest: int) -> float:
    """Return the chance of the most extreme draw: one group, as often as there are groups."""
    return math.exp(-fewest * math.log(fewest))


def tail_of(alpha: float, fewest: int) -> float:
    """Return the share of replicates that lies beyond each end of an interval."""
    return float(
        scipy.stats.norm.cdf(math.sqrt(fewest / (fewest - 1)) * scipy.stats.t.ppf(alpha / 2, fewest - 1))
    )


def p_of(tail: float, fewest: int) -> float:
    """Return the p of a difference of which this share of replicates lies on the other side."""
    return float(
        2 * scipy.stats.t.cdf(scipy.stats.norm.ppf(tail) * math.sqrt((fewest - 1) / fewest), fewest - 1)
    )
