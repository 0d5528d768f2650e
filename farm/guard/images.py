"""An image as a program has it, in the form that a classifier takes; just as a workload of files reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import Images, check_images
from farm.errors import DataError
from farm.workloads.decoding import Layout, Shape, UnusableImage, check_form, decode, read_bytes, to_pixels

AnyImage: TypeAlias = str | Path | Image.Image | NDArray[Any]
"""A file, a Pillow image, or an array: uint8 as H x W x C or H x W, float32 in [0, 1] as C x H x W."""


def is_single(image: Any) -> bool:
    """Say whether this is one image and not several."""
    return isinstance(image, str | Path | Image.Image) or getattr(image, "ndim", 4) < 4


def as_input(image: AnyImage, shape: Shape, name: str) -> Images:
    """Give one image as float32 in [0, 1], of this shape; `name` is what an error calls it.

    Files, Pillow images and uint8 arrays are turned into grey or RGB and resized where they need it. Floats
    are taken for what a workload holds, and must have the very shape.
    """
    try:
        pixels = _pixels(image, shape)
    except UnusableImage as error:
        raise DataError(f"{name}: {error}") from None
    if pixels is not None:
        # In the order of memory that workloads have: sums in single precision depend on it.
        return np.ascontiguousarray(pixels).astype(np.float32) / np.float32(255)
    array = np.asarray(image)
    if array.dtype != np.float32:
        raise DataError(f"{name}: an array of {array.dtype}; expected uint8, or float32 in [0, 1]")
    if array.shape != shape:
        raise DataError(
            f"{name}: an array of {_by(array.shape)} in float32; expected {_by(shape)} (C x H x W): give a "
            "file, a Pillow image or uint8 to have it resized"
        )
    return np.ascontiguousarray(check_images(array[None], name)[0])


def _pixels(image: AnyImage, shape: Shape) -> NDArray[np.uint8] | None:
    layout = Layout(shape[1:], shape[0])
    if isinstance(image, str | Path):
        return decode(read_bytes(str(image)), shape, layout)
    if not isinstance(image, Image.Image):
        array = np.asarray(image)
        if array.dtype != np.uint8:
            return None
        if array.ndim not in (2, 3) or 0 in array.shape or (array.ndim == 3 and array.shape[2] not in (1, 3)):
            raise UnusableImage(
                f"an array of {_by(array.shape)} in uint8; expected H x W x C with 1 or 3 channels, or H x W"
            )
        image = Image.fromarray(np.ascontiguousarray(array[:, :, 0] if array.shape[2:] == (1,) else array))
    check_form(image)
    return to_pixels(image, shape, layout)


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "no dimension"
