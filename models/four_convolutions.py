"""Four convolutions and no dense layer: the classifier that a GAN learns to please or to puzzle."""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor, nn

from farm.api import check_number
from models._trained import TrainedModel
from models.training import Recipe, jittered


class FourConvolutionsModule(nn.Module):
    """Four convolutions, the first three with batch normalisation and half the pixels each, and a mean."""

    def __init__(self, shape: tuple[int, int, int], classes: int, width: int) -> None:
        super().__init__()
        channels, parts = shape[0], OrderedDict[str, nn.Module]()
        for number in (1, 2, 3):
            wider = width * 2 ** (number - 1)
            parts[f"conv{number}"] = nn.Conv2d(channels, wider, 3, stride=2, padding=1, bias=False)
            parts[f"norm{number}"], parts[f"relu{number}"] = nn.BatchNorm2d(wider), nn.ReLU()
            channels = wider
        parts["conv4"] = nn.Conv2d(channels, classes, 3, padding=1)
        self.features = nn.Sequential(parts)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits: what the last convolution sees of each class, averaged over the image."""
        logits: Tensor = self.features(images).mean(dim=(2, 3))
        return logits


class FourConvolutions(TrainedModel):
    """Four convolutions with batch normalisation, of which the last has one filter a class.

    The logits are the means of its maps. There is no dense layer, so that it is built otherwise than the
    classifiers under test: the surrogate on which GANs are trained that make OOD images.

    Parameters
    ----------
    epochs
        At most this many passes over the training data.
    width
        Filters of the first convolution; the second and third have 2 and 4 times as many. The source has 64.
    batch_size, learning_rate, weight_decay
        The optimiser's settings (AdamW, one cycle).
    patience
        Stop after this many epochs without a lower validation loss.
    augment
        Turn, scale, shift and relight training images a little.

    Examples
    --------
    >>> FourConvolutions(width=64).parameters["width"]
    64
    """

    kind = "four-convolutions"
    smallest = 1
    reference = "Heindrich: An evaluation framework for robustness, Utrecht University 2020, 3.2"

    def __init__(
        self,
        *,
        epochs: int = 30,
        width: int = 16,
        batch_size: int = 64,
        learning_rate: float = 1e-2,
        weight_decay: float = 1e-4,
        patience: int = 5,
        augment: bool = True,
    ) -> None:
        check_number("width", width, low=1, whole=True)
        self._width = width
        self._recipe = Recipe(epochs, batch_size, learning_rate, weight_decay, patience, jittered(augment))

    def _network(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        return FourConvolutionsModule(shape, classes, self._width)
