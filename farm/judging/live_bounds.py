"""What can be said of a stream that still runs, whoever looks when: in constant memory.

Consecutive instances of one track are a visit, and count together: they resemble each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from farm.judging.along_stream import Growth, share_of
from farm.measures import Bounded
from farm.statistics.anytime import RatioSequence, ScoreEvidence, Together
from farm.statistics.clopper_pearson import low_of_share

LEVEL = 0.95
REFERENCE = 200
"""So many of the first quiet visits scores are held against."""
TOGETHER = 64
"""So many visits are taken in at a time, which is quicker."""


class VisitMean:
    """The mean of a visit's scores.

    Examples
    --------
    >>> visit = VisitMean()
    >>> visit.add(1.0)
    >>> visit.add(0.0)
    >>> visit.end(), visit.end()
    (0.5, None)
    """

    def __init__(self) -> None:
        self._sum, self._n = 0.0, 0

    def add(self, value: float) -> None:
        """Take the next value."""
        self._sum, self._n = self._sum + value, self._n + 1

    def end(self) -> float | None:
        """Return the mean, and begin anew; None where nothing counted."""
        mean = self._sum / self._n if self._n else None
        self._sum, self._n = 0.0, 0
        return mean


class LiveShare:
    """A share of instances by now, between bounds that hold at all moments together.

    A visit counts once it has ended: by how many instances the share is of, and how many of them are hits.

    Parameters
    ----------
    longest
        How many instances a visit has at most.
    """

    def __init__(self, longest: int = 1) -> None:
        self._sequence = RatioSequence(longest, LEVEL)
        self._hits = self._count = 0
        self._ended: list[tuple[int, int]] = []

    def follow(self, value: bool) -> None:
        """Take the next instance that counts."""
        self._hits, self._count = self._hits + value, self._count + 1

    def end_visit(self) -> None:
        """Take the visit in."""
        if self._count:
            self._ended.append((self._hits, self._count))
            self._hits = self._count = 0
            if len(self._ended) == TOGETHER:
                self._take()

    @property
    def share(self) -> Bounded:
        """What it is by now."""
        self._take()
        return share_of(self._sequence)

    def _take(self) -> None:
        if self._ended:
            hits, counts = np.array(self._ended, dtype=np.float64).T
            self._sequence.add(hits, counts)
            self._ended.clear()


class Peeking:
    """When a test of the alarm rate for a fixed number, repeated after each instance, first alarms.

    It takes the rate of the first quiet instances for the true one.

    Examples
    --------
    >>> test = Peeking()
    >>> for place in range(10):
    ...     test.calibrate(place == 0)
    >>> for place in range(4):
    ...     test.follow(True, place)
    >>> test.at
    1
    """

    def __init__(self) -> None:
        self.at: int | None = None
        self._before, self._n_before, self._alarms, self._n = 0, 0, 0, 0

    def calibrate(self, alarm: bool) -> None:
        """Take one of the first quiet instances."""
        self._before, self._n_before = self._before + alarm, self._n_before + 1

    def follow(self, alarm: bool, place: int) -> None:
        """Take an instance after these."""
        self._alarms, self._n = self._alarms + alarm, self._n + 1
        if alarm and self.at is None and self._before:
            rate = self._before / self._n_before
            self.at = place if low_of_share(self._alarms, self._n, LEVEL) > rate else None


class LiveEvidence:
    """Evidence that scores are no longer like those of the first quiet visits: of each monitor, and together.

    Parameters
    ----------
    monitors
        The names of those that are asked; what others say is passed over.
    """

    def __init__(self, monitors: Sequence[str]) -> None:
        self.growth = {name: Growth() for name in monitors}
        self.together = Growth()
        self.peeking = {name: Peeking() for name in monitors}
        self.n_reference = self.n = 0
        self._visits = {name: VisitMean() for name in monitors}
        self._quiet = True
        self._first: dict[str, list[float]] = {name: [] for name in monitors}
        self._evidence: dict[str, ScoreEvidence] = {}
        self._combined: Together | None = None
        self._ended: list[tuple[int, Mapping[str, float]]] = []

    @property
    def has_reference(self) -> bool:
        """Whether there is something that scores can be held against."""
        return self.n_reference >= REFERENCE

    def follow(self, scores: Mapping[str, float], alarms: Mapping[str, bool], *, quiet: bool) -> None:
        """Take the next instance; monitors that failed are left out."""
        self.n += 1
        self._quiet &= quiet
        for name in self._visits.keys() & scores.keys():
            self._visits[name].add(scores[name])
            if self.has_reference:
                self.peeking[name].follow(alarms[name], self.n)
            elif quiet:
                self.peeking[name].calibrate(alarms[name])

    def end_visit(self) -> None:
        """Take the visit in; the first that are quiet throughout are the reference."""
        means = {name: mean for name, visit in self._visits.items() if (mean := visit.end()) is not None}
        if self.has_reference:
            self._ended.append((self.n, means))
            if len(self._ended) == TOGETHER:
                self.take()
        elif means and self._quiet:
            self.n_reference += 1
            for name, mean in means.items():
                self._first[name].append(mean)
            if self.n_reference == REFERENCE:
                self._begin()
        self._quiet = True

    def _begin(self) -> None:
        whole = {name: first for name, first in self._first.items() if len(first) == REFERENCE}
        self._evidence = {
            name: ScoreEvidence(np.array(first), seed) for seed, (name, first) in enumerate(whole.items())
        }
        self._combined = Together(list(whole)) if whole else None
        self._first.clear()

    def take(self) -> None:
        """Take in all visits that have ended."""
        if not self._ended or self._combined is None:
            return
        places = np.array([place for place, _ in self._ended])
        bets = {}
        for name, evidence in self._evidence.items():
            # Who failed bets nothing from then on.
            there = np.array([name in means for _, means in self._ended])
            bets[name] = np.zeros(len(places))
            if there.any():
                bets[name][there] = evidence.add(np.array([m[name] for _, m in self._ended if name in m]))
            self.growth[name].follow(bets[name], places)
        self.together.follow(self._combined.add(bets), places)
        self._ended.clear()
