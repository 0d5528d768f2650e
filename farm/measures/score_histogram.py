"""How well scores tell OOD from ID, told from histograms: each measure with a bound on its error.

Two scores from bins that do not overlap are in a known order. Two from bins that do may be in either: each
measure is computed with all of them one way and then the other, and what it really is lies between. Given are
the middle and the distance to either end. OOD is positive; higher is more anomalous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import ParameterError
from farm.measures.histogram import BINS, Histogram, middle
from farm.measures.measure import Measure, undefined
from farm.measures.ranking import TPR, why_not_ranked


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """The scores of ID and of OOD instances, each as a histogram. Those of several parts add up.

    Examples
    --------
    >>> scores, is_ood = np.array([0.1, 0.5, 0.5, 0.9]), np.array([False, False, True, True])
    >>> seen = ScoreHistogram.of(scores, is_ood)
    >>> [measure.value for measure in (seen + seen).auroc()]
    [0.875, 0.0]
    >>> rough = ScoreHistogram.of(np.linspace(0, 1, 1000), np.arange(1000) % 3 == 0, most=16)
    >>> [round(measure.value, 3) for measure in rough.auroc()]
    [0.5, 0.083]
    """

    in_distribution: Histogram
    ood: Histogram

    @classmethod
    def of(cls, scores: FloatArray, is_ood: BoolArray, most: int = BINS) -> ScoreHistogram:
        """Count scores in at most so many bins on either side."""
        return cls(Histogram.of(scores[~is_ood], most), Histogram.of(scores[is_ood], most))

    def __add__(self, other: ScoreHistogram) -> ScoreHistogram:
        return ScoreHistogram(self.in_distribution + other.in_distribution, self.ood + other.ood)

    @property
    def why_not(self) -> str | None:
        """Why nothing can be measured; None if it can."""
        sides = (self.in_distribution, self.ood)
        n_id, n_ood = (side.n + side.missing for side in sides)
        return why_not_ranked(n_id, n_ood, sum(side.missing for side in sides))

    def auroc(self) -> tuple[Measure, Measure]:
        """Chance that an OOD instance scores higher than an ID one, a tie counting half."""
        if self.why_not:
            return _nothing(self.why_not)
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
            return _nothing(self.why_not)
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
        if not 0 < tpr <= 1:
            raise ParameterError(f"fpr_at_tpr: tpr = {tpr}; expected a number above 0, at most 1")
        if self.why_not:
            return _nothing(self.why_not)
        n_ood = self.ood.n
        wanted = max(math.ceil(tpr * n_ood - 1e-9), 1)
        bin_ = int(np.searchsorted(np.cumsum(self.ood.count), n_ood - wanted, side="right"))
        return middle(*(int(count[bin_]) / self.in_distribution.n for count in self._false_alarms))

    def measures(self) -> dict[str, Measure]:
        """Give all three under the names that records use, each followed by its error."""
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


def _nothing(why: str) -> tuple[Measure, Measure]:
    return undefined(why), undefined(why)
