"""What of a sample may be put in another order: whole tracks, or instances where these stand alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import IntArray, StrArray

Chance = np.random.Generator


@dataclass(frozen=True)
class Units:
    """The rows of each unit, in their order.

    Examples
    --------
    >>> Units.of(np.array(["a", "b", "a"]), 3).rows
    [array([0, 2]), array([1])]
    """

    rows: Sequence[IntArray]

    @classmethod
    def of(cls, track: StrArray | None, n: int) -> Units:
        """Return the tracks of n instances; without tracks each stands alone."""
        if track is None:
            return cls([np.array([i]) for i in range(n)])
        _, codes = np.unique(track, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        return cls(np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if n else [])

    @classmethod
    def of_batches(cls, tracks: Sequence[StrArray | None], n: int) -> Units:
        """Return those of n instances in batches; where some have no tracks, each stands alone."""
        known = [track for track in tracks if track is not None]
        return cls.of(np.concatenate(known) if known and len(known) == len(tracks) else None, n)

    def __len__(self) -> int:
        return len(self.rows)

    def firsts(self) -> Units:
        """Return the first instance of each."""
        return Units([rows[:1] for rows in self.rows])

    def shuffled(self, chance: Chance) -> IntArray:
        """Return the rows of all, unit by unit, in an order by lot."""
        return self._joined(chance.permutation(len(self)))

    def resampled(self, chance: Chance) -> IntArray:
        """Return the rows of as many units as there are, drawn by lot: some come again, others not at all."""
        return self._joined(chance.integers(0, len(self), len(self)))

    def drawn(self, chance: Chance, n: int) -> IntArray:
        """Return n rows of units that are drawn by lot, one after the other; any may come again."""
        mean = sum(map(len, self.rows)) / len(self)
        found = np.empty(0, np.int64)
        while len(found) < n:
            more = self._joined(chance.integers(0, len(self), int((n - len(found)) / mean) + 1))
            found = np.concatenate([found, more])
        return found[:n]

    def _joined(self, units: IntArray) -> IntArray:
        return np.concatenate([np.empty(0, np.int64), *[self.rows[unit] for unit in units.tolist()]])
