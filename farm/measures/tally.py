"""All that can be counted of one monitor, and what follows from it. Counts of several parts add up.

With a monitor there is one more outcome than classes, *no decision*, coded like the label of an instance that
has no right answer (-1): on ID data cancelling is never the truth, on a novel class nothing else is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from farm.api.arrays import NO_ANSWER, BoolArray, IntArray
from farm.errors import DataError
from farm.measures import oracle
from farm.measures.detection import OVERALL, SPECIFIC, Counts
from farm.measures.many import OF_ACCEPTED, OF_DECISIONS
from farm.measures.measure import Measure, defined_or, ratio, undefined


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
        counted = []
        for mine, others in ((self.labels, other.labels), (self.outcomes, other.outcomes)):
            total = np.zeros(max(len(mine), len(others)), dtype=np.int64)
            total[: len(mine)] += mine
            total[: len(others)] += others
            counted.append(total)
        return Agreement(self.correct + other.correct, *counted)

    def recoded(self, codes: IntArray) -> Agreement:
        """Return the same with other codes: class `i` becomes `codes[i]`, of which no two may be equal."""
        # The first count is that of -1; codes given out later than these counts are of no concern to them.
        places = np.concatenate(([0], codes[: len(self.labels) - 1] + 1))
        moved = np.zeros((2, int(places.max()) + 1), dtype=np.int64)
        moved[:, places] = self.labels, self.outcomes
        return Agreement(self.correct, *moved)


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
    """Return what a system without a fallback puts out: the prediction, or -1 where it was cancelled.

    Examples
    --------
    >>> system_outcome(np.array([3, 4]), np.array([False, True])).tolist()
    [3, -1]
    """
    return np.where(cancelled, NO_ANSWER, predicted)


def relative_change(classifier: Measure, system: Measure) -> Measure:
    """Return by how many per cent the system's MCC differs from the classifier's alone.

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
        return Tally(**{name: mine + getattr(other, name) for name, mine in vars(self).items()})

    def recoded(self, codes: IntArray) -> Tally:
        """Return the same with other codes for classes: `i` becomes `codes[i]`."""
        return replace(self, classifier=self.classifier.recoded(codes), system=self.system.recoded(codes))

    def classification(self) -> dict[str, Measure]:
        """Return what follows from labels and decisions; it means nothing where labels are missing."""
        alone, system = multiclass_mcc(self.classifier), multiclass_mcc(self.system)
        return {
            "classifier_mcc": alone,
            "classifier_accuracy": ratio(self.n - self.overall.positive, self.n, "no instances"),
            "system_mcc": system,
            "relative_change": relative_change(alone, system),
            **self.decisions(),
        }

    def decisions(self) -> dict[str, Measure]:
        """Return what follows from decisions; only the coverage means something where labels are missing."""
        wrong = self.decided - self.right
        sums = np.array([self.n, self.overall.positive, wrong, self.right], dtype=np.float64)
        cancelled = f"each of the {self.n:,} instances was cancelled" if self.n else "no instances"
        return {
            name: defined_or(float(form(sums)), cancelled if name in OF_ACCEPTED else "no instances")
            for name, form in OF_DECISIONS.items()
        }
