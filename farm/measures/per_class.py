"""Class by class: where does the classifier err, and where does the monitor?

A monitor that is good on average may be useless for one rare sign. Instances are sorted by their label, or,
where labels are missing, by what the classifier predicted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api.arrays import NO_ANSWER, BoolArray, IntArray
from farm.errors import DataError
from farm.measures.detection import OVERALL, SPECIFIC, Counts, Wording, rates
from farm.measures.measure import Bounded, share, undefined
from farm.measures.oracle import OUTCOMES, OutcomeCodes, overall, specific


@dataclass(frozen=True)
class ClassResult:
    """What became of one class's instances; each share with its Wilson interval."""

    by: str
    """Whether `number` is a `label` or was `predicted`."""
    number: int
    """The class; -1 stands for the instances that no class is right for."""
    n: int
    accuracy: Bounded
    """Of the classifier alone, were no decision cancelled."""
    alarm_rate: Bounded
    fpr: Bounded
    """Of the overall task: right decisions that were cancelled."""
    fnr: Bounded
    """Of the overall task: wrong decisions that were let through."""
    specific_fpr: Bounded
    """ID instances with an alarm."""
    specific_fnr: Bounded
    """OOD instances without one."""

    @property
    def name(self) -> str:
        """The class in words."""
        return "no right answer" if self.number == NO_ANSWER else str(self.number)


def per_label(
    label: IntArray,
    predicted: IntArray,
    alarm: BoolArray,
    cancelled: BoolArray,
    *,
    is_ood: BoolArray | None = None,
    level: float = 0.95,
) -> list[ClassResult]:
    """Return one result for each label that occurs, in their order; -1, no right answer, comes first.

    Examples
    --------
    >>> label, predicted = np.array([-1, 0, 0, 1]), np.array([0, 0, 1, 1])
    >>> alarm = np.array([True, True, False, False])
    >>> for found in per_label(label, predicted, alarm, cancelled=alarm):
    ...     print(found.name, found.n, found.accuracy.value.value, found.alarm_rate.value.value)
    no right answer 1 0.0 1.0
    0 2 0.5 0.5
    1 1 1.0 0.0
    """
    known = np.zeros(len(label), dtype=np.bool_)
    return _results("label", label, _Instances(label, known, predicted, alarm, cancelled, is_ood), level)


def per_predicted(
    predicted: IntArray,
    alarm: BoolArray,
    cancelled: BoolArray,
    *,
    label: IntArray | None = None,
    unlabelled: BoolArray | None = None,
    is_ood: BoolArray | None = None,
    level: float = 0.95,
) -> list[ClassResult]:
    """Return one result for each predicted class, in their order.

    What needs labels is undefined for a class in which one is missing, all others keep theirs: OOD instances
    often have none, and to leave them out would make the monitor look better or worse than it is.

    Parameters
    ----------
    label, unlabelled
        The labels, and where they are missing; what `label` holds there is ignored.

    Examples
    --------
    >>> alarm = np.array([True, False, False])
    >>> for found in per_predicted(np.array([4, 4, 7]), alarm, alarm, is_ood=np.array([True, False, False])):
    ...     print(found.name, found.n, found.alarm_rate.value.value, found.specific_fnr.value.reason)
    4 2 0.5 None
    7 1 0.0 none of the 1 instances is OOD
    """
    if label is None:
        label, unlabelled = np.full(len(predicted), NO_ANSWER), np.ones(len(predicted), dtype=np.bool_)
    elif unlabelled is None:
        unlabelled = np.zeros(len(predicted), dtype=np.bool_)
    assert unlabelled is not None  # for the type checker: it does not follow both branches
    instances = _Instances(label, unlabelled, predicted, alarm, cancelled, is_ood)
    return _results("predicted", predicted, instances, level)


@dataclass(frozen=True)
class _Instances:
    label: IntArray
    unlabelled: BoolArray
    predicted: IntArray
    alarm: BoolArray
    cancelled: BoolArray
    is_ood: BoolArray | None

    def __post_init__(self) -> None:
        n = len(self.predicted)
        for what, values in vars(self).items():
            if values is not None and len(values) != n:
                raise DataError(f"per class: {len(values)} values of '{what}'; expected {n}")


def _results(by: str, classes: IntArray, instances: _Instances, level: float) -> list[ClassResult]:
    numbers, code = np.unique(classes, return_inverse=True)
    many = len(numbers)
    right = overall(instances.cancelled, instances.label, instances.predicted)
    decisions = _counts(code, right, many, OVERALL)
    missing = np.bincount(code[instances.unlabelled], minlength=many).tolist()
    # Without `is_ood` nothing but the number of alarms is read of these counts.
    told = np.zeros(len(code), dtype=np.bool_) if instances.is_ood is None else instances.is_ood
    detections = _counts(code, specific(instances.alarm, told), many, SPECIFIC)
    return [
        _result(by, number, decision, detection, unlabelled, instances.is_ood is not None, level)
        for number, decision, detection, unlabelled in zip(
            numbers.tolist(), decisions, detections, missing, strict=True
        )
    ]


def _counts(code: IntArray, outcome: OutcomeCodes, many: int, wording: Wording) -> list[Counts]:
    table = np.bincount(len(OUTCOMES) * code + outcome, minlength=len(OUTCOMES) * many)
    rows = table.reshape(many, len(OUTCOMES)).tolist()
    return [Counts(**dict(zip(OUTCOMES, row, strict=True)), wording=wording) for row in rows]


def _result(
    by: str, number: int, decision: Counts, detection: Counts, unlabelled: int, ood_known: bool, level: float
) -> ClassResult:
    n = detection.n
    fpr, fnr = rates(decision, level)
    accuracy = share(n - decision.positive, n, "no instances", level)
    if unlabelled:
        why = undefined(f"the label is missing for {unlabelled:,} of {n:,} instances")
        fpr = fnr = accuracy = Bounded.nowhere(why)
    specific_fpr, specific_fnr = rates(detection, level)
    if not ood_known:
        specific_fpr = specific_fnr = Bounded.nowhere(undefined("is_ood was not given"))
    return ClassResult(
        by=by,
        number=number,
        n=n,
        accuracy=accuracy,
        alarm_rate=share(detection.flagged, n, "no instances", level),
        fpr=fpr,
        fnr=fnr,
        specific_fpr=specific_fpr,
        specific_fnr=specific_fnr,
    )
