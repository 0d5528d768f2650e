"""What turns an image into features, and where dropout goes in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from torch import nn

from farm.api import JSON
from models._torchvision import enlarged, fit_resnet, for_channels, torchvision
from models._weights import fit_weights, read_weights

WHOLE = "backbone"
"""The name of a backbone that is one part."""


class Features(NamedTuple):
    """A backbone's parts by their names, one after the other, and how many features come out."""

    parts: dict[str, nn.Module]
    width: int


class Backbone(ABC):
    """From images to features, a row an image."""

    smallest: ClassVar[int] = 1
    takes_weights: ClassVar[bool] = False

    def check(self) -> None:
        """Raise where something is missing."""
        return

    def versions(self) -> Mapping[str, JSON]:
        """Return what else decides the weights."""
        return {}

    def size(self, shape: tuple[int, int, int]) -> tuple[int, int] | None:  # noqa: ARG002
        """Return the height and width that images are brought to; None where they stay as they are."""
        return None

    @abstractmethod
    def make(self, shape: tuple[int, int, int], rate: float) -> Features:
        """Make it, with dropout at a rate above 0."""

    def load(self, backbone: nn.Module, path: Path) -> None:
        """Put weights from a file into it, where it takes any."""
        raise NotImplementedError


class SmallBackbone(Backbone):
    """Three 3 x 3 convolutions, each halved by pooling, and the means of 4 x 4 places: for a processor.

    Dropout follows each ReLU.
    """

    smallest = 8
    WIDTHS = (16, 48, 32)
    PLACES = 4

    def make(self, shape: tuple[int, int, int], rate: float) -> Features:
        """Make it of parts, so that what comes before the first dropout is one for all passes."""
        parts: dict[str, nn.Module] = {}
        channels = shape[0]
        for i, width in enumerate(self.WIDTHS, start=1):
            parts |= {f"conv{i}": nn.Conv2d(channels, width, 3, padding=1), f"relu{i}": nn.ReLU()}
            if rate:
                parts[f"dropout{i}"] = nn.Dropout(rate)
            if min(shape[1:]) >> i >= self.PLACES:
                parts[f"pool{i}"] = nn.MaxPool2d(2)
            channels = width
        parts |= {"mean": nn.AdaptiveAvgPool2d(self.PLACES), "flatten": nn.Flatten()}
        return Features(parts, channels * self.PLACES**2)


class TorchvisionBackbone(Backbone):
    """A network of torchvision's without its last layer. Subclasses know their parts."""

    takes_weights = True
    function: ClassVar[str]
    last: ClassVar[str]
    """The linear layer that is left out."""

    def check(self) -> None:
        """Look for torchvision."""
        self._torchvision()

    def versions(self) -> Mapping[str, JSON]:
        """Return torchvision's version."""
        return {"torchvision": str(self._torchvision().__version__)}

    def size(self, shape: tuple[int, int, int]) -> tuple[int, int] | None:
        """Return what small images are enlarged to."""
        return enlarged(shape)

    def make(self, shape: tuple[int, int, int], rate: float) -> Features:
        """Make it with random weights; nothing is downloaded."""
        package = self._torchvision()
        made = getattr(package.models, self.function)()
        self._fit(made, shape[0], min(self.size(shape) or shape[1:]))
        width = made.get_submodule(self.last).in_features
        own_dropout = [name for name, part in made.named_modules() if isinstance(part, nn.Dropout)]
        for name in (self.last, *own_dropout):
            _replace(made, name, nn.Identity())
        if rate:
            for activation in list(self._activations(made, package.models)):
                _replace(made, activation, nn.Sequential(made.get_submodule(activation), nn.Dropout(rate)))
        return Features({WHOLE: made}, width)

    def load(self, backbone: nn.Module, path: Path) -> None:
        """Put weights of the whole network into it, such as torchvision offers them."""
        weights = read_weights(path)
        kept = {name: values for name, values in weights.items() if not name.startswith(f"{self.last}.")}
        remedy = f"take a state dict of torchvision's {self.function}, for images of as many channels"
        fit_weights(backbone, kept, path, remedy)

    def _torchvision(self) -> Any:
        return torchvision(f"backbone '{self.function}'")

    def _fit(self, made: Any, channels: int, side: int) -> None:
        """Make it take so many channels, at such a shorter side."""
        del side
        made.features[0][0] = for_channels(made.features[0][0], channels)

    @abstractmethod
    def _activations(self, made: nn.Module, models: Any) -> Iterator[str]:
        """Name the activations that dropout follows."""


class Resnet50Backbone(TorchvisionBackbone):
    """Dropout follows each ReLU in a residual block, three times the same part."""

    function, last = "resnet50", "fc"

    def _fit(self, made: Any, channels: int, side: int) -> None:
        fit_resnet(made, channels, side)

    def _activations(self, made: nn.Module, models: Any) -> Iterator[str]:
        return _inside(made, models.resnet.Bottleneck, nn.ReLU)


class EfficientNetBackbone(TorchvisionBackbone):
    """Dropout follows the swish before each depthwise convolution."""

    function, last = "efficientnet_b0", "classifier.1"

    def _activations(self, made: nn.Module, models: Any) -> Iterator[str]:
        # A block that does not widen begins with the depthwise convolution, whose swish comes behind it.
        wide = [
            name
            for name, part in made.named_modules()
            if isinstance(part, models.efficientnet.MBConv) and len(part.block) == 4
        ]
        return (
            f"{name}.block.0.{i}"
            for name in wide
            for i, part in made.get_submodule(f"{name}.block.0").named_children()
            if isinstance(part, nn.SiLU)
        )


class ConvNextBackbone(TorchvisionBackbone):
    """Dropout follows the GELU of each block."""

    function, last = "convnext_tiny", "classifier.2"

    def _activations(self, made: nn.Module, models: Any) -> Iterator[str]:
        return _inside(made, models.convnext.CNBlock, nn.GELU)


BACKBONES: Mapping[str, type[Backbone]] = {
    "cnn": SmallBackbone,
    "resnet50": Resnet50Backbone,
    "efficientnet-b0": EfficientNetBackbone,
    "convnext-tiny": ConvNextBackbone,
}


def _inside(made: nn.Module, block: type[nn.Module], activation: type[nn.Module]) -> Iterator[str]:
    """Name the activations of a kind in blocks of a kind."""
    for name, part in made.named_modules():
        if isinstance(part, block):
            yield from (f"{name}.{own}" for own, one in part.named_modules() if isinstance(one, activation))


def _replace(made: nn.Module, name: str, by: nn.Module) -> None:
    parent, _, own = name.rpartition(".")
    setattr(made.get_submodule(parent), own, by)
