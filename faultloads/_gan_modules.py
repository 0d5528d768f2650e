"""The two networks of a conditional DCGAN for images of any size: who draws, and who tells what is real."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

MAPS = 8
"""So many maps beside an image tell the discriminator its class. Each has one value everywhere: a single map
with a value for each pixel was all but ignored, and hardly any image became one of the class asked for."""


def sides(side: int) -> list[int]:
    """Return the sizes that a side of an image goes through, from the smallest on.

    >>> sides(64), sides(23)
    ([4, 8, 16, 32, 64], [2, 3, 6, 12, 23])
    """
    return [-(-side // 2**halved) for halved in (4, 3, 2, 1, 0)]


class Generator(nn.Module):
    """Five transposed convolutions, from noise and a class to an image with values from 0 to 1."""

    def __init__(self, shape: tuple[int, int, int], classes: int, width: int, latent: int) -> None:
        super().__init__()
        channels, height, across = shape
        self._sizes = list(zip(sides(height), sides(across), strict=True))
        self.embedding = nn.Embedding(classes, latent)
        filters = [8 * width, 4 * width, 2 * width, width, channels]
        first = nn.ConvTranspose2d(2 * latent, filters[0], self._sizes[0], bias=False)
        later = [
            # The last has no normalisation behind it, so that it needs a bias.
            nn.ConvTranspose2d(filters[i], filters[i + 1], 4, stride=2, padding=1, bias=i == 3)
            for i in range(4)
        ]
        self.convolutions = nn.ModuleList([first, *later])
        self.norms = nn.ModuleList(nn.BatchNorm2d(n) for n in filters[:-1])
        self.apply(_draw_weights)

    def forward(self, noise: Tensor, labels: Tensor) -> Tensor:
        """Draw an image of each of these classes."""
        x = torch.cat([noise, self.embedding(labels)], dim=1)[:, :, None, None]
        for convolution, norm, (height, across) in zip(
            self.convolutions, self.norms, self._sizes, strict=False
        ):
            x = torch.relu(norm(convolution(x)[:, :, :height, :across]))
        height, across = self._sizes[-1]
        return torch.sigmoid(self.convolutions[-1](x)[:, :, :height, :across])


class Discriminator(nn.Module):
    """Five convolutions, from an image and its class to one number: the higher, the more it looks real."""

    def __init__(self, shape: tuple[int, int, int], classes: int, width: int) -> None:
        super().__init__()
        channels, height, across = shape
        self.embedding = nn.Embedding(classes, MAPS)
        filters = [channels + MAPS, width, 2 * width, 4 * width, 8 * width]
        earlier = [
            nn.Conv2d(filters[i], filters[i + 1], 4, stride=2, padding=1, bias=i == 0) for i in range(4)
        ]
        last = nn.Conv2d(filters[-1], 1, (sides(height)[0], sides(across)[0]))
        self.convolutions = nn.ModuleList([*earlier, last])
        self.norms = nn.ModuleList([nn.Identity(), *(nn.BatchNorm2d(n) for n in filters[2:])])
        self.apply(_draw_weights)

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        """Return one number an image."""
        maps = self.embedding(labels)[:, :, None, None].expand(-1, -1, *images.shape[2:])
        x = torch.cat([2 * images - 1, maps], dim=1)
        for convolution, norm in zip(self.convolutions, self.norms, strict=False):
            # An odd side gets one pixel more, so that half of it is rounded up as in the generator.
            x = F.pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2))
            x = F.leaky_relu(norm(convolution(x)), 0.2)
        score: Tensor = self.convolutions[-1](x).flatten()
        return score


def _draw_weights(part: nn.Module) -> None:
    """Draw the weights as DCGANs have them."""
    if isinstance(part, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.normal_(part.weight, 0, 0.02)
    elif isinstance(part, nn.BatchNorm2d):
        nn.init.normal_(part.weight, 1, 0.02)
