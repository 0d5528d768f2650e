"""Elastic transform: the image as if drawn on a sheet of rubber."""

from __future__ import annotations

import numpy as np

from farm.api import Images, PerInstance, at_severity, check_number
from faultloads._filters import gaussian_blur, resample
from faultloads._imagenet_c import ImageNetC


class ElasticTransform(ImageNetC):
    """Shift each pixel to where a smooth random field says, neighbours nearly alike.

    The field is uniform noise up to 0.5 % of the image's height, smoothed over 1 % of its sides, times 12.5,
    16.25, 21.25, 25, 30 at severities 1 to 5, as in the package imagecorruptions. In small images 1 % is less
    than a pixel, and they look scattered rather than stretched: more smoothing helps.

    Parameters
    ----------
    smoothing
        Over which share of the sides the field is smoothed, which also weakens it. With 0.05 an image of
        32 x 32 is stretched about as one of 224 x 224 is with 0.01.

    Examples
    --------
    >>> ElasticTransform(smoothing=0.05).parameters
    {'smoothing': 0.05}
    """

    category = "noise"

    def __init__(self, *, smoothing: float = 0.01) -> None:
        check_number("smoothing", smoothing, above=0, high=1)
        self._smoothing = smoothing

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        high, wide = images.shape[2:]
        strength = at_severity(severity, [12.5, 16.25, 21.25, 25, 30], neutral=0)
        field = random.uniform(2, high, wide, low=-0.005 * high, high=0.005 * high)
        sigma = (self._smoothing * high, self._smoothing * wide)
        field = gaussian_blur(field, sigma, truncate=3, edge="symmetric")
        field *= np.float32(strength)
        rows = np.arange(high, dtype=np.float32).reshape(-1, 1) + field[:, 0]
        columns = np.arange(wide, dtype=np.float32) + field[:, 1]
        return resample(images, rows, columns, edge="symmetric")
