"""A measure between the ends of its interval."""

from __future__ import annotations

from dataclasses import dataclass

from farm.measures.detection import Counts
from farm.measures.intervals import wilson
from farm.measures.measure import Measure, ratio


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value and how low and how high it may be; each of the three may be undefined."""

    value: Measure
    low: Measure
    high: Measure

    @classmethod
    def nowhere(cls, why: Measure) -> Bounded:
        """Give an undefined measure, its ends undefined for the same reason."""
        return cls(why, why, why)


def share(part: int, whole: int, reason: str, level: float = 0.95) -> Bounded:
    """Give a proportion with Wilson's interval; if `whole` is 0 all of it is undefined, for the reason given.

    Examples
    --------
    >>> found = share(0, 10, "no instances")
    >>> found.value.value, found.low.value, round(found.high.value, 4)
    (0.0, 0.0, 0.2775)
    """
    value = ratio(part, whole, reason)
    return Bounded(value, *wilson(part, whole, level)) if value.defined else Bounded.nowhere(value)


def rates(counts: Counts, level: float = 0.95) -> tuple[Bounded, Bounded]:
    """Give FPR and FNR with Wilson's intervals.

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
