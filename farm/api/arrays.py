"""The array types of the contracts, and the checks that every boundary shares.

Everything between the parts is NumPy; torch stays inside classifiers and the few monitors that
re-enter one. Images are float32, NCHW, in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from farm.errors import DataError

Images: TypeAlias = NDArray[np.float32]
FloatArray: TypeAlias = NDArray[np.float64]
Features: TypeAlias = NDArray[np.floating]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
StrArray: TypeAlias = NDArray[np.str_]
State: TypeAlias = Mapping[str, NDArray[np.generic]]
"""What a fitted component is: named arrays, nothing else, so that it can be saved without pickle."""

JSON: TypeAlias = bool | int | float | str | Sequence["JSON"] | Mapping[str, "JSON"] | None

NO_ANSWER = -1
"""The label of an instance that no known class is right for."""


def check_images(images: Images, where: str, ids: StrArray | None = None) -> Images:
    """Check dtype, layout, range and finiteness; name the first image that breaks the rule.

    Examples
    --------
    >>> check_images(np.zeros((2, 3, 4, 4), np.float32), "here").shape
    (2, 3, 4, 4)
    >>> check_images(np.full((1, 3, 4, 4), 2, np.float32), "here")
    Traceback (most recent call last):
    farm.errors.DataError: here: image 0 has a pixel 2.0; expected values in [0, 1]
    """
    if images.ndim != 4:
        raise DataError(f"{where}: images have shape {images.shape}; expected N x C x H x W")
    if images.dtype != np.float32:
        raise DataError(f"{where}: images are {images.dtype}; expected float32 in [0, 1]")
    if images.size == 0:
        return images
    # One reduction each way; NaN fails both comparisons, and only then is the culprit searched.
    if images.min() >= 0.0 and images.max() <= 1.0:
        return images
    good = (images >= 0.0) & (images <= 1.0)
    bad = int(np.flatnonzero(~good.all(axis=(1, 2, 3)))[0])
    pixel = images[bad][~good[bad]][0]
    name = f"image {bad}" if ids is None else f"image '{ids[bad]}'"
    rule = "values in [0, 1]" if np.isfinite(pixel) else "finite values"
    if 2 < pixel <= 255:
        rule += ": divide by 255 what counts to 255"
    raise DataError(f"{where}: {name} has a pixel {pixel}; expected {rule}")


def check_labels(labels: IntArray, n_classes: int, where: str, *, no_answer: bool = False) -> IntArray:
    """Check that every label is a class, or -1 where that is allowed."""
    if not np.issubdtype(labels.dtype, np.integer):
        raise DataError(f"{where}: labels are {labels.dtype}; expected whole numbers")
    low = NO_ANSWER if no_answer else 0
    bad = np.flatnonzero((labels < low) | (labels >= n_classes))
    if bad.size:
        i = int(bad[0])
        raise DataError(f"{where}: label {labels[i]} at position {i}; expected {low} to {n_classes - 1}")
    return labels
