"""The contract of schedules: when faults come over a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.api.component import Component

ORDERS = ("shuffled", "sequential")
"""The orders of streams without time; any other is a schedule's."""


@dataclass(frozen=True)
class Stretch:
    """A plan for consecutive instances: which are OOD, at which part of the severity, in which episode."""

    is_ood: BoolArray
    intensity: FloatArray
    episode: IntArray


class Schedule(Component, ABC):
    """Says when faults come."""

    objects: int = 1
    """How many views of one object come in a row."""
    ramps_severity: bool = False
    """Whether it passes through severities, so that faults need some."""

    @abstractmethod
    def stretches(self, seed: int) -> Iterator[Stretch]:
        """Plan the stream, from its start, stretch by stretch, without end."""
