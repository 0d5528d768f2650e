"""The coverage that conformal prediction really had, beside where chance puts it on ID data.

How much of all data of the validation data's kind is covered depends on which of them were drawn. Of n it is
beta distributed with k and n + 1 - k, where the k-th lowest of their scores is the threshold; and of m new
instances the number that is covered is beta-binomial. A coverage below the interval of that is hardly bad
luck: these data are of another kind. Where scores tie at the threshold more may be covered, and the upper
end is 1. With tracks, n and m are numbers of tracks, as if each were covered wholly or not at all; of uneven
ones m is how many of one size would tell as much.

References
----------
V. Vovk, "Conditional validity of inductive conformal predictors", ACML 2012. A. N. Angelopoulos and S. Bates,
"A Gentle Introduction to Conformal Prediction and Distribution-Free Uncertainty Quantification" (2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.api.component import check_number
from farm.measures.measure import Bounded, Measure, ratio, undefined, wilson
from farm.statistics.by_track import share_by_track
from farm.statistics.post_hoc.conformal import Threshold, check_track

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class CoverageHad:
    """How many instances are covered, how sure that is, and how many had to be.

    Examples
    --------
    >>> fitted = Threshold.of(np.arange(199.0), 0.9)
    >>> found = CoverageHad.of(np.arange(400) % 5 > 0, [fitted])
    >>> found.had.value.value, round(found.had.high.value, 3), found.expected[0].value, found.falls_short
    (0.8, 0.836, 0.845, True)
    """

    asked: float
    had: Bounded
    expected: tuple[Measure, Measure]
    """Between these it lies by chance on data of the validation data's kind."""
    n: int
    """How many instances there were to cover."""

    @classmethod
    def of(
        cls,
        covered: BoolArray,
        thresholds: Sequence[Threshold],
        which: IntArray | None = None,
        *,
        track: NDArray[Any] | None = None,
        level: float = LEVEL,
        why_none: str = "no instances",
    ) -> CoverageHad:
        """Measure it, with Wilson's interval; of tracks with the one that weighs tracks anew.

        Parameters
        ----------
        covered
            Which instances are.
        thresholds
            Those that were applied, all of one coverage.
        which
            The place of each instance's threshold among these; without it they all have the first one.
        track
            What each instance belongs to; None where each stands alone.
        level
            Of both intervals.
        why_none
            Why there are none to cover, should it be so.
        """
        n = len(covered)
        check_track(track, n)
        hits = int(np.count_nonzero(covered))
        value = ratio(hits, n, why_none)
        if not value.defined:
            return cls(thresholds[0].coverage, Bounded.nowhere(value), (value, value), 0)
        of = np.zeros(n, dtype=np.int64) if which is None else which
        units = np.arange(n) if track is None else track
        counts = [effective_number(units[of == place]) for place in range(len(thresholds))]
        expected = expected_share(thresholds, counts, level)
        ends = wilson(hits, n, level) if track is None else share_by_track(covered, track, level)
        return cls(thresholds[0].coverage, Bounded(value, *ends), expected, n)

    @property
    def falls_short(self) -> bool:
        """Whether it is lower than chance has it on ID data."""
        return self.had.value.defined and self.had.value.value < self.expected[0].value

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        low, high = self.expected
        return {
            "asked": self.asked,
            "coverage": self.had.value.json,
            "low": self.had.low.json,
            "high": self.had.high.json,
            "expected_low": low.json,
            "expected_high": high.json,
            "falls_short": self.falls_short,
            "n": self.n,
            "why_undefined": self.had.value.reason or self.had.low.reason,
        }


def expected_share(
    thresholds: Sequence[Threshold], counts: Sequence[int], level: float = LEVEL
) -> tuple[Measure, Measure]:
    """Return between which shares of new instances are covered where they are of the validation data's kind.

    `counts` says to how many of them each threshold is applied.

    Examples
    --------
    >>> low, high = expected_share([Threshold.of(np.arange(999.0), 0.9)], [500])
    >>> low.value, high.value
    (0.866, 0.93)
    """
    n = sum(counts)
    if not n:
        return undefined("no instances"), undefined("no instances")
    chances = reduce(np.convolve, [_chances(*each) for each in zip(thresholds, counts, strict=True)])
    low, high = np.minimum(np.searchsorted(np.cumsum(chances), _tails(level)), n).tolist()
    tied = any(threshold.tied for threshold in thresholds)
    return Measure(low / n), Measure(1.0 if tied else high / n)


def expected_coverage(threshold: Threshold, level: float = LEVEL) -> tuple[float, float]:
    """Return the same of all data of that kind, were they without number.

    Examples
    --------
    >>> low, high = expected_coverage(Threshold.of(np.arange(999.0), 0.9))
    >>> round(low, 3), round(high, 3)
    (0.881, 0.918)
    """
    from scipy.special import betaincinv  # not before: most of what is judged needs none

    if threshold.why_all:
        return 1.0, 1.0
    k, n = threshold.rank, threshold.n
    low, high = (float(betaincinv(k, n + 1 - k, tail)) for tail in _tails(level))
    return low, 1.0 if threshold.tied else high


def effective_number(units: NDArray[Any]) -> int:
    """Return how many tracks of one size would tell as much (Kish's effective number)."""
    sizes = np.unique(units, return_counts=True)[1].astype(np.float64)
    return round(sizes.sum() ** 2 / float(sizes @ sizes)) if len(sizes) else 0


def _chances(threshold: Threshold, m: int) -> FloatArray:
    """Return how likely it is that 0 to m new instances are covered."""
    from scipy.stats import betabinom  # not before: its loading takes a second

    if threshold.why_all:
        return np.asarray(np.arange(m + 1) == m, dtype=np.float64)
    k, n = threshold.rank, threshold.n
    chances: FloatArray = np.asarray(betabinom.pmf(np.arange(m + 1), m, k, n + 1 - k))
    return chances


def _tails(level: float) -> tuple[float, float]:
    check_number("level", level, above=0, high=1)
    return (1 - level) / 2, (1 + level) / 2
