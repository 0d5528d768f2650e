"""Shares along a stream whose bounds hold at all its moments together, and evidence that it has changed."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.measures import Bounded, Measure, undefined
from farm.statistics.wording import one_in_words

STRONG = (20, 100)
"""Of evidence like this is told when it was there first."""

MOVED = "what came later contradicts its bounds, so that it did not stay the same along the stream"


class BoundedMean(Protocol):
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


def share_of(found: BoundedMean) -> Bounded:
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
    if found.moved or not found.low <= value.value <= found.high:
        return Bounded(value, undefined(MOVED), undefined(MOVED))
    return Bounded(value, Measure(found.low), Measure(found.high))


class Growth:
    """How evidence grew along a stream: what it is by now, was at most, and when it was strong first.

    Examples
    --------
    >>> growth = Growth()
    >>> growth.follow(np.array([2.0, 2.0, -3.0]), np.array([1, 2, 5]))
    >>> growth.words("instance", 6)
    'reached 1 in 20 at instance 2 of 6 (strongest 1 in 55)'
    """

    def __init__(self) -> None:
        self.log_e = self.strongest = 0.0
        """As natural logarithms."""
        self.first: dict[int, int | None] = dict.fromkeys(STRONG)

    def follow(self, bets: FloatArray, places: IntArray) -> None:
        """Take the logarithms of what it is multiplied by, at these places of the stream."""
        path = self.log_e + np.cumsum(bets)
        for times, at in self.first.items():
            there = path >= math.log(times)
            if at is None and there.any():
                self.first[times] = int(places[np.argmax(there)])
        self.log_e = float(path[-1])
        self.strongest = max(self.strongest, float(path.max()))

    @property
    def record(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "log10_evidence": self.log_e / math.log(10),
            "strongest": self.strongest / math.log(10),
            **{f"passed_{times}": at for times, at in self.first.items()},
        }

    def words(self, unit: str, n: int, *, by_lot: bool = False) -> str:
        """Say when it was strong in a stream of so many, and how strong at most; by lot there is no when."""
        most = f"strongest {one_in_words(self.strongest)}" if self.strongest else "there was none"
        strongest_at = {at: times for times, at in self.first.items() if at is not None}
        if not strongest_at:
            return f"was never as strong as 1 in {STRONG[0]} ({most})"
        if by_lot:
            return f"reached 1 in {max(strongest_at.values())} in {n:,} {unit}s ({most})"
        told = " and ".join(f"1 in {times} at {unit} {at:,}" for at, times in strongest_at.items())
        return f"reached {told} of {n:,} ({most})"
