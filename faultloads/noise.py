"""Noise of sensors and transmission: independent from pixel to pixel, and new in every frame."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from farm.api import Images, IntArray, PerInstance, Transformation, at_severity, check_number
from faultloads._imagenet_c import CIFAR_10_C, IMAGENET_C, ImageNetC


class GaussianNoise(ImageNetC):
    """Add normal noise, as a sensor does in poor light.

    Severities 1 to 5: a standard deviation of 0.08, 0.12, 0.18, 0.26, 0.38 of the range from black to white.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are 0.04, 0.06, 0.08, 0.09, 0.1.

    Examples
    --------
    >>> GaussianNoise().severities
    (1, 2, 3, 4, 5)
    """

    category = "noise"
    coherence = "instance"
    LEVELS: ClassVar = {IMAGENET_C: (0.08, 0.12, 0.18, 0.26, 0.38), CIFAR_10_C: (0.04, 0.06, 0.08, 0.09, 0.1)}

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        noise = random.normal(*images.shape[1:])
        noise *= np.float32(at_severity(severity, self._levels, neutral=0))
        noise += images
        return noise


class ShotNoise(ImageNetC):
    """Count photons: light comes in grains, so that noise grows with the square root of the brightness.

    Severities 1 to 5: white is 60, 25, 12, 5, 3 photons. Below 1 the noise of severity 1 is scaled down.
    Counts follow the Poisson distribution to 1 in 65,536, for the nearest of 256 grey levels.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are 500, 250, 100, 75, 50 photons.

    Examples
    --------
    >>> ShotNoise().category
    'noise'
    """

    category = "noise"
    coherence = "instance"
    LEVELS: ClassVar = {IMAGENET_C: (60, 25, 12, 5, 3), CIFAR_10_C: (500, 250, 100, 75, 50)}

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        photons = at_severity(severity, self._levels, neutral=self._levels[0])
        greys = np.rint(images * np.float32(255)).astype(np.int64)
        counted = _poisson(photons).counts(greys, random.bits(*images.shape[1:]))
        counted *= np.float32(1 / photons)
        return counted if severity >= 1 else images + np.float32(severity) * (counted - images)


class ImpulseNoise(ImageNetC):
    """Set values to black or white, half and half: salt and pepper, in each colour channel by itself.

    Severities 1 to 5: a share of 0.03, 0.06, 0.09, 0.17, 0.27 of all values.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are 0.01, 0.02, 0.03, 0.05, 0.07.

    Examples
    --------
    >>> ImpulseNoise().origin
    'ImageNet-C (Hendrycks and Dietterich, 2019)'
    """

    category = "noise"
    coherence = "instance"
    LEVELS: ClassVar = {
        IMAGENET_C: (0.03, 0.06, 0.09, 0.17, 0.27),
        CIFAR_10_C: (0.01, 0.02, 0.03, 0.05, 0.07),
    }

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        share = at_severity(severity, self._levels, neutral=0)
        bits = random.bits(*images.shape[1:])
        each = round(share / 2 * 2**16)
        result = images * (bits >= each)
        result[bits >= 2**16 - each] = 1
        return result


class SpeckleNoise(ImageNetC):
    """Multiply with normal noise, as in radar and ultrasound: brighter pixels get more of it.

    Severities 1 to 5: a standard deviation of 0.15, 0.2, 0.35, 0.45, 0.6 of the pixel's own value.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are 0.06, 0.1, 0.12, 0.16, 0.2.

    Examples
    --------
    >>> SpeckleNoise().severities
    (1, 2, 3, 4, 5)
    """

    category = "noise"
    coherence = "instance"
    LEVELS: ClassVar = {IMAGENET_C: (0.15, 0.2, 0.35, 0.45, 0.6), CIFAR_10_C: (0.06, 0.1, 0.12, 0.16, 0.2)}

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        noise = random.normal(*images.shape[1:])
        noise *= np.float32(at_severity(severity, self._levels, neutral=0))
        noise *= images
        noise += images
        return noise


class UniformBlend(Transformation):
    """Fade the image into uniform noise, the same share of noise in all its pixels.

    Parameters
    ----------
    weight
        The share of noise at severity 5; each severity below has a fifth of it less.

    Examples
    --------
    >>> UniformBlend(weight=0.8).parameters
    {'weight': 0.8}
    """

    category = "noise"
    coherence = "instance"
    objects = "stay"
    reference = "Own: a mixture of the image and noise drawn evenly from black to white"
    origin = "own"

    def __init__(self, *, weight: float = 0.6) -> None:
        check_number("weight", weight, above=0, high=1)
        self._weight = weight

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        noise = random.uniform(*images.shape[1:])
        noise -= images
        noise *= np.float32(self._weight * severity / 5)
        noise += images
        return noise


class _Poisson(NamedTuple):
    """Poisson counts for 256 grey levels, by comparing 16 random bits with the cumulative distribution.

    Most counts follow from the 12 upper bits alone: those are in a table small enough for the cache. Where
    the lower bits matter, the table has its highest number, and the exact bounds are searched.
    """

    table: NDArray[np.uint8 | np.uint16]
    bounds: IntArray
    """For each grey level one after the other, the random bits from which on each count is exceeded."""

    def counts(self, greys: IntArray, bits: NDArray[np.uint16]) -> NDArray[np.float32]:
        found = self.table.take((greys << 12) + (bits >> 4)).astype(np.float32)
        open_places = np.nonzero(found == np.iinfo(self.table.dtype).max)
        open_greys = greys[open_places]
        place = np.searchsorted(self.bounds, open_greys * 2**17 + bits[open_places], side="right")
        found[open_places] = place - open_greys * (len(self.bounds) // 256)
        return found


@lru_cache(maxsize=8)
def _poisson(photons: float) -> _Poisson:
    most = int(photons + 5 * photons**0.5 + 10)
    greys = np.arange(256).reshape(-1, 1)
    bounds = np.rint(pdtr(np.arange(most), greys / 255 * photons) * 2**16).astype(np.int64)
    # How many bounds each 16th of the random numbers has passed at its beginning, and at its end.
    begun, ended = (
        np.cumsum(np.bincount((greys * 4098 + passed).ravel(), minlength=256 * 4098).reshape(256, -1), axis=1)
        for passed in (-(-bounds // 16), bounds // 16)
    )
    kind: type[np.uint8 | np.uint16] = np.uint8 if most < 255 else np.uint16
    table = np.where(begun == ended, begun, np.iinfo(kind).max)[:, :4096]
    return _Poisson(table.astype(kind), (greys * 2**17 + bounds).ravel())
