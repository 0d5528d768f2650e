"""Gaussian mixtures, one a class: how thinly its training data lie where an instance is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from farm.api import (
    JSON,
    LAST_HIDDEN,
    BoolArray,
    Features,
    FitData,
    FloatArray,
    Observation,
    State,
    check_number,
    collect,
    derived_seed,
)
from monitors._layer import LayerMonitor, blocks
from monitors.free_energy import log_sum_exp

NO_MIXTURE = 1e300
"""The score where a class has no training data: nothing is farther, and still a finite number."""


class GaussianMixtures(LayerMonitor):
    """The negative log-density of the features under the predicted class's mixture of Gaussians.

    Each class's training data, by label, get a mixture of their own, with diagonal covariances: full ones
    would take more numbers than a class has data.

    Parameters
    ----------
    components
        How many Gaussians a class; fewer where it has fewer different points.
    floor
        Added to each variance, as a share of the mean variance of all training features, so that a neuron
        which never varied in a class does not decide alone.
    layer
        The layer whose values are the features.
    pool
        What of each channel of a layer of maps counts: `mean` or `max` over its places, or all (`none`).

    Examples
    --------
    >>> GaussianMixtures(components=3).parameters["floor"]
    0.01
    """

    reference = "Bishop: Novelty detection and neural network validation, IEE Proceedings 141(4), 1994"

    def __init__(
        self, *, components: int = 2, floor: float = 0.01, layer: str = LAST_HIDDEN, pool: str = "mean"
    ) -> None:
        super().__init__(layer=layer, pool=pool)
        check_number("components", components, low=1, whole=True)
        check_number("floor", floor, above=0)
        self._components, self._floor = components, floor

    def _fit(self, data: FitData) -> State:
        from sklearn.exceptions import ConvergenceWarning  # not before: a guard fits nothing
        from sklearn.mixture import GaussianMixture

        found = collect(data, self._layer)
        features = found.features
        mean = sum(features[rows].sum(axis=0, dtype=np.float64) for rows in blocks(features)) / len(features)
        apart = (features[rows] - mean for rows in blocks(features))
        variance = sum(np.square(rows).sum(axis=0) for rows in apart) / len(features)
        added = max(self._floor * float(np.mean(variance)), np.finfo(np.float32).tiny)
        shape = (len(data.classes), self._components)
        weights = np.zeros(shape)  # a weight of 0: this Gaussian is not there
        means, variances = (np.zeros((*shape, features.shape[1])) for _ in range(2))
        settled = np.ones(len(data.classes), dtype=np.bool_)
        for label in range(len(data.classes)):
            points = features[found.labels == label].astype(np.float64)
            if not (k := min(self._components, len(np.unique(points, axis=0)))):
                continue
            if len(points) == 1:
                points = np.repeat(points, 2, axis=0)  # scikit-learn takes no fewer
            mixture = GaussianMixture(
                k,
                covariance_type="diag",
                reg_covar=added,
                random_state=derived_seed(data.seed, "gaussian-mixture", label),
            )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                mixture.fit(points)
            settled[label] = not caught
            weights[label, :k] = mixture.weights_
            means[label, :k], variances[label, :k] = mixture.means_, mixture.covariances_
        return {"weights": weights, "means": means, "variances": variances, "settled": settled}

    def _load(self, state: State) -> None:
        weights = np.asarray(state["weights"], dtype=np.float64)
        variances = np.asarray(state["variances"], dtype=np.float64)
        there = weights > 0
        variances = np.where(there[:, :, None], variances, 1.0)
        constant = np.log(np.where(there, weights, 1.0)) - 0.5 * np.log(2 * np.pi * variances).sum(axis=2)
        self._constant: FloatArray = np.where(there, constant, -np.inf)
        self._means: FloatArray = np.asarray(state["means"], dtype=np.float64)
        self._inverse: FloatArray = 1.0 / np.sqrt(variances)
        self._empty: BoolArray = np.asarray(~there.any(axis=1))
        self._unsettled = int((~np.asarray(state["settled"], dtype=np.bool_)).sum())

    def _score(self, observation: Observation) -> Features:
        label = observation.predicted
        off = (observation.features(self._layer)[:, None] - self._means[label]) * self._inverse[label]
        logs = self._constant[label] - 0.5 * np.square(off).sum(axis=2)
        lost = self._empty[label]
        logs[lost] = -NO_MIXTURE
        return np.where(lost, NO_MIXTURE, -log_sum_exp(logs))

    def notes(self) -> Mapping[str, JSON]:
        """How many classes have no mixture, or one that was still changing when its fit stopped."""
        return {"classes_without_mixture": int(self._empty.sum()), "classes_unsettled": self._unsettled}
