"""Weather: snow, frost, fog and rain between the camera and the scene."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from farm.api import Images, PerInstance, Transformation
from faultloads._colour import grey_of
from faultloads._filters import Planes, zoom
from faultloads._imagenet_c import CIFAR_10_C, IMAGENET_C, ImageNetC, SizedImageNetC, at_levels
from faultloads._warps import motion_weights, smear
from faultloads._weather_textures import cut_at_random, frost_texture, rain_texture


class Snow(SizedImageNetC):
    """Falling snow: streaks of flakes over an image that snow light makes pale.

    The flakes are normal noise (mean, deviation), enlarged, kept above a threshold and smeared along the fall
    (radius, sigma, in pixels); the share that is left of the image's own tones shrinks.

    Severities 1 to 5: (0.1, 0.3), 3, 0.5, (10, 4), 0.8; (0.2, 0.3), 2, 0.5, (12, 4), 0.7; (0.55, 0.3), 4,
    0.9, (12, 8), 0.7; (0.55, 0.3), 4.5, 0.85, (12, 8), 0.65; (0.55, 0.3), 2.5, 0.85, (12, 12), 0.55. Below 1
    the flakes grow fewer.

    Parameters
    ----------
    made_for
        The side of the images that the pixels are meant for: with 224 the flakes of an image of 32 x 32 are a
        seventh as large, but at least a pixel. By default they are as published, whatever the size.
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are (0.1, 0.2), 1, 0.6, (8, 3), 0.95; (0.1, 0.2), 1, 0.5, (10, 4), 0.9; (0.15, 0.3), 1.75,
        0.55, (10, 4), 0.9; (0.25, 0.3), 2.25, 0.6, (12, 6), 0.85; (0.3, 0.3), 1.25, 0.65, (14, 12), 0.8.

    Examples
    --------
    >>> images = np.zeros((1, 3, 32, 32), dtype=np.float32)
    >>> faulted = Snow().apply(images, np.array([0]), np.array(["a"]), np.array([2.0]))
    >>> bool(faulted.images.max() > 0.5)
    True
    """

    not_monotone = "its published flakes get larger, then smaller"
    LEVELS: ClassVar = {
        IMAGENET_C: (
            (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
            (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
            (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
            (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
            (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
        ),
        CIFAR_10_C: (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ),
    }

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        _, spread, *others, _ = self._levels[0]
        # At severity 0 the threshold is so many deviations away that no flake reaches it.
        none = (others[1] - 13 / 3 * spread, spread, *others, 1)
        mean, deviation, times, threshold, radius, sigma, left = at_levels(severity, self._levels, none)
        scale = self._scale(images)
        noise = random.normal(1, *images.shape[2:])
        fall = random.uniform(low=-135, high=-45)
        flakes = zoom(np.float32(mean) + np.float32(deviation) * noise, max(1.0, scale * times))
        flakes = np.clip(np.where(flakes < threshold, np.float32(0), flakes), 0, 1)
        flakes = smear(flakes, motion_weights(scale * radius, scale * sigma), fall)
        pale = np.maximum(images, grey_of(images) * np.float32(1.5) + np.float32(0.5))
        result: Images = np.float32(left) * images + np.float32(1 - left) * pale
        return result + flakes + flakes[:, :, ::-1, ::-1]


class Frost(ImageNetC):
    """Ice on the lens: the image is dimmed, and a texture of frost added to it.

    Severities 1 to 5: they are weighed by (1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75), as
    published. The original cuts its texture from photographs; this one is drawn by code (feathers of crystals
    on a white breath, slightly blue) and scales with the image. Each instance gets a piece of its own. It is
    as strong as the original: at severity 5, on GTSRB and CIFAR-10 half and half, images get brighter by 0.32
    of the range (original 0.32), with a PSNR of 8.5 (8.6).

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are (1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45).

    Examples
    --------
    >>> images = np.zeros((1, 3, 32, 32), dtype=np.float32)
    >>> faulted = Frost().apply(images, np.array([0]), np.array(["a"]), np.array([5.0]))
    >>> bool(faulted.images.mean() > 0.3)
    True
    """

    origin = "ImageNet-C (Hendrycks and Dietterich, 2019), with a texture of our own"
    not_monotone = "its published levels weigh picture against frost: the more of it, the less of the other"
    LEVELS: ClassVar = {
        IMAGENET_C: ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)),
        CIFAR_10_C: ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)),
    }

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        left, added = at_levels(severity, self._levels, neutral=(1, 0))
        shape = images.shape[2:]
        ice = cut_at_random(frost_texture(max(shape)), shape, random, degrees=180)
        tint = np.array([0.92, 0.98, 1.04] if images.shape[1] == 3 else [1.0], dtype=np.float32)
        return np.float32(left) * images + np.float32(added) * ice * tint.reshape(1, -1, 1, 1)


class Fog(ImageNetC):
    """Fog in clouds: plasma, a fractal of midpoints, is added, and the sum scaled back to the image's range.

    Severities 1 to 5: a plasma of height 1.5, 2, 2.5, 2.5, 3, and of a decay from each grid to the next finer
    one of 2, 2, 1.7, 1.5, 1.4: denser, then more ragged.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are heights of 0.2, 0.5, 0.75, 1, 1.5 and decays of 3, 3, 2.5, 2, 1.75.

    Examples
    --------
    >>> images = np.zeros((1, 3, 32, 32), dtype=np.float32)
    >>> images[:, :, 16:] = 1
    >>> faulted = Fog().apply(images, np.array([0]), np.array(["a"]), np.array([3.0]))
    >>> bool(faulted.images.std() < images.std())
    True
    """

    LEVELS: ClassVar = {
        IMAGENET_C: ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)),
        CIFAR_10_C: ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
    }

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        height, decay = at_levels(severity, self._levels, neutral=(0, self._levels[0][1]))
        high, wide = images.shape[2:]
        cloud = np.float32(height) * _plasma(random, max(high, wide), decay)[:, None, :high, :wide]
        brightest = images.max(axis=(1, 2, 3), keepdims=True)
        result: Images = (images + cloud) * (brightest / (brightest + np.float32(height)))
        return result


class Rain(Transformation):
    """Falling rain: bright streaks, slanted by the wind, under a grey veil.

    Severities 1 to 5: near streaks of strength 0.35, 0.5, 0.65, 0.8, 0.95, far ones of 0.15, 0.3, 0.45, 0.6,
    0.75, and a veil in a share of 0.06, 0.12, 0.18, 0.24, 0.3. Streaks scale with the image, and an instance
    gets the same ones at each severity.

    Examples
    --------
    >>> images = np.zeros((1, 3, 32, 32), dtype=np.float32)
    >>> faulted = Rain().apply(images, np.array([0]), np.array(["a"]), np.array([5.0]))
    >>> bool(faulted.images.max() > 0.4)
    True
    """

    category = "shift"
    objects = "stay"
    origin = "own"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        levels = [
            (0.35, 0.15, 0.06),
            (0.5, 0.3, 0.12),
            (0.65, 0.45, 0.18),
            (0.8, 0.6, 0.24),
            (0.95, 0.75, 0.3),
        ]
        near, far, veil = at_levels(severity, levels, neutral=(0, 0, 0))
        shape = images.shape[2:]
        result = images + np.float32(veil) * (np.float32(0.55) - images)
        texture = rain_texture(max(shape))
        for strength, nearer in ((near, 1.5), (far, 0.7)):
            streaks = cut_at_random(texture, shape, random, degrees=20, nearer=nearer)
            result += np.float32(strength) * streaks * (np.float32(0.95) - result)
        return result


def _plasma(random: PerInstance, size: int, decay: float) -> Planes:
    """Make clouds from 0 to 1 by the diamond-square algorithm, on a square whose opposite edges are joined.

    Its side is a power of two. Each step halves the grid; a new point is the mean of its four neighbours plus
    a uniform step in +-1, which shrinks by the decay squared from one grid to the next.
    """
    side = 1 << max(1, (size - 1).bit_length())
    step, wobble = side, 1.0
    noise = random.uniform(side, side, low=-1, high=1)
    cloud = np.zeros_like(noise)
    while step >= 2:
        half = step // 2
        corners = cloud[:, ::step, ::step]
        rows = corners + np.roll(corners, -1, axis=1)
        middles = _midpoint(rows + np.roll(rows, -1, axis=2), noise[:, half::step, half::step], wobble)
        cloud[:, half::step, half::step] = middles
        between = middles + np.roll(middles, 1, axis=1) + corners + np.roll(corners, -1, axis=2)
        cloud[:, ::step, half::step] = _midpoint(between, noise[:, ::step, half::step], wobble)
        between = middles + np.roll(middles, 1, axis=2) + corners + np.roll(corners, -1, axis=1)
        cloud[:, half::step, ::step] = _midpoint(between, noise[:, half::step, ::step], wobble)
        step, wobble = half, wobble / decay**2
    cloud -= cloud.min(axis=(1, 2), keepdims=True)
    cloud /= cloud.max(axis=(1, 2), keepdims=True)
    return cloud


def _midpoint(neighbours: Planes, noise: Planes, wobble: float) -> Planes:
    return neighbours / np.float32(4) + np.float32(wobble) * noise
