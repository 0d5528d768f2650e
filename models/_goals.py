"""What networks that say where an object is are trained for: boxes, or classes and boxes at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from farm.api import BOX, Split
from models._answers import LOGITS
from models._boxes import BoxDecoder, box_losses, boxes_of, overlap
from models.training import Goal, Labels


class Boxes(Goal):
    """The box of each image, by the encoded numbers that a module gives as `box`.

    Parameters
    ----------
    loss, decoder
        Which loss, and how numbers are encoded.
    workload, size
        Its name, and the height and width that its images are brought to.
    """

    def __init__(
        self, loss: str, decoder: BoxDecoder, workload: str, size: tuple[int, int] | None = None
    ) -> None:
        self.loss = loss
        self._losses, self._decoder = box_losses(loss, decoder), decoder
        self._workload, self._size = workload, size

    def targets(self, split: Split) -> Tensor:
        """Return its boxes, in the pixels that the decoder counts."""
        return boxes_of(split, self._workload, self._size)

    def training_loss(self, module: nn.Module, images: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of the boxes."""
        return self._losses(module(images)[BOX], targets).mean()

    def summed_loss(self, given: Any, targets: Tensor) -> Tensor:
        """Return the sum of the losses of the boxes."""
        return self._losses(given[BOX], targets).sum()

    def scores(self, given: Any, targets: Tensor) -> dict[str, Tensor]:
        """Return how far the boxes overlap with the right ones."""
        return {"train_iou": overlap(self._decoder(given[BOX]), targets)}


class LabelsAndBoxes(Goal):
    """Both, by a module that gives `logits` and `box`; the loss of boxes counts so many times as much."""

    def __init__(self, boxes: Boxes, weight: float) -> None:
        self._labels, self._boxes, self._weight = Labels("cross-entropy"), boxes, weight
        self.loss = f"{self._labels.loss} + {weight:g} {boxes.loss}"

    def targets(self, split: Split) -> Tensor:
        """Return its boxes, and its labels in a fifth column."""
        return torch.cat([self._boxes.targets(split), self._labels.targets(split)[:, None].float()], dim=1)

    def training_loss(self, module: nn.Module, images: Tensor, targets: Tensor) -> Tensor:
        """Return the mean of both losses."""
        return self.summed_loss(module(images), targets) / len(targets)

    def summed_loss(self, given: Any, targets: Tensor) -> Tensor:
        """Return the sum of both losses."""
        classes = self._labels.summed_loss(given[LOGITS], targets[:, 4].long())
        return classes + self._weight * self._boxes.summed_loss(given, targets[:, :4])

    def scores(self, given: Any, targets: Tensor) -> dict[str, Tensor]:
        """Return the scores of both."""
        boxes = self._boxes.scores(given, targets[:, :4])
        return self._labels.scores(given[LOGITS], targets[:, 4].long()) | boxes
