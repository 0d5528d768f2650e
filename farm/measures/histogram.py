"""Where values lie, in bounded memory: bins as fine as the values allow, in whatever order they come.

A double's bits, read as a whole number, rise with its value, and each choice of its leading bits is a bin.
Its width is relative to the value, so nothing need be known of the scale; from 1/2 to 1, where probabilities
pile up, it is relative to the distance from 1. All bins share one number of leading bits, the greatest with
which no more than so many bins hold a value. More values can only lower it. So it depends on which values
there are and on nothing else: parts added in any order leave what the whole leaves.

Each bin keeps its lowest and its highest value. What is computed from them is bounded by them, with no
assumption on what lies between, and exact where a bin holds one value only: always, while there are fewer
distinct values than bins. The lowest and the highest value of all are kept apart: there saturated scores
pile up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import ParameterError
from farm.measures.measure import Measure, undefined

BINS = 2**15
"""The most bins by default. Each takes 24 bytes."""
_BITS = 64
_POWERS = np.uint64(1) << np.arange(_BITS, dtype=np.uint64)
_HALF, _ONE, _NEAREST = np.array([0.5, 1.0, 2.0**-54]).view(np.uint64)
_AFTER_ONE = 2 * _HALF - _NEAREST - _ONE + np.uint64(1)
_LAST = np.uint64(2**63 - 1)
_Bits: TypeAlias = NDArray[np.uint64]
_Bins: TypeAlias = tuple[FloatArray, FloatArray, IntArray]


@dataclass(frozen=True, eq=False)
class Histogram:
    """Bins in rising order, none of them empty and none overlapping another.

    Examples
    --------
    >>> whole = Histogram.of(np.array([0.25, 0.5, 0.5, np.nan, 2.0]))
    >>> whole.low.tolist(), whole.count.tolist(), whole.n, whole.missing
    ([0.25, 0.5, 2.0], [1, 2, 1], 4, 1)
    >>> coarse = Histogram.of(np.linspace(1, 8, 1000), most=4)
    >>> coarse.low.round(3).tolist(), coarse.count.tolist()
    ([1.0, 1.007, 2.002, 4.006, 8.0], [1, 142, 286, 570, 1])
    """

    low: FloatArray
    """The lowest value of each bin."""
    high: FloatArray
    """The highest."""
    count: IntArray
    """How many values it holds."""
    missing: int
    """How many values were NaN."""
    shift: int
    """How many of the 64 bits do not tell bins apart."""
    most: int
    """The most bins, the lowest and the highest value not among them."""

    @classmethod
    def of(cls, values: FloatArray, most: int = BINS, shift: int = 0) -> Histogram:
        """Count values; to a `shift` that is known to be needed they are rounded at once."""
        if most < 1:
            raise ParameterError(f"histogram: most = {most} bins; expected at least 1")
        ordered = np.sort(np.asarray(values, dtype=np.float64))
        ordered = ordered[: np.searchsorted(ordered, np.nan)] + 0.0  # there is one zero only
        missing = len(values) - len(ordered)
        ones = np.ones(len(ordered), dtype=np.int64)
        bins, shift = _gathered((ordered, ordered, ones), shift, most)
        return cls(*bins, missing, shift, most)

    @property
    def n(self) -> int:
        """How many values there are, missing ones apart."""
        return int(self.count.sum())

    def __add__(self, other: Histogram) -> Histogram:
        if self.most != other.most:
            raise ParameterError(f"histogram: {self.most} and {other.most} bins at most; expected as many")
        low, high, count = (
            np.concatenate((getattr(self, name), getattr(other, name))) for name in ("low", "high", "count")
        )
        order = np.argsort(low, kind="stable")  # two sorted runs are merged in one pass
        known = max(self.shift, other.shift)
        bins, shift = _gathered((low[order], high[order], count[order]), known, self.most)
        return Histogram(*bins, self.missing + other.missing, shift, self.most)

    def quantile(self, share: float) -> tuple[Measure, Measure]:
        """Return the quantile as `np.quantile` does by default, and by how much it may be wrong at most.

        Examples
        --------
        >>> Histogram.of(np.array([1.0, 2.0, 4.0])).quantile(0.75)
        (Measure(value=3.0, reason=None), Measure(value=0.0, reason=None))
        """
        if not 0 <= share <= 1:
            raise ParameterError(f"quantile: share = {share}; expected a number from 0 to 1")
        if not len(self.count):
            return undefined("no values"), undefined("no values")
        up_to = np.cumsum(self.count)
        last = int(up_to[-1]) - 1
        place = last * share
        below = math.floor(place)
        first, second = np.searchsorted(up_to, (below, min(below + 1, last)), side="right").tolist()
        low, high = (
            between(float(ends[first]), float(ends[second]), place - below) for ends in (self.low, self.high)
        )
        return middle(low, high)


def between(low: float, high: float, share: float) -> float:
    """Go from `low` a share of the way to `high`, from the nearer end, so that rounding misses neither.

    Examples
    --------
    >>> between(1.0, 3.0, 0.25)
    1.5
    """
    if low == high or share == 0:  # also where both are infinite
        return low
    step = high - low
    return low + step * share if share < 0.5 else high - step * (1 - share)


def middle(low: float, high: float) -> tuple[Measure, Measure]:
    """Return the middle of what a value lies between, and the distance from it to either end."""
    if low == high:
        return Measure(low), Measure(0.0)
    return Measure((low + high) / 2), Measure((high - low) / 2)


def _gathered(bins: _Bins, shift: int, most: int) -> tuple[_Bins, int]:
    """Join what falls into one bin, with as many leading bits as leave no more than `most` of them."""
    if not len(bins[0]):
        return bins, shift
    bins = _joined(bins, shift)
    inner = _in_order(bins[0][1:-1])
    if len(inner) <= most:
        return bins, shift
    # So many of the last bits must be left out for two neighbours to fall into one bin.
    apart = np.searchsorted(_POWERS, inner[1:] ^ inner[:-1], side="right")
    n_bins = len(inner) - np.cumsum(np.bincount(apart, minlength=_BITS + 1))
    shift = int(np.argmax(n_bins <= most))
    return _joined(bins, shift), shift


def _joined(bins: _Bins, shift: int) -> _Bins:
    """Join neighbours with the same leading bits, but for the lowest and the highest value of all."""
    low, high, count = bins
    key = _in_order(low)
    end = (low == low[0]) | (low == high.max())
    starts = np.flatnonzero(_changes(key >> np.uint64(shift)) | _changes(end) | (_changes(key) & end))
    return low[starts], np.maximum.reduceat(high, starts), np.add.reduceat(count, starts)


def _in_order(values: FloatArray) -> _Bits:
    """Read doubles as whole numbers that rise with them."""
    size = np.abs(values)
    # From 1/2 on 1 - size is exact, and its smallest value but 0 is 2**-53.
    to_one = np.maximum(1.0 - size, 2.0**-54).view(np.uint64)
    place = size.view(np.uint64) + _AFTER_ONE
    np.subtract(2 * _HALF, to_one, out=place, where=size <= 1.0)
    np.copyto(place, size.view(np.uint64), where=size < 0.5)
    # What those near 1 take is lacking at the other end: all beyond 1e292 are in one place.
    np.minimum(place, _LAST, out=place)
    ordered: _Bits = np.where(values < 0, _LAST - place, _LAST + np.uint64(1) + place)
    return ordered


def _changes(values: _Bits | BoolArray) -> BoolArray:
    """Say where a value differs from the one before; the first does."""
    changed = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed
