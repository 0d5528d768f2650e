"""Where features lie between the last layer's decision boundaries, and how like their class's they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from farm.api import (
    JSON,
    LAST_HIDDEN,
    Features,
    FitData,
    FloatArray,
    Monitor,
    Needs,
    Observation,
    State,
    collect,
)
from monitors._layer import LayerMonitor
from monitors.free_energy import logits_of

SHORTEST = 1e-12
"""Two points closer than this count as this far apart, so that nothing is divided by 0."""


class DecisionBoundaries(Monitor):
    """fDBD: the mean distance to the other classes' decision boundaries, for the distance from the mean.

    The distance of the features to the boundary between the predicted and another class is the difference
    of their logits over the length of the difference of their weights. Divided by the distance to the mean
    of the training features; close boundaries are anomalous.

    Examples
    --------
    >>> DecisionBoundaries().needs.head
    True
    """

    reference = (
        "Liu, Qin: Fast decision boundary based out-of-distribution detector, International Conference on "
        "Machine Learning 2024"
    )

    @property
    def needs(self) -> Needs:
        """The last hidden layer, the logits and the weights in between."""
        return Needs(layers=(LAST_HIDDEN,), logits=True, head=True)

    def _fit(self, data: FitData) -> State:
        return {"mean": collect(data, LAST_HIDDEN).features.mean(axis=0, dtype=np.float64)}

    def _load(self, state: State) -> None:
        self._mean: FloatArray = np.asarray(state["mean"], dtype=np.float64)
        weights = self.classifier.head.weights.astype(np.float64)
        lengths = np.stack([np.linalg.norm(row - weights, axis=1) for row in weights])
        inverse = 1.0 / np.maximum(lengths, SHORTEST)
        np.fill_diagonal(inverse, 0.0)  # a class has no boundary with itself
        self._inverse: FloatArray = inverse / max(len(weights) - 1, 1)

    def _score(self, observation: Observation) -> Features:
        logits = logits_of(observation)
        gaps = logits.max(axis=1, keepdims=True) - logits
        boundaries = (gaps * self._inverse[logits.argmax(axis=1)]).sum(axis=1)
        away = np.linalg.norm(observation.features(LAST_HIDDEN) - self._mean, axis=1)
        scores: FloatArray = -boundaries / np.maximum(away, SHORTEST)
        return scores


class SimplifiedHopfieldEnergy(LayerMonitor):
    """SHE: how little the features have in common with the stored pattern of the predicted class.

    The pattern is the mean over the class's correctly classified training data, the likeness an inner
    product. A class without such data has the pattern 0.

    Parameters
    ----------
    layer
        The layer whose values are the features.
    pool
        What of each channel of a layer of maps counts: `mean` or `max` over its places, or all (`none`).

    Examples
    --------
    >>> SimplifiedHopfieldEnergy(layer="conv2").needs.layers
    ('conv2',)
    """

    reference = (
        "Zhang, Fu, Chen, Du, Li, Wang, Liu, Han, Zhang: Out-of-distribution detection based on "
        "in-distribution data patterns memorization with modern Hopfield energy, ICLR 2023"
    )

    def _fit(self, data: FitData) -> State:
        found = collect(data, self._layer)
        right = found.predicted == found.labels
        patterns = np.zeros((len(data.classes), found.features.shape[1]))
        counts = np.bincount(found.labels[right], minlength=len(patterns))
        for label in np.flatnonzero(counts):
            members = found.features[right & (found.labels == label)]
            patterns[label] = members.mean(axis=0, dtype=np.float64)
        return {"patterns": patterns, "counts": counts}

    def _load(self, state: State) -> None:
        self._patterns: FloatArray = np.asarray(state["patterns"], dtype=np.float64)
        self._without = int((np.asarray(state["counts"]) == 0).sum())

    def _score(self, observation: Observation) -> Features:
        stored = self._patterns[observation.predicted]
        alike: FloatArray = np.einsum("ij,ij->i", observation.features(self._layer), stored)
        return -alike

    def notes(self) -> Mapping[str, JSON]:
        """How many classes have no correctly classified training data."""
        return {"classes_without_pattern": self._without}
