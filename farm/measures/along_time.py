"""Along a stream: how soon a monitor notices faults, how often it cries wolf, and its latest instances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import ParameterError
from farm.measures.detection import OVERALL, Counts, mcc
from farm.measures.measure import Measure, ratio, undefined
from farm.measures.oracle import overall, tally

OUTSIDE = -1
"""The episode of an instance that belongs to none."""
FEWEST_FOR_BOUND = 59
"""From so many onsets on, the longest delay bounds the 95th percentile with 95 % confidence: 0.95^59 is
below 0.05."""
_NO_QUIET = "no ID instance before or between faults"


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


class Episodes:
    """When things went wrong along a stream, found once for all monitors that watched it.

    Examples
    --------
    >>> episode = np.array([-1, -1, 0, 0, -1, 1, 1])
    >>> episodes = Episodes(episode, episode >= 0)
    >>> alarm = np.array([True, False, False, True, False, False, False])
    >>> episodes.delays(alarm).values.tolist(), episodes.false_alarms(alarm)
    ([1.0, inf], FalseAlarms(quiet=3, alarms=1))
    """

    def __init__(self, episode: IntArray, is_ood: BoolArray) -> None:
        episode = begun(episode, is_ood)
        self.quiet = (episode == OUTSIDE) & ~is_ood
        """The ID instances but for those between an onset and its episode's end."""
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

    def false_alarms(self, alarm: BoolArray) -> FalseAlarms:
        """Count alarms on ID instances, but for those between an onset and its episode's end."""
        return FalseAlarms(int(np.count_nonzero(self.quiet)), int(np.count_nonzero(alarm & self.quiet)))


@dataclass(frozen=True)
class Delays:
    """Delays of all onsets, in instances; one that was missed is censored: infinite, and not left out.

    A delay of 0 is an alarm at the onset itself. An alarm before an onset belongs to no episode, and is a
    false one.
    """

    values: FloatArray

    @property
    def n(self) -> int:
        """How many onsets there were."""
        return len(self.values)

    @property
    def missed(self) -> int:
        """How many of them nobody noticed while they lasted."""
        return int(np.isinf(self.values).sum())

    def quantile(self, q: float) -> Measure:
        """Return the delay that the share q of all onsets does not exceed."""
        if not self.n:
            return undefined("the stream has no onset")
        return self._smallest(max(int(np.ceil(q * self.n - 1e-9)), 1))

    def bound_of_p95(self) -> Measure:
        """Bound the 95th percentile from above, with 95 % confidence, whatever the distribution."""
        if self.n < FEWEST_FOR_BOUND:
            return undefined(f"{self.n} onsets; a bound needs at least {FEWEST_FOR_BOUND}")
        # The r-th smallest is a bound if fewer than r of n fall below the percentile with probability 0.95.
        from scipy.special import bdtr  # whose loading takes a fifth of a second

        below = bdtr(np.arange(self.n), self.n, 0.95)
        return self._smallest(min(int(np.searchsorted(below, 0.95)) + 1, self.n))

    def _smallest(self, rank: int) -> Measure:
        value = float(np.sort(self.values)[rank - 1])
        missed = f"{self.missed} of {self.n} onsets were missed"
        return undefined(missed) if np.isinf(value) else Measure(value)


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """Alarms on ID instances before or between faults. Each counts, also one that follows another at once.

    Examples
    --------
    >>> seen = FalseAlarms(quiet=300, alarms=0)
    >>> seen.mean_time.reason, round(seen.mean_time_low().value, 1)
    ('no false alarm in 300 quiet instances', 100.1)
    """

    quiet: int
    """ID instances before or between faults."""
    alarms: int
    """How many of them raised an alarm."""

    @property
    def per_1000(self) -> Measure:
        """Alarms a thousand quiet instances."""
        return Measure(1000.0 * (self.alarms / self.quiet)) if self.quiet else undefined(_NO_QUIET)

    @property
    def mean_time(self) -> Measure:
        """Mean time between false alarms, in quiet instances; undefined if there was none."""
        if not self.quiet:
            return undefined(_NO_QUIET)
        return ratio(self.quiet, self.alarms, f"no false alarm in {self.quiet} quiet instances")

    def mean_time_low(self, level: float = 0.95) -> Measure:
        """Bound the mean time from below, one-sided and exact for alarms that come independently (Poisson).

        Without any alarm it is the quiet instances divided by 3.0 at 95 %: the rule of three.

        References
        ----------
        F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28 (1936).
        """
        if not 0 < level < 1:
            raise ParameterError(f"mean_time_low: level = {level}; expected a number between 0 and 1")
        if not self.quiet:
            return undefined(_NO_QUIET)
        # So many alarms are as few as these, or fewer, with probability 1 - level.
        from scipy.special import gammaincinv

        most = float(gammaincinv(self.alarms + 1, level))
        return Measure(self.quiet / most)


class Window:
    """The outcomes and alarms of the latest instances.

    Parameters
    ----------
    size
        How many instances it holds.

    Examples
    --------
    >>> window = Window(3)
    >>> alarm = np.array([True, False, True, True])
    >>> window.add(np.array([1, 1, -1, -1]), np.array([1, 1, 0, 0]), alarm, cancelled=alarm)
    >>> window.alarm_rate.value, window.overall_mcc.value
    (0.6666666666666666, 1.0)
    """

    def __init__(self, size: int) -> None:
        self._outcome = np.full(size, -1, dtype=np.int64)
        self._alarm = np.zeros(size, dtype=np.bool_)
        self._seen = 0

    def add(self, label: IntArray, predicted: IntArray, alarm: BoolArray, cancelled: BoolArray) -> None:
        """Take down a batch."""
        size = len(self._outcome)
        found = overall(cancelled, label, predicted)[-size:]
        place = (self._seen + np.arange(len(label)))[-size:] % size
        self._outcome[place], self._alarm[place] = found, alarm[-size:]
        self._seen += len(label)

    @property
    def n(self) -> int:
        """How many instances it holds by now."""
        return min(self._seen, len(self._outcome))

    @property
    def overall_mcc(self) -> Measure:
        """The overall MCC of what it holds."""
        if not self.n:
            return undefined("no instances")
        counted = tally(self._outcome[self._outcome >= 0].astype(np.uint8))
        return mcc(Counts(**counted, wording=OVERALL))

    @property
    def alarm_rate(self) -> Measure:
        """The share of what it holds that raised an alarm."""
        if not self.n:
            return undefined("no instances")
        return Measure(float(self._alarm[self._outcome >= 0].mean()))
