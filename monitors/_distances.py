"""Euclidean distances to the nearest of many points: found by a fast product, taken by differences."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from farm.api import FloatArray, IntArray

Points = NDArray[np.float32]
ROWS = 128
"""So many instances are compared with all points at once: more would only wander through the memory."""
BLOCK = 2**21
"""So many differences are taken at a time."""
ROUNDING = 2.0 * 2.0**-24
"""Twice the half digit that float32 may be wrong by, to be on the safe side."""


def flat(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return one row an instance, though there may be none."""
    return values.reshape(len(values), math.prod(values.shape[1:]))


@dataclass(frozen=True)
class NearestDistances:
    """The distances to the nearest points, as a function that `Observation.once` calls once for all monitors.

    Those of equal points are equal.

    Examples
    --------
    >>> bank = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]], dtype=np.float32)
    >>> NearestDistances.to(bank, 2)(np.array([[0.0, 0.0], [6.0, 8.0]], dtype=np.float32))
    array([[0., 5.],
           [0., 5.]])
    """

    digest: str
    count: int
    points: Points = field(compare=False, repr=False)
    squares: Points = field(compare=False, repr=False)
    """The squared length of each point."""

    @classmethod
    def to(cls, points: Points, most: int) -> NearestDistances:
        """Return the function that gives the distances to these points, to `most` of them."""
        own: Points = np.ascontiguousarray(points, dtype=np.float32)
        digest = hashlib.blake2b(f"{own.shape}".encode(), digest_size=16)
        digest.update(own.data)
        return cls(digest.hexdigest(), min(most, len(own)), own, np.einsum("ij,ij->i", own, own))

    def __call__(self, values: NDArray[np.floating]) -> FloatArray:
        rows: Points = np.ascontiguousarray(flat(values), dtype=np.float32)
        found = np.empty((len(rows), self.count))
        for start in range(0, len(rows), ROWS):
            found[start : start + ROWS] = self._of(rows[start : start + ROWS])
        found.setflags(write=False)
        return found

    def _of(self, rows: Points) -> FloatArray:
        squares = np.einsum("ij,ij->i", rows, rows)
        about = rows @ self.points.T
        about *= -2.0
        about += self.squares
        about += squares[:, None]
        found = np.empty((len(rows), self.count))
        # By how much a squared distance may be wrong: float32 rounds each product, and each partial sum.
        longest = np.sqrt(float(self.squares.max()))
        wrong = ROUNDING * (rows.shape[1] + 4) * (np.sqrt(squares.astype(np.float64)) + longest) ** 2
        for i, row in enumerate(rows):
            near = np.argpartition(about[i], self.count - 1)[: self.count]
            farthest = self._exact(row, near).max() ** 2
            # Whatever may in truth be as near as the farthest of these, and hardly ever anything else.
            found[i] = np.sort(self._exact(row, np.flatnonzero(about[i] <= farthest + wrong[i])))[
                : self.count
            ]
        return found

    def _exact(self, row: Points, which: IntArray | NDArray[np.intp]) -> FloatArray:
        step = max(1, BLOCK // len(row))
        wide = row.astype(np.float64)
        parts = []
        for start in range(0, len(which), step):
            apart = self.points[which[start : start + step]] - wide
            parts.append(np.sqrt(np.einsum("ij,ij->i", apart, apart)))
        return np.concatenate(parts)
