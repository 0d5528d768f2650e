"""Nearest neighbours among the training data, by the direction of their features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    LAST_HIDDEN,
    Features,
    FitData,
    FloatArray,
    Labelled,
    Monitor,
    Needs,
    Observation,
    State,
    check_number,
    collect,
    generator,
)
from monitors.free_energy import log_sum_exp, logits_of

Points = NDArray[np.float32]
SHORTEST = 1e-10
"""A feature vector shorter than this has no direction to speak of."""


class _Nearest(Monitor):
    """Base: keeps a bounded number of training points, the same ones for the same seed."""

    def __init__(self, *, k: int, points: int, layer: str) -> None:
        check_number("k", k, low=1, whole=True)
        check_number("points", points, low=1, whole=True)
        self._k, self._points, self._layer = k, points, layer

    def _chosen(self, data: FitData, n: int) -> NDArray[np.intp]:
        """Give the rows kept of n, in their order."""
        rng = generator(data.seed, "nearest", "points")
        return np.sort(rng.permutation(n)[: self._points])

    def _load(self, state: State) -> None:
        self._bank: Points = np.ascontiguousarray(state["points"], dtype=np.float32)
        self._count = min(self._k, len(self._bank))


class NearestNeighbours(_Nearest):
    """The distance to the k-th nearest training point, after scaling all features to length 1.

    Parameters
    ----------
    k
        Which neighbour's distance counts; fewer training points than that, and it is the farthest.
    points
        At most this many training points are kept, drawn by the experiment's seed. Memory and time grow
        with it: 4 bytes a point and feature.
    layer
        The layer whose values are the features.

    Examples
    --------
    >>> NearestNeighbours(k=10).parameters["points"]
    10000
    """

    reference = "Sun, Ming, Zhu, Li: Out-of-distribution detection with deep nearest neighbors, ICML 2022"

    def __init__(self, *, k: int = 50, points: int = 10_000, layer: str = LAST_HIDDEN) -> None:
        super().__init__(k=k, points=points, layer=layer)

    @property
    def needs(self) -> Needs:
        """One hidden layer."""
        return Needs(layers=(self._layer,))

    def _fit(self, data: FitData) -> State:
        features = collect(data, self._layer).features
        return {"points": directions(features[self._chosen(data, len(features))]).astype(np.float32)}

    def _score(self, observation: Observation) -> Features:
        own = directions(observation.features(self._layer))
        alike = own.astype(np.float32) @ self._bank.T
        place = alike.shape[1] - self._count
        kth = np.argpartition(alike, place, axis=1)[:, place]
        # The product finds the neighbour; its distance is taken anew, because 2 - 2 x.y loses the digits
        # of a short one.
        distance: FloatArray = np.linalg.norm(own - self._bank[kth], axis=1)
        return distance


class NearestNeighbourGuidance(_Nearest):
    """The energy of the logits, weighted by how alike the nearest training points are, energy-scaled too.

    Parameters
    ----------
    k
        How many nearest points guide; their mean counts.
    points
        At most this many training points are kept, drawn by the experiment's seed.
    layer
        The layer whose values are the features.

    Examples
    --------
    >>> NearestNeighbourGuidance(k=5).needs.logits
    True
    """

    reference = "Park, Jung, Teoh: Nearest neighbor guidance for out-of-distribution detection, ICCV 2023"

    def __init__(self, *, k: int = 10, points: int = 10_000, layer: str = LAST_HIDDEN) -> None:
        super().__init__(k=k, points=points, layer=layer)

    @property
    def needs(self) -> Needs:
        """One hidden layer, and logits."""
        return Needs(layers=(self._layer,), logits=True)

    def _fit(self, data: FitData) -> State:
        energies = np.concatenate([_energies(batch) for batch in data])
        features = collect(data, self._layer).features
        rows = self._chosen(data, len(features))
        return {"points": (directions(features[rows]) * energies[rows, None]).astype(np.float32)}

    def _score(self, observation: Observation) -> Features:
        own = directions(observation.features(self._layer)).astype(np.float32)
        alike = own @ self._bank.T
        nearest = np.partition(alike, alike.shape[1] - self._count, axis=1)[:, -self._count :]
        guidance: FloatArray = nearest.mean(axis=1, dtype=np.float64)
        return -guidance * log_sum_exp(logits_of(observation))


def directions(features: Features) -> FloatArray:
    """Scale each row to length 1; a row of zeros stays one.

    Examples
    --------
    >>> directions(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    wide = features.astype(np.float64)
    result: FloatArray = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), SHORTEST)
    return result


def _energies(batch: Labelled) -> FloatArray:
    return log_sum_exp(logits_of(batch.observation))
