"""ViM: what of the features lies outside the space that training data fill, against what the logits say."""

from __future__ import annotations

import numpy as np

from farm.api import (
    LAST_HIDDEN,
    Features,
    FitData,
    FloatArray,
    Monitor,
    Needs,
    Observation,
    State,
    check_number,
    collect,
)
from farm.errors import ParameterError
from monitors._gaussians import scatter
from monitors._layer import blocks
from monitors.free_energy import WideHead, free_energy, logits_of, peak_of

SMALLEST_SHARE = 1e-6
"""A mean residual below this share of the features' length is rounding, not a scale to divide by."""


class Vim(Monitor):
    """Virtual-logit matching: the scaled length of the features' residual, less the energy of the logits.

    The residual is what the principal space of the training features leaves over, seen from the point where
    the last layer's logits vanish. Its scale makes it as large as the greatest logit is on training data.

    Parameters
    ----------
    dimensions
        How many dimensions the principal space has, fewer than there are features. None: as published,
        1000 of 2048 features and more, 512 of 768 and more, else half of them.

    Examples
    --------
    >>> Vim(dimensions=32).needs.head
    True
    """

    reference = "Wang, Li, Feng, Zhang: ViM: out-of-distribution with virtual-logit matching, CVPR 2022"

    def __init__(self, *, dimensions: int | None = None) -> None:
        if dimensions is not None:
            check_number("dimensions", dimensions, low=1, whole=True)
        self._dimensions = dimensions

    @property
    def needs(self) -> Needs:
        """The last hidden layer, the logits and the weights in between."""
        return Needs(layers=(LAST_HIDDEN,), logits=True, head=True)

    def _fit(self, data: FitData) -> State:
        features = collect(data, LAST_HIDDEN).features
        n_features = features.shape[1]
        dimensions = usual_dimensions(n_features) if self._dimensions is None else self._dimensions
        if dimensions >= n_features:
            raise ParameterError(
                f"dimensions is {dimensions}; expected fewer than the {n_features} features of "
                f"'{LAST_HIDDEN}'"
            )
        head = WideHead(self.classifier.head)
        origin = -np.linalg.pinv(head.weights) @ head.bias
        scattered, _ = scatter(features, lambda _: origin)
        _, axes = np.linalg.eigh(scattered / len(features))  # in rising order of their variance
        residual = axes[:, : n_features - dimensions]
        greatest = np.concatenate([logits_of(o).max(axis=1) for o, _ in data]).mean()
        left, whole = [], []
        for rows in blocks(features):
            centred = features[rows] - origin
            left.append(np.linalg.norm(centred @ residual, axis=1))
            whole.append(np.linalg.norm(centred, axis=1))
        lengths = np.concatenate(left).mean()
        floor = max(SMALLEST_SHARE * np.concatenate(whole).mean(), SMALLEST_SHARE**2)
        return {
            "origin": origin,
            "residual": np.ascontiguousarray(residual),
            "alpha": np.array(greatest / max(lengths, floor)),
        }

    def _load(self, state: State) -> None:
        self._origin: FloatArray = np.asarray(state["origin"], dtype=np.float64)
        self._residual: FloatArray = np.asarray(state["residual"], dtype=np.float64)
        self._alpha = float(np.asarray(state["alpha"], dtype=np.float64))

    def _score(self, observation: Observation) -> Features:
        outside = (observation.features(LAST_HIDDEN) - self._origin) @ self._residual
        length = np.linalg.norm(outside, axis=1)
        scores: FloatArray = self._alpha * length - free_energy(peak_of(observation))
        return scores


def usual_dimensions(n_features: int) -> int:
    """Return the published size of the principal space.

    Examples
    --------
    >>> usual_dimensions(2048), usual_dimensions(768), usual_dimensions(128)
    (1000, 512, 64)
    """
    if n_features >= 2048:
        return 1000
    return 512 if n_features >= 768 else n_features // 2
