"""How high a limit must be for so many instances between two false alarms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api.changes.detector import ChangeDetector
from farm.api.component import check_number
from farm.api.randomness import generator
from farm.api.thresholds import half_way
from farm.errors import ComponentFailure

DETECTORS = 25
"""So many learn, each from other data."""
STREAMS = 8
"""Each follows so many streams: together about 170 alarms are counted, which tells a run length to 8 %."""
LONGEST = 2
"""A stream is so many times as long as the run length asked for."""
MOST = 100_000

Chance = np.random.Generator


def check_run_length(run_length: float) -> None:
    """Check that a run length can be simulated."""
    check_number("run_length", run_length, low=10, high=MOST)


def limit_of_run_length(
    run_length: float,
    learned: Callable[[Chance], ChangeDetector[Any]],
    stream: Callable[[Chance, int], NDArray[Any]],
    seed: int,
) -> float:
    """Return the limit at which detectors raise, on average, one false alarm in so many values.

    `learned` makes a detector of other data each time. What these leave uncertain makes one alarm often and
    another seldom; it is their alarms for each value that are averaged, so that the ones that alarm often
    count most. `stream` makes up so many values without a change. A run is the time from a detector's start
    to its alarm; one that is not over at the end of its stream counts with its length.

    Examples
    --------
    >>> from farm.api.changes import Cusum
    >>> quiet = lambda chance, n: chance.normal(size=n)
    >>> bool(2.4 < limit_of_run_length(100, lambda chance: Cusum(), quiet, seed=0) < 3.2)
    True
    """
    check_run_length(run_length)
    chance, length = generator(seed, "run length"), round(LONGEST * run_length)
    highest = np.empty((DETECTORS, STREAMS, length))
    for runs in highest:
        detector = learned(chance)
        for run in runs:
            detector.forget()
            np.maximum.accumulate(detector.along(stream(chance, length)), out=run)
    if not np.isfinite(highest).all():
        raise ComponentFailure(
            "a run length was to be simulated, and the statistic was no number; set a limit"
        )
    limits = np.unique(highest)
    low, high = 0, len(limits) - 1
    while low < high:  # the higher the limit, the fewer alarms, and at the highest there is none
        middle = (low + high) // 2
        quiet = highest <= limits[middle]
        alarms = (~quiet[:, :, -1]).sum(axis=1)
        # The instance of the alarm is part of its run. By few runs a rate comes out too high: by one in so
        # many where all of them end, and by nothing where hardly any does.
        rates = alarms * (1 - alarms / STREAMS**2) / (quiet.sum(axis=(1, 2)) + alarms)
        low, high = (low, middle) if rates.mean() * run_length <= 1 else (middle + 1, high)
    value = float(limits[low])
    return half_way(value, float(limits[low + 1])) if low + 1 < len(limits) else value
