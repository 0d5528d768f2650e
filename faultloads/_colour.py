"""Colour images and their grey copies."""

from __future__ import annotations

import numpy as np

from farm.api import Images
from farm.errors import DataError


def grey_of(images: Images) -> Images:
    """Return the luma of each pixel (ITU-R BT.601), as one channel; grey images are their own."""
    if images.shape[1] == 1:
        return images
    red, green, blue = images[:, 0:1], images[:, 1:2], images[:, 2:3]
    grey: Images = np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue
    return grey


def need_colours(images: Images, name: str) -> None:
    """Refuse grey images, which a fault of this name would leave as they are."""
    if images.shape[1] != 3:
        raise DataError(
            f"faultload '{name}' changes colours; got images with {images.shape[1]} channel(s), expected 3"
        )
