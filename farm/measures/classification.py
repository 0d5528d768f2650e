"""The classifier alone, and with a monitor that cancels some of its decisions.

With a monitor there is one more outcome, *no decision*, coded like the label of an instance that has no right
answer (-1): on ID data cancelling is never the truth, on a novel class nothing else is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import NO_ANSWER, BoolArray, IntArray
from farm.errors import DataError
from farm.measures.detection import Counts
from farm.measures.measure import Measure, ratio, undefined


@dataclass(frozen=True)
class Agreement:
    """How often each label and each outcome occurred, and how often they agreed.

    Multi-class MCC needs no more than this, so the table of all pairs is never built.

    Examples
    --------
    >>> agreement = Agreement.of(np.array([0, 1, -1]), np.array([0, 0, -1]), n_classes=2)
    >>> agreement.correct, agreement.labels.tolist(), agreement.outcomes.tolist()
    (2, [1, 1, 1], [1, 2, 0])
    """

    correct: int
    labels: IntArray
    outcomes: IntArray

    @classmethod
    def of(cls, label: IntArray, outcome: IntArray, n_classes: int) -> Agreement:
        """Count labels and outcomes from -1 (no right answer, cancelled) to `n_classes - 1`."""
        for what, values in (("label", label), ("outcome", outcome)):
            if values.size and (values.min() < NO_ANSWER or values.max() >= n_classes):
                raise DataError(
                    f"{what}s go from {values.min()} to {values.max()}; expected -1 to {n_classes - 1}"
                )
        return cls(
            int(np.count_nonzero(label == outcome)),
            np.bincount(label - NO_ANSWER, minlength=n_classes + 1),
            np.bincount(outcome - NO_ANSWER, minlength=n_classes + 1),
        )

    @property
    def n(self) -> int:
        """All instances."""
        return int(self.labels.sum())

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            self.correct + other.correct, self.labels + other.labels, self.outcomes + other.outcomes
        )


def multiclass_mcc(agreement: Agreement) -> Measure:
    """Matthews correlation for any number of classes (Gorodkin's R_K).

    Undefined where there is one label only or one outcome only: nothing varies, so nothing can correlate.

    References
    ----------
    J. Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient",
    Computational Biology and Chemistry 28 (2004).

    Examples
    --------
    >>> label = np.array([0, 0, 1, 1, 2, 2])
    >>> multiclass_mcc(Agreement.of(label, label, n_classes=3)).value
    1.0
    >>> multiclass_mcc(Agreement.of(label, np.full(6, -1), n_classes=3)).reason
    'each of the 6 outcomes is the same'
    """
    n = agreement.n
    if n == 0:
        return undefined("no instances")
    # Python's integers: the squares of counts pass 2**53 from n = 9e7 on.
    labels = [int(count) for count in agreement.labels if count]
    outcomes = [int(count) for count in agreement.outcomes if count]
    if len(labels) == 1:
        return undefined(f"each of the {n} labels is the same")
    if len(outcomes) == 1:
        return undefined(f"each of the {n} outcomes is the same")
    by_chance = sum(int(a) * int(b) for a, b in zip(agreement.labels, agreement.outcomes, strict=True))
    spread = (n * n - sum(c * c for c in labels)) * (n * n - sum(c * c for c in outcomes))
    return Measure(min(max((n * agreement.correct - by_chance) / math.sqrt(spread), -1.0), 1.0))


def system_outcome(predicted: IntArray, cancelled: BoolArray) -> IntArray:
    """Give what a system without a fallback puts out: the prediction, or -1 where it was cancelled.

    Examples
    --------
    >>> system_outcome(np.array([3, 4]), np.array([False, True])).tolist()
    [3, -1]
    """
    return np.where(cancelled, NO_ANSWER, predicted)


def relative_change(classifier: Measure, system: Measure) -> Measure:
    """Give by how many per cent the system's MCC differs from the classifier's alone.

    Examples
    --------
    >>> round(relative_change(Measure(0.96), Measure(0.59)).value, 2)
    -38.54
    """
    for name, measure in (("classifier", classifier), ("system", system)):
        if not measure.defined:
            return undefined(f"{name}'s MCC: {measure.reason}")
    # Below 0 the sign would turn round and an improvement would read as a loss.
    if classifier.value <= 0:
        return undefined(
            f"the classifier's MCC is {classifier.value:.3g}; a change is relative to one above 0"
        )
    return Measure(100 * (system.value - classifier.value) / classifier.value)


def coverage(decided: int, n: int) -> Measure:
    """Share of the instances on which a decision was acted upon: one that was accepted, or a fallback's."""
    return ratio(decided, n, "no instances")


def accepted_accuracy(right: int, decided: int, n: int) -> Measure:
    """Share of right ones among the decisions acted upon.

    Examples
    --------
    >>> accepted_accuracy(right=9, decided=10, n=13).value
    0.9
    """
    return ratio(right, decided, f"each of the {n} instances was cancelled" if n else "no instances")


def classifier_accuracy(overall: Counts) -> Measure:
    """Share of all decisions that are right, were none of them cancelled."""
    return ratio(overall.n - overall.positive, overall.n, "no instances")
