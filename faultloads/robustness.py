"""The ten transformations of the framework for robustness, with the parameters of its Table 12.

Sizes in pixels are meant for its images of 64 x 64, and scale with the shorter side of others. Where its text
leaves something open, the class says what was decided.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import erf

from farm.api import FloatArray, Images, ObjectFate, PerInstance, Transformation, at_severity
from faultloads._colour import grey_of, need_colours
from faultloads._filters import Planes, gaussian_blur
from faultloads._imagenet_c import at_levels
from faultloads._warps import Warp, affine, crop_at_random, distances_from, tilt_at_random
from faultloads._weather_textures import cut_at_random, rain_texture, snow_texture

_SIDE = 64
"""The side of the images that Table 12 is meant for."""


class _Robustness(Transformation):
    category = "shift"
    objects: ClassVar[ObjectFate] = "stay"
    reference = "Heindrich: Image classifiers in automated vehicles, 2020, 3.1.1 and Table 12"
    origin = "framework for robustness, Table 12"


class RobustnessNoise(_Robustness):
    """Blend with uniform noise, in a share of 0.2, 0.35, 0.4, 0.45 or 0.5; each channel has noise of its own.

    Examples
    --------
    >>> RobustnessNoise().origin
    'framework for robustness, Table 12'
    """

    coherence = "instance"  # a sensor's noise is new in every frame

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        share = at_severity(severity, [0.2, 0.35, 0.4, 0.45, 0.5], neutral=0)
        return _blended(images, random.uniform(*images.shape[1:]), share)


class RobustnessGrey(_Robustness):
    """Blend with the image's grey copy (luma), in a share of 0.2, 0.4, 0.6, 0.8 or 1. Needs colour images.

    Examples
    --------
    >>> RobustnessGrey().severities
    (1, 2, 3, 4, 5)
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        need_colours(images, self.name)
        return _blended(images, grey_of(images), at_severity(severity, [0.2, 0.4, 0.6, 0.8, 1], neutral=0))


class RobustnessSnow(_Robustness):
    """Add a texture of snow once, twice or three times, each time another piece of it, turned and scaled.

    The intensities of each time, at severities 1 to 5: 1; 1 and 1; 1.5 and 1.5; 1.5, 1.5 and 1; 1.5, 1.5 and
    1.5. The source's texture was made by hand and is not published: this one is drawn by code, turned by any
    angle and shown up to twice as large.

    Examples
    --------
    >>> RobustnessSnow().category
    'shift'
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        levels = [(1, 0, 0), (1, 1, 0), (1.5, 1.5, 0), (1.5, 1.5, 1), (1.5, 1.5, 1.5)]
        texture = snow_texture(max(images.shape[2:]))
        return _added(images, texture, at_levels(severity, levels, neutral=(0, 0, 0)), random, degrees=180)


class RobustnessRain(_Robustness):
    """Add a texture of rain two or three times, each time another piece of it, turned and scaled.

    The intensities of each time, at severities 1 to 5: 0.1 and 0.1; 0.2 and 0.2; 0.3 and 0.3; 0.4 and 0.4;
    0.5, 0.4 and 0.2. The source's texture is not published: this one is drawn by code, turned by up to 20
    degrees (rain falls) and shown up to twice as large.

    Examples
    --------
    >>> RobustnessRain().category
    'shift'
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        levels = [(0.1, 0.1, 0), (0.2, 0.2, 0), (0.3, 0.3, 0), (0.4, 0.4, 0), (0.5, 0.4, 0.2)]
        texture = rain_texture(max(images.shape[2:]))
        return _added(images, texture, at_levels(severity, levels, neutral=(0, 0, 0)), random, degrees=20)


