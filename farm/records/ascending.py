"""A column sorted once for each stratum: ID instances are shared by all groups, and not sorted for each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from farm.api.arrays import FloatArray
from farm.measures.histogram import between
from farm.records.parts import Part, Partition


class Ascending:
    """Values in rising order within each stratum, missing ones (NaN) last."""

    def __init__(self, values: FloatArray, partition: Partition) -> None:
        self._partition, self._values = partition, values.copy()
        for number in range(len(partition.bounds) - 1):
            self._values[partition.stratum(number)].sort()

    def stratum(self, number: int) -> FloatArray:
        """Give the values of one stratum."""
        return self._values[self._partition.stratum(number)]

    def known(self, part: Part) -> list[FloatArray]:
        """Give the values of a part that are not missing, one array a stratum."""
        found = [self.stratum(number) for number in part.strata]
        return [values[: np.searchsorted(values, np.nan)] for values in found]


def quantiles(sorted_arrays: Sequence[FloatArray], shares: Sequence[float]) -> list[float]:
    """Give the quantiles of one or two sorted arrays taken together, as `np.quantile` does by default.

    Examples
    --------
    >>> quantiles([np.array([1.0, 4.0]), np.array([2.0, 3.0])], (0.0, 0.5, 1.0))
    [1.0, 2.5, 4.0]
    """
    first, second = (*sorted_arrays, np.empty(0))[:2]
    last = len(first) + len(second) - 1
    found = []
    for share in shares:
        place = last * share
        below = math.floor(place)
        low, high = _smallest(first, second, below), _smallest(first, second, min(below + 1, last))
        found.append(between(low, high, place - below))
    return found


def _smallest(first: FloatArray, second: FloatArray, k: int) -> float:
    """Give the value with k others before it, looking at a few of each array only."""
    low, high = max(k - len(second), 0), min(k, len(first))
    # How many of the k come from the first array: the smallest number that leaves none smaller in it.
    while low < high:
        taken = (low + high) // 2
        if first[taken] < second[k - taken - 1]:
            low = taken + 1
        else:
            high = taken
    left = [values[at] for values, at in ((first, low), (second, k - low)) if at < len(values)]
    return float(min(left))
