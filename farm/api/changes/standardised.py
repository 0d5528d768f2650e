"""A detector of values in standard deviations, which may have learned from a quiet stream."""

from __future__ import annotations

from farm.api.arrays import FloatArray
from farm.api.changes.detector import ChangeDetector

FARTHEST = 1e6
"""No value counts as so many standard deviations or more: its square is still a number."""


class Standardised(ChangeDetector[float]):
    """Another detector, of how many standard deviations of a reference its values lie above the mean.

    Parameters
    ----------
    detector
        What follows them.
    reference
        Values while all is well, in the order of a stream. Where they are all alike, the unit is 1.
    history
        It learns from so many of these, which matters to detectors that know no mean but the stream's: they
        see a stream that is not as the reference from its first value on.

    Examples
    --------
    >>> import numpy as np
    >>> from farm.api.changes import Cusum
    >>> Standardised(Cusum(), np.array([8.0, 12.0])).along([14.0, 14.0]).tolist()
    [1.5, 3.0]
    """

    def __init__(self, detector: ChangeDetector[float], reference: FloatArray, *, history: int = 0) -> None:
        self._detector, self._mean = detector, float(reference.mean())
        self._sd = float(reference.std()) or 1.0
        self._history = reference[:history].tolist()
        self.forget()

    def follow(self, value: float) -> float:
        """Return the detector's statistic after this value."""
        return self._detector.follow(self._off(value))

    def _off(self, value: float) -> float:
        return min(max((value - self._mean) / self._sd, -FARTHEST), FARTHEST)

    def forget(self) -> None:
        """Begin with the history."""
        self._detector.forget()
        self._detector.learn(map(self._off, self._history))
