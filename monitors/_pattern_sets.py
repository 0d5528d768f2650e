"""Which on/off patterns of a layer's neurons belong to a class: what the monitors of patterns share."""

from __future__ import annotations

from abc import ABC
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    LAST_HIDDEN,
    BoolArray,
    Explanation,
    FitData,
    IntArray,
    Needs,
    Observation,
    check_number,
    collect,
)
from farm.errors import ParameterError
from monitors._layer import LayerMonitor, blocks
from monitors._neurons import check_once, check_there
from monitors._reasons import heaviest

Words = NDArray[np.uint64]
ROWS = 64
"""So many instances are compared at once: memory is bounded by it, whatever the batch."""


class PatternMonitor(LayerMonitor, ABC):
    """Base of the pattern monitors. Subclasses say how the patterns are kept and searched."""

    def __init__(
        self,
        *,
        gamma: int | None = None,
        layer: str = LAST_HIDDEN,
        pool: str = "mean",
        neurons: float | list[int] | None = None,
    ) -> None:
        super().__init__(layer=layer, pool=pool)
        if gamma is not None:
            check_number("gamma", gamma, low=0, whole=True)
        if isinstance(neurons, list):
            for neuron in neurons:
                check_number("neurons", neuron, low=0, whole=True)
            if not neurons:
                raise ParameterError("neurons is an empty list; name one neuron at least, or none at all")
            check_once(neurons)
        elif neurons is not None:
            check_number("neurons", neurons, above=0, high=1)
            if layer != LAST_HIDDEN:
                raise ParameterError(
                    f"neurons is a share, which needs the weights after the layer '{LAST_HIDDEN}', but layer "
                    f"is '{layer}'; list the neurons instead"
                )
        self._gamma, self._neurons = gamma, neurons

    @property
    def needs(self) -> Needs:
        """One hidden layer; for a share of its neurons also the weights behind it."""
        share = self._neurons is not None and not isinstance(self._neurons, list)
        return replace(super().needs, head=share)

    @property
    def fixed_threshold(self) -> float | None:
        """Half a neuron above gamma, where it is set."""
        return None if self._gamma is None else self._gamma + 0.5

    def _sets(self, data: FitData) -> tuple[BoolArray, list[Words]]:
        """Return the neurons that count for each class, and its patterns, each once, with all others off."""
        found = collect(data, self._layer)
        right = found.predicted == found.labels
        watched = self._watched(len(data.classes), found.features.shape[1])
        bits = np.concatenate([packed(found.features[rows] > 0) for rows in blocks(found.features)])
        mask = packed(watched)
        return watched, [
            np.unique(bits[right & (found.labels == label)] & mask[label], axis=0)
            for label in range(len(data.classes))
        ]

    def _watched(self, n_classes: int, width: int) -> BoolArray:
        """Say which neurons count, for each class; always the same number of them."""
        if self._neurons is None:
            return np.ones((n_classes, width), dtype=np.bool_)
        watched = np.zeros((n_classes, width), dtype=np.bool_)
        if isinstance(self._neurons, list):
            check_there(self._neurons, self.name, self._layer, width)
            watched[:, self._neurons] = True
            return watched
        count = max(1, round(self._neurons * width))
        order = np.argsort(-np.abs(self.classifier.head.weights), axis=1, kind="stable")
        np.put_along_axis(watched, order[:, :count], True, axis=1)
        return watched

    def _told(self, label: int, distance: int, differing: IntArray, on: BoolArray) -> Explanation:
        """Say by which neurons an instance differs from the nearest pattern; each of them adds 1."""
        name = self.classifier.classes[label]
        lit, dark = (int(values[differing].sum()) for values in (on, ~on))
        more = "such as " if distance > len(differing) else ""
        told = f": {more}{lit} that are on only here, {dark} only there" if distance else ""
        return Explanation(
            reason=f"{distance} neurons differ from the nearest pattern seen with class '{name}'{told}",
            contributions=heaviest(self._layer, np.ones(len(differing)), differing),
            details={"differing": distance},
        )

    def _unseen(self, label: int) -> Explanation:
        name = self.classifier.classes[label]
        return Explanation(reason=f"no pattern was seen with class '{name}'")


def packed_of(observation: Observation, layer: str) -> Words:
    """Pack which of a layer's neurons are on, once for all monitors of patterns."""
    return observation.once(_packed_on, observation.features(layer))


def _packed_on(values: NDArray[np.float32]) -> Words:
    words = packed(values > 0)
    words.setflags(write=False)
    return words


def packed(on: BoolArray) -> Words:
    """Pack each row into words of 64 bits; the bits left over are 0."""
    packed_bytes = np.packbits(on, axis=1)
    if packed_bytes.shape[1] % 8 == 0:
        return packed_bytes.view(np.uint64)
    words = np.zeros((len(on), -(-packed_bytes.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed_bytes.shape[1]] = packed_bytes
    return words.view(np.uint64)


def unpacked(words: Words, width: int) -> BoolArray:
    """Undo `packed`."""
    return np.unpackbits(words.view(np.uint8), axis=1, count=width).astype(np.bool_)
