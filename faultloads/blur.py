"""Blurs: out of focus, through frosted glass, while zooming, and a gaussian one.

ImageNet-C gives their sizes in pixels of its 224 x 224 images, and the package imagecorruptions takes them as
they are for images of any size; so do these, unless `made_for` scales them.
"""

from __future__ import annotations

import numpy as np

from farm.api import Images, IntArray, PerInstance, at_severity
from faultloads._filters import disk_blur, gaussian_blur, zoom
from faultloads._imagenet_c import ImageNetC, SizedImageNetC


class GaussianBlur(SizedImageNetC):
    """Blur evenly in all directions.

    Severities 1 to 5: a standard deviation of 1, 2, 3, 4, 6 pixels.

    Parameters
    ----------
    made_for
        The side of the images that the pixels are meant for: with 224 an image of 32 x 32 gets a seventh of
        them. By default they are as published, whatever the size.

    Examples
    --------
    >>> GaussianBlur(made_for=224).parameters
    {'made_for': 224}
    """

    category = "noise"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        return gaussian_blur(images, self._scale(images) * at_severity(severity, [1, 2, 3, 4, 6], neutral=0))


class DefocusBlur(SizedImageNetC):
    """Blur as a lens out of focus does: each point becomes a disk.

    Severities 1 to 5: a radius of 3, 4, 6, 8, 10 pixels, its rim softened by a gaussian blur of 0.1 pixels
    at severity 1 and 0.5 above. A radius between two whole ones is a mixture of their disks. Severities 4
    and 5 also brighten by 1.3 and 1.1 %, as the reference's do: its disks fill their arrays to the brim.

    Parameters
    ----------
    made_for
        The side of the images that the pixels are meant for: with 224 an image of 32 x 32 gets a seventh of
        them. By default they are as published, whatever the size.

    Examples
    --------
    >>> DefocusBlur().parameters
    {'made_for': None}
    """

    category = "noise"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        scale = self._scale(images)
        radius = scale * at_severity(severity, [3, 4, 6, 8, 10], neutral=0)
        antialias = scale * at_severity(severity, [0.1, 0.5, 0.5, 0.5, 0.5], neutral=0)
        result = disk_blur(images, int(radius), antialias)
        if radius % 1:
            result += np.float32(radius % 1) * (disk_blur(images, int(radius) + 1, antialias) - result)
        result *= np.float32(at_severity(severity, [1, 1, 1, 1.01298, 1.01079], neutral=1))
        return result


class ZoomBlur(ImageNetC):
    """Average over a zoom into the middle, as when the camera moves towards what it sees.

    Severities 1 to 5: enlarged by up to 11, 15, 20, 24, 30 %, in steps of 1, 1, 2, 2, 3 %; between two
    severities a mixture of both. It is relative to the image's size.

    Examples
    --------
    >>> ZoomBlur().severities
    (1, 2, 3, 4, 5)
    """

    category = "noise"

    _STEPS = ((12, 0.01), (16, 0.01), (11, 0.02), (13, 0.02), (11, 0.03))
    not_monotone = "its published steps need not make each level stronger than the last"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        level, share = int(severity), np.float32(severity % 1)
        result = self._zoomed(images, level) if level else images
        return result + share * (self._zoomed(images, level + 1) - result) if share else result

    def _zoomed(self, images: Images, level: int) -> Images:
        steps, width = self._STEPS[level - 1]
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

    Examples
    --------
    >>> GlassBlur(made_for=224).category
    'noise'
    """

    category = "noise"

    _ROUNDS = (2, 1, 3, 2, 2)
    not_monotone = "its published levels trade reach, repetitions and blur"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        n, channels, high, wide = images.shape
        scale = self._scale(images)
        sigma = scale * at_severity(severity, [0.7, 0.9, 1, 1.1, 1.5], neutral=0)
        asked = at_severity(severity, [1, 2, 2, 3, 4], neutral=0)
        reach = max(round(scale * asked), round(min(asked, 1)))
        rounds = round(at_severity(severity, self._ROUNDS, neutral=2)) if reach else 0
        bits = random.bits(max(self._ROUNDS), 2, high, wide)[:, :rounds].astype(np.int64)
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
