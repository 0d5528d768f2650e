"""Activation patterns: the neurons that are on must have been seen together with the predicted class."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    JSON,
    LAST_HIDDEN,
    Features,
    FitData,
    Monitor,
    Needs,
    Observation,
    State,
    check_number,
    collect,
)
from farm.errors import ParameterError

Words = NDArray[np.uint64]
ROWS = 64
"""So many instances are compared at once: memory is bounded by it, whatever the batch."""


class ActivationPatterns(Monitor):
    """Keeps the on/off patterns of each class's correctly classified training data, as packed bits.

    A neuron is on above 0. The score is the smallest Hamming distance to a pattern of the *predicted* class;
    a class without patterns is one step farther away than all neurons together.

    Parameters
    ----------
    gamma
        How many neurons may differ: the alarm is raised above that. None calibrates the threshold instead.
    layer
        The hidden layer.
    neurons
        None takes all. A share takes, for each class, those with the largest weights (in size) to it, which
        only the layer `last-hidden` has. A list takes those, counted from 0.

    Examples
    --------
    >>> ActivationPatterns(gamma=2).fixed_threshold
    2.5
    """

    reference = "Cheng, Nührenberg, Yasuoka: Runtime monitoring neuron activation patterns, DATE 2019"

    def __init__(
        self,
        *,
        gamma: int | None = None,
        layer: str = LAST_HIDDEN,
        neurons: float | list[int] | None = None,
    ) -> None:
        if gamma is not None:
            check_number("gamma", gamma, low=0, whole=True)
        if isinstance(neurons, list):
            for neuron in neurons:
                check_number("neurons", neuron, low=0, whole=True)
            if not neurons:
                raise ParameterError("neurons is an empty list; name one neuron at least, or none at all")
        elif neurons is not None:
            check_number("neurons", neurons, above=0, high=1)
            if layer != LAST_HIDDEN:
                raise ParameterError(
                    f"neurons is a share, which needs the weights after the layer '{LAST_HIDDEN}', but layer "
                    f"is '{layer}'; list the neurons instead"
                )
        self._gamma, self._layer, self._neurons = gamma, layer, neurons

    @property
    def needs(self) -> Needs:
        """One hidden layer; for a share of its neurons also the weights behind it."""
        share = self._neurons is not None and not isinstance(self._neurons, list)
        return Needs(layers=(self._layer,), head=share)

    @property
    def fixed_threshold(self) -> float | None:
        """Half a neuron above gamma, where it is set."""
        return None if self._gamma is None else self._gamma + 0.5

    def _fit(self, data: FitData) -> State:
        found = collect(data, self._layer)
        right = found.predicted == found.labels
        watched = self._watched(len(data.classes), found.features.shape[1])
        mask, bits = packed(watched), packed(found.features > 0)
        patterns = [
            np.unique(bits[right & (found.labels == label)] & mask[label], axis=0)
            for label in range(len(data.classes))
        ]
        ends = np.cumsum([len(p) for p in patterns])
        return {"mask": mask, "patterns": np.concatenate(patterns), "ends": ends}

    def _watched(self, n_classes: int, width: int) -> NDArray[np.bool_]:
        """Say which neurons count, for each class."""
        if self._neurons is None:
            return np.ones((n_classes, width), dtype=np.bool_)
        watched = np.zeros((n_classes, width), dtype=np.bool_)
        if isinstance(self._neurons, list):
            if max(self._neurons) >= width:
                raise ParameterError(
                    f"neurons lists {max(self._neurons)}, but layer '{self._layer}' has {width} neurons"
                )
            watched[:, self._neurons] = True
            return watched
        count = max(1, round(self._neurons * width))
        order = np.argsort(-np.abs(self.classifier.head.weights), axis=1, kind="stable")
        np.put_along_axis(watched, order[:, :count], True, axis=1)
        return watched

    def _load(self, state: State) -> None:
        self._mask = state["mask"].astype(np.uint64)
        patterns = state["patterns"].astype(np.uint64)
        of_class = np.split(patterns, state["ends"].astype(np.int64)[:-1])
        # Words first: to add up whole planes is much faster than to add up the few words of each pattern.
        self._patterns: list[Words] = [np.ascontiguousarray(p.T[:, None]) for p in of_class]
        self._nowhere = int(np.bitwise_count(self._mask).sum(axis=1).max()) + 1

    def _score(self, observation: Observation) -> Features:
        label = observation.predicted
        bits = packed(observation.features(self._layer) > 0) & self._mask[label]
        score = np.full(len(bits), float(self._nowhere))
        for seen in np.unique(label):
            known = self._patterns[seen]
            mine = np.flatnonzero(label == seen) if known.size else np.empty(0, np.int64)
            for start in range(0, len(mine), ROWS):
                rows = mine[start : start + ROWS]
                differ = np.bitwise_count(bits[rows].T[:, :, None] ^ known)
                score[rows] = differ.sum(axis=0, dtype=np.uint32).min(axis=1)
        return score

    def notes(self) -> Mapping[str, JSON]:
        """How many different patterns are kept, and how many classes have none."""
        counts = [known.shape[2] for known in self._patterns]
        return {"patterns": sum(counts), "classes_without_patterns": counts.count(0)}


def packed(on: NDArray[np.bool_]) -> Words:
    """Pack each row into words of 64 bits; the bits left over are 0."""
    packed_bytes = np.packbits(on, axis=1)
    words = np.zeros((len(on), -(-packed_bytes.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed_bytes.shape[1]] = packed_bytes
    return words.view(np.uint64)
