"""Monitors of one hidden layer: which it is, and what becomes of its maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from farm.api import LAST_HIDDEN, POOLS, CollectedFeatures, IntArray, Monitor, Needs, check_choice

_FIRST = np.zeros(1, dtype=np.int64)
_FIRST.setflags(write=False)
BLOCK = 2**23
"""So many values are taken to float64 at a time (64 MB): whole training data would not fit."""


class LayerMonitor(Monitor):
    """Base of monitors that look at one layer, `last-hidden` where not told otherwise.

    Maps become one value a channel, their mean or maximum over all places, or stay as they are (`none`).
    """

    def __init__(self, *, layer: str = LAST_HIDDEN, pool: str = "mean") -> None:
        check_choice("pool", pool, POOLS)
        self._layer, self._pool = layer, pool

    @property
    def needs(self) -> Needs:
        """One hidden layer."""
        return Needs(layers=(self._layer,), pool=self._pool)


class RightByClass(Sequence[NDArray[np.float32]]):
    """The correctly classified training data of each class; copied when asked for, not all at once."""

    def __init__(self, found: CollectedFeatures, n_classes: int) -> None:
        right = found.predicted == found.labels
        self._features = found.features
        self._rows = [np.flatnonzero(right & (found.labels == label)) for label in range(n_classes)]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, label: int) -> NDArray[np.float32]: ...

    @overload
    def __getitem__(self, label: slice) -> list[NDArray[np.float32]]: ...

    def __getitem__(self, label: int | slice) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        if isinstance(label, slice):
            return [self._features[rows] for rows in self._rows[label]]
        return self._features[self._rows[label]]


class ByClass(NamedTuple):
    """Rows in the order of their predicted classes, so that those of a class are one block."""

    order: IntArray
    blocks: Sequence[tuple[int, int, int]]
    """Each class that is there, and from where to where its rows lie in that order."""


def by_class(predicted: IntArray) -> ByClass:
    """Put rows in the order of their classes.

    Examples
    --------
    >>> by_class(np.array([7, 2, 7]))
    ByClass(order=array([1, 0, 2]), blocks=[(2, 0, 1), (7, 1, 3)])
    """
    if len(predicted) == 1:
        return ByClass(_FIRST, [(int(predicted[0]), 0, 1)])
    order = np.argsort(predicted, kind="stable")
    order.setflags(write=False)
    ordered = predicted[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1)).tolist()
    classes = ordered[starts].tolist()
    ends = [*starts, len(order)][1:]
    return ByClass(order, list(zip(classes, starts, ends, strict=True)))


def blocks(features: NDArray[Any]) -> Iterator[slice]:
    """Cut rows into runs that fit into memory as float64; small data are one.

    Examples
    --------
    >>> [rows.stop for rows in blocks(np.zeros((5, 3)))]
    [5]
    """
    step = max(1, BLOCK // max(features.shape[1], 1))
    for start in range(0, max(len(features), 1), step):
        yield slice(start, min(start + step, len(features)))
