"""An autoencoder: what it cannot draw again from a few numbers, it has not seen in training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from farm.api import FloatArray, Images, check_choice, check_number
from models._convolutional import Decoder, Encoder
from models._network_training import NetworkModule, Schedule
from models._torch_network import TorchNetwork, TorchNetworkSource

LOSSES = ("mse", "bce")


class AutoencoderModule(NetworkModule):
    """An encoder and a decoder, trained by the error of the images drawn again."""

    outputs = ("latent", "error")

    def __init__(self, shape: tuple[int, int, int], loss: str, bottleneck: int, width: int) -> None:
        super().__init__()
        self._loss = loss
        self.encoder = Encoder(shape, width, bottleneck)
        self.decoder = Decoder(shape, width, bottleneck)

    def errors(self, logits: Tensor, images: Tensor) -> Tensor:
        """Return the mean error over the pixels of each image."""
        if self._loss == "mse":
            errors = (torch.sigmoid(logits) - images) ** 2
        else:
            errors = F.binary_cross_entropy_with_logits(logits, images, reduction="none")
        return errors.flatten(1).mean(dim=1)

    def latent(self, images: Tensor) -> Tensor:
        """Return the numbers that stand for each image."""
        latent: Tensor = self.encoder(images)
        return latent

    def losses(self, images: Tensor, rng: torch.Generator) -> Tensor:
        """Return the errors."""
        del rng  # nothing is drawn
        return self.errors(self.decoder(self.latent(images)), images)

    def values(self, images: Tensor, output: str) -> Tensor:
        """Return the numbers, the error, or the image drawn again."""
        latent = self.latent(images)
        if output == "latent":
            return latent
        logits = self.decoder(latent)
        return self.errors(logits, images) if output == "error" else torch.sigmoid(logits)


class AutoencoderNetwork(TorchNetwork[Any]):
    """A trained autoencoder."""

    def reconstruct(self, images: Images) -> FloatArray:
        """Return the images as they come out of the bottleneck, in [0, 1]."""
        return self._in_chunks(images, "reconstruction")


class Autoencoder(TorchNetworkSource):
    """A convolutional autoencoder; its layers follow from the size of the images.

    Its outputs are `latent`, the numbers in the bottleneck, and `error`: the loss of an image, averaged over
    its pixels.

    Parameters
    ----------
    loss
        `mse`, the mean squared error, or `bce`, the mean binary cross-entropy with pixels as targets.
    bottleneck
        Numbers that an image has to pass through; the source has 32 to 1024.
    width
        Channels of the first convolution; later ones have up to four times as many.
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
    >>> network = Autoencoder(loss="bce", bottleneck=4, epochs=2).network(workload, Context())
    >>> images = workload.test.images.read([0, 1, 2])
    >>> network.compute(images, "latent").shape, network.compute(images, "error").shape
    ((3, 4), (3,))
    """

    reference = (
        "Shafaei, Schmidt, Little: A less biased evaluation of out-of-distribution sample detectors, 2019 "
        "(AEThreshold)"
    )
    kind = "autoencoder"

    def __init__(
        self,
        *,
        loss: str = "mse",
        bottleneck: int = 32,
        width: int = 16,
        epochs: int = 30,
        batch_size: int = 32,
        learning_rate: float = 2e-3,
        patience: int = 5,
    ) -> None:
        check_choice("loss", loss, LOSSES)
        check_number("bottleneck", bottleneck, low=1, whole=True)
        check_number("width", width, low=1, whole=True)
        self._loss, self._bottleneck, self._width = loss, bottleneck, width
        self._schedule = Schedule(epochs, batch_size, learning_rate, patience)

    @property
    def _measure(self) -> str:
        return self._loss

    def _module(self, shape: tuple[int, int, int]) -> AutoencoderModule:
        return AutoencoderModule(shape, self._loss, self._bottleneck, self._width)

    def _network(
        self, module: AutoencoderModule, shape: tuple[int, int, int], curve: FloatArray
    ) -> AutoencoderNetwork:
        return AutoencoderNetwork(module, shape, curve, self._measure)
