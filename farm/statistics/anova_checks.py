"""What an analysis of variance takes for granted, checked on its own data.

A check tells and never decides: nothing is transformed, dropped or averaged on its account.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from farm.api.arrays import FloatArray, IntArray
from farm.measures.measure import Measure, undefined
from farm.statistics.wording import p_words

MOST_FOR_SHAPIRO = 5000
"""Royston's p value of the Shapiro-Wilk test is known to hold up to so many residuals."""
FEWEST_FOR_SPREAD = 3
"""Around the median of two runs both deviate equally: the test would take them for free of noise."""


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


def repetition(values: FloatArray, cell: IntArray, runs: pd.Series | None = None) -> tuple[str, ...]:
    """Tell where the same run seems to count several times: pseudo-replication.

    Runs that are counted twice make an error seem smaller than it is, and the degrees of freedom more than
    there are. Where `runs` names each row's run this is certain; otherwise equal values in a cell are a hint
    (small test sets have few distinct rates).

    Examples
    --------
    >>> repetition(np.array([0.5, 0.5, 0.7]), np.array([0, 0, 0]))
    ('1 of 3 values repeats another one of the same cell exactly; the same run must count once',)
    >>> repetition(np.array([0.1, 0.2, 0.3]), np.array([0, 0, 1]), pd.Series(["r1", "r1", "r1"]))
    ('1 of 3 rows repeats a run within its cell: it must count once', 'the same run occurs in several cells:
    its values are paired and not independent; name the run as a factor to take its part out of the error')
    """
    frame = pd.DataFrame({"value": values, "cell": cell})
    if runs is None:
        again = int(frame.duplicated(["cell", "value"]).sum())
        verb = "repeats" if again == 1 else "repeat"
        hint = f"{again} of {len(frame)} values {verb} another one of the same cell exactly"
        return (f"{hint}; the same run must count once",) if again else ()
    frame["run"] = runs.to_numpy()
    again = int(frame.duplicated(["cell", "run"]).sum())
    found = []
    if again:
        verb = "repeats" if again == 1 else "repeat"
        found.append(f"{again} of {len(frame)} rows {verb} a run within its cell: it must count once")
    if (frame.groupby("run")["cell"].nunique() > 1).any():
        found.append(
            "the same run occurs in several cells: its values are paired and not independent; name the run "
            "as a factor to take its part out of the error"
        )
    return tuple(found)
