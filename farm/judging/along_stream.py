"""Shares along a stream with bounds that hold at all its moments together."""

from __future__ import annotations

from typing import Protocol

from farm.measures import Bounded, Measure, undefined

MOVED = "its bounds passed each other, so that it did not stay the same along the stream"


class Sequence(Protocol):
    """Bounds of a mean that come nearer with each value."""

    @property
    def n(self) -> int: ...
    @property
    def mean(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def moved(self) -> bool: ...


def share_of(found: Sequence) -> Bounded:
    """Return a share as it is by now; where no single one goes with all values, without its ends.

    Examples
    --------
    >>> from farm.statistics.anytime import BettingSequence
    >>> sequence = BettingSequence()
    >>> share_of(sequence).value.reason
    'nothing to count yet'
    >>> sequence.add([0.0] * 100)
    >>> share_of(sequence).value.value, round(share_of(sequence).high.value, 2)
    (0.0, 0.05)
    """
    if not found.n:
        return Bounded.nowhere(undefined("nothing to count yet"))
    value = Measure(min(max(found.mean, 0.0), 1.0))
    if found.moved:
        return Bounded(value, undefined(MOVED), undefined(MOVED))
    return Bounded(value, Measure(found.low), Measure(found.high))
