"""Made pictures of simple shapes, and a box around each shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"diamond": (220, 190, 40), "disc": (210, 50, 40), "square": (50, 80, 210), "cross": (190, 60, 200)}
SHAPES = tuple(COLOURS)
KNOWN = SHAPES[:3]
"""The last one is for what a classifier was never taught."""


def picture(shape: str, number: int, size: int) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Return a picture, height x width x 3, and the box of its shape: left, top, right, bottom."""
    random = np.random.default_rng([SHAPES.index(shape), number])
    down, across = np.mgrid[:size, :size] / size - 0.5 + random.uniform(-0.1, 0.1, size=(2, 1, 1))
    inside = {
        "diamond": abs(across) + abs(down) < 0.36,
        "disc": across**2 + down**2 < 0.09,
        "square": np.maximum(abs(across), abs(down)) < 0.26,
        "cross": np.minimum(abs(across), abs(down)) < 0.06,
    }[shape]
    pixels = np.full((size, size, 3), random.uniform(30, 90, size=3))
    pixels[inside] = COLOURS[shape] + random.uniform(-20, 20, size=3)
    pixels += random.normal(0, 8, size=pixels.shape)
    rows, columns = np.flatnonzero(inside.any(1)), np.flatnonzero(inside.any(0))
    box = int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
    return pixels.clip(0, 255).astype(np.uint8), box


def save(folder: Path, shape: str, numbers: range, size: int = 32) -> list[tuple[int, int, int, int]]:
    """Save pictures of a shape as files in a folder, and return their boxes."""
    folder.mkdir(parents=True, exist_ok=True)
    boxes = []
    for number in numbers:
        pixels, box = picture(shape, number, size)
        Image.fromarray(pixels).save(folder / f"{number:03}.png")
        boxes.append(box)
    return boxes


def save_classes(folder: Path) -> None:
    """Save pictures of the known shapes: one folder a class, below `train` and `test`."""
    for shape in KNOWN:
        save(folder / "train" / shape, shape, range(60))
        save(folder / "test" / shape, shape, range(60, 90))


def several(shapes: tuple[str, ...], numbers: range, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures of each of the shapes as arrays, and the numbers of their shapes."""
    drawn = [(picture(shape, i, size)[0], SHAPES.index(shape)) for shape in shapes for i in numbers]
    images, labels = zip(*drawn, strict=True)
    return np.stack(images), np.array(labels)
