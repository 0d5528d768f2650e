"""A variational autoencoder: what stands for an image is drawn, as from a normal distribution."""

from __future__ import annotations

import torch
from torch import Tensor

from farm.api import FloatArray, check_number
from models._convolutional import Encoder
from models._network_training import Schedule
from models._torch_network import TorchNetworkSource
from models.autoencoder import AutoencoderModule, AutoencoderNetwork


def divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Return the Kullback-Leibler divergence of normal distributions from the standard one, a row.

    Examples
    --------
    >>> divergence(torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.zeros(2, 2)).tolist()
    [0.0, 1.0]
    """
    return 0.5 * (mean**2 + log_variance.exp() - log_variance - 1).sum(dim=1)


class VAEModule(AutoencoderModule):
    """An encoder that gives a mean and a spread of each number, and a decoder of what is drawn from them."""

    def __init__(self, shape: tuple[int, int, int], bottleneck: int, width: int) -> None:
        super().__init__(shape, "bce", bottleneck, width)
        self.encoder = Encoder(shape, width, 2 * bottleneck)

    def posterior(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean and the logarithm of the variance of each number."""
        mean, log_variance = self.encoder(images).chunk(2, dim=1)
        return mean, log_variance

    def latent(self, images: Tensor) -> Tensor:
        """Return the means, so that nothing is left to chance once it is trained."""
        return self.posterior(images)[0]

    def losses(self, images: Tensor, rng: torch.Generator) -> Tensor:
        """Return the negative evidence lower bound, with one draw an image, a pixel."""
        mean, log_variance = self.posterior(images)
        drawn = mean + torch.exp(0.5 * log_variance) * torch.randn(mean.shape, generator=rng)
        return self.errors(self.decoder(drawn), images) + divergence(mean, log_variance) / images[0].numel()


class VAE(TorchNetworkSource):
    """A convolutional variational autoencoder; its layers follow from the size of the images.

    Its loss is the binary cross-entropy with pixels as targets and the Kullback-Leibler divergence of the
    latent numbers from a standard normal distribution, summed over an image as the evidence lower bound has
    them, then divided by its pixels. Its outputs are `latent`, the mean of the posterior, and `error`: the
    cross-entropy of the image drawn again from that mean, averaged over its pixels.

    Parameters
    ----------
    bottleneck
        Numbers that an image has to pass through.
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
    >>> network = VAE(bottleneck=4, epochs=2).network(workload, Context())
    >>> images = workload.test.images.read([0, 1, 2])
    >>> network.compute(images, "latent").shape, network.compute(images, "error").shape
    ((3, 4), (3,))
    """

    reference = "Kingma, Welling: Auto-encoding variational Bayes, ICLR 2014"
    kind = "vae"

    def __init__(
        self,
        *,
        bottleneck: int = 32,
        width: int = 16,
        epochs: int = 30,
        batch_size: int = 32,
        learning_rate: float = 2e-3,
        patience: int = 5,
    ) -> None:
        check_number("bottleneck", bottleneck, low=1, whole=True)
        check_number("width", width, low=1, whole=True)
        self._bottleneck, self._width = bottleneck, width
        self._schedule = Schedule(epochs, batch_size, learning_rate, patience)

    @property
    def _measure(self) -> str:
        return "bce+kl"

    def _module(self, shape: tuple[int, int, int]) -> VAEModule:
        return VAEModule(shape, self._bottleneck, self._width)

    def _network(
        self, module: AutoencoderModule, shape: tuple[int, int, int], curve: FloatArray
    ) -> AutoencoderNetwork:
        return AutoencoderNetwork(module, shape, curve, self._measure)
