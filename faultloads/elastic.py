"""Elastic transform: the image as if drawn on a sheet of rubber."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from farm.api import Images, PerInstance, at_severity, check_number
from farm.errors import ParameterError
from faultloads._filters import Edge, Planes, gaussian_blur, resample
from faultloads._imagenet_c import CIFAR_10_C, IMAGENET_C, ImageNetC, at_levels
from faultloads._warps import Warp

IMAGECORRUPTIONS = "imagecorruptions"
_SIDE = 244 / 224
"""ImageNet-C takes 244 for the side of its images of 224 x 224."""


class ElasticTransform(Warp, ImageNetC):
    """Shift each pixel to where a smooth random field says, neighbours nearly alike.

    By default as in the package imagecorruptions, whose definition is not Hendrycks's: the field is uniform
    noise up to 0.5 % of the image's height, smoothed over 1 % of its sides, times 12.5, 16.25, 21.25, 25, 30
    at severities 1 to 5. In small images 1 % is less than a pixel, and they look scattered rather than
    stretched: more smoothing helps.

    Hendrycks first moves three points of the image by up to a share of its shorter side, and all else with
    them; then the field is uniform noise within +-1, smoothed over a share and multiplied by one.

    Parameters
    ----------
    levels
        Whose definition: `imagecorruptions`, or Hendrycks's with the levels of `imagenet-c` (field 2.18,
        2.18, 0.054, 0.076, 0.131, smoothed over 0.76, 0.087, 0.011, 0.011, 0.011, points by 0.109, 0.218,
        0.022, 0.022, 0.022) or `cifar-10-c` (field 0, 0.05, 0.08, 0.1, 0.1, smoothed over 0, 0.2, 0.06, 0.04,
        0.03, points by 0.08, 0.07, 0.06, 0.05, 0.03).
    smoothing
        Over which share of the sides the field of `imagecorruptions` is smoothed, which also weakens it; None
        takes 0.01. With 0.05 an image of 32 x 32 is stretched about as one of 224 x 224 is with 0.01.

    Examples
    --------
    >>> ElasticTransform(smoothing=0.05).parameters
    {'levels': 'imagecorruptions', 'smoothing': 0.05}
    """

    category = "noise"
    _edge = "symmetric"
    reference = (
        "Michaelis et al.: Benchmarking robustness in object detection, 2019; "
        "Hendrycks, Dietterich: Benchmarking neural network robustness to common corruptions, ICLR 2019"
    )
    origin = "imagecorruptions (Michaelis et al., 2019); by `levels` Hendrycks and Dietterich, 2019"
    not_monotone = "Hendrycks's points move less at higher levels; what imagecorruptions defines does grow"
    LEVELS: ClassVar = {
        IMAGECORRUPTIONS: (12.5, 16.25, 21.25, 25, 30),
        IMAGENET_C: (
            (2 * _SIDE, 0.7 * _SIDE, 0.1 * _SIDE),
            (2 * _SIDE, 0.08 * _SIDE, 0.2 * _SIDE),
            (0.05 * _SIDE, 0.01 * _SIDE, 0.02 * _SIDE),
            (0.07 * _SIDE, 0.01 * _SIDE, 0.02 * _SIDE),
            (0.12 * _SIDE, 0.01 * _SIDE, 0.02 * _SIDE),
        ),
        CIFAR_10_C: (
            (0, 0, 0.08),
            (0.05, 0.2, 0.07),
            (0.08, 0.06, 0.06),
            (0.1, 0.04, 0.05),
            (0.1, 0.03, 0.03),
        ),
    }

    def __init__(self, *, levels: str = IMAGECORRUPTIONS, smoothing: float | None = None) -> None:
        super().__init__(levels=levels)
        self._smoothing = 0.01 if smoothing is None else smoothing
        check_number("smoothing", self._smoothing, above=0, high=1)
        if smoothing is not None and levels != IMAGECORRUPTIONS:
            raise ParameterError(
                f"smoothing is {smoothing} and levels is '{levels}', whose levels say how much is smoothed; "
                f"expected one of the two: leave smoothing out, or take levels: {IMAGECORRUPTIONS}"
            )
        self._moves_points = levels != IMAGECORRUPTIONS

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        high, wide = images.shape[2:]
        if self._moves_points:
            side = min(high, wide)
            _, first_smoothing, _ = self._levels[0]
            shares = at_levels(severity, self._levels, neutral=(0, first_smoothing, 0))
            strength, smoothing, points = (side * share for share in shares)
            edge: Edge = "reflect" if self._edge == "symmetric" else self._edge
            images = _with_points_moved(images, random.uniform(3, 2, low=-points, high=points), edge)
            field, sigma = random.uniform(2, high, wide, low=-1, high=1), (smoothing, smoothing)
        else:
            strength = at_severity(severity, self._levels, neutral=0)
            field = random.uniform(2, high, wide, low=-0.005 * high, high=0.005 * high)
            sigma = (self._smoothing * high, self._smoothing * wide)
        field = gaussian_blur(field, sigma, truncate=3, edge="symmetric")
        field *= np.float32(strength)
        rows = np.arange(high, dtype=np.float32).reshape(-1, 1) + field[:, 0]
        columns = np.arange(wide, dtype=np.float32) + field[:, 1]
        return resample(images, rows, columns, edge=self._edge)


def _with_points_moved(images: Images, moves: Planes, edge: Edge) -> Images:
    """Move three corners of a square in the middle by so many pixels (across, down), and all with them."""
    high, wide = images.shape[2:]
    half = max(1, min(high, wide) // 3)
    middle = np.array([wide // 2, high // 2])
    corners = middle + half * np.array([[1, 1], [1, -1], [-1, -1]])
    lower, origin, left = (corners + moves.astype(np.float64)).transpose(1, 2, 0)[..., None, None]
    down, across = lower - origin, left - origin
    places = np.stack(np.broadcast_arrays(np.arange(wide), np.arange(high)[:, None]))[:, None] - origin
    area = _cross(down, across)
    columns = corners[1, 0] - 2 * half * _cross(down, places) / area
    rows = corners[1, 1] + 2 * half * _cross(places, across) / area
    # Where the three come to lie on a line, what is seen lies without limit far away.
    far = 100 * max(high, wide)
    rows, columns = (np.clip(at, -far, far).astype(np.float32) for at in (rows, columns))
    return resample(images, rows, columns, edge=edge)


def _cross(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray(one[0] * other[1] - one[1] * other[0])
