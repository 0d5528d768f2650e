"""What all metrics come down to: rows of a metric, a part of it, its value, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from farm.api import BoolArray, IntArray
from farm.comparing.measures import CLASSIFIER
from farm.gate.reported import WHOLE
from farm.measures.measure import Bounded, Measure, share, undefined
from farm.statistics.by_track import share_by_track

LEVEL = 0.95
ONE_SIDED = 0.5 + LEVEL / 2
"""Two ends that each hold so surely make an interval of 95 %."""
READ_OFF = "counted on the data at hand"
BY_TRACKS = "draws of tracks, and an unseen one"
OF_ONE = "the least and the greatest of these images say nothing of others"


@dataclass(frozen=True)
class MetricRow:
    """One result; `n` is how many images it is of, `method` how its ends are made."""

    metric: str
    part: str
    value: Bounded
    n: int
    method: str = READ_OFF
    detail: bool = False
    """Whether it is of a single scenario or transformer, and not of all."""
    tracks: int | None = None
    """In how many tracks the images come; None where that is no matter."""
    about: str = CLASSIFIER
    """Whose result it is: the classifier's, a monitor's, that of some data."""


class MetricFinding(Protocol):
    """What one or several metrics found."""

    def rows(self, level: float) -> list[MetricRow]:
        """Return the results; each end holds with this level."""
        ...


def read_off(value: float) -> Bounded:
    """Return a value that is counted and not inferred: it is its own ends."""
    return Bounded(Measure(value), Measure(value), Measure(value))


def without_ends(value: Measure, why: str) -> Bounded:
    """Return a value that has no ends, for the reason given."""
    end = undefined(why) if value.defined else value
    return Bounded(value, end, end)


def how_many(track: IntArray) -> int:
    """Return how many tracks these are."""
    return len(np.unique(track))


def share_of(hit: BoolArray, track: IntArray, level: float) -> Bounded:
    """Return the share of images that are hit; where images share tracks, its ends are by tracks."""
    part, whole = int(np.count_nonzero(hit)), len(hit)
    found = share(part, whole, "no images", 2 * level - 1)
    if not whole or how_many(track) == whole:
        return found
    return Bounded(found.value, *share_by_track(hit, track, 2 * level - 1))


@dataclass(frozen=True)
class Lacking:
    """Metrics that could not be found, and what is missing."""

    metrics: tuple[str, ...]
    why: str
    wrong: bool = False
    """Whether something is wrong with what was given, and not merely missing."""

    def rows(self, level: float) -> list[MetricRow]:  # noqa: ARG002 - as every finding
        """Return an undefined result for each."""
        return [MetricRow(name, WHOLE, Bounded.nowhere(undefined(self.why)), 0, "") for name in self.metrics]
