"""One monitor's verdicts summed up in bounded memory: parts add up to the same as the whole, in any order.

Memory grows with the number of groups and classes, never with that of the instances.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.measures.certainty import CertaintySums
from farm.measures.histogram import BINS, Histogram, middle
from farm.measures.measure import Measure, undefined
from farm.measures.ranking import TPR, to_be_found, why_not_ranked
from farm.measures.tally import Tally

TIME_BINS = 2**12
"""The most bins for times: half the width of one is one or two thousandths of the time."""
QUANTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99}
"""The quantiles given of times."""
_NO_CLASSES, _NO_FLAGS = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
_NOBODY = Tally.of(_NO_CLASSES, _NO_CLASSES, _NO_FLAGS, _NO_FLAGS, _NO_FLAGS)


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """How well scores tell OOD from ID, told from histograms: each measure with a bound on its error.

    Two scores from bins that do not overlap are in a known order. Two from bins that do may be in either:
    each measure is computed with all of them one way and then the other, and what it really is lies between.
    Given are the middle and the distance to either end. OOD is positive; higher is more anomalous.

    Examples
    --------
    >>> exact = ScoreHistogram(Histogram.of(np.array([0.1, 0.5])), Histogram.of(np.array([0.5, 0.9])))
    >>> [measure.value for measure in exact.auroc()]
    [0.875, 0.0]
    >>> scores = np.linspace(0, 1, 1000)
    >>> rough = ScoreHistogram(Histogram.of(scores, most=16), Histogram.of(scores[::3], most=16))
    >>> [round(measure.value, 3) for measure in rough.auroc()]
    [0.5, 0.15]
    """

    in_distribution: Histogram
    ood: Histogram

    @property
    def why_not(self) -> str | None:
        """Why nothing can be measured; None if it can."""
        sides = (self.in_distribution, self.ood)
        n_id, n_ood = (side.n + side.missing for side in sides)
        return why_not_ranked(n_id, n_ood, sum(side.missing for side in sides))

    def auroc(self) -> tuple[Measure, Measure]:
        """Chance that an OOD instance scores higher than an ID one, a tie counting half."""
        if self.why_not:
            return undefined(self.why_not), undefined(self.why_not)
        id_, ood, below = self.in_distribution, self.ood, self._id_before
        surely = below[np.searchsorted(id_.high, ood.low, side="left")]
        maybe = below[np.searchsorted(id_.low, ood.high, side="right")]
        # Where both bins are one and the same value, nothing is in doubt: these are ties.
        same = np.minimum(np.searchsorted(id_.low, ood.low, side="left"), len(id_.low) - 1)
        alike = (id_.low[same] == ood.high) & (id_.high[same] == ood.low)
        tied = np.where(alike, id_.count[same], 0)
        # Twice the number of pairs, in Python's integers.
        least = int(np.dot(ood.count, 2 * surely + tied))
        most = int(np.dot(ood.count, 2 * maybe - tied))
        pairs = 4 * id_.n * ood.n
        return Measure((least + most) / pairs), Measure((most - least) / pairs)

    def aupr(self) -> tuple[Measure, Measure]:
        """Average precision: the mean, over OOD instances, of the precision with the threshold at each."""
        if self.why_not:
            return undefined(self.why_not), undefined(self.why_not)
        ood, (fewest, most) = self.ood, self._false_alarms
        # Instances of one bin are found one after the other, or at once if they tie. Precision rises ever
        # more slowly with what is found: the mean of its two ends is never above that of what lies between.
        at_last = np.cumsum(ood.count[::-1])[::-1]
        at_first = np.where(ood.low == ood.high, at_last, at_last - ood.count + 1)
        high = at_last / (at_last + fewest)
        low = (at_first / (at_first + most) + at_last / (at_last + most)) / 2
        return middle(*(float(np.dot(ood.count, precision)) / ood.n for precision in (low, high)))

    def fpr_at_tpr(self, tpr: float = TPR) -> tuple[Measure, Measure]:
        """Smallest share of ID instances flagged by a threshold that finds at least `tpr` of the OOD ones."""
        wanted = to_be_found(tpr, self.ood.n)
        if self.why_not:
            return undefined(self.why_not), undefined(self.why_not)
        bin_ = int(np.searchsorted(np.cumsum(self.ood.count), self.ood.n - wanted, side="right"))
        return middle(*(int(count[bin_]) / self.in_distribution.n for count in self._false_alarms))

    def measures(self) -> dict[str, Measure]:
        """Return all three under the names that records use, each followed by its error."""
        found = {"auroc": self.auroc(), "aupr": self.aupr(), "fpr_at_95_tpr": self.fpr_at_tpr(0.95)}
        return {
            name + ending: measure
            for name, both in found.items()
            for ending, measure in zip(("", "_error"), both, strict=True)
        }

    @property
    def _id_before(self) -> IntArray:
        """How many ID instances lie before each of their bins, and after the last."""
        return np.concatenate(([0], np.cumsum(self.in_distribution.count)))

    @property
    def _false_alarms(self) -> tuple[IntArray, IntArray]:
        """The fewest and the most ID instances that score at least as high as one in each OOD bin."""
        id_, before = self.in_distribution, self._id_before
        fewest = id_.n - before[np.searchsorted(id_.low, self.ood.high, side="left")]
        most = id_.n - before[np.searchsorted(id_.high, self.ood.low, side="left")]
        return fewest, most


@dataclass(frozen=True, eq=False)
class SideSums:
    """What is kept of some instances, all of them ID or all OOD."""

    tally: Tally
    scores: Histogram
    times: Histogram
    certainty: CertaintySums
    """The classifier's own; of monitors there is none."""

    def __add__(self, other: SideSums) -> SideSums:
        return SideSums(**{name: mine + getattr(other, name) for name, mine in vars(self).items()})


