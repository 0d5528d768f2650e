"""How well something binary was detected, from the four counts of its confusion matrix.

Positive is what should be flagged. For the specific task that is an OOD instance, flagged by an alarm; for
the overall task a decision that should be cancelled, flagged by cancelling it. FPR and FNR compare across
sets; precision, F1 and MCC only at an equal share of positives.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farm.api.arrays import FloatArray
from farm.measures.many import MANY
from farm.measures.measure import Bounded, Measure, defined_or, share


@dataclass(frozen=True, slots=True)
class Wording:
    """How reasons speak of positives and flags: `each of the 5 instances is OOD`."""

    positive: str = "is positive"
    flagged: str = "was flagged"


SPECIFIC = Wording("is OOD", "raised an alarm")
OVERALL = Wording("should be cancelled", "was cancelled")


@dataclass(frozen=True, slots=True)
class Counts:
    """True and false positives and negatives. Plain integers: products of four do not overflow.

    Examples
    --------
    >>> counts = Counts(tp=1, fp=2, tn=3, fn=4)
    >>> counts.n, (counts + counts).tp
    (10, 2)
    """

    tp: int
    fp: int
    tn: int
    fn: int
    wording: Wording = field(default=Wording(), compare=False, repr=False)

    @property
    def n(self) -> int:
        """All instances."""
        return self.tp + self.fp + self.tn + self.fn

    @property
    def positive(self) -> int:
        """Instances that should be flagged."""
        return self.tp + self.fn

    @property
    def flagged(self) -> int:
        """Instances that were flagged."""
        return self.tp + self.fp

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.tp + other.tp, self.fp + other.fp, self.tn + other.tn, self.fn + other.fn, self.wording
        )

    @property
    def matrix(self) -> FloatArray:
        """The counts in the order of the outcome codes."""
        return np.array([self.tn, self.fp, self.fn, self.tp], dtype=np.float64)

    def none(self, what: str) -> str:
        """Say that no instance is, or was, `what`."""
        return f"none of the {self.n:,} instances {what}" if self.n else "no instances"

    def each(self, what: str) -> str:
        """Say that every instance is, or was, `what`."""
        return f"each of the {self.n:,} instances {what}" if self.n else "no instances"


def mcc(counts: Counts) -> Measure:
    """Matthews correlation coefficient; undefined where truth or verdict takes one value only.

    Examples
    --------
    >>> mcc(Counts(tp=5, fp=0, tn=5, fn=0)).value
    1.0
    >>> mcc(Counts(tp=0, fp=0, tn=4999, fn=1)).reason
    'none of the 5,000 instances was flagged'
    """
    c = counts
    one_truth = c.positive in (0, c.n)
    number, what = (c.positive, c.wording.positive) if one_truth else (c.flagged, c.wording.flagged)
    return of_one("mcc", c, c.each(what) if number else c.none(what))


def fpr(counts: Counts) -> Measure:
    """Share of the negatives that were flagged: false alarms."""
    return of_one("fpr", counts, counts.each(counts.wording.positive))


def fnr(counts: Counts) -> Measure:
    """Share of the positives that were not flagged: misses."""
    return of_one("fnr", counts, counts.none(counts.wording.positive))


def precision(counts: Counts) -> Measure:
    """Share of the flagged that are positive."""
    return of_one("precision", counts, counts.none(counts.wording.flagged))


def recall(counts: Counts) -> Measure:
    """Share of the positives that were flagged."""
    return of_one("recall", counts, counts.none(counts.wording.positive))


def micro_f1(counts: Counts) -> Measure:
    """F1 over both classes' pooled counts; of a binary task this is the accuracy.

    Each mistake is one class's false positive and the other's false negative, so pooled precision, pooled
    recall and accuracy are one number.
    """
    return of_one("micro_f1", counts)


def weighted_f1(counts: Counts) -> Measure:
    """Mean of the positives' and the negatives' F1, weighted by how many there are of each.

    Some publications print this number under the name of micro-F1.

    Examples
    --------
    >>> round(weighted_f1(Counts(tp=3070, fp=720, tn=280, fn=379)).value, 2)
    0.73
    """
    return of_one("weighted_f1", counts)


def error(counts: Counts) -> Measure:
    """Share of the instances on which the verdict was wrong."""
    return of_one("error", counts)


def of_one(name: str, counts: Counts, reason: str = "no instances") -> Measure:
    """Take a measure of `farm.measures.many` of one matrix; `reason` says why it may be undefined."""
    return defined_or(float(MANY[name](counts.matrix)), reason)


def detection_measures(counts: Counts) -> dict[str, Measure]:
    """Return all measures of one binary task.

    Examples
    --------
    >>> measures = detection_measures(Counts(tp=8, fp=1, tn=9, fn=2))
    >>> {name: round(measures[name].value, 2) for name in ("mcc", "fpr", "fnr", "error")}
    {'mcc': 0.7, 'fpr': 0.1, 'fnr': 0.2, 'error': 0.15}
    """
    forms = (mcc, fpr, fnr, precision, recall, micro_f1, weighted_f1, error)
    return {form.__name__: form(counts) for form in forms}


def rates(counts: Counts, level: float = 0.95) -> tuple[Bounded, Bounded]:
    """Return FPR and FNR with Wilson's intervals.

    Examples
    --------
    >>> fpr, fnr = rates(Counts(tp=0, fp=1, tn=3, fn=0))
    >>> fpr.value.value, fnr.low.reason
    (0.25, 'none of the 4 instances is positive')
    """
    c = counts
    return (
        share(c.fp, c.fp + c.tn, c.each(c.wording.positive), level),
        share(c.fn, c.positive, c.none(c.wording.positive), level),
    )
