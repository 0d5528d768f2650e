"""Which levels of a factor differ: Tukey's honestly significant differences, each pair with its interval.

The error is that of the whole analysis of variance: beside other factors, the spread within a level alone
would charge the monitor for what the faults did. Means and the errors of their differences are those of
`Anova.means_of`, so an unbalanced design is served as well, as Tukey and Kramer do; the level is then not
exact (with one factor it is at least the one asked for). scipy's studentized range is used rather than
statsmodels' table of it, which ends at p = 0.001 and 0.9.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.integrate import IntegrationWarning
from scipy.stats import studentized_range

from farm.errors import ParameterError
from farm.statistics.anova_result import Anova
from farm.statistics.letters import letters
from farm.statistics.table import Undefined
from farm.statistics.wording import p_words


@dataclass(frozen=True, slots=True)
class Difference:
    """How two levels differ; the first has the greater mean."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    """Adjusted for all pairs together."""
    level: float

    @property
    def differ(self) -> bool:
        """Whether the two are told apart."""
        return self.p < 1 - self.level

    @property
    def sentence(self) -> str:
        """What was found, in plain words."""
        interval = f"{100 * self.level:g} % interval {self.low:.3g} to {self.high:.3g}"
        numbers = f"{self.difference:.3g} ({interval}, {p_words(self.p)})"
        if self.differ:
            return f"'{self.first}' is above '{self.second}' by {numbers}"
        return f"'{self.first}' and '{self.second}' cannot be told apart: they differ by {numbers}"


@dataclass(frozen=True)
class Tukey:
    """All pairs of a factor's levels compared; the intervals hold all at once."""

    factor: str
    levels: tuple[str, ...]
    """The greatest mean first."""
    means: tuple[float, ...]
    letters: tuple[str, ...]
    """Level by level; two levels share a letter exactly when they do not differ."""
    pairs: tuple[Difference, ...]
    error_mean_square: float
    error_df: int
    level: float
    notes: tuple[str, ...]

    def pair(self, first: str, second: str) -> Difference:
        """Give the comparison of two levels, in any order."""
        for pair in self.pairs:
            if {pair.first, pair.second} == {first, second}:
                return pair
        raise ParameterError(f"tukey: '{first}' and '{second}'; expected two of {', '.join(self.levels)}")


def tukey(analysis: Anova, factor: str, level: float = 0.95) -> Tukey | Undefined:
    """Compare each two levels of a factor.

    Parameters
    ----------
    analysis
        What `anova` found; its error term and degrees of freedom are used.
    factor
        One of its factors.
    level
        With which all intervals together hold.

    Examples
    --------
    >>> import pandas as pd
    >>> from farm.statistics.anova import anova
    >>> table = pd.DataFrame({"monitor": ["odin"] * 3 + ["oob"] * 3 + ["random"] * 3})
    >>> table["mcc"] = [0.50, 0.54, 0.55, 0.49, 0.52, 0.51, 0.02, 0.01, -0.01]
    >>> found = tukey(anova(table, "mcc", ["monitor"]), "monitor")
    >>> dict(zip(found.levels, found.letters))
    {'odin': 'a', 'oob': 'a', 'random': 'b'}
    >>> found.pair("oob", "odin").sentence
    "'odin' and 'oob' cannot be told apart: they differ by 0.0233 (95 % interval -0.0261 to 0.0727, p = 0.38)"
    """
    if not 0 < level < 1:
        raise ParameterError(f"tukey: level = {level}; expected a number between 0 and 1")
    found = analysis.means_of(factor)
    if isinstance(found, Undefined):
        return found
    covariance = np.array(found.covariance)
    count, df = len(found.levels), analysis.error_df
    order = sorted(range(count), key=lambda i: (-found.means[i], i))
    critical = float(studentized_range.isf(1 - level, count, df))
    pairs = []
    for i, j in combinations(order, 2):
        difference = found.means[i] - found.means[j]
        # Half of the difference's variance: the studentized range is of means, not of differences.
        error = math.sqrt((covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]) / 2)
        p = studentized_p(difference / error, count, df)
        half = critical * error
        low, high = float(difference - half), float(difference + half)
        pairs.append(Difference(found.levels[i], found.levels[j], difference, low, high, p, level))
    levels = tuple(found.levels[i] for i in order)
    groups = letters(levels, [(pair.first, pair.second) for pair in pairs if pair.differ])
    return Tukey(
        factor=factor,
        levels=levels,
        means=tuple(found.means[i] for i in order),
        letters=tuple(groups[name] for name in levels),
        pairs=tuple(pairs),
        error_mean_square=analysis.error_mean_square,
        error_df=df,
        level=level,
        notes=tuple(_notes(analysis, factor)),
    )


def studentized_p(q: float, count: int, df: int) -> float:
    """Give the chance that the range of `count` means is at least `q`, where all levels are alike.

    Examples
    --------
    >>> round(studentized_p(3.578, 3, 20), 3)
    0.05
    """
    with warnings.catch_warnings():
        # scipy's integral complains where p is 1 but for 1e-11, and is right to more digits than that.
        warnings.simplefilter("ignore", IntegrationWarning)
        return min(max(float(studentized_range.sf(q, count, df)), 0.0), 1.0)


def _notes(analysis: Anova, factor: str) -> list[str]:
    """Say where a level's mean hides what happens under different conditions."""
    notes = []
    for effect in analysis.effects:
        if effect.shows and len(effect.factors) > 1 and factor in effect.factors:
            others = " and ".join(name for name in effect.factors if name != factor)
            notes.append(
                f"how much the {factor} matters depends on the {others} "
                f"({effect.name}: {p_words(effect.p)}); compare it for each apart as well"
            )
    return notes
