"""Which levels of a factor differ: each difference with its interval and p, for all pairs together.

Where values are independent these are Tukey's honestly significant differences. The error is that by which
the analysis of variance judges the factor: beside other factors the spread within a level alone would
charge the monitor for what the faults did. Means and the errors of their differences are those of
`Anova.level_means`, so an unbalanced design is served as well, as Tukey and Kramer do; the level is then
not exact (with one factor it is at least the one asked for). scipy's studentized range is used rather than
statsmodels' table of it, which ends at p = 0.001 and 0.9.

Levels that change inside blocks are paired instead: each two by how they differ in each block, under the
conditions that both have there. One error for all pairs would rely on sphericity: it told monitors that
are alike apart in 14 % of 400 tables of five runs (at 5 %), where one of six monitors varies twenty times
as much as the others (`benchmarks/anova_level.py`). Pairs with an error each, corrected by Bonferroni, do
so in 2.5 %.

References
----------
S. E. Maxwell, "Pairwise multiple comparisons in repeated measures designs", Journal of Educational Statistics
5 (1980).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import scipy

from farm.api.arrays import FloatArray
from farm.statistics.anova_result import MOST_ERRORS, Anova, LevelMeans, PairedMeans
from farm.statistics.groups import letters
from farm.statistics.table import Undefined
from farm.statistics.wording import LISTED, p_words

TUKEY = "Tukey's HSD"
PAIRED = "paired t, Bonferroni"


@dataclass(frozen=True, slots=True)
class LevelDifference:
    """How two levels differ; the first has the greater mean."""

    first: str
    second: str
    difference: float | None
    """None where no block has both."""
    low: float | None
    high: float | None
    """The interval, which holds for all pairs together; None where nothing tells what chance does."""
    p: float | None
    """Adjusted for all pairs together."""
    differ: bool
    """Whether the two are told apart."""


@dataclass(frozen=True)
class LevelDifferences:
    """All pairs of a factor's levels compared."""

    method: str
    levels: tuple[str, ...]
    """The greatest mean first."""
    means: tuple[float, ...]
    letters: tuple[str, ...]
    """Level by level; two levels share a letter exactly when they are not told apart."""
    pairs: tuple[LevelDifference, ...]
    level: float
    notes: tuple[str, ...]


def level_differences(analysis: Anova, factor: str, level: float = 0.95) -> LevelDifferences | Undefined:
    """Compare each two levels of a factor.

    Parameters
    ----------
    analysis
        What `anova` found.
    factor
        One of its factors.
    level
        How sure all pairs together are to be told apart only where they differ.

    Examples
    --------
    >>> import pandas as pd
    >>> from farm.statistics.anova import anova
    >>> table = pd.DataFrame({"monitor": ["odin"] * 3 + ["oob"] * 3 + ["random"] * 3, "seed": [0, 1, 2] * 3})
    >>> table["mcc"] = [0.50, 0.54, 0.55, 0.49, 0.52, 0.51, 0.02, 0.01, -0.01]
    >>> found = level_differences(anova(table, "mcc", ["monitor"]), "monitor")
    >>> found.method, dict(zip(found.levels, found.letters))
    ("Tukey's HSD", {'odin': 'a', 'oob': 'a', 'random': 'b'})
    >>> round(found.pairs[0].difference, 4), round(found.pairs[0].p, 2), found.pairs[0].differ
    (0.0233, 0.38, False)
    >>> found = level_differences(anova(table, "mcc", ["monitor"], blocks="seed"), "monitor")
    >>> found.method, round(found.pairs[0].p, 2)
    ('paired t, Bonferroni', 0.35)
    """
    found = analysis.level_means[factor]
    if isinstance(found, Undefined):
        return found
    count = len(found.levels)
    order = sorted(range(count), key=lambda i: (-found.means[i], i))
    pairs, apart, farthest = [], np.zeros((count, count), dtype=np.bool_), 0.0
    for a, b in combinations(range(count), 2):
        names = found.levels[order[a]], found.levels[order[b]]
        difference, error, df = level_difference(found, order[a], order[b])
        if difference is None or not error:
            pairs.append(LevelDifference(*names, difference, None, None, None, False))
            continue
        if isinstance(found, PairedMeans):
            tests = math.comb(count, 2)
            p = min(2 * float(scipy.stats.t.sf(abs(difference) / error, df)) * tests, 1.0)
            critical = float(scipy.stats.t.isf((1 - level) / 2 / tests, df))
        else:
            # The studentized range is of means, not of differences: their variance is twice as large.
            p = studentized_p(math.sqrt(2) * abs(difference) / error, count, df)
            critical = _critical_range(level, count, df) / math.sqrt(2)
        apart[a, b] = apart[b, a] = differ = p < 1 - level
        ends = difference - critical * error, difference + critical * error
        pairs.append(LevelDifference(*names, difference, *ends, p, differ))
        farthest = farthest if differ else max(farthest, critical)
    return LevelDifferences(
        method=PAIRED if isinstance(found, PairedMeans) else TUKEY,
        levels=tuple(found.levels[i] for i in order),
        means=tuple(found.means[i] for i in order),
        letters=letters(apart),
        pairs=tuple(pairs),
        level=level,
        notes=tuple(_notes(analysis, factor, pairs, farthest)),
    )


