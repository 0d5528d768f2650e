"""VGG-16 and ResNet-50 as torchvision has them, an extra: `pip install 'farm-testbed[vision]'`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import nn

from farm.api import JSON, Context
from models._torchvision import enlarged, fit_resnet, for_channels, torchvision
from models._trained import TrainedModel
from models.training import Recipe, jittered


class _TorchvisionModel(TrainedModel):
    """A network of torchvision's, with random weights to begin with."""

    smallest = 1
    function: ClassVar[str]
    """What makes it."""

    def check(self, context: Context) -> None:
        """Look for torchvision, before anything is computed."""
        del context
        torchvision(f"model '{self.name}'")

    def _size(self, shape: tuple[int, int, int]) -> tuple[int, int] | None:
        return enlarged(shape)

    def _versions(self) -> Mapping[str, JSON]:
        return {"torchvision": str(torchvision(f"model '{self.name}'").__version__)}

    def _network(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        make = getattr(torchvision(f"model '{self.name}'").models, self.function)
        # Nothing is downloaded: `weights` is None by default.
        made: nn.Module = make(num_classes=classes)
        self._adapt(made, shape[0], min(self._size(shape) or shape[1:]))
        return made

    @abstractmethod
    def _adapt(self, made: Any, channels: int, side: int) -> None:
        """Make it take so many channels, at such a shorter side."""


class Vgg16(_TorchvisionModel):
    """VGG-16 of torchvision, trained here from random weights: for large sets, and not in seconds.

    Needs the extra `vision`. Images below 32 pixels are enlarged to 32. It has dropout between its linear
    layers, and so gives `members`, for MC-Dropout.

    Parameters
    ----------
    epochs
        At most this many passes over the training data.
    batch_size, learning_rate, weight_decay
        The optimiser's settings (AdamW, one cycle).
    patience
        Stop after this many epochs without a lower validation loss.
    augment
        Turn, scale, shift and relight training images a little.
    loss
        `cross-entropy`; `logistic`, each class against all others; or `adversarial`, cross-entropy on each
        batch and on its FGSM examples.

    Examples
    --------
    >>> Vgg16(loss="logistic").parameters["epochs"]
    30
    """

    kind = "vgg16"
    function = "vgg16"
    reference = (
        "Simonyan, Zisserman: Very deep convolutional networks for large-scale image recognition, 2015"
    )

    def __init__(
        self,
        *,
        epochs: int = 30,
        batch_size: int = 64,
        learning_rate: float = 3e-4,
        weight_decay: float = 1e-4,
        patience: int = 5,
        augment: bool = False,
        loss: str = "cross-entropy",
    ) -> None:
        self._recipe = Recipe(
            epochs, batch_size, learning_rate, weight_decay, patience, jittered(augment), loss
        )

    def _adapt(self, made: Any, channels: int, side: int) -> None:
        del side
        made.features[0] = for_channels(made.features[0], channels)


class Resnet50(_TorchvisionModel):
    """ResNet-50 of torchvision, trained here from random weights: for large sets, and not in seconds.

    Needs the extra `vision`. Images below 32 pixels are enlarged to 32; below 64 the first convolution has
    3 x 3 pixels and takes every pixel, and the first pooling is left out, as is usual for small images. It
    has no dropout, and so no members.

    Parameters
    ----------
    epochs
        At most this many passes over the training data.
    batch_size, learning_rate, weight_decay
        The optimiser's settings (AdamW, one cycle); a batch has two images at least.
    patience
        Stop after this many epochs without a lower validation loss.
    augment
        Turn, scale, shift and relight training images a little.
    loss
        `cross-entropy`; `logistic`, each class against all others; or `adversarial`, cross-entropy on each
        batch and on its FGSM examples.

    Examples
    --------
    >>> Resnet50(epochs=90).parameters["batch_size"]
    64
    """

    kind = "resnet50"
    function = "resnet50"
    reference = "He, Zhang, Ren, Sun: Deep residual learning for image recognition, CVPR 2016"

    def __init__(
        self,
        *,
        epochs: int = 30,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
        patience: int = 5,
        augment: bool = False,
        loss: str = "cross-entropy",
    ) -> None:
        self._recipe = Recipe(
            epochs, batch_size, learning_rate, weight_decay, patience, jittered(augment), loss
        )

    def _adapt(self, made: Any, channels: int, side: int) -> None:
        fit_resnet(made, channels, side)
