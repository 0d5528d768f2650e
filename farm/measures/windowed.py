"""Measures over the latest instances of a stream, in constant memory."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import BoolArray, IntArray
from farm.measures.detection import OVERALL, Counts, mcc
from farm.measures.measure import Measure, undefined
from farm.oracle import overall, tally


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
