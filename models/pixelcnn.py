"""PixelCNN++: how likely is an image, pixel by pixel, each given those before it?"""

from __future__ import annotations

import base64
import copy
import io
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from farm.api import JSON, FloatArray, Images, State, check_number, derived_seed
from models._causal import CausalStreams
from models._logistics import Mixture, draw, log_probabilities, mixture, n_parameters, scaled, spread_out
from models._network_training import NetworkModule, Schedule
from models._torch_network import TorchNetwork, TorchNetworkSource

LARGEST = 32
"""Larger images are shrunk to it, as in the source."""
MEASURE = "bits per dimension"
DRAWN = 16
"""So many images it draws once it is trained."""


class PixelCNNModule(NetworkModule):
    """Causal convolutions that give each pixel a mixture of discretised logistic distributions."""

    outputs = ("bits",)

    def __init__(self, shape: tuple[int, int, int], filters: int, blocks: int, mixtures: int) -> None:
        super().__init__()
        self._channels, self._mixtures = shape[0], mixtures
        shrink = min(1.0, LARGEST / max(shape[1:]))
        self.size = (max(1, round(shape[1] * shrink)), max(1, round(shape[2] * shrink)))
        self.streams = CausalStreams(shape[0], filters, blocks, n_parameters(shape[0], mixtures))
        spread_out(self.streams.last.bias, shape[0], mixtures)

    def pixels(self, images: Tensor) -> Tensor:
        """Return images as the network sees them: small enough, whole numbers from 0 to 255."""
        if images.shape[2:] != self.size:
            images = F.interpolate(images, self.size, mode="bilinear", antialias=True)
        return (images * 255).round()

    def mixtures(self, pixels: Tensor) -> Mixture:
        """Return the distribution of each pixel given those before it."""
        return mixture(self.streams(scaled(pixels)), self._channels, self._mixtures)

    def terms(self, pixels: Tensor) -> Tensor:
        """Return the log-probability of each pixel and channel, given those before it."""
        return log_probabilities(self.mixtures(pixels), pixels)

    def values(self, images: Tensor, output: str) -> Tensor:
        """Return bits per dimension."""
        del output  # there is one
        return self.bits(self.pixels(images))

    def bits(self, pixels: Tensor) -> Tensor:
        """Return the negative log-likelihood of whole pixels in bits per dimension."""
        return -self.terms(pixels).flatten(1).mean(dim=1) / math.log(2)

    def losses(self, images: Tensor, rng: torch.Generator) -> Tensor:
        """Return bits per dimension."""
        del rng  # nothing is drawn
        return self.values(images, "bits")


class PixelCNNNetwork(TorchNetwork[PixelCNNModule]):
    """A trained PixelCNN++, with some images that it drew."""

    def __init__(self, module: PixelCNNModule, shape: tuple[int, int, int], curve: FloatArray) -> None:
        super().__init__(module, shape, curve, MEASURE)
        # A sum over so many layers and pixels: in single precision it would depend on the rest of a batch.
        self._exact = copy.deepcopy(module).double()

    @cached_property
    def drawn(self) -> NDArray[np.uint8]:
        """Images of its own, N x C x H x W, for people to look at; drawn once, and kept with the weights."""
        return np.rint(self.sample(DRAWN, seed=0) * 255).astype(np.uint8)

    @property
    def notes(self) -> Mapping[str, JSON]:
        """How its training went, and what it draws, as the text of a PNG file."""
        return {**self._notes, "size": list(self.module.size), "samples": as_png(self.drawn)}

    @notes.setter
    def notes(self, notes: Mapping[str, JSON]) -> None:
        self._notes = notes

    @property
    def state(self) -> State:
        """Its weights, the losses of its training, and the images that it drew."""
        return {**super().state, "drawn": self.drawn}

    def _values(self, images: Tensor, output: str) -> Tensor:
        del output  # there is one
        return self._exact.bits(self.module.pixels(images).double())

    def sample(self, n: int, seed: int) -> Images:
        """Draw images from what it has learned, pixel by pixel; the same for the same seed."""
        check_number("n", n, low=1, whole=True)
        rng = torch.Generator().manual_seed(derived_seed(seed, "pixelcnn", "sample"))
        height, width = self.module.size
        pixels = torch.zeros(n, self.shape[0], height, width)
        with torch.inference_mode():
            for row in range(height):
                for column in range(width):
                    given = self.module.mixtures(pixels[:, :, : row + 1])  # nothing below matters
                    here = Mixture(*(part[..., row : row + 1, column : column + 1] for part in given))
                    pixels[:, :, row, column] = draw(here, rng)[:, :, 0, 0].float()
        return (pixels / 255).numpy()


class PixelCNN(TorchNetworkSource):
    """A small PixelCNN++: a density of images of 8 bits, by which an unlikely image is known.

    Its output `bits` is the negative log-likelihood of an image in bits per dimension (pixel and channel).
    Images larger than 32 pixels are shrunk to 32. Smaller than the original: images keep their size from
    layer to layer, where the original halves them twice, and there are neither dropout nor averaged weights.

    Parameters
    ----------
    filters
        Channels of each layer; the source's implementation has 160.
    blocks
        Gated layers of each of the two streams.
    mixtures
        Logistic distributions a pixel.
    epochs
        At most this many passes over the training data.
    batch_size, learning_rate
        The optimiser's settings (Adam).
    patience
        Stop after this many epochs without a lower validation loss.

    Examples
    --------
    >>> from farm.api import Context
    >>> from farm.testing.fakes import tiny_workload
    >>> workload = tiny_workload()
    >>> network = PixelCNN(filters=4, blocks=1, epochs=1).network(workload, Context())
    >>> network.compute(workload.test.images.read([0, 1, 2]), "bits").shape
    (3,)
    >>> network.sample(2, seed=0).shape
    (2, 3, 8, 8)
    """

    reference = (
        "Salimans, Karpathy, Chen, Kingma: PixelCNN++: improving the PixelCNN with discretized logistic "
        "mixture likelihood and other modifications, ICLR 2017"
    )
    kind = "pixelcnn"

    def __init__(
        self,
        *,
        filters: int = 32,
        blocks: int = 3,
        mixtures: int = 5,
        epochs: int = 20,
        batch_size: int = 16,
        learning_rate: float = 1e-3,
        patience: int = 5,
    ) -> None:
        check_number("filters", filters, low=1, whole=True)
        check_number("blocks", blocks, low=1, whole=True)
        check_number("mixtures", mixtures, low=1, whole=True)
        self._sizes = (filters, blocks, mixtures)
        self._schedule = Schedule(epochs, batch_size, learning_rate, patience)

    @property
    def _measure(self) -> str:
        return MEASURE

    def _module(self, shape: tuple[int, int, int]) -> PixelCNNModule:
        return PixelCNNModule(shape, *self._sizes)

    def _network(self, module: Any, shape: tuple[int, int, int], curve: FloatArray) -> PixelCNNNetwork:
        return PixelCNNNetwork(module, shape, curve)

    def restore(self, state: State, shape: tuple[int, int, int]) -> PixelCNNNetwork:
        """Make it again from its weights, without training or drawing."""
        network = cast(PixelCNNNetwork, super().restore(state, shape))
        network.drawn = np.asarray(state["drawn"], dtype=np.uint8)
        return network


def as_png(images: NDArray[np.uint8]) -> str:
    """Return images, one below the other, as the text of a PNG file."""
    rows = images.transpose(0, 2, 3, 1).reshape(-1, images.shape[3], images.shape[1])
    file = io.BytesIO()
    Image.fromarray(rows[:, :, 0] if images.shape[1] == 1 else rows).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
