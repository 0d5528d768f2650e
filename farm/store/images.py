"""How a benchmark set keeps its images: one array, exact to the last bit, or PNG files to look at."""

from __future__ import annotations

import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import Images, IntArray
from farm.errors import DataError, one_line
from farm.store.plain_arrays import mapped_npy, write_npy

DAMAGES = (
    *(OSError, SyntaxError, ValueError, TypeError, EOFError, IndexError, OverflowError, MemoryError),
    *(struct.error, zlib.error, Image.DecompressionBombError),
)
"""What Pillow raises on damaged content, by format."""


class ImageStore(ABC):
    """Writes images one batch after another, and reads them by their place."""

    @abstractmethod
    def files(self, length: int) -> list[str]:
        """Name the files that so many images take."""

    @abstractmethod
    def write(self, folder: Path, batches: Iterator[Images], length: int) -> list[str]:
        """Write all images; give the names of the files."""

    @abstractmethod
    def read(self, folder: Path, places: IntArray) -> Images:
        """Read the images at these places."""


class ArrayStore(ImageStore):
    """`images.npy`: float32, N x C x H x W, unchanged; anybody can memory-map it."""

    def files(self, length: int) -> list[str]:
        del length
        return ["images.npy"]

    def write(self, folder: Path, batches: Iterator[Images], length: int) -> list[str]:
        first = next(batches)
        shape = (length, *first.shape[1:])
        write_npy(folder / "images.npy", shape, "<f4", chain([first], batches))
        return self.files(length)

    def read(self, folder: Path, places: IntArray) -> Images:
        mapped = mapped_npy(folder / "images.npy")
        if mapped.ndim != 4 or mapped.dtype != np.float32 or len(mapped) <= places.max(initial=-1):
            raise DataError(
                f"{folder / 'images.npy'}: an array of {mapped.dtype} of shape {mapped.shape}; expected "
                f"float32, N x C x H x W, with at least {places.max() + 1} images"
            )
        return np.asarray(mapped[places], dtype=np.float32)


class PngStore(ImageStore):
    """`000000.png`, ...: rounded to 8 bits, as a camera delivers them; what is read is what was written."""

    def files(self, length: int) -> list[str]:
        return [f"{place:06d}.png" for place in range(length)]

    def write(self, folder: Path, batches: Iterator[Images], length: int) -> list[str]:
        names = iter(self.files(length))
        for images in batches:
            if images.shape[1] not in (1, 3):
                raise DataError(f"PNG files hold 1 or 3 channels; the stream has {images.shape[1]}")
            for pixels in np.rint(images * np.float32(255)).astype(np.uint8).transpose(0, 2, 3, 1):
                Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(folder / next(names))
        return self.files(length)

    def read(self, folder: Path, places: IntArray) -> Images:
        decoded: list[NDArray[np.uint8]] = []
        for place in places:
            path = folder / f"{place:06d}.png"
            try:
                with Image.open(path, formats=("PNG",)) as image:
                    pixels, mode = np.asarray(image), image.mode
            except DAMAGES as error:
                raise DataError(f"{path} cannot be read as PNG ({one_line(error)})") from error
            pixels = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
            if mode not in ("L", "RGB") or (decoded and pixels.shape != decoded[0].shape):
                raise DataError(
                    f"{path}: an image of mode {mode} and shape {pixels.shape}; expected grey or RGB, 8 bits "
                    "a channel, of the size of all others"
                )
            decoded.append(pixels)
        return np.stack(decoded).astype(np.float32) / np.float32(255)


STORES: dict[str, ImageStore] = {"npy": ArrayStore(), "png": PngStore()}
