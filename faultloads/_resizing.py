"""Images of another size or number of channels, brought to ours as they are read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from farm.api import BoolArray, FloatArray, Images, ImageSource, IntArray, Split
from farm.errors import ParameterError

LUMA = np.array([0.299, 0.587, 0.114])
"""ITU-R 601: what red, green and blue add to the brightness that eyes see."""
Shape = tuple[int, int, int]


class ResizedImages:
    """Images of another source, bilinear in another size, in grey or in colours.

    Shrinking averages over all pixels (antialiasing). Grey becomes three equal channels, and colours become
    ITU-R 601 luma. Each image is computed by itself, and so has the same bits whatever is read with it.

    Examples
    --------
    >>> from farm.api import ArrayImages
    >>> ramp = ArrayImages(np.linspace(0, 1, 4, dtype=np.float32).reshape(1, 1, 1, 4))
    >>> ResizedImages(ramp, (3, 1, 2)).read(np.array([0]))[0, 1].round(2)
    array([[0.24, 0.76]], dtype=float32)
    """

    def __init__(self, images: ImageSource, shape: Shape) -> None:
        theirs, ours = images.shape[0], shape[0]
        if ours != theirs and {ours, theirs} != {1, 3}:
            raise ParameterError(
                f"resize: images have {theirs} channels, which cannot be brought to {ours}; expected 1 or 3"
            )
        self._images, self._shape = images, shape
        self._down = triangle_filter(images.shape[1], shape[1])
        self._across = triangle_filter(images.shape[2], shape[2]).T

    @property
    def shape(self) -> Shape:
        """Channels, height, width."""
        return self._shape

    def __len__(self) -> int:
        return len(self._images)

    def read(self, indices: IntArray) -> Images:
        """Read these images, and bring each to the shape."""
        images = self._images.read(indices)
        resized = np.empty((len(images), *self._shape), dtype=np.float32)
        for image, place in zip(images, resized, strict=True):
            place[:] = self._one(image.astype(np.float64))
        return resized

    def _one(self, image: FloatArray) -> FloatArray:
        if len(image) > self._shape[0]:
            image = (image * LUMA[:, None, None]).sum(axis=0, keepdims=True)
        # Last bits may be beyond what they are averages of.
        inside: FloatArray = np.clip([self._down @ channel @ self._across for channel in image], 0, 1)
        return inside


def resized(split: Split, shape: Shape) -> Split:
    """Return a split with its images in this shape, and boxes and masks that fit them."""
    (height, width), (_, new_height, new_width) = split.images.shape[1:], shape
    wider, higher = new_width / width, new_height / height
    return replace(
        split,
        images=ResizedImages(split.images, shape),
        boxes=None if split.boxes is None else split.boxes * np.array([wider, higher, wider, higher]),
        masks=None if split.masks is None else _nearest(split.masks, new_height, new_width),
    )


def triangle_filter(old: int, new: int) -> FloatArray:
    """Return the matrix that brings a line of old pixels to new ones: a row each, which sums to 1.

    A new pixel is a weighted mean; weights fall linearly with the distance, to 0 at the next new pixel when
    it shrinks, and at the next old one when it grows.

    Examples
    --------
    >>> triangle_filter(2, 4)
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.25, 0.75],
           [0.  , 1.  ]])
    """
    scale = old / new
    middles = (np.arange(new) + 0.5) * scale
    away = np.abs(np.arange(old) + 0.5 - middles[:, None]) / max(scale, 1.0)
    weights: FloatArray = np.maximum(1 - away, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def _nearest(masks: BoolArray, height: int, width: int) -> BoolArray:
    """Return each new pixel's value at its middle."""
    rows, columns = (
        ((np.arange(new) + 0.5) * old / new).astype(np.int64)
        for old, new in zip(masks.shape[1:], (height, width), strict=True)
    )
    found: BoolArray = masks[:, rows[:, None], columns]
    return found
