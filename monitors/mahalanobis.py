"""Mahalanobis distances to the classes: how many standard deviations off an instance's features are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from farm.api import LAST_HIDDEN, Features, FitData, FloatArray, Monitor, Needs, Observation, State, collect

ROUNDING = float(np.finfo(np.float32).eps)


class Mahalanobis(Monitor):
    """The squared Mahalanobis distance to the nearest class mean, under one covariance for all classes.

    Means and covariance are those of the training data by their labels. Directions in which these do not
    vary, beyond what rounding to float32 makes, have no say (pseudo-inverse).

    Parameters
    ----------
    layer
        The layer whose values are the features.

    Examples
    --------
    >>> Mahalanobis(layer="conv2").needs.layers
    ('conv2',)
    """

    reference = (
        "Lee, Lee, Lee, Shin: A simple unified framework for detecting out-of-distribution samples and "
        "adversarial attacks, NeurIPS 2018"
    )

    def __init__(self, *, layer: str = LAST_HIDDEN) -> None:
        self._layer = layer

    @property
    def needs(self) -> Needs:
        """One hidden layer."""
        return Needs(layers=(self._layer,))

    def _fit(self, data: FitData) -> State:
        found = collect(data, self._layer)
        features = found.features.astype(np.float64)
        present, index = np.unique(found.labels, return_inverse=True)
        means = np.stack([features[index == i].mean(axis=0) for i in range(len(present))])
        return _gaussians("class", features - means[index], means, found.features)

    def _load(self, state: State) -> None:
        self._classes = _Distance.load("class", state)

    def _score(self, observation: Observation) -> Features:
        return self._classes.nearest(observation.features(self._layer))


class RelativeMahalanobis(Mahalanobis):
    """The Mahalanobis distance to the nearest class, less that under one Gaussian of all training data.

    The subtraction takes out how unusual the features are for any class alike.

    Parameters
    ----------
    layer
        The layer whose values are the features.

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
        return {**super()._fit(data), **_gaussians("all", features - mean, mean[None], features)}

    def _load(self, state: State) -> None:
        super()._load(state)
        self._everything = _Distance.load("all", state)

    def _score(self, observation: Observation) -> Features:
        features = observation.features(self._layer)
        return self._classes.nearest(features) - self._everything.nearest(features)


def _gaussians(name: str, centred: FloatArray, means: FloatArray, features: Features) -> State:
    """Give the origin, the whitening factor and the means: factor @ factor.T is the precision matrix."""
    variances, directions = np.linalg.eigh(centred.T @ centred / len(centred))
    # What float32 cannot tell from a constant: a deviation of its rounding error at the features' size.
    size = max(float(variances[-1]), float(np.square(features, dtype=np.float64).mean()))
    floor = len(variances) * ROUNDING**2 * size
    kept = variances > floor
    factor = directions[:, kept] / np.sqrt(variances[kept])
    origin = means.mean(axis=0)
    return {f"{name}.origin": origin, f"{name}.factor": factor, f"{name}.means": (means - origin) @ factor}


class _Distance(NamedTuple):
    """Squared distances in a whitened space, where they are plain Euclidean ones."""

    origin: FloatArray
    factor: FloatArray
    means: FloatArray
    """One row a class, already whitened."""

    @classmethod
    def load(cls, name: str, state: State) -> _Distance:
        """Unpack the arrays of this name."""
        arrays = (np.asarray(state[f"{name}.{part}"], dtype=np.float64) for part in cls._fields)
        return cls(*map(np.ascontiguousarray, arrays))

    def nearest(self, features: Features) -> FloatArray:
        """Give each row's squared distance to the mean nearest to it."""
        # |x - m|^2 = |x|^2 - 2 x.m + |m|^2: one product for all classes, and |x|^2 plays no part in which.
        white = (features - self.origin) @ self.factor
        cross = np.square(self.means).sum(axis=1) - 2.0 * (white @ self.means.T)
        result: FloatArray = np.maximum(np.square(white).sum(axis=1) + cross.min(axis=1), 0.0)
        return result
