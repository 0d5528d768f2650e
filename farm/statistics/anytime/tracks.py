"""Instances that share a track are taken together: in which order tracks come, and what each sums up to."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from farm.api.arrays import FloatArray, IntArray, StrArray
from farm.api.randomness import uniform_by_id


class Tracks:
    """The tracks of a stream, in the order in which they are taken.

    Frames of a track resemble each other, and what is promised of values in order asks for the same given
    all before. Tracks can keep to that where frames cannot. Where tracks alternate, so that one comes back
    after another, no order of the stream does: by their ends, short ones would come first. Then they are
    taken in an order by lot, and how far one has got is no moment of the stream.

    Parameters
    ----------
    track
        The track of each instance, in the order of the stream.

    Examples
    --------
    >>> found = Tracks(np.array([7, 7, 3, 3, 3, 5]))
    >>> found.sizes, found.sums(np.array([1.0, 0.0, 1.0, 1.0, 1.0, 0.0])), found.alternate
    (array([2., 3., 1.]), array([1., 3., 0.]), False)
    >>> Tracks(np.array([7, 3, 7])).alternate
    True
    """

    def __init__(self, track: IntArray | StrArray) -> None:
        names, first, code = np.unique(track, return_index=True, return_inverse=True)
        stretches = np.count_nonzero(track[1:] != track[:-1]) + min(len(track), 1)
        self.alternate = bool(stretches > len(names))
        lot = uniform_by_id(0, "order of tracks", names.astype(np.str_)) if self.alternate else first
        self._code = np.argsort(np.argsort(lot))[code]
        self.sizes: FloatArray = np.bincount(self._code).astype(np.float64)

    @cached_property
    def rows(self) -> IntArray:
        """The instances track by track, those of one in the order of the stream."""
        return np.argsort(self._code, kind="stable")

    def sums(self, values: FloatArray) -> FloatArray:
        """Return what each track's values sum up to."""
        return np.asarray(
            np.bincount(self._code, weights=values, minlength=len(self.sizes)), dtype=np.float64
        )

    def means(self, values: FloatArray) -> FloatArray:
        """Return the mean of each track's values."""
        return np.asarray(self.sums(values) / self.sizes)
