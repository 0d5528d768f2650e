"""A bounded number of training points, by the direction of their features, and whose they are."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    JSON,
    Features,
    FitData,
    FloatArray,
    Observation,
    State,
    StrArray,
    check_number,
    generator,
)
from monitors._layer import LayerMonitor

Points = NDArray[np.float32]
SHORTEST = 1e-10
"""A feature vector shorter than this has no direction to speak of."""
ROWS = 128
"""So many instances are compared with all points at once: more would only wander through the memory."""
SHOWN = 5
"""So many of the nearest training images are told."""


class Nearest(LayerMonitor):
    """Base: keeps the same points for the same seed, and the ids of their images for explanations."""

    def __init__(self, *, k: int, points: int, layer: str, pool: str) -> None:
        super().__init__(layer=layer, pool=pool)
        check_number("k", k, low=1, whole=True)
        check_number("points", points, low=1, whole=True)
        self._k, self._points = k, points

    def _chosen(self, data: FitData, n: int) -> NDArray[np.intp]:
        """Return the rows kept of n, in their order."""
        rng = generator(data.seed, "nearest", "points")
        return np.sort(rng.permutation(n)[: self._points])

    def _ids(self, data: FitData, rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return the ids of these rows, as plain bytes: text takes four times the memory."""
        return as_bytes(np.concatenate([observation.ids for observation, _ in data])[rows])

    def _load(self, state: State) -> None:
        self._bank: Points = np.ascontiguousarray(state["points"], dtype=np.float32)
        self._count = min(self._k, len(self._bank))
        self._names = state["ids"].astype(np.uint8, copy=False)

    def notes(self) -> Mapping[str, JSON]:
        """A warning where `k` reaches beyond the images of one class."""
        of_class = len(self._bank) / len(self.classifier.classes)
        if self._k <= of_class:
            return {}
        there = f"k is {self._k}, and {of_class:.3g} training images a class are kept"
        return {"warning": f"{there}: neighbours are of other classes too; set a smaller k"}

    def _order(self, own: Points) -> NDArray[np.intp]:
        """Return the points by how alike they are to this one, the nearest first."""
        return np.argsort(-(self._bank @ own), kind="stable")

    def _named(self, rows: NDArray[np.intp]) -> tuple[str, ...]:
        return tuple(bytes(self._names[row]).rstrip(b"\0").decode() for row in rows[:SHOWN])


def directions_of(observation: Observation, layer: str) -> FloatArray:
    """Return the directions of a layer's values, once for all monitors that ask."""
    return observation.once(directions, observation.features(layer))


def lengths(rows: FloatArray) -> FloatArray:
    """Return the length of each row."""
    if len(rows) == 1:
        return np.array([math.sqrt(rows[0].dot(rows[0]))])
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def directions(features: Features) -> FloatArray:
    """Scale each row to length 1; a row of zeros stays one.

    Examples
    --------
    >>> directions(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    wide = features.astype(np.float64)
    result: FloatArray = wide / np.maximum(lengths(wide), SHORTEST)[:, None]
    result.setflags(write=False)
    return result


def as_bytes(names: StrArray) -> NDArray[np.uint8]:
    """Write each name in UTF-8, a row each, filled up with zeros."""
    encoded = [str(name).encode() for name in names]
    width = max(map(len, encoded), default=0)
    filled = b"".join(name.ljust(width, b"\0") for name in encoded)
    return np.frombuffer(filled, dtype=np.uint8).reshape(len(encoded), width)
