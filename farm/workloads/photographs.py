"""Crops of two photographs that come with scikit-learn: natural images without a download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import (
    ArrayImages,
    Context,
    IntArray,
    OODImages,
    Split,
    Workload,
    WorkloadSource,
    check_number,
    generator,
    image_digests,
)
from farm.errors import ParameterError

Photograph: TypeAlias = NDArray[np.uint8]
CLASSES = ("china", "flower")
WHOLE = "whole"
PARTS: Mapping[str, tuple[float, float]] = {"train": (0, 0.6), "validation": (0.6, 0.8), "test": (0.8, 1)}
"""Which columns of a photograph each split has, as shares of its width."""
TURNS = (*("train",) * 6, *("validation",) * 2, *("test",) * 2)
"""The splits that ten crops go to, one after the other; every other crop is of the same photograph."""
TRIES = 50


class Photographs(WorkloadSource):
    """Square crops of scikit-learn's two sample photographs, a temple and a flower, in random places.

    As OOD images all are cut from anywhere, in the shape of the ID images where no size is said. As a
    workload there are two classes, and each split has columns of its own of both photographs, so that no
    pixel is in two splits; 6, 2 and 2 of ten images go to train, validation and test. All images are
    distinct, and more of them begin with the fewer. They come from two photographs: however many there are,
    they are far from as many independent scenes.

    Parameters
    ----------
    size
        Pixels along an image.
    n
        How many images in all.
    smallest, largest
        A crop's side as a share of the photograph's height; as a workload at most as wide as the columns,
        0.3 in validation and test.

    Examples
    --------
    >>> from farm.api import Context
    >>> crops = Photographs(n=20).load(Context(seed=0))
    >>> crops.classes, crops.shape, len(crops.train), str(crops.test.ids[0])
    (('china', 'flower'), (3, 32, 32), 12, 'photographs/test/000008')
    """

    reference = "Pedregosa et al.: Scikit-learn: machine learning in Python, 2011 (load_sample_images)"

    def __init__(
        self, *, size: int = 32, n: int = 2000, smallest: float = 0.15, largest: float = 0.6
    ) -> None:
        check_number("size", size, low=1, whole=True)
        check_number("n", n, low=10, whole=True)
        check_number("smallest", smallest, above=0, high=0.3)
        check_number("largest", largest, low=smallest, high=1)
        self._size, self._n, self._sides = size, n, (smallest, largest)

    def _load(self, context: Context) -> Workload:
        turns = np.resize(TURNS, self._n)
        images = self._crops(context.seed, turns.tolist(), (3, self._size, self._size))
        train, validation, test = (_split(part, images, np.flatnonzero(turns == part)) for part in PARTS)
        return Workload(self.name, CLASSES, train, validation, test)

    def _load_ood(self, context: Context, like: tuple[int, int, int] | None) -> OODImages:
        shape = (3, self._size, self._size)
        if like is not None:
            shape = (like[0], self._size, self._size) if "size" in self._arguments else like
        images = self._crops(context.seed, [WHOLE] * self._n, shape)
        whole = _split(WHOLE, images, np.arange(self._n))
        # None has to stay out of another split, and none is the next view of another.
        return OODImages(self.name, CLASSES, replace(whole, groups=whole.ids))

    def _crops(self, seed: int, parts: Sequence[str], shape: tuple[int, int, int]) -> NDArray[np.uint8]:
        # Here, because scikit-learn takes a second to import and most experiments need no photographs.
        from sklearn.datasets import load_sample_images

        photographs: list[Photograph] = load_sample_images().images
        crops = np.empty((len(parts), *shape), np.uint8)
        known: set[bytes] = set()
        for number, part in enumerate(parts):
            for again in range(TRIES):
                rng = generator(seed, "photographs", part, number, again)
                crop = self._crop(photographs[number % len(CLASSES)], part, rng)
                crops[number] = _resized(crop, shape)
                (digest,) = image_digests(np.divide(crops[number : number + 1], 255, dtype=np.float32))
                if digest not in known:
                    break
            else:
                raise ParameterError(
                    f"n is {self._n}, but of image {number} each of {TRIES} crops was there already; "
                    "expected fewer images, or larger ones (size), or larger crops (smallest)"
                )
            known.add(digest)
        return crops

    def _crop(self, photograph: Photograph, part: str, rng: np.random.Generator) -> Photograph:
        height, width = photograph.shape[:2]
        first, last = (round(share * width) for share in PARTS.get(part, (0, 1)))
        smallest, largest = (share * height for share in self._sides)
        side = round(rng.uniform(smallest, min(largest, last - first)))
        top, left = rng.integers(0, height - side + 1), rng.integers(first, last - side + 1)
        return photograph[top : top + side, left : left + side]


def _resized(crop: Photograph, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Return a crop as channels x height x width; Pillow filters against aliasing."""
    channels, height, width = shape
    image = Image.fromarray(crop).convert("RGB" if channels == 3 else "L")
    pixels = np.asarray(image.resize((width, height), Image.Resampling.BICUBIC))
    return np.broadcast_to(np.moveaxis(np.atleast_3d(pixels), 2, 0), shape)


def _split(part: str, images: NDArray[np.uint8], rows: IntArray) -> Split:
    labels = rows % len(CLASSES)
    ids = np.array([f"photographs/{part}/{row:06d}" for row in rows.tolist()])
    groups = np.array([f"photographs/{part}/{CLASSES[label]}" for label in labels.tolist()])
    return Split(part, ArrayImages(images[rows]), labels, ids, groups)
