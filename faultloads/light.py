"""Light: how much of it falls on the scene, and how much of its colour is left."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from farm.api import Images, PerInstance, Transformation, at_severity
from faultloads._colour import grey_of, need_colours
from faultloads._imagenet_c import CIFAR_10_C, IMAGENET_C, ImageNetC, at_levels

_DARK = np.float32(1e-6)
"""Below it a pixel is black, and has no colour of its own."""


class Brightness(ImageNetC):
    """More light: the value, of hue, saturation and value, grows; colours get brighter and not paler.

    Severities 1 to 5: by 0.1, 0.2, 0.3, 0.4, 0.5, up to 1. On grey images the pixels themselves grow.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are 0.05, 0.1, 0.15, 0.2, 0.3.

    Examples
    --------
    >>> images = np.full((1, 1, 2, 2), 0.25, dtype=np.float32)
    >>> faulted = Brightness().apply(images, np.array([0]), np.array(["a"]), np.array([2.0]))
    >>> round(float(faulted.images[0, 0, 0, 0]), 4)
    0.45
    """

    LEVELS: ClassVar = {IMAGENET_C: (0.1, 0.2, 0.3, 0.4, 0.5), CIFAR_10_C: (0.05, 0.1, 0.15, 0.2, 0.3)}

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        more = np.float32(at_severity(severity, self._levels, neutral=0))
        value = images.max(axis=1, keepdims=True)
        brighter = np.minimum(value + more, 1)
        result: Images = np.where(value > _DARK, images * (brighter / np.maximum(value, _DARK)), brighter)
        return result


class Contrast(ImageNetC):
    """Less contrast: pixels move towards the mean of their channel in their image.

    Severities 1 to 5: to 0.4, 0.3, 0.2, 0.1, 0.05 of their distance.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are 0.75, 0.5, 0.4, 0.3, 0.15.

    Examples
    --------
    >>> images = np.array([0.0, 1.0], dtype=np.float32).reshape(1, 1, 1, 2)
    >>> faulted = Contrast().apply(images, np.array([0]), np.array(["a"]), np.array([3.0]))
    >>> faulted.images.ravel().round(4).tolist()
    [0.4000000059604645, 0.6000000238418579]
    """

    LEVELS: ClassVar = {IMAGENET_C: (0.4, 0.3, 0.2, 0.1, 0.05), CIFAR_10_C: (0.75, 0.5, 0.4, 0.3, 0.15)}

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        left = np.float32(at_severity(severity, self._levels, neutral=1))
        # One row of memory a channel: then the order of its additions depends on nothing else.
        rows = np.ascontiguousarray(images).reshape(*images.shape[:2], -1)
        mean = rows.mean(axis=2)[:, :, None, None]
        result: Images = (images - mean) * left + mean
        return result


class Saturate(ImageNetC):
    """Wrong strength of colour: paler at severities 1 and 2, then ever more garish. Needs colour images.

    Severities 1 to 5: the saturation, of hue, saturation and value, times 0.3, 0.1, 2, 5, 20, plus 0, 0, 0,
    0.1, 0.2. As defined, pixels that are exactly grey count as red, and turn reddish at severities 4 and 5.
    It is no order of strength: between 2 and 3 (at 2.47) lies a point where nothing changes.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are times 0.3, 0.1, 1.5, 2, 2.5, plus 0, 0, 0, 0.1, 0.2.

    Examples
    --------
    >>> red = np.array([0.8, 0.4, 0.4], dtype=np.float32).reshape(1, 3, 1, 1)
    >>> faulted = Saturate().apply(red, np.array([0]), np.array(["a"]), np.array([1.0]))
    >>> [round(float(channel), 4) for channel in faulted.images.ravel()]
    [0.8, 0.68, 0.68]
    """

    not_monotone = (
        "its first two published levels take colour away, the others add some; at 32 x 32 (GTSRB) values "
        "change by 0.035, 0.045, 0.041, 0.10, 0.13 and a LeNet is right in 84, 72, 89, 64, 50 %"
    )
    LEVELS: ClassVar = {
        IMAGENET_C: ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
        CIFAR_10_C: ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
    }

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        need_colours(images, self.name)
        # Levels 1 and 2 take colour away, 3 to 5 add some: half-way between them nothing would change.
        severity = float(np.rint(severity)) if 2 < severity < 3 else severity
        times, plus = at_levels(severity, self._levels, neutral=(1, 0))
        value = images.max(axis=1, keepdims=True)
        chroma = value - images.min(axis=1, keepdims=True)
        saturation = chroma / np.maximum(value, _DARK)
        # How far each channel lies below the greatest, as a share: that is hue, whatever the saturation.
        below = (value - images) / np.maximum(chroma, _DARK)
        below[:, 1:] += chroma == 0
        result: Images = value * (1 - below * np.minimum(saturation * times + plus, 1))
        return result


class Greyscale(Transformation):
    """Colour fades: the image is blended with its grey copy (luma). Needs colour images.

    Severities 1 to 5: in a share of 0.2, 0.4, 0.6, 0.8, 1.

    Examples
    --------
    >>> blue = np.array([0, 0, 1], dtype=np.float32).reshape(1, 3, 1, 1)
    >>> faulted = Greyscale().apply(blue, np.array([0]), np.array(["a"]), np.array([5.0]))
    >>> [round(float(channel), 4) for channel in faulted.images.ravel()]
    [0.114, 0.114, 0.114]
    """

    category = "shift"
    objects = "stay"
    origin = "own"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        need_colours(images, self.name)
        share = np.float32(at_severity(severity, [0.2, 0.4, 0.6, 0.8, 1], neutral=0))
        return (1 - share) * images + share * grey_of(images)
