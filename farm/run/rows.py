"""Instances of a stream before their images are read: where they come from, and what acts upon them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Rows:
    """Consecutive instances of a stream, before their images are read.

    `pool` 0 is the workload's test split, the others are the images that a fault brings from elsewhere, by
    its number from 1 on; `index` is the place there. `visit` counts how often the instance came before in an
    endless stream, and `again` says where an image is shown as a further view of its object: it gets a little
    sensor noise. `object` counts what passes, and `episode` numbers what a monitor should notice (-1:
    nothing). The last three have a column for each fault that may act at once: which one acts (0: none), the
    part of its severity, and a number for the time that it lasts.
    """

    pool: IntArray
    index: IntArray
    visit: IntArray
    again: BoolArray
    position: IntArray
    object: IntArray
    episode: IntArray
    fault: IntArray
    intensity: FloatArray
    coming: IntArray
    shown: Rows | None = None
    """What the camera shows instead, where it shows another instant."""
    whole: tuple[IntArray, IntArray] | None = None
    """Fault and index of all rows of a stream without time, of which these may be a part."""

    def __len__(self) -> int:
        return len(self.index)

    @property
    def is_ood(self) -> BoolArray:
        """Where a fault acts."""
        return np.asarray((self.fault > 0).any(axis=1), dtype=np.bool_)

    @property
    def shows_other(self) -> BoolArray:
        """Where the camera shows another instant."""
        shown = self if self.shown is None else self.shown
        return np.asarray(shown.position != self.position, dtype=np.bool_)

    @classmethod
    def plain(cls, fault: IntArray, pool: IntArray, index: IntArray) -> Rows:
        """Make rows of a stream without time: full severity, no episodes, each instance once."""
        n = len(fault)
        nothing, column = np.zeros(n, dtype=np.int64), np.zeros((n, 1), dtype=np.int64)
        return cls(
            pool=pool,
            index=index,
            visit=nothing,
            again=nothing > 0,
            position=np.arange(n),
            object=nothing,
            episode=np.full(n, -1),
            fault=fault[:, None],
            intensity=np.ones((n, 1)),
            coming=column,
            whole=(fault, index),
        )

    def part(self, start: int, stop: int) -> Rows:
        """Cut out consecutive rows."""
        return self._with(lambda column: column[start:stop])

    def at(self, places: IntArray) -> Rows:
        """Return some of the rows, in this order."""
        return self._with(lambda column: column[places])

    def with_next(self, rows: Rows) -> Rows:
        """Put the rows that come next behind these."""
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(rows, name)]) for name in _COLUMNS
        }
        # Where one part shows other instants, the other shows its own.
        before = self if self.shown is None else self.shown
        after = rows if rows.shown is None else rows.shown
        shown = None if before is self and after is rows else before.with_next(after)
        return replace(self, **joined, shown=shown)

    def _with(self, chosen: Callable[[NDArray[Any]], NDArray[Any]]) -> Rows:
        columns: dict[str, Any] = {name: chosen(getattr(self, name)) for name in _COLUMNS}
        return replace(self, **columns, shown=None if self.shown is None else self.shown._with(chosen))


_COLUMNS = (
    *("pool", "index", "visit", "again", "position", "object", "episode"),
    *("fault", "intensity", "coming"),
)
