"""Small image files for tests, good and bad."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image


def pixels(seed: int, height: int = 8, width: int = 8, channels: int = 3) -> np.ndarray:
    shape = (height, width, 3) if channels == 3 else (height, width)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def save(path: Path, seed: int, **shape: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels(seed, **shape)).save(path)
    return path


def truncated(path: Path) -> None:
    save(path, 1)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def no_image(path: Path) -> None:
    path.write_text("an error page that somebody saved under an image's name")


def cmyk(path: Path) -> None:
    Image.new("CMYK", (8, 8)).save(path, "JPEG")


def sixteen_bit_grey(path: Path) -> None:
    Image.fromarray(np.full((8, 8), 40000, np.uint16)).save(path, "PNG")


def sixteen_bit_rgb(path: Path) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 8, 8, 16, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + bytes(8 * 6) for _ in range(8)))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def sixteen_bit_ppm(path: Path) -> None:
    path.write_bytes(b"P6 8 8 65535\n" + bytes(8 * 8 * 6))


def alpha(path: Path) -> None:
    Image.new("RGBA", (8, 8)).save(path, "PNG")


def transparent_palette(path: Path) -> None:
    Image.new("P", (8, 8)).save(path, "PNG", transparency=0)


def animated(path: Path) -> None:
    frames = [Image.fromarray(pixels(i)) for i in range(2)]
    frames[0].save(path, "PNG", save_all=True, append_images=frames[1:])
