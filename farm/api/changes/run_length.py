"""How high a limit must be for so many instances between two false alarms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farm.api.arrays import FloatArray, IntArray, StrArray
from farm.api.calibration import half_way
from farm.api.component import check_number
from farm.api.randomness import generator
from farm.errors import ComponentFailure

PATHS = 200
"""So many streams are made up: their run length is known to about 8 %."""
LONGEST = 2
"""Each is so many times as long as the run length asked for."""
MOST = 100_000

Chance = np.random.Generator


def check_run_length(run_length: float) -> None:
    """Check that a run length can be simulated."""
    check_number("run_length", run_length, low=10, high=MOST)


def limit_of_run_length(
    run_length: float, statistic: Callable[[Chance, int], FloatArray], seed: int
) -> float:
    """Return the limit at which streams without a change run so long, on average, until a false alarm.

    `statistic` makes up a stream of so many values, and gives a detector's statistic after each. A run that
    is not over at the end of its stream counts with its length: all instances together, over all alarms.

    Examples
    --------
    >>> limit = limit_of_run_length(100, lambda chance, n: chance.random(n), seed=0)
    >>> bool(0.98 < limit < 1)
    True
    """
    check_run_length(run_length)
    chance, length = generator(seed, "run length"), round(LONGEST * run_length)
    highest = np.stack([np.maximum.accumulate(statistic(chance, length)) for _ in range(PATHS)])
    if not np.isfinite(highest).all():
        raise ComponentFailure(
            "a run length was to be simulated, and the statistic was no number; set a limit"
        )
    limits = np.unique(highest)
    low, high = 0, len(limits) - 1
    while low < high:  # the run length rises with the limit, and at the highest there is no alarm
        middle = (low + high) // 2
        quiet = highest <= limits[middle]
        # The instance of the alarm is part of its run.
        alarms = int((~quiet[:, -1]).sum())
        if int(quiet.sum()) + alarms >= run_length * alarms:
            high = middle
        else:
            low = middle + 1
    value = float(limits[low])
    return half_way(value, float(limits[low + 1])) if low + 1 < len(limits) else value


class Units:
    """What may be put in another order: whole tracks, in which instances follow one another, or instances.

    Parameters
    ----------
    track
        Of each instance; None where each stands alone.
    n
        How many instances.

    Examples
    --------
    >>> units = Units(np.array(["a", "a", "b"]), 3)
    >>> [rows.tolist() for rows in units.rows]
    [[0, 1], [2]]
    """

    def __init__(self, track: StrArray | None, n: int) -> None:
        if track is None:
            self.rows: list[IntArray] = [np.array([i]) for i in range(n)]
            return
        _, codes = np.unique(track, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        self.rows = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)

    def __len__(self) -> int:
        return len(self.rows)

    def drawn(self, chance: Chance, n: int) -> IntArray:
        """Return n rows of units that are drawn at random, one after the other; any may come again."""
        mean = sum(map(len, self.rows)) / len(self.rows)
        found: list[IntArray] = []
        missing = n
        while missing > 0:
            for unit in chance.integers(0, len(self.rows), max(int(missing / mean), 1)).tolist():
                found.append(self.rows[unit])
                missing -= len(self.rows[unit])
        return np.concatenate([np.empty(0, np.int64), *found])[:n]

    def resampled(self, chance: Chance) -> IntArray:
        """Return the rows of as many units as there are, drawn at random."""
        drawn = chance.integers(0, len(self.rows), len(self.rows)).tolist()
        return np.concatenate([self.rows[unit] for unit in drawn])
