"""Nearest neighbours among the training data, by the direction of their features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from farm.api import (
    LAST_HIDDEN,
    Explanation,
    Features,
    FitData,
    FloatArray,
    Labelled,
    Needs,
    Observation,
    State,
    collect,
)
from monitors._neighbours import ROWS, Nearest, directions, directions_of, lengths
from monitors._reasons import heaviest
from monitors.free_energy import free_energy, peak_of


class NearestNeighbours(Nearest):
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
    pool
        What of each channel of a layer of maps counts: `mean` or `max` over its places, or all (`none`).

    Examples
    --------
    >>> NearestNeighbours(k=10).parameters["points"]
    10000
    """

    reference = "Sun, Ming, Zhu, Li: Out-of-distribution detection with deep nearest neighbors, ICML 2022"

    def __init__(
        self, *, k: int = 50, points: int = 10_000, layer: str = LAST_HIDDEN, pool: str = "mean"
    ) -> None:
        super().__init__(k=k, points=points, layer=layer, pool=pool)

    def _fit(self, data: FitData) -> State:
        features = collect(data, self._layer).features
        rows = self._chosen(data, len(features))
        return {"points": directions(features[rows]).astype(np.float32), "ids": self._ids(data, rows)}

    def _score(self, observation: Observation) -> Features:
        own = directions_of(observation, self._layer)
        parts = [own[start : start + ROWS] for start in range(0, len(own), ROWS)]
        return (
            self._farness(own) if len(parts) < 2 else np.concatenate([self._farness(part) for part in parts])
        )

    def _farness(self, own: FloatArray) -> FloatArray:
        alike = own.astype(np.float32) @ self._bank.T
        place = alike.shape[1] - self._count
        kth = np.argpartition(alike, place, axis=1)[:, place]
        # The product finds the neighbour; its distance is taken anew, because 2 - 2 x.y loses the digits
        # of a short one.
        return lengths(own - self._bank[kth])

    def _explain(self, observation: Observation) -> Explanation:
        own = directions(observation.features(self._layer))[0]
        order = self._order(own.astype(np.float32))
        apart = np.square(own - self._bank[order[: self._count]])
        far = np.sqrt(apart.sum(axis=1))
        # The square of each difference, over the distance: so the parts add up to the score.
        parts = apart[-1] / max(float(far[-1]), np.finfo(np.float64).tiny)
        return Explanation(
            reason=f"its {self._count} nearest training images are {far[0]:.3g} to {far[-1]:.3g} away",
            contributions=heaviest(self._layer, parts),
            nearest=self._named(order),
        )


class NearestNeighbourGuidance(Nearest):
    """The energy of the logits, weighted by how alike the nearest training points are, energy-scaled too.

    Parameters
    ----------
    k
        How many nearest points guide; their mean counts.
    points
        At most this many training points are kept, drawn by the experiment's seed.
    layer
        The layer whose values are the features.
    pool
        What of each channel of a layer of maps counts: `mean` or `max` over its places, or all (`none`).

    Examples
    --------
    >>> NearestNeighbourGuidance(k=5).needs.logits
    True
    """

    reference = "Park, Jung, Teoh: Nearest neighbor guidance for out-of-distribution detection, ICCV 2023"

    def __init__(
        self, *, k: int = 10, points: int = 10_000, layer: str = LAST_HIDDEN, pool: str = "mean"
    ) -> None:
        super().__init__(k=k, points=points, layer=layer, pool=pool)

    @property
    def needs(self) -> Needs:
        """One hidden layer, and logits."""
        return replace(super().needs, logits=True)

    def _fit(self, data: FitData) -> State:
        energies = np.concatenate([_energies(batch) for batch in data])
        features = collect(data, self._layer).features
        rows = self._chosen(data, len(features))
        points = (directions(features[rows]) * energies[rows, None]).astype(np.float32)
        return {"points": points, "ids": self._ids(data, rows)}

    def _score(self, observation: Observation) -> Features:
        own = directions_of(observation, self._layer).astype(np.float32)
        alike = own @ self._bank.T
        nearest = np.partition(alike, alike.shape[1] - self._count, axis=1)[:, -self._count :]
        guidance: FloatArray = nearest.mean(axis=1, dtype=np.float64)
        return -guidance * free_energy(peak_of(observation))

    def _explain(self, observation: Observation) -> Explanation:
        own = directions(observation.features(self._layer)).astype(np.float32)[0]
        order = self._order(own)
        guidance = float((self._bank[order[: self._count]] @ own).mean(dtype=np.float64))
        energy = float(free_energy(peak_of(observation))[0])
        return Explanation(
            reason=f"an energy of {energy:.3g}, times {guidance:.3g} for how alike its {self._count} nearest "
            "training images are",
            nearest=self._named(order),
            details={"energy": energy, "guidance": guidance},
        )


def _energies(batch: Labelled) -> FloatArray:
    return free_energy(peak_of(batch.observation))
