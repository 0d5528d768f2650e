"""Boxes as numbers that a network learns: three encodings, and the losses that compare boxes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from farm.api import BOX, BOX_SPREAD, Split, check_choice
from farm.errors import DataError, RequirementError

DDOF = 1
"""The degrees of freedom that the spread takes off."""
ENCODINGS = ("corners", "centre", "anchor")
LOSSES = ("mae", "mse", "iou", "distance-iou")


class BoxDecoder(nn.Module):
    """From four numbers a row to left, top, right, bottom in pixels; `encode` is its inverse.

    Parameters
    ----------
    encoding
        `corners` (left, top, right, bottom) and `centre` (its place, width, height) are shares of the image's
        width and height. `anchor` is relative to one box: the centre's way from its centre, in its widths and
        heights, and the logarithms of how many times as wide and as high.
    height, width
        The image's.

    Examples
    --------
    >>> decoder = BoxDecoder("centre", 32, 64)
    >>> decoder.encode(torch.tensor([[16.0, 0.0, 48.0, 16.0]])).tolist()
    [[0.5, 0.25, 0.5, 0.5]]
    >>> decoder(torch.tensor([[0.5, 0.25, 0.5, 0.5]])).tolist()
    [[16.0, 0.0, 48.0, 16.0]]
    """

    sides: Tensor
    anchor: Tensor

    def __init__(self, encoding: str, height: int, width: int) -> None:
        super().__init__()
        check_choice("encoding", encoding, ENCODINGS)
        self._encoding = encoding
        sides = torch.tensor([width, height, width, height], dtype=torch.float32)
        self.register_buffer("sides", sides, persistent=False)
        self.register_buffer("anchor", torch.tensor([0, 0, width, height], dtype=torch.float32))

    def encode(self, boxes: Tensor) -> Tensor:
        """Return what the network is to give for these boxes."""
        if self._encoding == "corners":
            return boxes / self.sides
        place = _placed(boxes)
        if self._encoding == "centre":
            return place / self.sides
        anchor = _placed(self.anchor)
        return torch.cat([(place - anchor)[:, :2] / anchor[2:], (place[:, 2:] / anchor[2:]).log()], dim=1)

    def forward(self, encoded: Tensor) -> Tensor:
        """Return the boxes."""
        if self._encoding == "corners":
            return encoded * self.sides
        place = encoded * self.sides
        if self._encoding == "anchor":
            anchor = _placed(self.anchor)
            sizes = encoded[:, 2:].exp() * anchor[2:]
            place = torch.cat([encoded[:, :2] * anchor[2:] + anchor[:2], sizes], dim=1)
        centre, half = place[:, :2], place[:, 2:] / 2
        return torch.cat([centre - half, centre + half], dim=1)


def _placed(boxes: Tensor) -> Tensor:
    """Return centre, width and height."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return torch.cat([(low + high) / 2, high - low], dim=-1)


def box_losses(loss: str, decoder: BoxDecoder) -> Callable[[Tensor, Tensor], Tensor]:
    """Return what makes a loss a row of what a network gave, and of the boxes that it should have given.

    `mae` and `mse` compare encoded numbers; `iou` and `distance-iou` compare boxes.
    """
    check_choice("box_loss", loss, LOSSES)
    if loss == "iou":
        return lambda given, boxes: 1 - overlap(decoder(given), boxes)
    if loss == "distance-iou":
        return lambda given, boxes: distance_iou(decoder(given), boxes)
    power = {"mae": 1, "mse": 2}[loss]
    return lambda given, boxes: (given - decoder.encode(boxes)).abs().pow(power).mean(dim=1)


def overlap(boxes: Tensor, others: Tensor) -> Tensor:
    """Return intersection over union, a row; of boxes whose corners are swapped nothing overlaps.

    Examples
    --------
    >>> overlap(torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[0.0, 0, 1, 2]])).item()
    0.5
    """
    low = torch.maximum(boxes[:, :2], others[:, :2])
    high = torch.minimum(boxes[:, 2:], others[:, 2:])
    common = (high - low).clamp(min=0).prod(dim=1)
    areas = [(one[:, 2:] - one[:, :2]).clamp(min=0).prod(dim=1) for one in (boxes, others)]
    return common / (areas[0] + areas[1] - common)


def distance_iou(boxes: Tensor, others: Tensor) -> Tensor:
    """Return 1 - IoU, and beside it how far the centres are apart: by the diagonal of what bounds both.

    Both are squared (Zheng et al., AAAI 2020), so that boxes apart have a slope, too.
    """
    low = torch.minimum(boxes[:, :2], others[:, :2])
    high = torch.maximum(boxes[:, 2:], others[:, 2:])
    apart = (_placed(boxes) - _placed(others))[:, :2].square().sum(dim=1)
    return 1 - overlap(boxes, others) + apart / (high - low).square().sum(dim=1)


def mean_box(boxes: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """Return the mean over passes or networks, and its spread where there are several.

    Examples
    --------
    >>> found = mean_box(np.array([[[1, 2, 3, 4]], [[3, 2, 3, 4]]], np.float32))
    >>> found["box"].tolist(), found["box_spread"].round(3).tolist()
    ([[2.0, 2.0, 3.0, 4.0]], [[1.4140000343322754, 0.0, 0.0, 0.0]])
    """
    first = boxes[0].astype(np.float64)
    apart = boxes - first  # of members that agree exactly 0, whatever a sum of them is rounded to
    found = {BOX: (first + apart.mean(axis=0)).astype(np.float32)}
    if len(boxes) > DDOF:
        found[BOX_SPREAD] = apart.std(axis=0, ddof=DDOF).astype(np.float32)
    return found


def boxes_of(split: Split, workload: str, size: tuple[int, int] | None = None) -> Tensor:
    """Return a split's boxes to learn from, of which each has to be one.

    They are in pixels of the images, or of images that are brought to a height and width.
    """
    where = f"workload '{workload}', split '{split.name}'"
    if split.boxes is None:
        raise RequirementError(
            f"{where} has no boxes to learn from; expected left, top, right, bottom of each image: take "
            "'signs', or a table or folder with columns of boxes"
        )
    boxes = split.boxes
    right = np.isfinite(boxes).all(axis=1) & (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    if not right.all():
        at = int(np.flatnonzero(~right)[0])
        box = f"the box [{', '.join(f'{value:g}' for value in boxes[at])}]"
        told = "no box" if np.isnan(boxes[at]).all() else box
        raise DataError(
            f"{where}: image '{split.ids[at]}' has {told}; expected left < right and top < bottom "
            "in pixels: mend the box, or leave the image out"
        )
    height, width = split.images.shape[1:]
    across, down = (1.0, 1.0) if size is None else (size[1] / width, size[0] / height)
    return torch.from_numpy((boxes * [across, down, across, down]).astype(np.float32))
