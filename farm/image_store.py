"""How a benchmark set keeps its images: one array, exact to the last bit, or PNG files to look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image

from farm.api import Images, IntArray
from farm.errors import DataError


class ImageStore(Protocol):
    """Writes images one batch after another, and reads them by their place."""

    def write(self, folder: Path, batches: Iterator[Images], length: int) -> list[str]:
        """Write all images; give the names of the files."""
        ...

    def read(self, folder: Path, places: IntArray) -> Images:
        """Read the images at these places."""
        ...

    def files(self, length: int) -> list[str]:
        """Name the files that so many images take."""
        ...


class ArrayStore:
    """`images.npy`: float32, N x C x H x W, unchanged; anybody can memory-map it."""

    def files(self, length: int) -> list[str]:
        """Name its one file."""
        del length
        return ["images.npy"]

    def write(self, folder: Path, batches: Iterator[Images], length: int) -> list[str]:
        """Append batch after batch: a full disk is then an error, where a memory map would crash."""
        with (folder / "images.npy").open("wb") as file:
            for number, images in enumerate(batches):
                if not number:
                    header = {"descr": "<f4", "fortran_order": False, "shape": (length, *images.shape[1:])}
                    np.lib.format.write_array_header_1_0(file, header)
                file.write(np.ascontiguousarray(images, dtype="<f4").tobytes())
        return self.files(length)

    def read(self, folder: Path, places: IntArray) -> Images:
        """Read the images at these places."""
        mapped = np.load(folder / "images.npy", mmap_mode="r", allow_pickle=False)
        return np.asarray(mapped[places], dtype=np.float32)


class PngStore:
    """`000000.png`, ...: rounded to 8 bits, as a camera delivers them; what is read is what was written."""

    def files(self, length: int) -> list[str]:
        """Name the files in the order of the set."""
        return [f"{place:06d}.png" for place in range(length)]

    def write(self, folder: Path, batches: Iterator[Images], length: int) -> list[str]:
        """Write a file an image."""
        names = iter(self.files(length))
        for images in batches:
            if images.shape[1] not in (1, 3):
                raise DataError(f"PNG files hold 1 or 3 channels; the stream has {images.shape[1]}")
            for pixels in np.rint(images * np.float32(255)).astype(np.uint8).transpose(0, 2, 3, 1):
                Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(folder / next(names))
        return self.files(length)

    def read(self, folder: Path, places: IntArray) -> Images:
        """Read the images at these places."""
        decoded = []
        for place in places:
            with Image.open(folder / f"{place:06d}.png") as image:
                pixels = np.asarray(image)
            decoded.append(pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1))
        return np.stack(decoded).astype(np.float32) / np.float32(255)


STORES: dict[str, ImageStore] = {"npy": ArrayStore(), "png": PngStore()}
