"""Along a stream: how often a monitor cries wolf, and what its latest instances came to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import ParameterError
from farm.measures.detection import OVERALL, Counts, mcc
from farm.measures.measure import Measure, ratio, undefined
from farm.measures.oracle import overall, tally

_NO_QUIET = "no ID instance before or between faults"


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


def threshold_at(quiet: FloatArray, per_1000: float) -> float:
    """Return the lowest threshold that so many a thousand quiet instances exceed, or fewer where some tie.

    Examples
    --------
    >>> threshold_at(np.array([0.1, 0.4, 0.2, 0.3]), 250), threshold_at(np.array([0.1, 0.3, 0.3]), 400)
    (0.3, 0.3)
    """
    granted = int(np.floor(per_1000 / 1000 * len(quiet) + 1e-9))
    return -np.inf if granted >= len(quiet) else float(-np.partition(-quiet, granted)[granted])


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
