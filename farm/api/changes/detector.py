"""What all change detectors share: values come one after another, and a statistic says how far they moved."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

import numpy as np

from farm.api.arrays import FloatArray

V = TypeVar("V")

DIRECTIONS = ("up", "down", "both")
"""Which changes count: a mean that rises, that falls, or either."""


class ChangeDetector(ABC, Generic[V]):
    """Follows a stream in constant memory. A subclass writes `follow` and `forget`.

    The alarm is the user's: the statistic exceeds a limit. So one run of it serves all limits.
    """

    @abstractmethod
    def follow(self, value: V) -> float:
        """Return the statistic after this value, the higher the surer of a change."""

    @abstractmethod
    def forget(self) -> None:
        """Be as at the start of a stream."""

    def learn(self, values: Iterable[V]) -> None:
        """Begin with values while all is well, for those that know no mean but the stream's."""
        del values

    def restart(self) -> None:
        """Look for the next change after an alarm; as a rule that is to forget everything."""
        self.forget()

    def along(self, values: Iterable[V], limit: float = math.inf) -> FloatArray:
        """Return the statistic after each value; it restarts after each that exceeds the limit."""
        found = []
        for value in values.tolist() if isinstance(values, np.ndarray) else values:
            found.append(statistic := self.follow(value))
            if statistic > limit:
                self.restart()
        return np.array(found, dtype=np.float64)


Scalar = ChangeDetector[float]
"""Follows numbers."""


def either(rise: float, fall: float, direction: str) -> float:
    """Return the statistic of the direction that counts."""
    if direction == "both":
        return max(rise, fall)
    return rise if direction == "up" else fall