class RobustnessFog(_Robustness):
    """Blend with blurred noise, in a share of 0.3, 0.4, 0.5, 0.6 or 0.7.

    Not said is how far the noise is blurred: here by 6 pixels of 64, in grey, from one side on to the other;
    blurred noise is nearly even, so that it is then stretched, from mid-grey (0.5) to white.

    Examples
    --------
    >>> RobustnessFog().origin
    'framework for robustness, Table 12'
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        high, wide = images.shape[2:]
        noise = gaussian_blur(random.uniform(1, high, wide), 6 * min(high, wide) / _SIDE, edge="wrap")
        low, top = (f(noise, axis=(1, 2, 3), keepdims=True) for f in (np.min, np.max))
        cloud = np.float32(0.5) + np.float32(0.5) * (noise - low) / np.maximum(top - low, np.float32(1e-6))
        return _blended(images, cloud, at_severity(severity, [0.3, 0.4, 0.5, 0.6, 0.7], neutral=0))


class RobustnessPerspective(Warp, _Robustness):
    """Tilt the image's plane at random, then enlarge its middle so that it fills the image again.

    The strength is 0.2, 0.3, 0.4, 0.5 or 0.6: each corner moves inwards by up to half that share of the width
    and of the height. The middle that is enlarged is 0.9, 0.85, 0.8, 0.75 or 0.7 of the sides. That the
    strength counts both sides together is read from these pairs, which then fit; what is still seen beyond
    the border is its last pixels going on.

    Examples
    --------
    >>> RobustnessPerspective().category
    'shift'
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        levels = [(0.2, 0.9), (0.3, 0.85), (0.4, 0.8), (0.5, 0.75), (0.6, 0.7)]
        strength, part = at_levels(severity, levels, neutral=(0, 1))
        return tilt_at_random(images, random, strength / 2, part=part, edge=self._edge)


class RobustnessBlur(_Robustness):
    """Blur with a normal distribution of 1.5, 2, 2.5, 3 or 3.5 pixels of 64.

    The source calls it the filter's size; it is taken as its standard deviation (as Pillow's `radius` is).

    Examples
    --------
    >>> RobustnessBlur().category
    'shift'
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random
        sigma = at_severity(severity, [1.5, 2, 2.5, 3, 3.5], neutral=0)
        return gaussian_blur(images, sigma * min(images.shape[2:]) / _SIDE)


class RobustnessRotation(Warp, _Robustness):
    """Turn by a random angle of up to +-10, 15, 20, 25 or 30 degrees.

    What is seen beyond the border is not said; here its last pixels go on, as black corners would give the
    fault away.

    Examples
    --------
    >>> RobustnessRotation().category
    'shift'
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        degrees = np.float32(at_severity(severity, [10, 15, 20, 25, 30], neutral=0))
        return affine(images, degrees=degrees * random.uniform(low=-1, high=1), edge=self._edge)


class RobustnessCrop(Warp, _Robustness):
    """Keep a random part of 62, 60, 58, 56 or 54 pixels of 64, and enlarge it to the image's size.

    Examples
    --------
    >>> RobustnessCrop().category
    'shift'
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        part = at_severity(severity, [62, 60, 58, 56, 54], neutral=_SIDE) / _SIDE
        return crop_at_random(images, random, part, edge=self._edge)


class RobustnessReflection(_Robustness):
    """Add a white square of 8, 12, 16, 20 or 24 pixels of 64 at a random place, blurred until it is round.

    Not said is how far it is blurred: here by a quarter of its side, as a standard deviation. The square
    itself lies within the image. Below severity 1 it grows from nothing.

    Examples
    --------
    >>> RobustnessReflection().category
    'shift'
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        side = at_severity(severity, [8, 12, 16, 20, 24], neutral=0) / _SIDE
        places = np.float32(0.5) + np.float32(1 - side) * random.uniform(2, low=-0.5, high=0.5)
        down, across = (
            _blurred_line(distance, side, side / 4) for distance in distances_from(places, images.shape[2:])
        )
        return images + down[:, None, :, None] * across[:, None, None, :]


def _blended(images: Images, other: Images, share: float) -> Images:
    return np.float32(1 - share) * images + np.float32(share) * other


def _added(
    images: Images, texture: Planes, intensities: list[float], random: PerInstance, *, degrees: float
) -> Images:
    result = images.copy()
    for intensity in intensities:
        # Also pieces of no intensity are drawn, so that an instance gets the same ones at each severity.
        piece = cut_at_random(texture, images.shape[2:], random, degrees=degrees, nearer=2)
        result = np.clip(result + np.float32(intensity) * piece, 0, 1)
    return result


def _blurred_line(distances: FloatArray, side: float, sigma: float) -> Images:
    """Return a line of 1 within half its side and 0 beyond, blurred: across and down make a square."""
    reach = np.sqrt(2) * sigma
    line: FloatArray = erf((distances + side / 2) / reach) - erf((distances - side / 2) / reach)
    return (line / 2).astype(np.float32)
