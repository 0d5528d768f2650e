"""What scores are worth, whatever the threshold: higher is more anomalous.

How well they tell OOD, which is positive, from ID: nearly all of it follows from one question asked of each
OOD score: how many ID scores lie below it, and how many at it? Sorting ID and OOD apart answers it with one
binary search each, ties included. And how often decisions are wrong among those accepted by score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import DataError, ParameterError
from farm.measures.curve import Curve
from farm.measures.measure import Measure, undefined

TPR = 0.95
"""The share of OOD instances to be found, at which the false alarms are counted by default."""


class Separation:
    """The scores of ID and of OOD instances, sorted apart.

    Parameters
    ----------
    id_scores, ood_scores
        In any order, or both in rising order where `ascending` says so: to sort again what several faults
        share would take longer than all the rest.

    Examples
    --------
    >>> separation = Separation(np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.4]))
    >>> round(separation.auroc().value, 4), round(separation.aupr().value, 4)
    (0.9167, 0.8333)
    """

    def __init__(self, id_scores: FloatArray, ood_scores: FloatArray, *, ascending: bool = False) -> None:
        self._n_id, self._n_ood = len(id_scores), len(ood_scores)
        missing = int(np.isnan(id_scores).sum() + np.isnan(ood_scores).sum())
        self._why_not = why_not_ranked(self._n_id, self._n_ood, missing)
        if self._why_not is None:
            self._id, self._ood = id_scores, ood_scores
            if not ascending:
                self._id, self._ood = np.sort(id_scores), np.sort(ood_scores)
            self._id_below = np.searchsorted(self._id, self._ood, side="left")
            self._id_up_to = np.searchsorted(self._id, self._ood, side="right")

    @classmethod
    def of(cls, scores: FloatArray, is_ood: BoolArray) -> Separation:
        """Part the scores of a stream."""
        return cls(scores[~is_ood], scores[is_ood])

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
        wanted = to_be_found(tpr, self._n_ood)
        if self._why_not:
            return undefined(self._why_not)
        return Measure((self._n_id - int(self._id_below[self._n_ood - wanted])) / self._n_id)

    def aupr_id(self) -> Measure:
        """Average precision with ID as the positive class: what scores low is accepted, and should be ID."""
        if self._why_not:
            return undefined(self._why_not)
        accepted = np.searchsorted(self._id, self._id, side="right")
        missed = np.searchsorted(self._ood, self._id, side="right")
        return Measure(float(np.mean(accepted / (accepted + missed))))

    def detection_error(self) -> Measure:
        """Mean of FPR and FNR at the threshold where it is least: ID and OOD count the same."""
        return self.least_error(0.5)

    def least_error(self, ood_share: float | None = None) -> Measure:
        """Share of wrong alarms and misses, at the threshold where it is least.

        The threshold is chosen on the very scores it is judged by: a bound for any real one.

        Parameters
        ----------
        ood_share
            The share of OOD instances to reckon with; None for that among these scores.
        """
        if ood_share is not None and not 0 < ood_share < 1:
            raise ParameterError(f"least_error: ood_share = {ood_share}; expected a number between 0 and 1")
        if self._why_not:
            return undefined(self._why_not)
        share = self._n_ood / (self._n_id + self._n_ood) if ood_share is None else ood_share
        false_alarms = (self._n_id - self._id_below) / self._n_id
        missed = np.searchsorted(self._ood, self._ood, side="left") / self._n_ood
        # No threshold but an OOD score can be the best one, unless it is best never to raise an alarm.
        return Measure(min(float(np.min((1 - share) * false_alarms + share * missed)), share))

    def roc(self) -> Curve:
        """Return the share of ID flagged (x) and of OOD flagged (y) at each threshold, from never on.

        Examples
        --------
        >>> curve = Separation(np.array([0.1, 0.3]), np.array([0.3, 0.4])).roc()
        >>> curve.x.tolist(), curve.y.tolist()
        ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
        """
        if self._why_not:
            return Curve.nowhere(self._why_not)
        false_alarms, found = self._flagged()
        return Curve(np.append(0.0, false_alarms / self._n_id), np.append(0.0, found / self._n_ood))

    def precision_recall(self) -> Curve:
        """Return recall (x) and precision (y) at each threshold; never to flag counts as precision 1.

        Examples
        --------
        >>> curve = Separation(np.array([0.1, 0.3]), np.array([0.3, 0.4])).precision_recall()
        >>> curve.x.tolist(), [round(precision, 2) for precision in curve.y.tolist()]
        ([0.0, 0.5, 1.0, 1.0], [1.0, 1.0, 0.67, 0.5])
        """
        if self._why_not:
            return Curve.nowhere(self._why_not)
        false_alarms, found = self._flagged()
        precision = found / (found + false_alarms)
        return Curve(np.append(0.0, found / self._n_ood), np.append(1.0, precision))

    def _flagged(self) -> tuple[IntArray, IntArray]:
        """Count the ID and the OOD instances at or above each score that occurs, the highest first."""
        thresholds = np.unique(np.concatenate([self._id, self._ood]))[::-1]
        return (
            self._n_id - np.searchsorted(self._id, thresholds),
            self._n_ood - np.searchsorted(self._ood, thresholds),
        )

    def measures(self) -> dict[str, Measure]:
        """Return those that records hold, under the names they have there."""
        return {"auroc": self.auroc(), "aupr": self.aupr(), "fpr_at_95_tpr": self.fpr_at_tpr(0.95)}


def why_not_ranked(n_id: int, n_ood: int, missing: int) -> str | None:
    """Say why scores cannot tell so many ID from so many OOD instances; None if they can.

    Examples
    --------
    >>> why_not_ranked(n_id=3, n_ood=0, missing=0)
    'none of the 3 instances is OOD'
    """
    n = n_id + n_ood
    if n == 0:
        return "no instances"
    if missing:
        return f"the score is missing for {missing:,} of {n:,} instances"
    if not n_ood:
        return f"none of the {n:,} instances is OOD"
    return None if n_id else f"each of the {n:,} instances is OOD"


def to_be_found(tpr: float, n_ood: int) -> int:
    """Return how many OOD instances a threshold must find to reach a true-positive rate."""
    if not 0 < tpr <= 1:
        raise ParameterError(f"fpr_at_tpr: tpr = {tpr}; expected a number above 0, at most 1")
    # The 1e-9 keeps 0.95 * n from asking for one more where rounding lifts it above a whole number.
    return max(math.ceil(tpr * n_ood - 1e-9), 1)


def auroc(scores: FloatArray, is_ood: BoolArray) -> Measure:
    """Area under the ROC curve, exact where scores tie.

    Examples
    --------
    >>> auroc(np.array([0.1, 0.5, 0.5, 0.9]), np.array([False, False, True, True])).value
    0.875
    """
    return Separation.of(scores, is_ood).auroc()


@dataclass(frozen=True)
class RiskCoverage:
    """What accepting everything up to a score means, for each score that occurs, from the lowest on.

    Instances of one score are accepted together: no threshold can part them, and the order in which they came
    means nothing.

    References
    ----------
    Y. Geifman, G. Uziel and R. El-Yaniv, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers",
    ICLR 2019 (the area, and its excess over the best order).

    Examples
    --------
    >>> wrong = np.array([False, True, False, True])
    >>> curve = RiskCoverage.of(np.array([0.1, 0.2, 0.3, 0.4]), wrong)
    >>> curve.coverage.tolist(), curve.risk.tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.5, 0.3333333333333333, 0.5])
    >>> round(curve.area().value, 4), round(curve.excess_area().value, 4)
    (0.3333, 0.125)
    """

    accepted: IntArray
    """How many instances have that score or a lower one."""
    wrong: IntArray
    """On how many of them the decision is wrong."""
    why_not: str | None = None
    """Why there is no curve."""

    @classmethod
    def of(cls, scores: FloatArray, wrong: BoolArray) -> RiskCoverage:
        """Sort instances by their score, the most trusted (lowest) first; ties form blocks."""
        n = len(scores)
        if n != len(wrong):
            raise DataError(f"risk-coverage: {n} scores and {len(wrong)} decisions; expected as many")
        missing = int(np.isnan(scores).sum())
        if n == 0 or missing:
            none = np.empty(0, dtype=np.int64)
            why = f"the score is missing for {missing} of {n} instances" if n else "no instances"
            return cls(none, none, why)
        order = np.argsort(scores)
        ranked = scores[order]
        last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
        return cls(last + 1, np.cumsum(wrong[order], dtype=np.int64)[last])

    @property
    def n(self) -> int:
        """All instances."""
        return int(self.accepted[-1]) if self.accepted.size else 0

    @property
    def coverage(self) -> FloatArray:
        """Share of all instances that are accepted."""
        return self.accepted / max(self.n, 1)

    @property
    def risk(self) -> FloatArray:
        """Share of wrong decisions among those accepted."""
        return self.wrong / self.accepted

    def area(self) -> Measure:
        """Area under the curve (AURC): the mean risk when accepting the first 1, 2, ... n instances.

        Within a block of ties it is the mean over all orders of the block.
        """
        if self.why_not:
            return undefined(self.why_not)
        first = np.arange(1, self.n + 1)
        wrong = np.interp(first, np.append(0, self.accepted), np.append(0, self.wrong))
        return Measure(float(np.mean(wrong / first)))

    def best_area(self) -> Measure:
        """Return the area with all right decisions before all wrong ones: no order has a smaller one."""
        if self.why_not:
            return undefined(self.why_not)
        first = np.arange(1, self.n + 1)
        right = self.n - int(self.wrong[-1])
        return Measure(float(np.mean(np.maximum(first - right, 0) / first)))

    def excess_area(self) -> Measure:
        """By how much the area exceeds the best one (E-AURC): the monitor's share, not the classifier's."""
        if self.why_not:
            return undefined(self.why_not)
        return Measure(max(self.area().value - self.best_area().value, 0.0))
