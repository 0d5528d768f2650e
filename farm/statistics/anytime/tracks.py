"""Instances that share a track are one value: its mean."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import FloatArray, IntArray, StrArray
from farm.errors import DataError


def by_track(values: FloatArray, track: IntArray | StrArray) -> FloatArray:
    """Return each track's mean, in the order in which tracks end.

    Frames of a track resemble each other, and what is promised of values in order asks for the same mean
    given all before. Tracks can keep to that where frames cannot. What is then bounded is the mean of
    tracks, in which a short one counts as much as a long one.

    Examples
    --------
    >>> by_track(np.array([0.0, 1.0, 1.0, 1.0, 0.0]), np.array([7, 3, 3, 7, 5]))
    array([1. , 0.5, 0. ])
    """
    if len(values) != len(track):
        raise DataError(f"{len(values)} values of {len(track)} instances; expected one for each")
    _, code = np.unique(track, return_inverse=True)
    sizes = np.bincount(code)
    last = np.zeros(len(sizes), dtype=np.int64)
    # Of several places the last one stays.
    last[code] = np.arange(len(code))
    means = np.bincount(code, weights=np.asarray(values, dtype=np.float64)) / sizes
    return np.asarray(means[np.argsort(last)])