class Accumulator:
    """Counts and histograms of one monitor: of ID instances, and of each group of OOD instances.

    Parameters
    ----------
    bins, time_bins
        The most bins of each histogram.

    Examples
    --------
    >>> is_ood, alarm = np.array([False, False, True]), np.array([False, True, True])
    >>> label, predicted, score = np.array([0, 1, -1]), np.array([0, 1, 0]), np.array([0.1, 0.7, 0.6])
    >>> seen = Accumulator()
    >>> for group, rows in ((None, ~is_ood), ("fog", is_ood)):
    ...     columns = (column[rows] for column in (label, predicted, is_ood, alarm, alarm))
    ...     seen.put(group, Tally.of(*columns), score[rows])
    >>> seen.merge(seen).sums([None, "fog"]).tally.overall
    Counts(tp=2, fp=2, tn=2, fn=0)
    >>> [measure.value for measure in seen.scores([None, "fog"]).auroc()]
    [0.5, 0.0]
    """

    def __init__(self, *, bins: int = BINS, time_bins: int = TIME_BINS) -> None:
        self._bins, self._time_bins = bins, time_bins
        self._sums: dict[Hashable, SideSums] = {}

    def put(
        self,
        group: Hashable,
        tally: Tally,
        score: FloatArray | None = None,
        time_us: FloatArray | None = None,
        certainty: CertaintySums | None = None,
    ) -> None:
        """Take down instances that have been counted; the group None is ID."""
        before = self._sums.get(group)
        unknown = np.full(tally.n, np.nan)
        scores, times = (
            # Bins that are too fine already need not be made again.
            Histogram.of(unknown if values is None else values, most, sketch.shift if sketch else 0)
            for values, most, sketch in (
                (score, self._bins, before and before.scores),
                (time_us, self._time_bins, before and before.times),
            )
        )
        self._take(group, SideSums(tally, scores, times, certainty or self._unsure()))

    def merge(self, other: Accumulator) -> Accumulator:
        """Return the sum of both."""
        merged = Accumulator(bins=self._bins, time_bins=self._time_bins)
        merged._sums = dict(self._sums)
        for group, sums in other._sums.items():
            merged._take(group, sums)
        return merged

    def rename(self, group: Hashable, new: Hashable) -> None:
        """Make a group part of another."""
        self._take(new, self._sums.pop(group))

    def recoded(self, codes: IntArray) -> Accumulator:
        """Return the same with other codes for classes: `i` becomes `codes[i]`."""
        changed = Accumulator(bins=self._bins, time_bins=self._time_bins)
        changed._sums = {
            group: replace(sums, tally=sums.tally.recoded(codes)) for group, sums in self._sums.items()
        }
        return changed

    def keys(self) -> list[Hashable]:
        """Name what was taken down, in the order it came: groups of OOD instances, and None for ID."""
        return list(self._sums)

    def sums(self, keys: Iterable[Hashable]) -> SideSums:
        """Sum up groups; what was never taken down is nothing."""
        scores, times = (Histogram.of(np.empty(0), most) for most in (self._bins, self._time_bins))
        nothing = SideSums(_NOBODY, scores, times, self._unsure())
        return reduce(add, (self._sums[key] for key in keys if key in self._sums), nothing)

    def scores(self, keys: Iterable[Hashable]) -> ScoreHistogram:
        """Return the scores of ID instances, if None is among the keys, beside those of the groups."""
        groups = set(keys)
        id_ = self.sums(groups & {None}).scores
        return ScoreHistogram(id_, self.sums(groups - {None}).scores)

    def _unsure(self) -> CertaintySums:
        """Return what is known of how sure a classifier was of no instance."""
        return CertaintySums.of(_NO_FLAGS, _NO_FLAGS, None, None, most=self._bins)

    def _take(self, group: Hashable, sums: SideSums) -> None:
        self._sums[group] = self._sums[group] + sums if group in self._sums else sums


def time_quantiles(times: Histogram) -> dict[str, Measure]:
    """Return the quantiles of times, and the greatest relative error that one of them may have.

    Examples
    --------
    >>> {name: measure.value for name, measure in time_quantiles(Histogram.of(np.array([2.0, 4.0]))).items()}
    {'median': 3.0, 'p95': 3.9, 'p99': 3.98, 'relative_error': 0.0}
    """
    if not times.n:
        return dict.fromkeys((*QUANTILES, "relative_error"), undefined("no times were given"))
    found = {name: times.quantile(share) for name, share in QUANTILES.items()}
    errors = [error.value / abs(value.value) for value, error in found.values() if error.value]
    worst = max(errors, default=0.0)
    return {name: value for name, (value, _) in found.items()} | {"relative_error": Measure(worst)}
