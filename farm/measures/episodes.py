"""Episodes along a stream: when faults begin and end, and how each was noticed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.measures.along_time import FalseAlarms
from farm.measures.delays import SHORT_WORDS, Delays, Outcome

OUTSIDE = -1
"""The episode of an instance that belongs to none."""
OUTCOMES = tuple(Outcome)
"""By the code that stands for each."""


def begun(episode: IntArray, is_ood: BoolArray) -> IntArray:
    """Return each instance's episode from its onset on: the first OOD instance of what was planned.

    Before it nothing is wrong yet, and an episode in which nothing is OOD is none.

    Examples
    --------
    >>> begun(np.array([-1, 0, 0, 0, 1]), np.array([False, False, True, False, False])).tolist()
    [-1, -1, 0, 0, -1]
    """
    place = np.arange(len(episode))
    wrong = np.flatnonzero((episode != OUTSIDE) & is_ood)
    numbers, first = np.unique(episode[wrong], return_index=True)
    onset = np.full(int(episode.max(initial=0)) + 2, len(episode))
    onset[numbers] = wrong[first]
    return np.where((episode != OUTSIDE) & (place >= onset[episode]), episode, OUTSIDE)


@dataclass(frozen=True)
class Noticed:
    """How each episode was noticed by one signal: a row an episode."""

    outcome: IntArray
    """The place of its `Outcome` in `OUTCOMES`."""
    instances: IntArray
    """From the onset to the signal where it is found, to the stream's end where it is open; else 0."""

    @property
    def delay(self) -> FloatArray:
        """The delays: infinite where it was missed, NaN where there is none."""
        found, missed = self._is(Outcome.FOUND), self._is(Outcome.MISSED) | self._is(Outcome.AFTER)
        return np.where(found, self.instances, np.where(missed, np.inf, np.nan))

    @property
    def delays(self) -> Delays:
        """All of them, counted."""
        told, times = np.unique(np.column_stack([self.outcome, self.instances]), axis=0, return_counts=True)
        keys = [(OUTCOMES[outcome], instances) for outcome, instances in told.tolist()]
        return Delays(Counter(dict(zip(keys, times.tolist(), strict=True))))

    @property
    def told(self) -> list[int | str]:
        """Each episode's delay, or in a word why it has none."""
        rows = zip(self.outcome.tolist(), self.instances.tolist(), strict=True)
        found = OUTCOMES.index(Outcome.FOUND)
        return [late if code == found else SHORT_WORDS[OUTCOMES[code]] for code, late in rows]

    def take(self, rows: NDArray[Any]) -> Noticed:
        """Return some of the episodes."""
        return Noticed(self.outcome[rows], self.instances[rows])

    def _is(self, outcome: Outcome) -> BoolArray:
        return np.asarray(self.outcome == OUTCOMES.index(outcome))


class Episodes:
    """When things went wrong along a stream, found once for all monitors that watched it.

    Examples
    --------
    >>> episode = np.array([-1, -1, 0, 0, -1, 1, 1, -1])
    >>> episodes = Episodes(episode, episode >= 0)
    >>> alarm = np.array([True, False, False, True, False, False, False, False])
    >>> episodes.noticed(alarm).delay.tolist(), episodes.false_alarms(alarm)
    ([1.0, inf], FalseAlarms(quiet=4, alarms=1))
    """

    def __init__(self, episode: IntArray, is_ood: BoolArray) -> None:
        planned = np.unique(episode[episode != OUTSIDE])
        episode = begun(episode, is_ood)
        self.quiet: BoolArray = (episode == OUTSIDE) & ~is_ood
        """The ID instances but for those between an onset and its episode's end."""
        self._inside = np.flatnonzero(episode != OUTSIDE)
        self.number, first, self._own = np.unique(
            episode[self._inside], return_index=True, return_inverse=True
        )
        """What each episode with an onset is called in the stream."""
        self.onset = self._inside[first]
        """The place of its first OOD instance."""
        self.end = np.zeros_like(self.onset)
        """The first place after it."""
        self.end[self._own] = self._inside + 1
        self.empty = len(planned) - len(self.number)
        """How many were planned and have no OOD instance."""
        self._is_ood, self._outside = is_ood, episode == OUTSIDE

    def __len__(self) -> int:
        return len(self.onset)

    def noticed(self, signal: BoolArray) -> Noticed:
        """Say how each episode was noticed by alarms, or by what was cancelled."""
        n = len(signal)
        heard = np.full(len(self), n)
        at = signal[self._inside]
        # Backwards: of several in an episode the one written last is the first.
        heard[self._own[at][::-1]] = self._inside[at][::-1]
        stood = (self.onset > 0) & signal[self.onset - 1] & (heard == self.onset)
        last = np.minimum(self.end, n - 1)
        cases = {
            Outcome.STANDING: stood,
            Outcome.FOUND: (heard < n) & self._is_ood[np.minimum(heard, n - 1)],
            Outcome.ON_ID: heard < n,
            Outcome.OPEN: self.end == n,
            Outcome.AFTER: signal[last] & self._outside[last],
        }
        codes = [OUTCOMES.index(outcome) for outcome in cases]
        outcome = np.select(list(cases.values()), codes, OUTCOMES.index(Outcome.MISSED))
        until = np.select([outcome == codes[1], outcome == codes[3]], [heard, self.end], self.onset)
        return Noticed(outcome, until - self.onset)

    def false_alarms(self, alarm: BoolArray) -> FalseAlarms:
        """Count alarms on ID instances, but for those between an onset and its episode's end."""
        return FalseAlarms(int(np.count_nonzero(self.quiet)), int(np.count_nonzero(alarm & self.quiet)))