def level_difference(found: LevelMeans | PairedMeans, i: int, j: int) -> tuple[float | None, float, int]:
    """Return how two levels differ, the standard error of it (0 where there is none) and its degrees."""
    if isinstance(found, LevelMeans):
        of = np.array(found.covariance)
        return found.means[i] - found.means[j], math.sqrt(of[i, i] + of[j, j] - 2 * of[i, j]), found.error_df
    by_block = _by_block(found.values[:, i] - found.values[:, j])
    n = len(by_block)
    # Blocks that differ by rounding alone tell nothing of chance.
    if n < 2 or np.ptp(by_block) <= 1e-13 * np.nanmax(np.abs(found.values)):
        return (float(by_block.mean()) if n else None), 0.0, 0
    return float(by_block.mean()), float(by_block.std(ddof=1)) / math.sqrt(n), n - 1


def _by_block(differences: FloatArray) -> FloatArray:
    """Return the mean difference in each block that has both levels under some condition."""
    there = ~np.isnan(differences)
    both = there.any(axis=1)
    return np.asarray(np.where(there, differences, 0.0).sum(axis=1)[both] / there.sum(axis=1)[both])


@cache
def _critical_range(level: float, count: int, df: int) -> float:
    return float(scipy.stats.studentized_range.isf(1 - level, count, df))


def studentized_p(q: float, count: int, df: int) -> float:
    """Return the chance that the range of `count` means is at least `q`, where all levels are alike.

    Examples
    --------
    >>> round(studentized_p(3.578, 3, 20), 3)
    0.05
    """
    with warnings.catch_warnings():
        # scipy's integral complains where p is 1 but for 1e-11, and is right to more digits than that.
        warnings.simplefilter("ignore", scipy.integrate.IntegrationWarning)
        return min(max(float(scipy.stats.studentized_range.sf(q, count, df)), 0.0), 1.0)


def _notes(analysis: Anova, factor: str, pairs: list[LevelDifference], farthest: float) -> list[str]:
    """Say where a level's mean hides what happens under conditions, and what nothing can be said about."""
    notes, blocks = [], analysis.blocks
    repeated = "runs" if blocks is None else f"{blocks.noun}s"
    if farthest > MOST_ERRORS:
        far = f"a difference shows only beyond {farthest:.0f} standard errors"
        notes.append(f"too few {repeated} to tell some levels apart: {far}")
    if unknown := [f"{pair.first} and {pair.second}" for pair in pairs if pair.p is None]:
        why = f"fewer than two {repeated} have both, or they differ alike in each"
        notes.append(f"nothing tells what chance does to {'; '.join(unknown[:LISTED])}: {why}")
    if (
        isinstance(analysis.level_means[factor], PairedMeans)
        and analysis.smallest_cell < analysis.largest_cell
    ):
        notes.append(
            f"a difference is of what both levels have in the same {repeated}; means are of all {repeated}"
        )
    for effect in analysis.effects:
        if effect.shows and len(effect.factors) > 1 and factor in effect.factors:
            others = " and ".join(name for name in effect.factors if name != factor)
            notes.append(
                f"how much the {factor} matters depends on the {others} "
                f"({effect.name}: {p_words(effect.p)}); compare it for each apart as well"
            )
    return notes
