"""What Pillow does to an image, done to a batch of them, by a number each.

Images are floats in [0, 1], N x C x H x W. Each gives what Pillow gives of the same in 8 bits, up to the
rounding that floats do without.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

LEVELS = 256
"""Of a channel of 8 bits."""
FILL = 128 / 255
"""What comes in where nothing was: grey."""
LUMINANCE = (0.299, 0.587, 0.114)
"""What red, green and blue add to grey (ITU-R 601-2), as Pillow has it."""


def sheared_x(images: Tensor, shares: Tensor) -> Tensor:
    """Move each row to the left by its depth times a share."""
    return _moved(images, [[1, shares, 0], [0, 1, 0]])


def sheared_y(images: Tensor, shares: Tensor) -> Tensor:
    """Move each column up by its distance from the left edge times a share."""
    return _moved(images, [[1, 0, 0], [shares, 1, 0]])


def translated_x(images: Tensor, shares: Tensor) -> Tensor:
    """Move all to the left by a share of the width."""
    return _moved(images, [[1, 0, shares * images.shape[3]], [0, 1, 0]])


def translated_y(images: Tensor, shares: Tensor) -> Tensor:
    """Move all up by a share of the height."""
    return _moved(images, [[1, 0, 0], [0, 1, shares * images.shape[2]]])


def rotated(images: Tensor, degrees: Tensor) -> Tensor:
    """Turn around the centre, against the clock."""
    height, width = images.shape[2:]
    cos, sin = torch.cos(torch.deg2rad(degrees)), torch.sin(torch.deg2rad(degrees))
    x, y = width / 2, height / 2
    return _moved(images, [[cos, -sin, x - cos * x + sin * y], [sin, cos, y - sin * x - cos * y]])


def _moved(images: Tensor, rows: list[list[Tensor | float]]) -> Tensor:
    """Take each pixel from where two rows of an affine map send its centre, from the nearest pixel there."""
    channels, height, width = images.shape[1:]
    x = torch.arange(width, dtype=torch.float64) + 0.5
    y = (torch.arange(height, dtype=torch.float64) + 0.5)[:, None]
    column, line = (
        (by_x * x + by_y * y + shift).floor().long()
        for by_x, by_y, shift in ([torch.as_tensor(each).view(-1, 1, 1) for each in row] for row in rows)
    )
    inside = (column >= 0) & (column < width) & (line >= 0) & (line < height)
    place = line.clamp(0, height - 1) * width + column.clamp(0, width - 1)
    place = place.flatten(1)[:, None].expand(len(images), channels, -1)
    return torch.where(inside[:, None], images.flatten(2).gather(2, place).view_as(images), FILL)


def inverted(images: Tensor, _: Tensor) -> Tensor:
    """Turn black into white and white into black."""
    return 1 - images


def solarised(images: Tensor, thresholds: Tensor) -> Tensor:
    """Invert what is at least as bright as a level."""
    return torch.where(_levels(images) >= _spread(thresholds), 1 - images, images)


def posterised(images: Tensor, bits: Tensor) -> Tensor:
    """Keep the leading bits of each channel's eight."""
    steps = 2 ** (8 - _spread(bits.round()).long())
    return (_levels(images) // steps * steps).to(images.dtype) / (LEVELS - 1)


def with_full_contrast(images: Tensor, _: Tensor) -> Tensor:
    """Stretch each channel from black to white; one that is all the same stays as it is."""
    low, high = images.amin(dim=(2, 3), keepdim=True), images.amax(dim=(2, 3), keepdim=True)
    return torch.where(high > low, (images - low) / (high - low), images)


def equalised(images: Tensor, _: Tensor) -> Tensor:
    """Bring each channel's levels apart so that all are as frequent, as far as that goes."""
    levels = _levels(images).flatten(2).flatten(0, 1)
    counts = torch.zeros(len(levels), LEVELS, dtype=torch.long).scatter_add_(
        1, levels, torch.ones_like(levels)
    )
    last = counts.gather(1, levels.amax(dim=1, keepdim=True))
    step = (levels.shape[1] - last) // (LEVELS - 1)
    before = counts.cumsum(dim=1) - counts
    table = ((before + step // 2) // step.clamp(min=1)).clamp(max=LEVELS - 1)
    found = table.gather(1, levels).to(images.dtype) / (LEVELS - 1)
    return torch.where(step > 0, found, images.flatten(2).flatten(0, 1)).view_as(images)


def with_colour(images: Tensor, factors: Tensor) -> Tensor:
    """Bring colours nearer to grey (0), or farther from it than they are (above 1)."""
    return _blended(_grey(images), images, factors)


def with_contrast(images: Tensor, factors: Tensor) -> Tensor:
    """Bring pixels nearer to the mean grey (0), or farther from it than they are (above 1)."""
    return _blended(_grey(images).mean(dim=(2, 3), keepdim=True), images, factors)


def with_brightness(images: Tensor, factors: Tensor) -> Tensor:
    """Multiply all."""
    return (images * _spread(factors).to(images.dtype)).clamp(0, 1)


def with_sharpness(images: Tensor, factors: Tensor) -> Tensor:
    """Bring pixels nearer to a smoothed image (0), or farther from it (above 1); the border stays."""
    smooth, inner = images.clone(), images[:, :, 1:-1, 1:-1]
    smooth[:, :, 1:-1, 1:-1] = (9 * F.avg_pool2d(images, 3, stride=1) + 4 * inner) / 13
    return _blended(smooth, images, factors)


def _blended(none: Tensor, images: Tensor, factors: Tensor) -> Tensor:
    """Return what a factor of 0 gives, or the image itself (1), or what lies between or beyond."""
    return torch.lerp(none.expand_as(images), images, _spread(factors).to(images.dtype)).clamp(0, 1)


def _grey(images: Tensor) -> Tensor:
    if images.shape[1] != len(LUMINANCE):
        return images.mean(dim=1, keepdim=True)
    weights = torch.tensor(LUMINANCE, dtype=images.dtype)
    return (images * weights.view(1, -1, 1, 1)).sum(dim=1, keepdim=True)


def _levels(images: Tensor) -> Tensor:
    return (images * (LEVELS - 1)).round().long()


def _spread(values: Tensor) -> Tensor:
    return values.view(-1, 1, 1, 1)
