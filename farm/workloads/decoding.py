"""One image file into one array: what is accepted, how it is resized, and why a file cannot be used."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import check_number, read_bytes
from farm.errors import ParameterError
from farm.store.images import DAMAGES

FORMATS = ("PNG", "JPEG", "PPM", "BMP", "WEBP")
SUFFIXES = (".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".bmp", ".webp")
EXPECTED = "expected one still image, grey or RGB, 8 bits a channel: convert it, or take it out"

Shape = tuple[int, int, int]
"""Channels, height, width."""


class UnusableImage(Exception):  # noqa: N818 - never seen by a user: its text is gathered with others'
    """Why one file cannot be used."""


@dataclass(frozen=True)
class Layout:
    """The height and width, and the channels, that images shall have; None takes them as they are."""

    size: tuple[int, int] | None = None
    channels: int | None = None

    @classmethod
    def of(cls, size: Sequence[int] | None, channels: int | None) -> Layout:
        """Check the two parameters as users write them."""
        if channels is not None and (type(channels) is not int or channels not in (1, 3)):
            raise ParameterError(f"channels is {channels!r}; expected 1 or 3")
        if size is None:
            return cls(None, channels)
        if not isinstance(size, Sequence) or len(size) != 2:
            raise ParameterError(f"size is {size!r}; expected two whole numbers, height and width")
        for value in size:
            check_number("size", value, low=1, whole=True)
        return cls((size[0], size[1]), channels)

    def shape_of(self, channels: int, height: int, width: int) -> Shape:
        """Return the shape that an image of this form gets."""
        return self.channels or channels, *(self.size or (height, width))


MOST = 2**28
"""Bytes of an image file that are read at most."""
DENSEST = 10_000
"""Bytes of pixels that a byte of a file stands for at most; one colour alone is fewer in WebP."""


def read_file(path: str) -> bytes:
    """Return a file's content."""
    try:
        return read_bytes(path, MOST)
    except OSError as error:
        raise UnusableImage(f"cannot be read ({error.strerror})") from None


def header(data: bytes) -> Shape:
    """Return channels, height and width; no pixel is decoded."""
    return _form(opened(data))


def decode(
    data: bytes, shape: Shape, layout: Layout, said: tuple[int, int] | None = None
) -> NDArray[np.uint8]:
    """Decode an image into an array of this shape, C x H x W.

    `said` is the height and width that an index claims it has.
    """
    image = opened(data)
    if said is not None and said != (image.height, image.width):
        raise UnusableImage("not of the size that the index says")
    return to_pixels(image, shape, layout)


def to_pixels(image: Image.Image, shape: Shape, layout: Layout) -> NDArray[np.uint8]:
    """Resize an image and turn it to grey or RGB, where that is asked for; refuse it where it is not."""
    channels, height, width = _form(image)
    if layout.channels is None and channels != shape[0]:
        forms = {1: "grey", 3: "RGB"}
        raise UnusableImage(
            f"{forms[channels]}, where the first is {forms[shape[0]]} "
            f"(set channels: {shape[0]} to turn all into {forms[shape[0]]})"
        )
    if layout.size is None and (height, width) != shape[1:]:
        raise UnusableImage(
            f"not {shape[1]} x {shape[2]} (height x width) as the first "
            f"(set size: [{shape[1]}, {shape[2]}] to resize all)"
        )
    try:
        image = image.convert("L" if shape[0] == 1 else "RGB")
        if (height, width) != shape[1:]:
            # Averages over all that a pixel covers, and unlike sharper filters leaves no rings at edges.
            image = image.resize((shape[2], shape[1]), Image.Resampling.BILINEAR, reducing_gap=3.0)
        pixels = np.asarray(image)
    except DAMAGES as error:
        raise UnusableImage("truncated or damaged") from error
    return pixels[None] if shape[0] == 1 else pixels.transpose(2, 0, 1)


def decode_mask(data: bytes, said: tuple[int, int], shape: Shape) -> NDArray[np.bool_]:
    """Decode a mask, True where it is not black; resized as its image was, without anything in between."""
    image = opened(data)
    if (image.height, image.width) != said:
        raise UnusableImage("a mask not of the size of its image")
    try:
        image = image.convert("RGB") if image.mode == "P" else image
        pixels = np.asarray(image)
    except DAMAGES as error:
        raise UnusableImage("truncated or damaged") from error
    inked = (pixels if pixels.ndim == 2 else pixels.any(axis=2)) != 0
    resized = Image.fromarray(inked).resize((shape[2], shape[1]), Image.Resampling.NEAREST)
    return np.asarray(resized)


def opened(data: bytes) -> Image.Image:
    """Return an image, its pixels not decoded; refuse what is no whole, still one of a known form."""
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
        frames = getattr(image, "n_frames", 1) if image.format in ("PNG", "WEBP") else 1
    except Image.DecompressionBombError:
        raise UnusableImage("larger than Pillow decodes") from None
    except DAMAGES as error:
        whole = "truncated or damaged" if data else "empty"
        raise UnusableImage(f"{whole}, or no PNG, JPEG, PPM, BMP or WebP (take it out)") from error
    claimed = image.width * image.height * len(image.getbands())
    claims_too_much = image.format != "WEBP" and claimed > DENSEST * len(data)
    if claims_too_much or (image.format == "PNG" and b"IEND" not in data[-1024:]):
        raise UnusableImage("truncated or damaged")
    if frames > 1:
        raise UnusableImage(f"animated; {EXPECTED}")
    check_form(image)
    return image


def check_form(image: Image.Image) -> None:
    """Refuse an image that would lose something on the way to 8 bits of grey or RGB."""
    if _bits(image) > 8:
        raise UnusableImage(f"16-bit; {EXPECTED}")
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        raise UnusableImage(f"with an alpha channel; {EXPECTED}")
    if image.mode not in ("1", "L", "P", "RGB"):
        raise UnusableImage(f"{image.mode}; {EXPECTED}")


def _form(image: Image.Image) -> Shape:
    return (1 if image.mode in ("1", "L") else 3), image.height, image.width


def _bits(image: Any) -> int:
    """Tell the bits a channel; of 16-bit colour Pillow would silently keep the upper half."""
    if image.mode.startswith(("I", "F")):
        return 16
    for tile in getattr(image, "tile", ()):  # what is in memory already has none
        arguments = tile.args if isinstance(tile.args, tuple) else (tile.args,)
        # Of PPM a number is its largest value; of BMP it is a line's length.
        largest = max((a for a in arguments if isinstance(a, int) and image.format == "PPM"), default=0)
        if largest > 255 or any(isinstance(a, str) and ";16" in a for a in arguments):
            return 16
    return 8
