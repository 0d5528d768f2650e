"""The boxes of one hidden layer: how they are fitted, and how far outside of them an instance is."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from farm.api import JSON, Features, IntArray, Observation, State, derived_seed

Points = NDArray[np.float32]
NARROWEST = 1e-3
"""A dimension in which a box has no width counts as this share of its widest, where tau is in widths."""


class Space(ABC):
    """Where the boxes are: some of the layer's own values, or a projection of them for each class."""

    @abstractmethod
    def project(self, features: Points, label: IntArray) -> Points:
        """Put each row into the space of its class; NaN where that class has none."""

    def place(self, layer: str, dimension: int) -> str:
        """Say what a dimension is."""
        return f"component {dimension} of {layer}"

    def parts(
        self, layer: str, features: Points, label: int, outside: NDArray[np.floating], towards: int
    ) -> Mapping[str, float]:
        """Say which of one row's values put it where it is, and how much each adds.

        `outside` is how far it is outside of the nearest box in each dimension, and `towards` is 1 where it
        is nearer to the upper side in the dimension that decides, else -1.
        """
        del layer, features, label, outside, towards
        return {}

    def notes(self) -> Mapping[str, JSON]:
        """What the fit of the space found out."""
        return {}


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
        points = self._space.project(observation.features(self._layer), observation.predicted)
        # The farthest dimension decides for a box, the nearest box for the instance.
        nearest: Features = self._distances(points, observation.predicted).max(axis=2).min(axis=1)
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

    def _distances(self, points: Points, label: IntArray) -> NDArray[np.floating]:
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
