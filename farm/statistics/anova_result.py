"""What an analysis of variance found, each part with one plain sentence, and checks of what it relies on.

A check tells and never decides: nothing is transformed, dropped or averaged on its account.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats

from farm.api.arrays import FloatArray, IntArray
from farm.measures.measure import Measure, undefined
from farm.statistics.table import Undefined
from farm.statistics.wording import p_words, percent_words

if TYPE_CHECKING:
    from farm.statistics.design import Design

MOST_ERRORS = 10.0
"""Where only more standard errors than that show, there is too little to find an effect by. Two runs ask for
12.7 at 5 %: of two levels that differ by twice their difference's spread between runs, 18 % are found."""
MOST_FOR_SHAPIRO = 5000
"""Royston's p value of the Shapiro-Wilk test is known to hold up to so many residuals."""
FEWEST_FOR_SPREAD = 3
"""Around the median of two runs both deviate equally: the test would take them for free of noise."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one factor, or an interaction of several, does to the value."""

    factors: tuple[str, ...]
    sum_of_squares: float | None
    """None, as its shares of the variance, where a mixed model was fitted."""
    df: int
    error: float | None
    """The sum of squares that it is set beside: its own spread between blocks, or what is left over."""
    error_df: int
    f: float
    p: float
    eta_squared: float | None
    """Its share of the whole variance. Over all effects and the error the shares add up to 1 where the design
    is balanced."""
    partial_eta_squared: float
    """Its share of what the other effects leave over."""
    omega_squared: float | None
    """Its share of the whole variance in the population; of independent values alone. Unlike eta squared it
    is not too large on the average, and so it is below 0 for about half of the effects that are none."""
    alpha: float
    epsilon: float | None = None
    """Greenhouse and Geisser's, of repeated measures: 1 where differences between all levels vary alike."""
    p_corrected: float | None = None
    """With degrees of freedom that epsilon makes fewer; this one decides."""
    sphericity: Check | None = None
    repeated: str = "runs"
    """What tells how chance varies, in the plural."""

    @property
    def name(self) -> str:
        """The factors, joined by x."""
        return " x ".join(self.factors)

    @property
    def shows(self) -> bool:
        """Whether the effect is significant."""
        return (self.p if self.p_corrected is None else self.p_corrected) < self.alpha

    @property
    def enough(self) -> bool:
        """Whether there are degrees of freedom enough to find an effect."""
        epsilon = self.epsilon or 1.0
        smallest = stats.f.isf(self.alpha, self.df * epsilon, self.error_df * epsilon)
        return bool(smallest <= MOST_ERRORS**2)

    @property
    def sentence(self) -> str:
        """What was found, in plain words."""
        who = f"the {self.name}" if len(self.factors) == 1 else f"the interaction {self.name}"
        test = f"F({self.df}, {self.error_df}) = {self.f:.3g}, {p_words(self.p)}"
        if self.p_corrected is not None and self.df > 1:
            test += f"; corrected by epsilon {self.epsilon:.2f}: {p_words(self.p_corrected)}"
        none = (
            f"no effect of {who} shows" if self.enough else f"too few {self.repeated} to tell what {who} does"
        )
        if self.eta_squared is None:
            return f"{who} shows ({test})" if self.shows else f"{none} ({test})"
        share = f"explains {percent_words(self.eta_squared)} of the variance ({test})"
        return f"{who} {share}" if self.shows else f"{none}: it {share}"


@dataclass(frozen=True)
class LevelMeans:
    """The mean at each level of a factor, every combination of the other factors' levels counting once.

    In a balanced design these are the plain means. In others a plain mean would charge a level for the
    conditions that it happened to meet more often.
    """

    levels: tuple[str, ...]
    means: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    """Of the means' errors, from the error term of this factor."""
    error_df: int


