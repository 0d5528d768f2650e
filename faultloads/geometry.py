"""The scene seen differently: turned, moved, nearer or farther, askew, cut, or with a light reflected."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from farm.api import Images, PerInstance, Transformation, at_severity, check_choice, check_number
from farm.errors import ParameterError
from faultloads._filters import Edge
from faultloads._imagenet_c import at_levels
from faultloads._warps import Warp, affine, crop_at_random, distances_from, tilt_at_random

_BORDERS: dict[str, Edge] = {"edge": "edge", "mirror": "symmetric", "black": "constant"}


class _Warp(Warp):
    category = "shift"
    origin = "own"


class _Bordered(_Warp):
    def __init__(self, *, border: str = "edge") -> None:
        check_choice("border", border, tuple(_BORDERS))
        self._edge = _BORDERS[border]


class Rotation(_Bordered):
    """Turn the image about its middle by a random angle.

    Severities 1 to 5: uniform within +-6, 12, 18, 24, 30 degrees.

    Parameters
    ----------
    angles
        Draw one of these angles, in degrees counter-clockwise, instead: they are severity 5, and each below
        has a fifth of them less. The benchmark's authors turn by -45, -22.5, 22.5 and 45 degrees.
    border
        What is seen beyond the image: its last pixels going on (`edge`), its mirror image (`mirror`), or
        nothing (`black`).

    Examples
    --------
    >>> Rotation(border="mirror").parameters
    {'angles': None, 'border': 'mirror'}
    """

    def __init__(self, *, angles: Sequence[float] | None = None, border: str = "edge") -> None:
        super().__init__(border=border)
        if angles is not None and (not isinstance(angles, list | tuple) or not angles):
            raise ParameterError(f"angles is {angles!r}; expected a list of degrees, as in angles: [-45, 45]")
        for angle in angles or ():
            check_number("angles", angle, low=-180, high=180)
        self._angles = np.array(angles or (), dtype=np.float32)

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        if self._angles.size:
            chosen = self._angles[random.integers(0, self._angles.size - 1)]
            return affine(images, degrees=np.float32(severity / 5) * chosen, edge=self._edge)
        degrees = np.float32(at_severity(severity, [6, 12, 18, 24, 30], neutral=0))
        return affine(images, degrees=degrees * random.uniform(low=-1, high=1), edge=self._edge)


class Translation(_Bordered):
    """Move the image by a random share of its width and another of its height.

    Severities 1 to 5: uniform within +-0.06, 0.12, 0.18, 0.24, 0.3.

    Parameters
    ----------
    border
        What is seen beyond the image: its last pixels going on (`edge`), its mirror image (`mirror`), or
        nothing (`black`).

    Examples
    --------
    >>> Translation().parameters
    {'border': 'edge'}
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        share = np.float32(at_severity(severity, [0.06, 0.12, 0.18, 0.24, 0.3], neutral=0))
        across, down = share * random.uniform(2, low=-1, high=1).T
        return affine(images, across=across, down=down, edge=self._edge)


class Scale(_Bordered):
    """See the image from nearer or from farther, by a random factor.

    Severities 1 to 5: larger or smaller, both equally likely, by a factor of up to 1.15, 1.3, 1.45, 1.6,
    1.75; its logarithm is uniform.

    Parameters
    ----------
    border
        What is seen beyond a shrunken image: its last pixels going on (`edge`), its mirror image (`mirror`),
        or nothing (`black`).

    Examples
    --------
    >>> Scale(border="black").parameters
    {'border': 'black'}
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        factor = at_severity(severity, [1.15, 1.3, 1.45, 1.6, 1.75], neutral=1)
        powers = [math.pow(factor, -power) for power in random.uniform(low=-1, high=1).tolist()]
        return affine(images, part=np.array(powers, dtype=np.float32), edge=self._edge)


class Perspective(_Bordered):
    """Tilt the image's plane: each corner moves inwards by a random share of the width and of the height.

    Severities 1 to 5: shares of up to 0.06, 0.12, 0.18, 0.24, 0.3.

    Parameters
    ----------
    border
        What is seen beyond the image: its last pixels going on (`edge`), its mirror image (`mirror`), or
        nothing (`black`).

    Examples
    --------
    >>> Perspective().parameters
    {'border': 'edge'}
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        share = at_severity(severity, [0.06, 0.12, 0.18, 0.24, 0.3], neutral=0)
        return tilt_at_random(images, random, share, edge=self._edge)


class Crop(_Warp):
    """Enlarge a part of the image, which lies anywhere in it.

    Severities 1 to 5: 0.92, 0.84, 0.76, 0.68, 0.6 of its sides.

    Examples
    --------
    >>> Crop().category
    'shift'
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        part = at_severity(severity, [0.92, 0.84, 0.76, 0.68, 0.6], neutral=1)
        return crop_at_random(images, random, part, edge=self._edge)


class Reflection(Transformation):
    """A light reflected in a lens or a pane: a round bright spot at a random place, fading outwards.

    Severities 1 to 5: in its middle 0.6, 0.7, 0.8, 0.9, 1 of what is missing to white; a radius, where 0.6 of
    that is left, of 0.1, 0.13, 0.16, 0.19, 0.22 of the image's shorter side.

    Examples
    --------
    >>> images = np.zeros((1, 1, 16, 16), dtype=np.float32)
    >>> faulted = Reflection().apply(images, np.array([0]), np.array(["a"]), np.array([5.0]))
    >>> bool(faulted.images.max() > 0.9)
    True
    """

    category = "shift"
    objects = "stay"
    origin = "own"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        levels = [(0.6, 0.1), (0.7, 0.13), (0.8, 0.16), (0.9, 0.19), (1, 0.22)]
        brightness, radius = at_levels(severity, levels, neutral=(0, 0.1))
        places = random.uniform(2, low=0.15, high=0.85)
        distances = distances_from(places, images.shape[2:])
        down, across = (np.exp(-0.5 * (distance / radius) ** 2).astype(np.float32) for distance in distances)
        light = np.float32(brightness) * down[:, None, :, None] * across[:, None, None, :]
        return images + light * (1 - images)
