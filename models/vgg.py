"""VGG-like: blocks of 3 x 3 convolutions, then linear layers with dropout, so that it can give members."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from farm.api import check_number
from models._trained import TrainedModel
from models.training import Recipe, jittered


class VggModule(nn.Module):
    """Two blocks of convolutions and a pooling, or more, until a side has 4 pixels; three linear layers.

    The first block, which sees the most pixels, has one convolution, the others two.
    """

    def __init__(self, shape: tuple[int, int, int], classes: int, width: int, dropout: float) -> None:
        super().__init__()
        channels, height, across = shape
        blocks: list[nn.Module] = []
        while len(blocks) < 2 or (min(height, across) > 4 and len(blocks) < 5):
            wider = width * 2 ** min(len(blocks), 3)
            blocks.append(_Block(channels, wider, convolutions=2 if blocks else 1))
            channels, height, across = wider, height // 2, across // 2
        self.blocks = nn.Sequential(*blocks)
        hidden = 8 * width
        self.fc1 = nn.Linear(channels * height * across, hidden)
        self.dropout1 = nn.Dropout(dropout)
        self.fc2 = nn.Linear(hidden, hidden)
        self.dropout2 = nn.Dropout(dropout)
        self.fc3 = nn.Linear(hidden, classes)
        for part in self.modules():
            if isinstance(part, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
                nn.init.zeros_(part.bias)  # type: ignore[arg-type] # each of them has one

    def forward(self, images: Tensor) -> Tensor:
        """Return logits."""
        x = self.blocks(images).flatten(1)
        x = self.dropout1(torch.relu(self.fc1(x)))
        x = self.dropout2(torch.relu(self.fc2(x)))
        logits: Tensor = self.fc3(x)
        return logits


class _Block(nn.Module):
    def __init__(self, channels: int, wider: int, convolutions: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, wider, 3, padding=1)
        self.conv2 = nn.Conv2d(wider, wider, 3, padding=1) if convolutions == 2 else None

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.conv1(x))
        if self.conv2 is not None:
            x = torch.relu(self.conv2(x))
        return F.max_pool2d(x, 2)


class VggSmall(TrainedModel):
    """A small VGG: 3 x 3 convolutions in blocks, each with more channels, and dropout between linear layers.

    With dropout it gives `members`, for MC-Dropout: passes with dropout, whose masks are the same for all
    images and follow from the experiment's seed.

    Parameters
    ----------
    epochs
        At most this many passes over the training data.
    width
        Channels of the first block; later ones have up to 8 times, as the linear layers do.
    dropout
        The share of hidden values that is dropped, in training and in members; at 0 it has no members.
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
    >>> VggSmall(epochs=3).parameters["dropout"]
    0.5
    """

    kind = "vgg-small"
    smallest = 8
    reference = (
        "Simonyan, Zisserman: Very deep convolutional networks for large-scale image recognition, 2015"
    )

    def __init__(
        self,
        *,
        epochs: int = 15,
        width: int = 16,
        dropout: float = 0.5,
        batch_size: int = 64,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-4,
        patience: int = 5,
        augment: bool = False,
        loss: str = "cross-entropy",
    ) -> None:
        check_number("width", width, low=1, whole=True)
        check_number("dropout", dropout, low=0, high=0.95)
        self._width, self._dropout = width, dropout
        self._recipe = Recipe(
            epochs, batch_size, learning_rate, weight_decay, patience, jittered(augment), loss
        )

    def _network(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        return VggModule(shape, classes, self._width, self._dropout)
