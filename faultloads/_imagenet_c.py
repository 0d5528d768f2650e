"""What the corruptions of ImageNet-C share: their origin, levels of several numbers, sizes in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from farm.api import Category, Images, Transformation, at_severity, check_number


class ImageNetC(Transformation):
    """A shift as ImageNet-C defines it."""

    category: ClassVar[Category] = "shift"
    reference = (
        "Hendrycks, Dietterich: Benchmarking neural network robustness to common corruptions, ICLR 2019"
    )
    origin = "ImageNet-C (Hendrycks and Dietterich, 2019)"


class SizedImageNetC(ImageNetC):
    """One with sizes in pixels: as published for images of any size, unless `made_for` scales them."""

    def __init__(self, *, made_for: int | None = None) -> None:
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
