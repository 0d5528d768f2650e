"""The contract of schedules: which faults come over a stream, when, and how strongly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from farm.api.arrays import FloatArray, IntArray
from farm.api.component import Component

ORDERS = ("shuffled", "sequential")
"""The orders of streams without time; any other is a schedule's."""


@dataclass(frozen=True)
class Stretch:
    """A plan for consecutive instances: rows are instances, columns the schedule's intervals."""

    share: FloatArray
    """The chance that the interval's faults act upon an instance; 0 outside of the interval."""
    intensity: FloatArray
    """The part of their severity."""
    coming: IntArray
    """Which coming of the interval it is, from 0 on; -1 outside."""
    episode: IntArray
    """One number an instance: what a monitor should notice, from 0 on; -1 outside of all intervals."""


@dataclass(frozen=True)
class IntervalFaults:
    """What acts in an interval: these faults, all at once; where none are named, one of the experiment's."""

    faults: Sequence[Any] = ()
    """Each a name, or a mapping with a name, a severity and parameters."""
    ramps_severity: bool = False
    """Whether it passes through severities, so that its faults need some."""
    comes_again: bool = False
    """Whether it comes more than once: of the experiment's faults it then takes one for each coming."""


class Schedule(Component, ABC):
    """Says which faults come over a stream, and when."""

    intervals: Sequence[IntervalFaults] = (IntervalFaults(),)
    """What acts in each interval; the columns of a stretch."""
    views: int | None = None
    """How many views of one object come in a row; None for all views that there are of each."""
    each_object: bool = False
    """Whether each object that a fault acts upon is an episode of its own."""
    length: int | None = None
    """How many instances a stream has that is not told its length; None for one pass over the test data."""

    @abstractmethod
    def stretches(self, seed: int) -> Iterator[Stretch]:
        """Plan the stream, from its start, stretch by stretch, without end."""
