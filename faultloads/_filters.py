"""Filters that several families of faults share: blurs and resampling.

Each gives an image the same bits whatever else is in the batch, on every machine: additions and
multiplications one by one, never a matrix product.

- `gaussian_blur(planes, sigma)`: each plane along both axes;
- `disk_blur(planes, radius, antialias)`: a lens out of focus;
- `convolve(planes, kernel)`: any small kernel;
- `resample(images, rows, columns)`: bilinear, at coordinates of each image's own;
- `zoom(planes, factor)`: enlarged about the centre, the same for all.

`planes` is float32 of shape (..., height, width). Beyond its edge (`edge`, the words of `numpy.pad`) a plane
goes on with its last pixel (`edge`), mirrored with it (`symmetric`) or without it (`reflect`), from the
other side (`wrap`), or with zeros (`constant`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from farm.api import FloatArray, Images, IntArray

Edge = Literal["edge", "symmetric", "reflect", "wrap", "constant"]
Planes = NDArray[np.float32]

_CHUNK = 2**15
"""Pixels worked on at a time: they stay in the processor's cache."""


def gaussian_blur(
    planes: Planes, sigma: float | tuple[float, float], *, truncate: float = 4, edge: Edge = "edge"
) -> Planes:
    """Blur with a normal distribution of this many pixels, cut off after `truncate` times as many.

    Two numbers are the pixels down and along.
    """
    down, along = sigma if isinstance(sigma, tuple) else (sigma, sigma)
    vertical, horizontal = (gaussian_weights(s, int(truncate * s + 0.5)) for s in (down, along))
    return _by_chunks(planes, lambda part: _along(_along(part, vertical, 0, edge), horizontal, 1, edge))


def gaussian_weights(sigma: float, radius: int) -> list[float]:
    """Return the weights of the middle pixel and of each to one side; with the other side they sum to 1."""
    if radius == 0:
        return [1.0]
    half = np.exp(-0.5 * (np.arange(radius + 1) / sigma) ** 2)
    return [float(weight) for weight in half / (2 * half.sum() - half[0])]


def disk_blur(planes: Planes, radius: float, antialias: float, *, edge: Edge = "reflect") -> Planes:
    """Average over a disk of pixels, its rim softened by a small gaussian blur of `antialias` pixels."""
    reach = int(radius)
    heights = [int(np.sqrt(radius**2 - column**2)) for column in range(reach + 1)]
    area = sum((2 * height + 1) * (2 if column else 1) for column, height in enumerate(heights))
    rim = gaussian_weights(antialias, 2 if radius > 8 else 1)

    def blur(part: Planes) -> Planes:
        # The disk is a row of columns: each is a difference of two sums from the top.
        high, wide = part.shape[:2]
        padded = _pad(_pad(part, 0, reach, edge), 1, reach, edge)
        sums = np.zeros((len(padded) + 1, *padded.shape[1:]), dtype=np.float32)
        for row, line in enumerate(padded):
            np.add(sums[row], line, out=sums[row + 1])
        total = np.zeros_like(part)
        for height in set(heights):
            first = reach - height
            column_sums = sums[first + 2 * height + 1 :][:high] - sums[first:][:high]
            for column in [i for i, other in enumerate(heights) if other == height]:
                for place in {reach - column, reach + column}:
                    total += column_sums[:, place : place + wide]
        total *= np.float32(1 / area)
        return _along(_along(total, rim, 0, edge), rim, 1, edge)

    return _by_chunks(planes, blur)


def convolve(planes: Planes, kernel: FloatArray, *, edge: Edge = "reflect") -> Planes:
    """Weigh the pixels around each with the kernel as it is drawn: a correlation; zeros cost nothing."""
    down, right = kernel.shape[0] // 2, kernel.shape[1] // 2

    def apply(part: Planes) -> Planes:
        high, wide = part.shape[:2]
        padded = _pad(_pad(part, 0, down, edge), 1, right, edge)
        total = np.zeros_like(part)
        for row, column in np.argwhere(kernel):
            total += np.float32(kernel[row, column]) * padded[row : row + high, column : column + wide]
        return total

    return _by_chunks(planes, apply)


def resample(
    images: Images, rows: NDArray[np.float32], columns: NDArray[np.float32], *, edge: Edge = "symmetric"
) -> Images:
    """Read each image at coordinates of its own, between pixels in proportion to the distance.

    `rows` and `columns` have the shape (instances, height, width) of what comes out, or (1, height, width)
    where all images are read at the same places; (0, 0) is the middle of the first pixel.
    """
    n, places = len(images), rows.shape[1:]
    rows, columns = np.broadcast_to(rows, (n, *places)), np.broadcast_to(columns, (n, *places))
    result = np.empty((*images.shape[:2], *places), dtype=np.float32)
    for part in _chunks(n, 2 * places[0], places[1]):  # places take twice the memory of pixels
        _resample(images[part], rows[part], columns[part], edge, result[part])
    return result


