"""What a camera and its file format do to an image: motion blur, coarse pixels, compression."""

from __future__ import annotations

from io import BytesIO
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import Images, IntArray, PerInstance, at_severity
from faultloads._filters import Planes
from faultloads._imagenet_c import CIFAR_10_C, IMAGENET_C, ImageNetC, SizedImageNetC, at_levels
from faultloads._warps import motion_weights, smear


class MotionBlur(SizedImageNetC):
    """Smear along a straight motion within 45 degrees of the horizontal, which fades out to one side.

    Severities 1 to 5: a radius and a standard deviation of (10, 3), (15, 5), (15, 8), (15, 12), (20, 15)
    pixels. Beyond the edge its last pixel goes on; where the motion would leave the image the package
    imagecorruptions stops, and darkens by up to 3 %, and this does not.

    Parameters
    ----------
    made_for
        The side of the images that the pixels are meant for: with 224 an image of 32 x 32 gets a seventh of
        them. By default they are as published, whatever the size.
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are (6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5).

    Examples
    --------
    >>> MotionBlur(made_for=224).parameters
    {'made_for': 224, 'levels': 'imagenet-c'}
    """

    objects = "move"
    LEVELS: ClassVar = {
        IMAGENET_C: ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
        CIFAR_10_C: ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
    }

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        radius, sigma = at_levels(severity, self._levels, neutral=(self._levels[0][0], 0))
        scale = self._scale(images)
        angle = random.uniform(low=-45, high=45)
        return smear(images, motion_weights(scale * radius, scale * sigma), angle)


class Pixelate(ImageNetC):
    """Coarse pixels: the image is shrunk to a part of its size, and enlarged to blocks.

    Severities 1 to 5: 0.6, 0.5, 0.4, 0.3, 0.25 of its sides, rounded down to whole pixels. Each pixel belongs
    to one block, and the block has their mean.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are 0.95, 0.9, 0.85, 0.75, 0.65.

    Examples
    --------
    >>> images = np.array([0.0, 1.0], dtype=np.float32).reshape(1, 1, 1, 2)
    >>> faulted = Pixelate().apply(images, np.array([0]), np.array(["a"]), np.array([2.0]))
    >>> faulted.images.ravel().tolist()
    [0.5, 0.5]
    """

    not_monotone = "which pixels share a block changes"
    LEVELS: ClassVar = {IMAGENET_C: (0.6, 0.5, 0.4, 0.3, 0.25), CIFAR_10_C: (0.95, 0.9, 0.85, 0.75, 0.65)}

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        size = at_severity(severity, self._levels, neutral=1)
        (down, row), (along, column) = (_blocks(pixels, size) for pixels in images.shape[2:])
        means = _means(_means(images, 2, down), 3, along)
        return means.take(row, axis=2).take(column, axis=3)


class JpegCompression(ImageNetC):
    """Compress and decompress as JPEG of a quality of 25, 18, 15, 10 or 7 (as Pillow counts it).

    Severity 0 stands for 100; between severities the quality is rounded to a whole number.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are 80, 65, 58, 50, 40.

    Examples
    --------
    >>> images = np.full((1, 3, 8, 8), 0.25, dtype=np.float32)
    >>> faulted = JpegCompression().apply(images, np.array([0]), np.array(["a"]), np.array([1.0]))
    >>> bool(abs(faulted.images - 0.25).max() < 0.05)
    True
    """

    not_monotone = "the qualities of its two highest published levels differ too little"
    LEVELS: ClassVar = {IMAGENET_C: (25, 18, 15, 10, 7), CIFAR_10_C: (80, 65, 58, 50, 40)}

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        quality = round(at_severity(severity, self._levels, neutral=100))
        grey = images.shape[1] == 1
        levels = np.rint(images * np.float32(255)).astype(np.uint8)
        levels = levels[:, 0] if grey else np.ascontiguousarray(levels.transpose(0, 2, 3, 1))
        for index, image in enumerate(levels):
            levels[index] = _compressed(image, quality)
        result = levels[:, None] if grey else levels.transpose(0, 3, 1, 2)
        return result.astype(np.float32) / np.float32(255)


def _compressed(image: NDArray[np.uint8], quality: int) -> NDArray[np.uint8]:
    file = BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    # The decoder alone: reading the file's header again takes as long.
    mode, size = ("L" if image.ndim == 2 else "RGB"), image.shape[1::-1]
    return np.asarray(Image.frombytes(mode, size, file.getvalue(), "jpeg", mode, ""))


def _blocks(pixels: int, size: float) -> tuple[list[int], IntArray]:
    """Part a line of pixels into blocks: give their first pixels and the end, and each pixel's block."""
    count = max(1, int(pixels * size))
    middles = (2 * np.arange(pixels) + 1) * count  # in units of which a block has 2 * pixels
    # A middle on the border of two blocks counts for the first, and is given the second: as in Pillow.
    starts = np.searchsorted((middles - 1) // (2 * pixels), np.arange(count + 1))
    return starts.tolist(), middles // (2 * pixels)


def _means(planes: Planes, axis: int, starts: list[int]) -> Planes:
    lines = np.moveaxis(planes, axis, 0)
    means = np.empty((len(starts) - 1, *lines.shape[1:]), dtype=np.float32)
    for mean, first, end in zip(means, starts[:-1], starts[1:], strict=True):
        mean[...] = lines[first]
        for line in lines[first + 1 : end]:
            mean += line
        mean /= end - first
    return np.moveaxis(means, 0, axis)
