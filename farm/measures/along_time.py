"""How long a monitor keeps quiet while nothing is wrong, and how a measure changes along a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.api.component import check_number
from farm.errors import ParameterError
from farm.measures.delay import OUTSIDE, begun
from farm.measures.detection import Counts, Wording
from farm.measures.measure import Measure, ratio, undefined
from farm.oracle import OUTCOMES, OutcomeCodes


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """Alarms on ID instances before or between faults; counts of several streams add up.

    Each alarm counts, also one that follows another at once.

    Examples
    --------
    >>> episode = np.array([-1, -1, -1, -1, 0, 0])
    >>> seen = FalseAlarms.of(episode, episode >= 0, np.array([True, False, True, False, True, True]))
    >>> seen.mean_time.value
    2.0
    >>> seen = FalseAlarms(quiet=300, alarms=0)
    >>> seen.mean_time.reason, round(seen.mean_time_low().value, 1)
    ('no false alarm in 300 quiet instances', 100.1)
    """

    quiet: int
    """ID instances before or between faults."""
    alarms: int
    """How many of them raised an alarm."""

    @classmethod
    def of(cls, episode: IntArray, is_ood: BoolArray, alarm: BoolArray) -> FalseAlarms:
        """Count along a whole stream, its instances in order."""
        quiet = (begun(episode, is_ood) == OUTSIDE) & ~is_ood
        return cls(int(np.count_nonzero(quiet)), int(np.count_nonzero(alarm & quiet)))

    def __add__(self, other: FalseAlarms) -> FalseAlarms:
        return FalseAlarms(self.quiet + other.quiet, self.alarms + other.alarms)

    @property
    def mean_time(self) -> Measure:
        """Mean time between false alarms, in quiet instances; undefined if there was none."""
        if not self.quiet:
            return undefined("no ID instance before or between faults")
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
            return undefined("no ID instance before or between faults")
        # So many alarms are as few as these, or fewer, with probability 1 - level.
        most = float(gammaincinv(self.alarms + 1, level))
        return Measure(self.quiet / most)


@dataclass(frozen=True)
class Series:
    """A measure of the latest instances, at regular places along a stream."""

    at: IntArray
    """How many instances had passed."""
    n: IntArray
    """How many of them it is a measure of: fewer at the start."""
    measures: tuple[Measure, ...]

    @property
    def values(self) -> FloatArray:
        """The numbers alone; NaN where undefined."""
        return np.array([measure.value for measure in self.measures], dtype=np.float64)


def windowed_series(
    codes: OutcomeCodes,
    measure: Callable[[Counts], Measure],
    *,
    size: int,
    step: int,
    wording: Wording | None = None,
) -> Series:
    """Measure the latest `size` instances each time another `step` have passed.

    Parameters
    ----------
    codes
        The outcomes of the specific or the overall task along the stream, in order.
    measure
        What becomes of their counts: any function of `Counts`.
    size, step
        In instances. The end of the stream is left out where it falls short of a step.
    wording
        How reasons speak of positives and flags.

    Examples
    --------
    >>> from farm.measures.detection import recall
    >>> from farm.oracle import specific
    >>> codes = specific(np.array([True, True, False, False]), is_ood=np.ones(4, dtype=bool))
    >>> series = windowed_series(codes, recall, size=2, step=1)
    >>> series.at.tolist(), series.values.tolist()
    ([1, 2, 3, 4], [1.0, 1.0, 0.5, 0.0])
    """
    check_number("windowed_series: size", size, low=1, whole=True)
    check_number("windowed_series: step", step, low=1, whole=True)
    at = np.arange(step, len(codes) + 1, step)
    start = np.maximum(at - size, 0)
    counted = {}
    for code, name in enumerate(OUTCOMES):
        so_far = np.append(0, np.cumsum(codes == code))
        counted[name] = (so_far[at] - so_far[start]).tolist()
    said = Wording() if wording is None else wording
    found = tuple(
        measure(Counts(**{name: counts[i] for name, counts in counted.items()}, wording=said))
        for i in range(len(at))
    )
    return Series(at, at - start, found)
