"""How fast a monitor notices that faults began, and how often it cries wolf before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.measures.measure import Measure, undefined

OUTSIDE = -1
"""The episode of an instance that belongs to none."""
FEWEST_FOR_BOUND = 59
"""From so many onsets on, the longest delay bounds the 95th percentile with 95 % confidence: 0.95^59 is
below 0.05."""


def begun(episode: IntArray, is_ood: BoolArray) -> IntArray:
    """Give each instance's episode from its onset on: the first OOD instance of what was planned.

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
class Delays:
    """Delays of all onsets, in instances; one that was missed is censored: infinite, and not left out.

    A delay of 0 is an alarm at the onset itself. An alarm before an onset belongs to no episode, and is a
    false one.
    """

    values: FloatArray

    @classmethod
    def of(cls, episode: IntArray, is_ood: BoolArray, alarm: BoolArray) -> Delays:
        """Find each episode's first alarm at or after its onset.

        Examples
        --------
        >>> episode = np.array([-1, 0, 0, -1, 1, 1])
        >>> Delays.of(episode, episode >= 0, np.array([True, False, True, False, False, False])).values
        array([ 1., inf])
        """
        return Episodes(episode, is_ood).delays(alarm)

    @property
    def n(self) -> int:
        """How many onsets there were."""
        return len(self.values)

    @property
    def missed(self) -> int:
        """How many of them nobody noticed while they lasted."""
        return int(np.isinf(self.values).sum())

    def quantile(self, q: float) -> Measure:
        """Give the delay that the share q of all onsets does not exceed."""
        if not self.n:
            return undefined("the stream has no onset")
        value = float(np.sort(self.values)[max(int(np.ceil(q * self.n - 1e-9)), 1) - 1])
        if np.isinf(value):
            return undefined(f"{self.missed} of {self.n} onsets were missed")
        return Measure(value)

    def bound_of_p95(self) -> Measure:
        """Bound the 95th percentile from above, with 95 % confidence, whatever the distribution."""
        if self.n < FEWEST_FOR_BOUND:
            return undefined(f"{self.n} onsets; a bound needs at least {FEWEST_FOR_BOUND}")
        # The r-th smallest is a bound if fewer than r of n fall below the percentile with probability 0.95.
        below = np.cumsum(_binomial(self.n, 0.95))
        rank = int(np.searchsorted(below, 0.95)) + 1
        value = float(np.sort(self.values)[min(rank, self.n) - 1])
        if np.isinf(value):
            return undefined(f"{self.missed} of {self.n} onsets were missed")
        return Measure(value)


class Episodes:
    """When things went wrong along a stream, found once for all monitors that watched it.

    Examples
    --------
    >>> episode = np.array([-1, -1, 0, 0])
    >>> episodes = Episodes(episode, episode >= 0)
    >>> alarm = np.array([True, False, False, True])
    >>> episodes.delays(alarm).values.tolist(), episodes.false_alarms_per_1000(alarm).value
    ([1.0], 500.0)
    """

    def __init__(self, episode: IntArray, is_ood: BoolArray) -> None:
        episode = begun(episode, is_ood)
        self._quiet = (episode == OUTSIDE) & ~is_ood
        self._inside = np.flatnonzero(episode != OUTSIDE)
        _, first, self._number = np.unique(episode[self._inside], return_index=True, return_inverse=True)
        self._onset = self._inside[first]

    def delays(self, alarm: BoolArray) -> Delays:
        """Find each episode's first alarm at or after its onset."""
        heard = np.full(len(self._onset), np.inf)
        alarmed = alarm[self._inside]
        # Backwards: of several alarms in an episode the one written last is the first that was raised.
        heard[self._number[alarmed][::-1]] = self._inside[alarmed][::-1]
        return Delays(heard - self._onset)

    def false_alarms_per_1000(self, alarm: BoolArray) -> Measure:
        """Count alarms a thousand ID instances, but for those between an onset and its episode's end."""
        if not self._quiet.any():
            return undefined("no ID instance before or between faults")
        return Measure(1000.0 * float(alarm[self._quiet].mean()))


def false_alarms_per_1000(episode: IntArray, is_ood: BoolArray, alarm: BoolArray) -> Measure:
    """Count alarms a thousand ID instances, but for those between an onset and its episode's end."""
    return Episodes(episode, is_ood).false_alarms_per_1000(alarm)


def _binomial(n: int, p: float) -> FloatArray:
    """Give the probabilities of 0 to n - 1 successes."""
    k = np.arange(n)
    steps = np.log((n - k[:-1]) / (k[:-1] + 1)) + np.log(p / (1 - p))
    logs = n * np.log(1 - p) + np.concatenate([[0.0], np.cumsum(steps)])
    result: FloatArray = np.exp(logs)
    return result
