"""How well something binary was detected, from the four counts of its confusion matrix.

Positive is what should be flagged. For the specific task that is an OOD instance, flagged by an alarm; for
the overall task a decision that should be cancelled, flagged by cancelling it. FPR and FNR compare across
sets; precision, F1 and MCC only at an equal share of positives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from farm.measures.intervals import wilson
from farm.measures.measure import Measure, ratio, undefined


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

    def none(self, what: str) -> str:
        """Say that no instance is, or was, `what`."""
        return f"none of the {self.n} instances {what}" if self.n else "no instances"

    def each(self, what: str) -> str:
        """Say that every instance is, or was, `what`."""
        return f"each of the {self.n} instances {what}" if self.n else "no instances"


def mcc(counts: Counts) -> Measure:
    """Matthews correlation coefficient; undefined where truth or verdict takes one value only.

    Examples
    --------
    >>> mcc(Counts(tp=5, fp=0, tn=5, fn=0)).value
    1.0
    >>> mcc(Counts(tp=0, fp=0, tn=4999, fn=1)).reason
    'none of the 5000 instances was flagged'
    """
    c = counts
    if c.positive == 0:
        return undefined(c.none(c.wording.positive))
    if c.positive == c.n:
        return undefined(c.each(c.wording.positive))
    if c.flagged == 0:
        return undefined(c.none(c.wording.flagged))
    if c.flagged == c.n:
        return undefined(c.each(c.wording.flagged))
    margins = c.positive * (c.n - c.positive) * c.flagged * (c.n - c.flagged)
    # Rounding may carry a perfect score past the end by one last bit.
    return Measure(min(max((c.tp * c.tn - c.fp * c.fn) / math.sqrt(margins), -1.0), 1.0))


def fpr(counts: Counts) -> Measure:
    """Share of the negatives that were flagged: false alarms."""
    return ratio(counts.fp, counts.fp + counts.tn, counts.each(counts.wording.positive))


def fnr(counts: Counts) -> Measure:
    """Share of the positives that were not flagged: misses."""
    return ratio(counts.fn, counts.positive, counts.none(counts.wording.positive))


def precision(counts: Counts) -> Measure:
    """Share of the flagged that are positive."""
    return ratio(counts.tp, counts.flagged, counts.none(counts.wording.flagged))


def recall(counts: Counts) -> Measure:
    """Share of the positives that were flagged."""
    return ratio(counts.tp, counts.positive, counts.none(counts.wording.positive))


def micro_f1(counts: Counts) -> Measure:
    """F1 over both classes' pooled counts; of a binary task this is the accuracy.

    Each mistake is one class's false positive and the other's false negative, so pooled precision, pooled
    recall and accuracy are one number.
    """
    return ratio(counts.tp + counts.tn, counts.n, "no instances")


def weighted_f1(counts: Counts) -> Measure:
    """Mean of the positives' and the negatives' F1, weighted by how many there are of each.

    Some publications print this number under the name of micro-F1.

    Examples
    --------
    >>> round(weighted_f1(Counts(tp=3070, fp=720, tn=280, fn=379)).value, 2)
    0.73
    """
    c = counts
    if c.n == 0:
        return undefined("no instances")
    mistakes = c.fp + c.fn
    # A class without members has weight 0, whatever its F1: this is the only division by 0 there could be.
    positives = c.positive * 2 * c.tp / (2 * c.tp + mistakes) if c.positive else 0.0
    negatives = (c.n - c.positive) * 2 * c.tn / (2 * c.tn + mistakes) if c.n > c.positive else 0.0
    return Measure((positives + negatives) / c.n)


def error(counts: Counts) -> Measure:
    """Share of the instances on which the verdict was wrong."""
    return ratio(counts.fp + counts.fn, counts.n, "no instances")


def safety_gain(overall: Counts) -> Measure:
    """Share of all decisions that were wrong and cancelled. With the residual hazard: the error rate."""
    return ratio(overall.tp, overall.n, "no instances")


def residual_hazard(overall: Counts) -> Measure:
    """Share of all decisions that were wrong and let through."""
    return ratio(overall.fn, overall.n, "no instances")


def availability_cost(overall: Counts) -> Measure:
    """Share of all decisions that were right and cancelled nevertheless."""
    return ratio(overall.fp, overall.n, "no instances")


def detection_measures(counts: Counts, level: float = 0.95) -> dict[str, Measure]:
    """Give all measures of one binary task, the error with its Wilson interval.

    Examples
    --------
    >>> measures = detection_measures(Counts(tp=8, fp=1, tn=9, fn=2))
    >>> {name: round(measures[name].value, 2) for name in ("mcc", "error", "wilson_low", "wilson_high")}
    {'mcc': 0.7, 'error': 0.15, 'wilson_low': 0.05, 'wilson_high': 0.36}
    """
    low, high = wilson(counts.fp + counts.fn, counts.n, level)
    return {
        "mcc": mcc(counts),
        "fpr": fpr(counts),
        "fnr": fnr(counts),
        "precision": precision(counts),
        "recall": recall(counts),
        "micro_f1": micro_f1(counts),
        "weighted_f1": weighted_f1(counts),
        "error": error(counts),
        "wilson_low": low,
        "wilson_high": high,
    }
