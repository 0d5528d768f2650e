"""Where boxes are: a layer's own neurons, or their principal components."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from farm.api import JSON, IntArray
from monitors._reasons import heaviest

Points = NDArray[np.float32]


class Space(ABC):
    """Where the boxes are: some of the layer's own values, or a projection of them for each class."""

    @abstractmethod
    def project(self, features: Points, label: IntArray) -> Points:
        """Put each row into the space of its class; NaN where that class has none."""

    def place(self, layer: str, dimension: int) -> str:
        """Say what a dimension is."""
        return f"component {dimension} of {layer}"

    def parts(
        self, layer: str, features: Points, label: int, outside: NDArray[np.floating], towards: int
    ) -> Mapping[str, float]:
        """Say which of one row's values put it where it is, and how much each adds.

        `outside` is how far it is outside of the nearest box in each dimension, and `towards` is 1 where it
        is nearer to the upper side in the dimension that decides, else -1.
        """
        del layer, features, label, outside, towards
        return {}

    def notes(self) -> Mapping[str, JSON]:
        """What the fit of the space found out."""
        return {}


class Neurons(Space):
    """Some of the layer's own values, the same for every class."""

    def __init__(self, chosen: IntArray) -> None:
        self._chosen = chosen

    def project(self, features: Points, label: IntArray) -> Points:
        """Take them."""
        del label
        return features.take(self._chosen, axis=1)

    def place(self, layer: str, dimension: int) -> str:
        """Name the neuron."""
        return f"{layer}[{self._chosen[dimension]}]"

    def parts(
        self, layer: str, features: Points, label: int, outside: NDArray[np.floating], towards: int
    ) -> dict[str, float]:
        """Return the neurons that are outside, each with how far."""
        del features, label, towards
        return heaviest(layer, outside.astype(np.float64), self._chosen)


class Components(Space):
    """Each class's first principal components."""

    def __init__(self, mean: Points, axes: Points) -> None:
        self._mean, self._axes = mean, axes

    def project(self, features: Points, label: IntArray) -> Points:
        """Put each row into its class's plane."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is absurdly large is outside
            if len(features) == 1:  # one image at a time, those of its class are at hand
                own = int(label[0])
                projected: Points = (self._axes[own] @ (features[0] - self._mean[own]))[None]
            else:
                centred = (features - self._mean[label])[:, :, None]
                projected = (self._axes[label] @ centred)[:, :, 0]
        return projected

    def parts(
        self, layer: str, features: Points, label: int, outside: NDArray[np.floating], towards: int
    ) -> dict[str, float]:
        """Return the neurons whose weight times deviation adds most to the deciding component."""
        off = features.astype(np.float64) - self._mean[label]
        return heaviest(layer, towards * self._axes[label, int(outside.argmax())] * off)
