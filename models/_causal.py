"""Convolutions that see of an image only what comes before a pixel: rows above, and pixels to its left.

Two streams, as in PixelCNN++: one sees all that is above, the other the row too, so that there is no blind
spot. Unlike there, images are not made smaller on the way; layers look further apart instead.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def shifted_down(x: Tensor) -> Tensor:
    """Move every row one down, so that a pixel has what was above it."""
    return F.pad(x, (0, 0, 1, 0))[:, :, :-1]


def shifted_right(x: Tensor) -> Tensor:
    """Move every column one to the right, so that a pixel has what was left of it."""
    return F.pad(x, (1, 0))[:, :, :, :-1]


class CausalConv(nn.Conv2d):
    """A convolution that sees no row below and, where `corner`, no column to the right."""

    def __init__(
        self, given: int, made: int, rows: int, columns: int, *, corner: bool = False, apart: int = 1
    ) -> None:
        super().__init__(given, made, (rows, columns), dilation=apart)
        reach = (columns - 1) * apart
        left = reach if corner else reach // 2
        self._pads = (left, reach - left, (rows - 1) * apart, 0)

    def forward(self, x: Tensor) -> Tensor:
        """Return as many rows and columns as there were."""
        return super().forward(F.pad(x, self._pads))


def _both_signs(x: Tensor) -> Tensor:
    return F.elu(torch.cat([x, -x], dim=1))


class Gated(nn.Module):
    """Two convolutions whose result is let through a gate and added."""

    def __init__(self, filters: int, apart: int, *, corner: bool) -> None:
        super().__init__()
        columns = 2 if corner else 3
        self.first = CausalConv(2 * filters, filters, 2, columns, corner=corner, apart=apart)
        self.second = CausalConv(2 * filters, 2 * filters, 2, columns, corner=corner, apart=apart)
        self.beside = nn.Conv2d(2 * filters, filters, 1) if corner else None

    def forward(self, x: Tensor, above: Tensor | None = None) -> Tensor:
        """Return x, changed; `above` is what the other stream knows."""
        change = self.first(_both_signs(x))
        if self.beside is not None and above is not None:
            change = change + self.beside(_both_signs(above))
        change, gate = self.second(_both_signs(change)).chunk(2, dim=1)
        changed: Tensor = x + change * torch.sigmoid(gate)
        return changed


class CausalStreams(nn.Module):
    """From an image, numbers for each pixel that depend on what comes before it alone."""

    def __init__(self, channels: int, filters: int, blocks: int, numbers: int) -> None:
        super().__init__()
        given = channels + 1
        self.above = CausalConv(given, filters, 2, 3)
        self.above_row = CausalConv(given, filters, 1, 3)
        self.left = CausalConv(given, filters, 2, 1, corner=True)
        apart = [2 ** (block % 3) for block in range(blocks)]
        self.rows = nn.ModuleList(Gated(filters, a, corner=False) for a in apart)
        self.corners = nn.ModuleList(Gated(filters, a, corner=True) for a in apart)
        self.last = nn.Conv2d(filters, numbers, 1)

    def forward(self, values: Tensor) -> Tensor:
        """Return n x numbers x height x width."""
        # The ones tell the image from what it is padded with.
        x = torch.cat([values, torch.ones_like(values[:, :1])], dim=1)
        above = shifted_down(self.above(x))
        corner = shifted_down(self.above_row(x)) + shifted_right(self.left(x))
        for row_block, corner_block in zip(self.rows, self.corners, strict=True):
            above = row_block(above)
            corner = corner_block(corner, above)
        numbers: Tensor = self.last(F.elu(corner))
        return numbers
