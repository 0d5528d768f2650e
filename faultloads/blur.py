"""Blurs: out of focus, through frosted glass, while zooming, and a gaussian one.

ImageNet-C gives their sizes in pixels of its 224 x 224 images, CIFAR-10-C of its 32 x 32 ones, and the
package imagecorruptions takes them as they are for images of any size; so do these, unless `made_for` scales
them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from farm.api import Images, IntArray, PerInstance, at_severity
from faultloads._filters import disk_blur, gaussian_blur, zoom
from faultloads._imagenet_c import CIFAR_10_C, IMAGENET_C, ImageNetC, SizedImageNetC, at_levels, mixed


class GaussianBlur(SizedImageNetC):
    """Blur evenly in all directions.

    Severities 1 to 5: a standard deviation of 1, 2, 3, 4, 6 pixels.

    Parameters
    ----------
    made_for
        The side of the images that the pixels are meant for: with 224 an image of 32 x 32 gets a seventh of
        them. By default they are as published, whatever the size.
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are 0.4, 0.6, 0.7, 0.8, 1 pixels.

    Examples
    --------
    >>> GaussianBlur(made_for=224).parameters
    {'made_for': 224, 'levels': 'imagenet-c'}
    """

    category = "noise"
    LEVELS: ClassVar = {IMAGENET_C: (1, 2, 3, 4, 6), CIFAR_10_C: (0.4, 0.6, 0.7, 0.8, 1)}

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        return gaussian_blur(images, self._scale(images) * at_severity(severity, self._levels, neutral=0))


class DefocusBlur(SizedImageNetC):
    """Blur as a lens out of focus does: each point becomes a disk.

    Severities 1 to 5: a radius of 3, 4, 6, 8, 10 pixels, its rim softened by a gaussian blur of 0.1 pixels
    at severity 1 and 0.5 above. A radius between two whole ones is a mixture of their disks. Severities 4
    and 5 also brighten by 1.3 and 1.1 %, as the reference's do: its disks fill their arrays to the brim.
    At CIFAR-10-C's levels the disk has the pixels whose middles lie in the radius, and between two
    severities both are mixed.

    Parameters
    ----------
    made_for
        The side of the images that the pixels are meant for: with 224 an image of 32 x 32 gets a seventh of
        them. By default they are as published, whatever the size.
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are radii of 0.3, 0.4, 0.5, 1, 1.5 and rims of 0.4, 0.5, 0.6, 0.2, 0.1 pixels.

    Examples
    --------
    >>> DefocusBlur().parameters
    {'made_for': None, 'levels': 'imagenet-c'}
    """

    category = "noise"
    LEVELS: ClassVar = {
        IMAGENET_C: ((3, 0.1, 1), (4, 0.5, 1), (6, 0.5, 1), (8, 0.5, 1.01298), (10, 0.5, 1.01079)),
        CIFAR_10_C: ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
    }

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        scale = self._scale(images)
        if self._levels is self.LEVELS[CIFAR_10_C]:
            disks = [(scale * radius, scale * antialias) for radius, antialias in self._levels]
            return mixed(images, severity, lambda level: disk_blur(images, *disks[level - 1]))
        radius, antialias, brighter = at_levels(severity, self._levels, neutral=(0, 0, 1))
        radius, antialias = scale * radius, scale * antialias
        result = disk_blur(images, int(radius), antialias)
        if radius % 1:
            result += np.float32(radius % 1) * (disk_blur(images, int(radius) + 1, antialias) - result)
        result *= np.float32(brighter)
        return result


class ZoomBlur(ImageNetC):
    """Average over a zoom into the middle, as when the camera moves towards what it sees.

    Severities 1 to 5: enlarged by up to 11, 15, 20, 24, 30 %, in steps of 1, 1, 2, 2, 3 %; between two
    severities a mixture of both. It is relative to the image's size.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are up to 6, 11, 15, 20, 25 %, in steps of 1 %.

    Examples
    --------
    >>> ZoomBlur().severities
    (1, 2, 3, 4, 5)
    """

    category = "noise"
    objects = "move"
    LEVELS: ClassVar = {
        IMAGENET_C: ((12, 0.01), (16, 0.01), (11, 0.02), (13, 0.02), (11, 0.03)),
        CIFAR_10_C: ((7, 0.01), (12, 0.01), (16, 0.01), (21, 0.01), (26, 0.01)),
    }
    not_monotone = (
        "its published steps need not make each level stronger than the last; at 32 x 32 (GTSRB) values "
        "change by 0.032, 0.038, 0.043, 0.049, 0.056, and a LeNet is right in 94, 93, 94, 94, 94 %"
    )

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        return mixed(images, severity, lambda level: self._zoomed(images, level))

    def _zoomed(self, images: Images, level: int) -> Images:
        steps, width = self._levels[level - 1]
        width = (1 + width) - 1  # as `numpy.arange` counts: 25 pixels times 1.3 are then 33, not 32
        total = 2 * images  # the image itself, and enlarged by nothing
        for step in range(1, steps):
            total += zoom(images, 1 + step * width)
        total *= np.float32(1 / (steps + 1))
        return total


class GlassBlur(SizedImageNetC):
    """Swap pixels with neighbours, as seen through frosted glass, between two gaussian blurs.

    Severities 1 to 5: blurs of 0.7, 0.9, 1, 1.1, 1.5 pixels; each pixel, from the last to the first, is
    swapped with one up to 1, 2, 2, 3, 4 pixels away, in 2, 1, 3, 2, 2 rounds (between severities rounded to
    whole numbers). They are true swaps; the published code's overwrite a pixel with its neighbour.

    Parameters
    ----------
    made_for
        The side of the images that the pixels are meant for: with 224 an image of 32 x 32 gets a seventh of
        them, but swaps at least of neighbours. By default they are as published, whatever the size.
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are blurs of 0.05, 0.25, 0.4, 0.25, 0.4 pixels, swaps up to 1 pixel away, 1, 1, 1, 2, 2
        rounds.

    Examples
    --------
    >>> GlassBlur(made_for=224).category
    'noise'
    """

    category = "noise"

    LEVELS: ClassVar = {
        IMAGENET_C: ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
        CIFAR_10_C: ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
    }
    not_monotone = "its published levels trade reach, repetitions and blur"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        n, channels, high, wide = images.shape
        scale = self._scale(images)
        first_rounds = self._levels[0][2]
        sigma, asked, times = at_levels(severity, self._levels, neutral=(0, 0, first_rounds))
        sigma, reach = scale * sigma, max(round(scale * asked), round(min(asked, 1)))
        rounds = round(times) if reach else 0
        most = max(rounds for _, _, rounds in self._levels)
        bits = random.bits(most, 2, high, wide)[:, :rounds].astype(np.int64)
        order = _swapped((bits * (2 * reach) >> 16) - reach, reach)
        blurred = gaussian_blur(images, sigma).reshape(n, channels, -1)
        swapped = np.take_along_axis(blurred, order.T.reshape(n, 1, -1), axis=2)
        return gaussian_blur(swapped.reshape(images.shape), sigma)


def _swapped(offsets: IntArray, reach: int) -> IntArray:
    """Give, for each place, the numbers of the pixels that are there after all swaps, one an image.

    `offsets` has the shape (instances, rounds, 2, height, width): how far down and along the partner is. The
    order of the swaps matters, so pixels go one after the other, in all images at a time.
    """
    n, rounds, _, high, wide = offsets.shape
    steps = (offsets[:, :, 0] * wide + offsets[:, :, 1]).reshape(n, rounds, high * wide)
    partners = np.moveaxis(steps + np.arange(high * wide), 0, -1) * n + np.arange(n)
    order = np.repeat(np.arange(high * wide).reshape(-1, 1), n, axis=1)
    flat = order.reshape(-1)
    for turn in partners:
        for row in range(high - reach, reach, -1):
            for column in range(wide - reach, reach, -1):
                place = row * wide + column
                partner, own = turn[place], order[place].copy()
                order[place] = flat.take(partner)
                flat.put(partner, own)
    return order