@dataclass(frozen=True)
class PairedMeans:
    """The mean at each level of a factor that changes inside blocks, and what each block has there."""

    levels: tuple[str, ...]
    means: tuple[float, ...]
    values: FloatArray
    """Block by level by combination of the other factors' levels; NaN where a block lacks it."""


@dataclass(frozen=True, slots=True)
class Check:
    """A test of one assumption; a small p speaks against it."""

    test: str
    statistic: Measure
    p: Measure
    alpha: float
    holds: str
    """What is said where nothing speaks against the assumption, ..."""
    broken: str
    """... and where something does."""

    @property
    def doubted(self) -> bool | None:
        """Whether the data speak against the assumption; None where it could not be tested."""
        return self.p.value < self.alpha if self.p.defined else None

    @property
    def sentence(self) -> str:
        """What was found, in plain words."""
        if not self.p.defined:
            return f"{self.test} was not possible: {self.p.reason}"
        found = self.broken if self.doubted else self.holds
        return f"{found} ({self.test}: W = {self.statistic.value:.3g}, {p_words(self.p.value)})"


@dataclass(frozen=True)
class Blocks:
    """Which values belong together, and how the analysis takes it into account."""

    noun: str
    n: int
    analysis: str
    """`repeated measures`, `mixed model`, or `independent` where each block has one value."""
    averaged: tuple[int, int] = (1, 1)
    """Of how many rows a value is the mean, at the least and at the most."""
    variances: Mapping[str, float] = field(default_factory=dict)
    """Of a mixed model: what varies between blocks, and what is left over."""

    @classmethod
    def of(cls, design: Design, analysis: str, variances: Mapping[str, float] | None = None) -> Blocks | None:
        """Describe the blocks of a design, where it has any."""
        if design.block_noun is None:
            return None
        return cls(design.block_noun, design.n_blocks, analysis, design.averaged, variances or {})

    @property
    def sentence(self) -> str:
        """How values belong together, in plain words."""
        low, high = self.averaged
        many = f"{low}" if low == high else f"{low} to {high}"
        means = f"; a value is the mean of {many} measured ones" if high > 1 else ""
        if self.analysis == "independent":
            return f"each value is of a {self.noun} of its own{means}"
        if self.analysis == "repeated measures":
            how = "has every combination of levels: each effect is set beside its own spread between them"
            return f"each of {self.n} {self.noun}s {how}{means}"
        total = sum(self.variances.values())
        shares = [f"{percent_words(one / total)} {name}" for name, one in self.variances.items()]
        how = "lacks some combination of levels: a mixed model; of what varies at random,"
        return f"one or more of {self.n} {self.noun}s {how} {', '.join(shares)}{means}"


