"""A small residual network: blocks that add to what they are given, and one mean a channel at the end."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from farm.api import check_number
from models._trained import TrainedModel
from models.training import Recipe, jittered


class ResidualModule(nn.Module):
    """A convolution, three residual blocks, each with half the pixels and twice the channels, and a mean."""

    def __init__(self, shape: tuple[int, int, int], classes: int, width: int) -> None:
        super().__init__()
        # Of large images the first convolution takes every other pixel, as ResNets do.
        self.stem = nn.Conv2d(shape[0], width, 3, stride=2 if min(shape[1:]) >= 24 else 1, padding=1)
        self.block1 = _Block(width, width, 1)
        self.block2 = _Block(width, 2 * width, 2)
        self.block3 = _Block(2 * width, 4 * width, 2)
        self.norm = _norm(4 * width)
        self.fc = nn.Linear(4 * width, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits."""
        x = self.block3(self.block2(self.block1(self.stem(images))))
        logits: Tensor = self.fc(torch.relu(self.norm(x)).mean(dim=(2, 3)))
        return logits


class _Block(nn.Module):
    """Two convolutions, each after its normalisation, added to what came in."""

    def __init__(self, channels: int, wider: int, stride: int) -> None:
        super().__init__()
        self.norm1 = _norm(channels)
        self.conv1 = nn.Conv2d(channels, wider, 3, stride=stride, padding=1, bias=False)
        self.norm2 = _norm(wider)
        self.conv2 = nn.Conv2d(wider, wider, 3, padding=1, bias=False)
        changed = stride > 1 or channels != wider
        self.shortcut = nn.Conv2d(channels, wider, 1, stride=stride, bias=False) if changed else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        ready = torch.relu(self.norm1(x))
        added: Tensor = self.conv2(torch.relu(self.norm2(self.conv1(ready))))
        kept: Tensor = self.shortcut(x)
        return added + kept


def _norm(channels: int) -> nn.GroupNorm:
    # By groups: what an image becomes depends on no other, not even in training.
    return nn.GroupNorm(max(g for g in (1, 2, 4) if channels % g == 0), channels)


class ResidualSmall(TrainedModel):
    """A small residual network with group normalisation and a global mean before the last layer.

    It has no dropout, and so no members.

    Parameters
    ----------
    epochs
        At most this many passes over the training data.
    width
        Channels of the first block; the last has 4 times as many, which is the width of `last-hidden`.
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
    >>> ResidualSmall(epochs=3).parameters["width"]
    16
    """

    kind = "residual-small"
    smallest = 8
    reference = "He, Zhang, Ren, Sun: Identity mappings in deep residual networks, ECCV 2016"

    def __init__(
        self,
        *,
        epochs: int = 15,
        width: int = 16,
        batch_size: int = 64,
        learning_rate: float = 1e-2,
        weight_decay: float = 1e-4,
        patience: int = 5,
        augment: bool = False,
        loss: str = "cross-entropy",
    ) -> None:
        check_number("width", width, low=1, whole=True)
        self._width = width
        self._recipe = Recipe(
            epochs, batch_size, learning_rate, weight_decay, patience, jittered(augment), loss
        )

    def _network(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        return ResidualModule(shape, classes, self._width)
