"""The interval of numbers that separates two samples best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from farm.api import FloatArray, half_way


class Interval(NamedTuple):
    """Between which errors instances are accepted, and what to take for their middle."""

    low: float
    high: float
    centre: float
    balanced_accuracy: float


def best_interval(inside: FloatArray, outside: FloatArray) -> Interval:
    """Return the interval that separates two samples best, its ends half-way to the next error.

    Examples
    --------
    >>> best_interval(np.array([3.0, 5.0]), np.array([1.0, 9.0]))
    Interval(low=2.0, high=7.0, centre=4.5, balanced_accuracy=1.0)
    >>> best_interval(np.array([3.0, 5.0]), np.array([9.0]))
    Interval(low=-inf, high=7.0, centre=0.0, balanced_accuracy=1.0)
    """
    values, places = np.unique(np.concatenate([inside, outside]), return_inverse=True)
    # Both samples weigh the same, in whole numbers: what is equally good is equal.
    gain = np.bincount(places[: len(inside)], minlength=len(values)) * len(outside)
    gain -= np.bincount(places[len(inside) :], minlength=len(values)) * len(inside)
    # The run with the greatest sum (Kadane): each sum up to here, less the least before.
    sums = np.concatenate([[0], np.cumsum(gain)])
    best = sums[1:] - np.minimum.accumulate(sums[:-1])
    last = len(best) - 1 - int(best[::-1].argmax())
    first = int(sums[: last + 1].argmin())
    accuracy = 0.5 + float(best[last]) / (2 * len(inside) * len(outside))
    low = -np.inf if first == 0 else half_way(float(values[first - 1]), float(values[first]))
    high = np.inf if last == len(values) - 1 else half_way(float(values[last]), float(values[last + 1]))
    if np.isfinite(low) and np.isfinite(high):
        centre = half_way(low, high)
    elif np.isfinite(high):
        centre = min(0.0, float(values[0]))
    elif np.isfinite(low):
        centre = float(values[last])
    else:  # nothing tells the samples apart
        centre = float(np.median(inside))
    return Interval(low, high, centre, accuracy)
