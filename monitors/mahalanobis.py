"""Mahalanobis distances to the classes: how many standard deviations off an instance's features are."""

from __future__ import annotations

import numpy as np

from farm.api import (
    Explanation,
    Features,
    FitData,
    Observation,
    State,
    collect,
)
from monitors._gaussians import WhitenedMeans, gaussians
from monitors._layer import LayerMonitor
from monitors._reasons import heaviest


class Mahalanobis(LayerMonitor):
    """The squared Mahalanobis distance to the nearest class mean, under one covariance for all classes.

    Means and covariance are those of the training data by their labels. Directions in which these do not
    vary, beyond what rounding to float32 makes, have no say (pseudo-inverse).

    Parameters
    ----------
    layer
        The layer whose values are the features.
    pool
        What of each channel of a layer of maps counts: `mean` or `max` over its places, or all (`none`).

    Examples
    --------
    >>> Mahalanobis(layer="conv2").needs.layers
    ('conv2',)
    """

    reference = (
        "Lee, Lee, Lee, Shin: A simple unified framework for detecting out-of-distribution samples and "
        "adversarial attacks, NeurIPS 2018"
    )

    def _fit(self, data: FitData) -> State:
        found = collect(data, self._layer)
        present, index = np.unique(found.labels, return_inverse=True)
        own = (found.features[index == i].astype(np.float64) for i in range(len(present)))
        means = np.stack([points.mean(axis=0) for points in own])
        return {"labels": present, **gaussians("class", found.features, means, index)}

    def _load(self, state: State) -> None:
        self._labels = state["labels"].astype(np.int64)
        self._classes = WhitenedMeans.load("class", state)

    def _score(self, observation: Observation) -> Features:
        return self._classes.nearest(observation.features(self._layer))

    def _explain(self, observation: Observation) -> Explanation:
        which, parts = self._classes.parts(observation.features(self._layer)[0])
        name = self.classifier.classes[self._labels[which]]
        return Explanation(
            reason=f"{np.sqrt(max(parts.sum(), 0)):.3g} standard deviations off the nearest class, '{name}'",
            contributions=heaviest(self._layer, parts),
            details={"nearest_class": name},
        )


class RelativeMahalanobis(Mahalanobis):
    """The Mahalanobis distance to the nearest class, less that under one Gaussian of all training data.

    The subtraction takes out how unusual the features are for any class alike.

    Parameters
    ----------
    layer, pool
        As for `mahalanobis`.

    Examples
    --------
    >>> RelativeMahalanobis().needs.layers
    ('last-hidden',)
    """

    reference = (
        "Ren, Fort, Liu, Roy, Padhy, Lakshminarayanan: A simple fix to Mahalanobis distance for improving "
        "near-OOD detection, 2021"
    )

    def _fit(self, data: FitData) -> State:
        features = collect(data, self._layer).features
        mean = features.mean(axis=0, dtype=np.float64)
        everybody = np.zeros(len(features), dtype=np.int64)
        return {**super()._fit(data), **gaussians("all", features, mean[None], everybody)}

    def _load(self, state: State) -> None:
        super()._load(state)
        self._everything = WhitenedMeans.load("all", state)

    def _score(self, observation: Observation) -> Features:
        features = observation.features(self._layer)
        return self._classes.nearest(features) - self._everything.nearest(features)

    def _explain(self, observation: Observation) -> Explanation:
        features = observation.features(self._layer)[0]
        which, own = self._classes.parts(features)
        _, everything = self._everything.parts(features)
        name = self.classifier.classes[self._labels[which]]
        return Explanation(
            reason=f"squared distance {own.sum():.3g} to the nearest class, '{name}', and "
            f"{everything.sum():.3g} to all training data together",
            contributions=heaviest(self._layer, own - everything),
            details={"nearest_class": name},
        )
