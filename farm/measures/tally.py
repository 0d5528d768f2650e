"""All that can be counted of one monitor, and what follows from it. Counts of several parts add up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farm import oracle
from farm.api.arrays import NO_ANSWER, BoolArray, IntArray
from farm.measures.classification import (
    Agreement,
    accepted_accuracy,
    classifier_accuracy,
    coverage,
    multiclass_mcc,
    relative_change,
    system_outcome,
)
from farm.measures.detection import OVERALL, SPECIFIC, Counts
from farm.measures.measure import Measure, ratio


@dataclass(frozen=True)
class Tally:
    """Counts of one monitor's verdicts on some instances.

    Examples
    --------
    >>> label, predicted = np.array([0, 1, -1]), np.array([0, 0, 1])
    >>> cancelled = np.array([False, True, False])
    >>> tally = Tally.of(label, predicted, np.array([False, False, True]), cancelled, cancelled)
    >>> tally.overall.tp, tally.overall.fn, (tally + tally).classification()["coverage"].value
    (1, 1, 0.6666666666666666)
    """

    n: int
    n_ood: int
    unlabelled: int
    alarms: int
    decided: int
    """Instances on which a decision was acted upon."""
    right: int
    """Those of them on which it was right."""
    specific: Counts
    overall: Counts
    classifier: Agreement
    system: Agreement

    @classmethod
    def of(
        cls,
        label: IntArray,
        predicted: IntArray,
        is_ood: BoolArray,
        alarm: BoolArray,
        cancelled: BoolArray,
        decision: IntArray | None = None,
        *,
        unlabelled: BoolArray | None = None,
        n_classes: int | None = None,
    ) -> Tally:
        """Count.

        Classes are codes from 0 to `n_classes` - 1 (None: to the greatest that occurs); `decision` is what
        was acted upon, None where nothing takes a cancelled decision's place. Where a label is missing, what
        would need it is counted all the same and means nothing: that is what `unlabelled` says.
        """
        outcome = system_outcome(predicted, cancelled) if decision is None else decision
        if n_classes is None:
            n_classes = 1 + max(int(codes.max(initial=-1)) for codes in (label, predicted, outcome))
        decided = outcome != NO_ANSWER
        should_cancel = oracle.should_be_cancelled(label, predicted)
        return cls(
            n=len(label),
            n_ood=int(np.count_nonzero(is_ood)),
            unlabelled=0 if unlabelled is None else int(np.count_nonzero(unlabelled)),
            alarms=int(np.count_nonzero(alarm)),
            decided=int(np.count_nonzero(decided)),
            right=int(np.count_nonzero(decided & (outcome == label))),
            specific=Counts(**oracle.tally(oracle.specific(alarm, is_ood)), wording=SPECIFIC),
            overall=Counts(**oracle.tally(oracle.outcomes(should_cancel, cancelled)), wording=OVERALL),
            classifier=Agreement.of(label, predicted, n_classes),
            system=Agreement.of(label, outcome, n_classes),
        )

    def __add__(self, other: Tally) -> Tally:
        size = max(len(self.classifier.labels), len(other.classifier.labels))
        return Tally(
            self.n + other.n,
            self.n_ood + other.n_ood,
            self.unlabelled + other.unlabelled,
            self.alarms + other.alarms,
            self.decided + other.decided,
            self.right + other.right,
            self.specific + other.specific,
            self.overall + other.overall,
            _widened(self.classifier, size) + _widened(other.classifier, size),
            _widened(self.system, size) + _widened(other.system, size),
        )

    def recoded(self, codes: IntArray) -> Tally:
        """Give the same with other codes: class `i` becomes `codes[i]`, of which no two may be equal."""
        return replace(self, classifier=_recoded(self.classifier, codes), system=_recoded(self.system, codes))

    def classification(self) -> dict[str, Measure]:
        """Give what follows from labels, predictions and decisions; meaningless where labels are missing."""
        alone, system = multiclass_mcc(self.classifier), multiclass_mcc(self.system)
        # Of what was acted upon, a fallback's decisions among it; without one these are TP, FN and FP of N.
        hazard, lost = self.decided - self.right, self.n - self.overall.positive - self.right
        return {
            "classifier_mcc": alone,
            "classifier_accuracy": classifier_accuracy(self.overall),
            "system_mcc": system,
            "relative_change": relative_change(alone, system),
            "coverage": coverage(self.decided, self.n),
            "accepted_accuracy": accepted_accuracy(self.right, self.decided, self.n),
            "safety_gain": ratio(self.overall.positive - hazard, self.n, "no instances"),
            "residual_hazard": ratio(hazard, self.n, "no instances"),
            "availability_cost": ratio(lost, self.n, "no instances"),
        }


def _widened(agreement: Agreement, size: int) -> Agreement:
    """Make room for classes that occurred elsewhere."""
    short = size - len(agreement.labels)
    if not short:
        return agreement
    return Agreement(
        agreement.correct, np.pad(agreement.labels, (0, short)), np.pad(agreement.outcomes, (0, short))
    )


def _recoded(agreement: Agreement, codes: IntArray) -> Agreement:
    # The first count is that of -1; codes given out later than these counts are of no concern to them.
    places = np.concatenate(([0], codes[: len(agreement.labels) - 1] + 1))
    moved = np.zeros((2, int(places.max()) + 1), dtype=np.int64)
    moved[:, places] = agreement.labels, agreement.outcomes
    return Agreement(agreement.correct, *moved)