@dataclass(frozen=True)
class Anova:
    """An analysis of variance with all that is needed to doubt it."""

    value: str
    factors: tuple[str, ...]
    n: int
    effects: tuple[Effect, ...]
    smallest_cell: int
    """Runs in the cell that has fewest; 0 where a combination of levels has none."""
    largest_cell: int
    normality: Check
    homogeneity: Check | None
    """None where blocks are taken into account; of repeated measures sphericity is asked instead."""
    warnings: tuple[str, ...]
    """What may make the result wrong, such as runs that count more than once."""
    level_means: Mapping[str, LevelMeans | PairedMeans | Undefined]
    """The means at each level of a factor, or why there are none; of independent values also those at each
    combination of levels of the factors of an interaction, by its name."""
    blocks: Blocks | None = None
    """None where every value was taken for independent of all others."""

    @property
    def balanced(self) -> bool:
        """Whether every cell has as many runs as any other."""
        return self.smallest_cell == self.largest_cell

    @property
    def balance_sentence(self) -> str:
        """How many runs the cells have, in plain words."""
        if self.balanced:
            return f"the design is balanced: {self.smallest_cell} runs in every cell"
        return (
            f"the design is not balanced: {self.smallest_cell} to {self.largest_cell} runs in a cell; the "
            "shares of variance need not add up to 100 %"
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that was found: the effects, the assumptions, and what may make it wrong."""
        effects = tuple(effect.sentence for effect in self.effects)
        design = () if self.blocks is None else (self.blocks.sentence,)
        checks = [effect.sphericity for effect in self.effects] + [self.normality, self.homogeneity]
        told = (check.sentence for check in checks if check is not None)
        balance = () if self.homogeneity is None else (self.balance_sentence,)
        return (*effects, *design, *balance, *told, *self.warnings)


def normality(residuals: FloatArray, alpha: float = 0.05) -> Check:
    """Test whether residuals may be normal, with Shapiro and Wilk's test.

    Examples
    --------
    >>> normality(np.array([-2.0, -1.0, 0.0, 1.0, 2.0])).sentence
    'nothing speaks against normal residuals (Shapiro-Wilk: W = 0.987, p = 0.97)'
    """
    n = len(residuals)
    statistic = p = undefined(f"there are {n} residuals; 3 to {MOST_FOR_SHAPIRO} are needed")
    if 3 <= n <= MOST_FOR_SHAPIRO:
        result = stats.shapiro(residuals)
        statistic, p = Measure(float(result.statistic)), Measure(float(result.pvalue))
    said = "nothing speaks against normal residuals", "the residuals are not normal"
    return Check("Shapiro-Wilk", statistic, p, alpha, *said)


def homogeneity(values: FloatArray, cell: IntArray, alpha: float = 0.05) -> Check:
    """Test whether values spread alike in all cells, with Brown and Forsythe's test.

    It is Levene's test around the median, which keeps its level where the values are skewed, as rates near
    0 or 1 are.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0, 14.0])
    >>> homogeneity(values, np.repeat([0, 1], 4)).sentence
    'nothing speaks against an equal spread in all cells (Brown-Forsythe: W = 0, p > 0.99)'
    """
    groups = [values[cell == number] for number in np.unique(cell)]
    smallest = min((len(group) for group in groups), default=0)
    statistic = p = undefined(_why_no_spread(groups, smallest))
    if len(groups) > 1 and smallest >= FEWEST_FOR_SPREAD and _vary(groups):
        result = stats.levene(*groups, center="median")
        statistic, p = Measure(float(result.statistic)), Measure(float(result.pvalue))
    said = "nothing speaks against an equal spread in all cells", "the spread differs between cells"
    return Check("Brown-Forsythe", statistic, p, alpha, *said)


def _why_no_spread(groups: list[FloatArray], smallest: int) -> str:
    if len(groups) < 2:
        return f"there are {len(groups)} cells; at least 2 are needed"
    if smallest < FEWEST_FOR_SPREAD:
        return f"the smallest cell has {smallest} runs; at least {FEWEST_FOR_SPREAD} are needed"
    return "within each cell all runs deviate equally from its median"


def _vary(groups: list[FloatArray]) -> bool:
    return any(np.ptp(np.abs(group - np.median(group))) > 0 for group in groups)


def repetition(values: FloatArray, cell: IntArray) -> tuple[str, ...]:
    """Tell where the same run seems to count several times: pseudo-replication.

    Runs that are counted twice make an error seem smaller than it is, and the degrees of freedom more than
    there are. Equal values in a cell are a hint (small test sets have few distinct rates).

    Examples
    --------
    >>> repetition(np.array([0.5, 0.5, 0.7]), np.array([0, 0, 0]))
    ('1 of 3 values repeats another one of the same cell exactly; the same run must count once',)
    """
    frame = pd.DataFrame({"value": values, "cell": cell})
    again = int(frame.duplicated(["cell", "value"]).sum())
    verb = "repeats" if again == 1 else "repeat"
    hint = f"{again} of {len(frame)} values {verb} another one of the same cell exactly"
    return (f"{hint}; the same run must count once",) if again else ()
