"""An image as a program has it, in the form that a classifier takes; just as a workload of files reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import Images, StrArray, check_images
from farm.errors import DataError
from farm.workloads.decoding import Layout, Shape, UnusableImage, check_form, opened, read_file, to_pixels

AnyImage: TypeAlias = str | Path | Image.Image | NDArray[Any]
"""A file, a Pillow image, or an array: uint8 as H x W x C or H x W, float32 in [0, 1] as C x H x W."""

EXPECTED = "expected a file's path, a Pillow image or an array"
STRETCHED = 2.0
"""Height by width may change by this factor before a decision has a note of it."""
ENLARGED = 4.0
"""And a side may become longer by this one."""


class Input(NamedTuple):
    """One image as the classifier takes it, and what is to be known of how it became so."""

    image: Images
    notes: tuple[str, ...] = ()


def as_inputs(image: AnyImage | Iterable[AnyImage], shape: Shape) -> tuple[list[Input], bool]:
    """Return one image or several in the form that the classifier takes, and whether it was one.

    Of an array the number of dimensions says which: 2 or 3 are one image, 4 are a batch.
    """
    ndim = getattr(image, "ndim", 4)
    if ndim not in (2, 3, 4):
        raise DataError(
            f"an array of {_by(getattr(image, 'shape', ()))} is neither an image nor a batch; expected 2 or "
            "3 dimensions (one image) or 4 (a batch)"
        )
    single = isinstance(image, str | Path | Image.Image) or ndim < 4
    no_images = isinstance(image, bytes | bytearray | memoryview | Mapping) or not isinstance(image, Iterable)
    if not single and no_images:
        raise DataError(f"the image is {_what(image)}; {EXPECTED}, or several of them")
    images: list[Any] = [image] if single else list(image)  # type: ignore[arg-type]
    inputs = []
    for i, one in enumerate(images):
        name = "the image" if single else f"image {i} of {len(images)}"
        inputs.append(as_input(one, shape, str(one) if isinstance(one, str | Path) else name))
    return inputs, single


def as_tracks(track: Sequence[str] | str | None, n: int) -> StrArray | None:
    """Return the track of each of n images, of one name for all or of one each; None where there is none."""
    if track is None:
        return None
    names = [track] * n if isinstance(track, str) else list(track) if isinstance(track, Iterable) else [track]
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise DataError(f"track has {wrong[0]!r}; expected a name, or one name for each image")
    if len(names) != n:
        raise DataError(f"track has {len(names)} names for {n} images; expected one name, or one each")
    return np.array(names, dtype=np.str_)


def as_input(image: AnyImage, shape: Shape, name: str) -> Input:
    """Return one image as float32 in [0, 1], of this shape; `name` is what an error calls it.

    Files, Pillow images and uint8 arrays are turned into grey or RGB and resized where they need it. Floats
    are taken for what a workload holds, and must have the very shape.
    """
    if not (isinstance(image, str | Path | Image.Image) or hasattr(image, "__array__")):
        raise DataError(f"{name} is {_what(image)}; {EXPECTED}")
    try:
        found = _pixels(image, shape)
    except UnusableImage as error:
        raise DataError(f"{name}: {error}") from None
    if found is not None:
        pixels, notes = found
        # In the order of memory that workloads have: sums in single precision depend on it.
        return Input(np.divide(pixels, 255, dtype=np.float32, order="C"), notes)
    array = np.asarray(image)
    if array.dtype != np.float32:
        raise DataError(f"{name}: an array of {array.dtype}; expected uint8, or float32 in [0, 1]")
    if array.shape != shape:
        raise DataError(
            f"{name}: an array of {_by(array.shape)} in float32; expected {_by(shape)} (C x H x W) for one "
            f"image, N x {_by(shape)} for a batch: give a file, a Pillow image or uint8 to have it resized"
        )
    return Input(np.ascontiguousarray(check_images(array[None], name)[0]))


def _pixels(image: AnyImage, shape: Shape) -> tuple[NDArray[np.uint8], tuple[str, ...]] | None:
    """Return its pixels, and notes on how they were resized; None for an array that is not of 8 bits."""
    if isinstance(image, str | Path):
        image = opened(read_file(str(image)))
    elif not isinstance(image, Image.Image):
        array = np.asarray(image)
        if array.dtype != np.uint8:
            return None
        if array.ndim not in (2, 3) or 0 in array.shape or (array.ndim == 3 and array.shape[2] not in (1, 3)):
            raise UnusableImage(
                f"an array of {_by(array.shape)} in uint8; expected H x W x C with 1 or 3 channels, or H x "
                "W, for one image; N x H x W x C for a batch"
            )
        if array.shape == (*shape[1:], shape[0]):  # as it is to be, so that there is nothing to resize
            return array.transpose(2, 0, 1), ()
        image = Image.fromarray(np.ascontiguousarray(array[:, :, 0] if array.shape[2:] == (1,) else array))
    check_form(image)
    pixels = to_pixels(image, shape, Layout(shape[1:], shape[0]))
    return pixels, _resized(image.height, image.width, shape)


def _resized(height: int, width: int, shape: Shape) -> tuple[str, ...]:
    """Say where resizing changes what is seen: proportions, or many pixels made out of few."""
    wide, tall = shape[2] / width, shape[1] / height
    notes = []
    if (factor := max(wide / tall, tall / wide)) > STRETCHED:
        notes.append(f"its proportions changed {factor:.3g} times")
    if (factor := max(wide, tall)) > ENLARGED:
        notes.append(f"a side was enlarged {factor:.3g} times")
    if not notes:
        return ()
    sizes = f"resized from {height} x {width} to {shape[1]} x {shape[2]} (height x width)"
    return (f"{sizes}: {' and '.join(notes)}",)


def _what(value: Any) -> str:
    """Say what was given in an image's place: small values as they are, others by their type."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return f"of the type {type(value).__name__}"


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "no dimension"
