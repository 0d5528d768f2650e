"""Spatter: drops of water or mud on the lens."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.ndimage import label

from farm.api import BoolArray, Images, PerInstance
from faultloads._filters import Planes, convolve, gaussian_blur
from faultloads._imagenet_c import CIFAR_10_C, IMAGENET_C, ImageNetC, at_levels

_WATER = (175 / 255, 238 / 255, 238 / 255)
_MUD = (63 / 255, 42 / 255, 20 / 255)
_LUMA = (0.299, 0.587, 0.114)
_BOX = np.full((3, 3), 1 / 9)
_EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
_ACROSS = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
_FARTHEST = 20


class Spatter(ImageNetC):
    """Put drops on the lens: of water at severities 1 to 3, lit at their rims, and of mud at 4 and 5.

    Drops are where smoothed normal noise is above a threshold. Severities 1 to 3: its mean is 0.65, its
    standard deviation 0.3 before smoothing over 4, 3, 2 pixels, the threshold 0.69, 0.68, 0.68, and the
    water's opacity 0.6, 0.6, 0.5. Severities 4 and 5: mean 0.65 and 0.67, deviation 0.3 and 0.4, smoothed
    over 1 pixel, threshold 0.65; the drops are softened by 1.5 pixels and kept where at least 0.8 is left.
    Between 3 and 4 both are mixed. Pixels are as published, whatever the image's size. Rims are found as
    the reference does (Canny's edges from 50 to 150 of 255), but the distance to them is exact. A grey image
    gets the brightness of the drops' colour.

    Parameters
    ----------
    levels
        Whose severities: those above are ImageNet-C's (`imagenet-c`); CIFAR-10-C's (`cifar-10-c`), for images
        of 32 x 32, are means of 0.62 and then 0.65, deviations of 0.1, 0.1, 0.3, 0.1, 0.1 before smoothing
        over 0.7, 0.8, 1, 0.7, 0.5 pixels, thresholds of 0.7, 0.7, 0.69, 0.69, 0.68, an opacity of 0.5, and
        mud softened by 0.6 pixels.

    Examples
    --------
    >>> Spatter().category
    'noise'
    """

    category = "noise"
    not_monotone = (
        "water brightens and mud darkens: levels 4 and 5 are another substance; at 32 x 32 (GTSRB) values "
        "change by 0.014, 0.031, 0.037, 0.025, 0.039 and a LeNet is right in 90, 77, 69, 76, 65 %"
    )
    LEVELS: ClassVar = {  # mean, deviation, smoothed over, threshold; water's opacity, or mud softened by
        IMAGENET_C: (
            (0.65, 0.3, 4, 0.69, 0.6),
            (0.65, 0.3, 3, 0.68, 0.6),
            (0.65, 0.3, 2, 0.68, 0.5),
            (0.65, 0.3, 1, 0.65, 1.5),
            (0.67, 0.4, 1, 0.65, 1.5),
        ),
        CIFAR_10_C: (
            (0.62, 0.1, 0.7, 0.7, 0.5),
            (0.65, 0.1, 0.8, 0.7, 0.5),
            (0.65, 0.3, 1, 0.69, 0.5),
            (0.65, 0.1, 0.7, 0.69, 0.6),
            (0.65, 0.1, 0.5, 0.68, 0.6),
        ),
    }

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        noise = random.normal(*images.shape[2:])
        water, mud = self._levels[:3], self._levels[3:]
        if severity <= 3:
            return _water(images, noise, *at_levels(severity, water, neutral=(*water[0][:4], 0)))
        muddy = _mud(images, noise, *at_levels(max(severity, 4) - 3, mud, neutral=mud[0]))
        if severity >= 4:
            return muddy
        wet = np.clip(_water(images, noise, *water[2]), 0, 1)
        return wet + np.float32(severity - 3) * (muddy - wet)


def _thickness(noise: Planes, mean: float, deviation: float, over: float) -> Planes:
    return np.float32(deviation) * gaussian_blur(noise, over) + np.float32(mean)


def _water(
    images: Images,
    noise: Planes,
    mean: float,
    deviation: float,
    over: float,
    threshold: float,
    opacity: float,
) -> Images:
    thickness = _thickness(noise, mean, deviation, over)
    levels = np.floor(np.clip(thickness * (thickness >= np.float32(threshold)), 0, 1) * np.float32(255))
    drops = levels * convolve(_relief(_distance(_edges(levels))), _BOX)
    # An image without a drop stays as it is.
    drops /= np.maximum(drops.max(axis=(1, 2), keepdims=True), 1)
    drops *= np.float32(opacity)
    wet: Images = images + drops[:, np.newaxis] * _colour(_WATER, images)
    return wet


def _mud(
    images: Images, noise: Planes, mean: float, deviation: float, over: float, threshold: float, soft: float
) -> Images:
    thickness = _thickness(noise, mean, deviation, over)
    drops = gaussian_blur((thickness > np.float32(threshold)).astype(np.float32), soft)[:, np.newaxis]
    drops *= drops >= np.float32(0.8)
    muddy: Images = images + drops * (_colour(_MUD, images) - images)
    return muddy


def _colour(colour: tuple[float, float, float], images: Images) -> Planes:
    grey = sum(part * weight for part, weight in zip(colour, _LUMA, strict=True))
    return np.array(colour if images.shape[1] == 3 else [grey], dtype=np.float32).reshape(-1, 1, 1)


def _edges(levels: Planes) -> BoolArray:
    """Find where brightness changes most, as Canny does: steep places, and the less steep that touch them."""
    along, down = convolve(levels, _ACROSS, edge="edge"), convolve(levels, _ACROSS.T, edge="edge")
    flat, upright = np.abs(along), np.abs(down)
    steepness = flat + upright
    ring = np.pad(steepness, ((0, 0), (1, 1), (1, 1)))
    high, wide = levels.shape[1:]

    def is_ridge(row: int, column: int) -> BoolArray:
        before = ring[:, 1 - row : 1 - row + high, 1 - column : 1 - column + wide]
        after = ring[:, 1 + row : 1 + row + high, 1 + column : 1 + column + wide]
        return (steepness > before) & (steepness >= after)

    slope = np.float32(np.tan(np.pi / 8))
    ridge = np.where(
        upright < slope * flat,
        is_ridge(0, 1),
        np.where(
            flat < slope * upright,
            is_ridge(1, 0),
            np.where(along * down < 0, is_ridge(1, -1), is_ridge(1, 1)),
        ),
    )
    within_an_image = np.array([np.zeros((3, 3)), np.ones((3, 3)), np.zeros((3, 3))])
    lines, n_lines = label(ridge & (steepness > 50), within_an_image)
    kept = np.zeros(n_lines + 1, dtype=bool)
    kept[lines[ridge & (steepness > 150)]] = True
    return kept[lines]


def _distance(edges: BoolArray) -> Planes:
    """Return each pixel's distance to the next edge in its image, at most 20."""
    n, high, wide = edges.shape
    # First the distance within the column, then the nearest of all columns that are near enough.
    column = np.where(edges, 0, _FARTHEST).astype(np.int16)
    for rows in (range(1, high), range(high - 2, -1, -1)):
        for row in rows:
            before = column[:, row - rows.step] + np.int16(1)
            np.minimum(column[:, row], before, out=column[:, row])
    squares = np.full((n, high, wide + 2 * _FARTHEST), _FARTHEST**2, dtype=np.int16)
    squares[:, :, _FARTHEST:-_FARTHEST] = column**2
    nearest = column**2
    for away in range(1, min(_FARTHEST, wide)):
        for start in (_FARTHEST - away, _FARTHEST + away):
            np.minimum(nearest, squares[:, :, start : start + wide] + np.int16(away**2), out=nearest)
    return np.sqrt(nearest, dtype=np.float32)


def _relief(distance: Planes) -> Planes:
    """Light the drops from one side: spread the distances over all 256 levels, then emboss them."""
    levels = convolve(distance, _BOX).astype(np.int64)
    n, pixels, n_levels = len(levels), levels[0].size, _FARTHEST + 1
    places = levels + np.arange(n).reshape(-1, 1, 1) * n_levels
    counts = np.bincount(places.ravel(), minlength=n * n_levels).reshape(n, n_levels)
    lowest = np.take_along_axis(counts, (counts > 0).argmax(axis=1, keepdims=True), axis=1)
    spread = np.rint((np.cumsum(counts, axis=1) - lowest) * (255 / np.maximum(pixels - lowest, 1)))
    even = np.where(lowest == pixels, np.arange(n_levels), spread).astype(np.float32)
    return np.clip(convolve(even.take(places), _EMBOSS), 0, 255)
