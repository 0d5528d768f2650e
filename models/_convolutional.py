"""An encoder and a decoder of convolutions, made to measure for images of any size."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

SMALLEST = 4
"""Images are halved until no side is longer."""


def halvings(height: int, width: int) -> list[tuple[int, int]]:
    """Return the sizes that an image goes through, its own first; odd sides are rounded up.

    Examples
    --------
    >>> halvings(9, 16)
    [(9, 16), (5, 8), (3, 4)]
    """
    sizes = [(height, width)]
    while max(sizes[-1]) > SMALLEST:
        sizes.append((-(-sizes[-1][0] // 2), -(-sizes[-1][1] // 2)))
    return sizes


def _channels(shape: tuple[int, int, int], width: int, stages: int) -> list[int]:
    return [shape[0], *(width * min(4, 2**stage) for stage in range(stages))]


class Encoder(nn.Module):
    """Halves an image until it is small, then tells it in a few numbers."""

    def __init__(self, shape: tuple[int, int, int], width: int, numbers: int) -> None:
        super().__init__()
        sizes = halvings(*shape[1:])
        channels = _channels(shape, width, len(sizes) - 1)
        pairs = pairwise(channels)
        self.stages = nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in pairs)
        self.last = nn.Linear(channels[-1] * sizes[-1][0] * sizes[-1][1], numbers)

    def forward(self, images: Tensor) -> Tensor:
        """Return the numbers, a row an image."""
        x = images * 2 - 1
        for stage in self.stages:
            x = torch.relu(stage(x))
        numbers: Tensor = self.last(x.flatten(1))
        return numbers


class Decoder(nn.Module):
    """The way back: from the numbers to an image of the same size, as logits a pixel."""

    def __init__(self, shape: tuple[int, int, int], width: int, numbers: int) -> None:
        super().__init__()
        self._sizes = halvings(*shape[1:])[::-1]
        channels = _channels(shape, width, len(self._sizes) - 1)[::-1]
        self._small = (channels[0], *self._sizes[0])
        self.first = nn.Linear(numbers, channels[0] * self._sizes[0][0] * self._sizes[0][1])
        pairs = pairwise(channels)
        self.stages = nn.ModuleList(nn.ConvTranspose2d(a, b, 4, stride=2, padding=1) for a, b in pairs)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return logits of the pixels."""
        x = self.first(numbers).unflatten(1, self._small)
        for stage, (height, width) in zip(self.stages, self._sizes[1:], strict=True):
            x = stage(torch.relu(x))[:, :, :height, :width]
        logits: Tensor = x
        return logits
