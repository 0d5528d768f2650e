"""How well scores tell OOD from ID, whatever the threshold. OOD is positive; higher is more anomalous.

All three measures follow from one question asked of each OOD score: how many ID scores lie below it, and how
many at it? Sorting ID and OOD apart answers it with one binary search each, ties included.
"""

from __future__ import annotations

import math

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.errors import ParameterError
from farm.measures.measure import Measure, undefined

TPR = 0.95
"""The share of OOD instances to be found, at which the false alarms are counted by default."""


class Separation:
    """The scores of ID and of OOD instances, sorted apart.

    Examples
    --------
    >>> separation = Separation(np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.4]))
    >>> round(separation.auroc().value, 4), round(separation.aupr().value, 4)
    (0.9167, 0.8333)
    """

    def __init__(self, id_scores: FloatArray, ood_scores: FloatArray) -> None:
        self._n_id, self._n_ood = len(id_scores), len(ood_scores)
        self._why_not = self._reason(id_scores, ood_scores)
        if self._why_not is None:
            id_sorted, self._ood = np.sort(id_scores), np.sort(ood_scores)
            self._id_below = np.searchsorted(id_sorted, self._ood, side="left")
            self._id_up_to = np.searchsorted(id_sorted, self._ood, side="right")

    @staticmethod
    def _reason(id_scores: FloatArray, ood_scores: FloatArray) -> str | None:
        n = len(id_scores) + len(ood_scores)
        missing = int(np.isnan(id_scores).sum() + np.isnan(ood_scores).sum())
        if n == 0:
            return "no instances"
        if missing:
            return f"the score is missing for {missing} of {n} instances"
        if not len(ood_scores):
            return f"none of the {n} instances is OOD"
        return None if len(id_scores) else f"each of the {n} instances is OOD"

    def auroc(self) -> Measure:
        """Chance that an OOD instance scores higher than an ID one, a tie counting half."""
        if self._why_not:
            return undefined(self._why_not)
        twice = int(self._id_below.sum()) + int(self._id_up_to.sum())
        return Measure(twice / (2 * self._n_id * self._n_ood))

    def aupr(self) -> Measure:
        """Average precision: the mean, over OOD instances, of the precision with the threshold at each."""
        if self._why_not:
            return undefined(self._why_not)
        found = self._n_ood - np.searchsorted(self._ood, self._ood, side="left")
        false_alarms = self._n_id - self._id_below
        return Measure(float(np.mean(found / (found + false_alarms))))

    def fpr_at_tpr(self, tpr: float = TPR) -> Measure:
        """Smallest share of ID instances flagged by a threshold that finds at least `tpr` of the OOD ones."""
        if not 0 < tpr <= 1:
            raise ParameterError(f"fpr_at_tpr: tpr = {tpr}; expected a number above 0, at most 1")
        if self._why_not:
            return undefined(self._why_not)
        # The 1e-9 keeps 0.95 * n from asking for one more where rounding lifts it above a whole number.
        wanted = max(math.ceil(tpr * self._n_ood - 1e-9), 1)
        return Measure((self._n_id - int(self._id_below[self._n_ood - wanted])) / self._n_id)

    def measures(self) -> dict[str, Measure]:
        """Give all three under the names that records use."""
        return {"auroc": self.auroc(), "aupr": self.aupr(), "fpr_at_95_tpr": self.fpr_at_tpr(0.95)}


def auroc(scores: FloatArray, is_ood: BoolArray) -> Measure:
    """Area under the ROC curve, exact where scores tie.

    Examples
    --------
    >>> auroc(np.array([0.1, 0.5, 0.5, 0.9]), np.array([False, False, True, True])).value
    0.875
    """
    return Separation(scores[~is_ood], scores[is_ood]).auroc()


def aupr(scores: FloatArray, is_ood: BoolArray) -> Measure:
    """Area under the precision-recall curve as average precision, that is without interpolation."""
    return Separation(scores[~is_ood], scores[is_ood]).aupr()


def fpr_at_tpr(scores: FloatArray, is_ood: BoolArray, tpr: float = TPR) -> Measure:
    """Smallest false-positive rate of a threshold that finds at least `tpr` of the OOD instances.

    Examples
    --------
    >>> fpr_at_tpr(np.array([0.1, 0.6, 0.5, 0.9]), np.array([False, False, True, True])).value
    0.5
    """
    return Separation(scores[~is_ood], scores[is_ood]).fpr_at_tpr(tpr)
