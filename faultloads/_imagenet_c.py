"""What the corruptions of ImageNet-C share: their origin, levels of several numbers, sizes in pixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from farm.api import Category, Images, ObjectFate, Transformation, at_severity, check_choice, check_number

IMAGENET_C, CIFAR_10_C = "imagenet-c", "cifar-10-c"


class ImageNetC(Transformation):
    """A corruption as ImageNet-C defines it, at its levels or at the milder ones of CIFAR-10-C.

    A subclass has the numbers of each level in `LEVELS`: those of make_imagenet_c.py, and those of
    make_cifar_c.py, which the authors of the benchmark for safety monitors took over.
    """

    LEVELS: ClassVar[Mapping[str, Sequence[Any]]]
    """For each choice of `levels` the number or the numbers of severities 1 to 5."""

    category: ClassVar[Category] = "shift"
    objects: ClassVar[ObjectFate] = "stay"
    reference = (
        "Hendrycks, Dietterich: Benchmarking neural network robustness to common corruptions, ICLR 2019"
    )
    origin = "ImageNet-C (Hendrycks and Dietterich, 2019)"

    def __init__(self, *, levels: str = IMAGENET_C) -> None:
        check_choice("levels", levels, tuple(self.LEVELS))
        self._levels = self.LEVELS[levels]


class SizedImageNetC(ImageNetC):
    """One with sizes in pixels: as published for images of any size, unless `made_for` scales them."""

    def __init__(self, *, made_for: int | None = None, levels: str = IMAGENET_C) -> None:
        super().__init__(levels=levels)
        if made_for is not None:
            check_number("made_for", made_for, low=1, whole=True)
        self._made_for = made_for

    def _scale(self, images: Images) -> float:
        return min(images.shape[2:]) / self._made_for if self._made_for else 1.0


def at_levels(severity: float, levels: Sequence[Sequence[float]], neutral: Sequence[float]) -> list[float]:
    """Return each of a level's numbers at a severity; `neutral` is where they change nothing.

    Examples
    --------
    >>> at_levels(1.5, [(1.5, 2), (2.5, 1)], neutral=(0, 2))
    [2.0, 1.5]
    """
    columns = zip(*levels, strict=True)
    return [at_severity(severity, column, at_zero) for column, at_zero in zip(columns, neutral, strict=True)]


def mixed(images: Images, severity: float, at_level: Callable[[int], Images]) -> Images:
    """Return what a level makes of the images; between two levels, a mixture of both."""
    level, share = int(severity), np.float32(severity % 1)
    result = at_level(level) if level else images
    return result + share * (at_level(level + 1) - result) if share else result
