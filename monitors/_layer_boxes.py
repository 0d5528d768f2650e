"""The boxes of one hidden layer: how they are fitted, and how far outside of them an instance is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from farm.api import JSON, Features, IntArray, Observation, Plane, State, derived_seed
from monitors._box_spaces import Points, Space

NARROWEST = 1e-3
"""A dimension in which a box has no width counts as this share of its widest, where tau is in widths."""


def fit_boxes(space: Space, by_class: Sequence[Points], clusters: int, seed: int) -> dict[str, Points]:
    """Return lows and highs, classes x clusters x dimensions."""
    lows, highs = [], []
    for label, points in enumerate(by_class):
        inside = space.project(points, np.full(len(points), label))
        inside = inside[np.isfinite(inside).all(axis=1)]
        low, high = _boxes(inside, clusters, derived_seed(seed, "boxes", label))
        lows.append(low)
        highs.append(high)
    return {"low": np.stack(lows), "high": np.stack(highs)}


def _boxes(points: Points, clusters: int, seed: int) -> tuple[Points, Points]:
    """Return one class's lows and highs, clusters x dimensions; a box that is not there is inside out."""
    from sklearn.cluster import KMeans  # not before: a guard fits nothing

    low = np.full((clusters, points.shape[1]), np.inf, dtype=np.float32)
    high = np.full_like(low, -np.inf)
    if not len(points):
        return low, high
    k = min(clusters, len(np.unique(points, axis=0)))
    cluster = KMeans(k, n_init=4, random_state=seed).fit_predict(points)
    for i in range(k):
        low[i], high[i] = points[cluster == i].min(axis=0), points[cluster == i].max(axis=0)
    return low, high


class NearestBox(NamedTuple):
    """The box of its predicted class that an instance is least far outside of, and where it is so."""

    outside: float
    """Its distance, as scored."""
    cluster: int
    place: str
    """The dimension in which it is farthest outside, or least far inside."""
    value: float
    low: float
    high: float
    parts: Mapping[str, float]
    """The layer's values that put it there."""


class LayerBoxes:
    """Fitted boxes, ready to say how far outside of them an instance is."""

    def __init__(self, layer: str, space: Space, state: State, *, in_widths: bool) -> None:
        self._layer, self._space, self._in_widths = layer, space, in_widths
        self._low = np.asarray(state["low"], dtype=np.float32)
        self._high = np.asarray(state["high"], dtype=np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # inf - inf in boxes that are not there
            width = self._high - self._low
        floor = np.maximum(NARROWEST * width.max(axis=2, keepdims=True), np.finfo(np.float32).tiny)
        self._unit = np.where(np.isfinite(width), np.maximum(width, floor), np.float32(1))

    def outside(self, observation: Observation) -> Features:
        """Return each instance's distance to the nearest box of its predicted class; at most 0 inside."""
        label = observation.predicted
        points = self._space.project(observation.features(self._layer), label)
        # One image at a time, the boxes of its class are at hand and need not be gathered.
        own = slice(int(label[0]), int(label[0]) + 1) if len(label) == 1 else label
        # The farthest dimension decides for a box, the nearest box for the instance.
        nearest: Features = self._distances(points, own).max(axis=2).min(axis=1)
        return nearest

    def nearest(self, observation: Observation) -> NearestBox | None:
        """Return the box that decides for one instance; None where its class has none."""
        features, label = observation.features(self._layer), observation.predicted
        own = int(label[0])
        if np.isinf(self._low[own]).all():
            return None
        point = self._space.project(features, label)
        distances = self._distances(point, label)[0]
        cluster = int(distances.max(axis=1).argmin())
        at = int(distances[cluster].argmax())
        value, low, high = (
            float(bound[at]) for bound in (point[0], self._low[own, cluster], self._high[own, cluster])
        )
        return NearestBox(
            outside=float(distances[cluster, at]),
            cluster=cluster,
            place=self._space.place(self._layer, at),
            value=value,
            low=low,
            high=high,
            parts=self._space.parts(
                self._layer, features[0], own, distances[cluster], 1 if value - high > low - value else -1
            ),
        )

    def plane(self, observation: Observation, wider: float) -> Plane | None:
        """Return where instances of one class lie in the first two dimensions, and its boxes, enlarged."""
        own = int(observation.predicted[0])
        there = np.isfinite(self._low[own]).all(axis=1)
        if self._low.shape[2] < 2 or not there.any():
            return None
        points = self._space.project(observation.features(self._layer), observation.predicted)[:, :2]
        more = wider * self._unit[own, there, :2] if self._in_widths else np.float32(wider)
        low, high = self._low[own, there, :2] - more, self._high[own, there, :2] + more
        sides = np.stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1]], axis=1)
        axes = self._space.place(self._layer, 0), self._space.place(self._layer, 1)
        # Where the threshold makes boxes smaller, of narrow ones nothing is left.
        return Plane(points.astype(np.float64), sides[(low <= high).all(axis=1)].tolist(), axes)

    def _distances(self, points: Points, label: IntArray | slice) -> NDArray[np.floating]:
        """Return instances x clusters x dimensions."""
        points = points[:, None]
        outside: NDArray[np.floating] = np.maximum(self._low[label] - points, points - self._high[label])
        if self._in_widths:
            with np.errstate(over="ignore"):  # infinitely far outside, as it should be
                outside = outside / self._unit[label]
        return outside

    def notes(self) -> Mapping[str, JSON]:
        """How many classes have no box, so that nothing is inside, and what is to say of the space."""
        boxless = np.isinf(self._low).all(axis=(1, 2)).sum()
        return {"classes_without_box": int(boxless), **self._space.notes()}