def zoom(planes: Planes, factor: float) -> Planes:
    """Enlarge about the centre, between pixels in proportion, and cut to the size there was."""
    return _by_chunks(planes, lambda part: _zoom_along(_zoom_along(part, factor, 0), factor, 1))


def _by_chunks(planes: Planes, work: Callable[[Planes], Planes]) -> Planes:
    """Work on planes laid side by side, (height, width, planes): long rows of memory are fast."""
    result = np.empty(planes.shape, dtype=np.float32)  # in C order, so that a reshape is a view
    flat, out = planes.reshape(-1, *planes.shape[-2:]), result.reshape(-1, *planes.shape[-2:])
    for part in _chunks(*flat.shape):
        out[part] = work(np.ascontiguousarray(flat[part].transpose(1, 2, 0))).transpose(2, 0, 1)
    return result


def _chunks(n: int, high: int, wide: int) -> Iterator[slice]:
    step = max(1, _CHUNK // (high * wide))
    for start in range(0, n, step):
        yield slice(start, start + step)


def _along(part: Planes, weights: list[float], axis: int, edge: Edge) -> Planes:
    size, reach = part.shape[axis], len(weights) - 1
    padded = np.moveaxis(_pad(part, axis, reach, edge), axis, 0)
    total = padded[reach : reach + size] * np.float32(weights[0])
    for distance, weight in enumerate(weights[1:], start=1):
        pair = padded[reach - distance :][:size] + padded[reach + distance :][:size]
        pair *= np.float32(weight)
        total += pair
    return np.moveaxis(total, 0, axis)


def _pad(part: Planes, axis: int, reach: int, edge: Edge) -> Planes:
    size = part.shape[axis]
    places = np.arange(-reach, size + reach)
    padded = part.take(_folded(places, size, edge), axis=axis)
    if edge == "constant":
        np.moveaxis(padded, axis, 0)[(places < 0) | (places >= size)] = 0
    return padded


def _resample(images: Images, rows: Planes, columns: Planes, edge: Edge, result: Images) -> None:
    (above, below), down = _neighbours(rows, images.shape[2], edge)
    (left, right), along = _neighbours(columns, images.shape[3], edge)
    if edge == "constant":  # a ring of zeros stands for all that is beyond
        images = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    n, channels, high, wide = images.shape
    start = np.arange(n).reshape(n, 1, 1) * (high * wide)
    corners = [start + row * wide + column for row in (above, below) for column in (left, right)]
    for channel in range(channels):
        flat = images[:, channel].ravel()
        top, top_right, bottom, bottom_right = (flat.take(corner) for corner in corners)
        top += along * (top_right - top)
        bottom += along * (bottom_right - bottom)
        result[:, channel] = top + down * (bottom - top)


def _neighbours(places: Planes, size: int, edge: Edge) -> tuple[tuple[IntArray, IntArray], Planes]:
    """Return the pixels before and after each place, and how far it is from the one to the other."""
    floor = np.floor(places)
    first = int(floor.min())
    # What stands for which place is looked up: the table is short, and there are many places.
    table = np.arange(first, int(floor.max()) + 2)
    table = np.clip(table, -1, size) + 1 if edge == "constant" else _folded(table, size, edge)
    before = floor.astype(np.int64) - first
    return (table.take(before), table[1:].take(before)), places - floor


def _folded(places: IntArray, size: int, edge: Edge) -> IntArray:
    """Return the pixel that stands for each place, also for those beyond the edge."""
    if edge in ("edge", "constant") or size == 1:
        return np.clip(places, 0, size - 1)
    if edge == "wrap":
        return places % size
    period = 2 * size if edge == "symmetric" else 2 * size - 2
    places = places % period
    return np.minimum(places, period - (edge == "symmetric") - places)


def _zoom_along(part: Planes, factor: float, axis: int) -> Planes:
    size = part.shape[axis]
    kept = int(np.ceil(size / factor))
    last = max(round(kept * factor) - 1, 1)
    # The first pixel kept stays the first, and the last kept would be the last before the cut to size.
    places = (size - kept) // 2 + np.arange(size) * ((kept - 1) / last)
    before = places.astype(np.int64)
    after = np.minimum(before + 1, size - 1)
    weight = (places - before).astype(np.float32).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
    result: Planes = part.take(after, axis=axis)
    start = part.take(before, axis=axis)
    result -= start
    result *= weight
    result += start
    return result
