"""Boxes around what a class's training data make of a hidden layer: the part that all box monitors share.

A box is a range in each dimension, around one k-means cluster of one class's correctly classified training
data. The score of an instance is the smallest enlargement tau that would let it into a box of its *predicted*
class: at most 0 inside, and the more above the farther outside. So tau is the threshold, and may be set as
published or be calibrated like any other.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from farm.api import (
    JSON,
    LAST_HIDDEN,
    Features,
    FitData,
    IntArray,
    Monitor,
    Needs,
    Observation,
    State,
    check_choice,
    check_number,
    collect,
    derived_seed,
)
from farm.errors import ParameterError

Points = NDArray[np.float32]
NO_BOX = 1e9
"""The score where a class has no box at all: outside of everything, and still a finite number."""
NARROWEST = 1e-3
"""A dimension in which a box has no width counts as this share of its widest, where tau is in widths."""


class BoxMonitor(Monitor):
    """Base of the box monitors. Subclasses say into which space the boxes are put."""

    def __init__(
        self,
        *,
        clusters: int = 3,
        tau: float | None = None,
        tau_unit: str = "activation",
        boundary: str = "closed",
        layer: str = LAST_HIDDEN,
    ) -> None:
        check_number("clusters", clusters, low=1, whole=True)
        if tau is not None:
            check_number("tau", tau, low=0)
        check_choice("tau_unit", tau_unit, ("activation", "width"))
        check_choice("boundary", boundary, ("closed", "strict"))
        if boundary == "strict" and tau is None:
            raise ParameterError("boundary is 'strict', which means nothing without a tau; set tau")
        self._clusters, self._tau, self._layer = clusters, tau, layer
        self._in_widths, self._strict = tau_unit == "width", boundary == "strict"

    @property
    def needs(self) -> Needs:
        """One hidden layer."""
        return Needs(layers=(self._layer,))

    @property
    def fixed_threshold(self) -> float | None:
        """Tau, where it is set."""
        return self._tau

    @abstractmethod
    def _fit_space(self, by_class: Mapping[int, Points], n_classes: int, seed: int) -> dict[str, np.ndarray]:
        """Learn a projection of each class's points; classes it cannot serve get no box."""

    @abstractmethod
    def _load_space(self, state: State) -> None: ...

    @abstractmethod
    def _project(self, features: Points, label: IntArray) -> Points:
        """Put each row into the space of its class; NaN where that class has none."""

    def _fit(self, data: FitData) -> State:
        found = collect(data, self._layer)
        right = found.predicted == found.labels
        by_class = {
            label: rows
            for label in range(len(data.classes))
            if len(rows := found.features[right & (found.labels == label)])
        }
        space = self._fit_space(by_class, len(data.classes), data.seed)
        self._load_space(space)
        lows, highs = [], []
        for label in range(len(data.classes)):
            points = by_class.get(label, np.empty((0, found.features.shape[1]), np.float32))
            inside = self._project(points, np.full(len(points), label))
            inside = inside[np.isfinite(inside).all(axis=1)]
            low, high = self._boxes(inside, derived_seed(data.seed, "boxes", label))
            lows.append(low)
            highs.append(high)
        return {**space, "low": np.stack(lows), "high": np.stack(highs)}

    def _boxes(self, points: Points, seed: int) -> tuple[Points, Points]:
        """Give lows and highs, clusters x dimensions; a box that is not there is inside out."""
        low = np.full((self._clusters, points.shape[1]), np.inf, dtype=np.float32)
        high = np.full_like(low, -np.inf)
        if not len(points):
            return low, high
        k = min(self._clusters, len(np.unique(points, axis=0)))
        cluster = KMeans(k, n_init=4, random_state=seed).fit_predict(points)
        for i in range(k):
            low[i], high[i] = points[cluster == i].min(axis=0), points[cluster == i].max(axis=0)
        return low, high

    def _load(self, state: State) -> None:
        self._load_space(state)
        self._low = np.asarray(state["low"], dtype=np.float32)
        self._high = np.asarray(state["high"], dtype=np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # inf - inf in boxes that are not there
            width = self._high - self._low
        floor = np.maximum(NARROWEST * width.max(axis=2, keepdims=True), np.finfo(np.float32).tiny)
        self._unit = np.where(np.isfinite(width), np.maximum(width, floor), np.float32(1))

    def _score(self, observation: Observation) -> Features:
        label = observation.predicted
        points = self._project(observation.features(self._layer), label)[:, None]
        # The farthest dimension decides for a box, the nearest box for the instance.
        outside = np.maximum(self._low[label] - points, points - self._high[label])
        if self._in_widths:
            outside = outside / self._unit[label]
        score = outside.max(axis=2).min(axis=1).astype(np.float64)
        if self._strict:
            # A point exactly on a face counts as outside: one step up decides it.
            score = np.nextafter(score, np.inf)
        return np.where(score < NO_BOX, score, NO_BOX)

    def notes(self) -> Mapping[str, JSON]:
        """How many classes have no box, so that nothing is inside."""
        boxless = np.isinf(self._low).all(axis=(1, 2)).sum()
        return {"classes_without_box": int(boxless)}
