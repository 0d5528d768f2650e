"""Images seen from elsewhere: turned, moved, nearer, askew, or smeared by a motion.

Positions are shares of the image, (0, 0) its upper left corner and (1, 1) its lower right one, so they mean
the same at every size. Each image has parameters of its own: arrays with one number an instance.
"""

from __future__ import annotations

import math
from copy import copy
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from farm.api import FloatArray, Images, ObjectFate, PerInstance, Transformation
from faultloads._filters import Edge, Planes, resample

Numbers = NDArray[np.float32]

_FAINT = 1e-5
"""Pixels that weigh less, of the greatest weight, are left out of a smear; in 8 bits nobody would see it."""


class Warp(Transformation):
    """Shows pixels at other places; what lies beyond the image's border is continued somehow (`_edge`)."""

    objects: ClassVar[ObjectFate] = "move"
    _edge: Edge = "edge"

    def _move(self, shapes: Images, severity: float, random: PerInstance) -> Images:
        same = copy(self)
        same._edge = "constant"  # no object goes on beyond the border, nor does its mirror image count
        return same._transform(shapes, severity, random)


def affine(
    images: Images,
    *,
    degrees: Numbers | float = 0.0,
    part: Numbers | float = 1.0,
    across: Numbers | float = 0.0,
    down: Numbers | float = 0.0,
    edge: Edge = "edge",
) -> Images:
    """See a part of each image: turned by some degrees, of a side `part`, moved by shares.

    The content turns counter-clockwise about its middle; `across` and `down` say how far the middle of what
    is seen lies from the middle of the image.
    """
    shape = images.shape[2:]
    rows, columns = _places(len(images), shape, shape, degrees, part, across, down)
    return resample(images, rows, columns, edge=edge)


def cut_out(
    texture: Planes,
    shape: tuple[int, int],
    *,
    degrees: Numbers,
    part: Numbers,
    across: Numbers,
    down: Numbers,
) -> Images:
    """Cut a piece of the texture for each instance; beyond its edge the texture goes on from its other side.

    At `part` 1 it is cut pixel for pixel; `across` and `down` are shares of the texture.
    """
    n = len(across)
    rows, columns = _places(n, texture.shape, shape, degrees, part, across, down)
    below = n * shape[0]  # all in one column of pieces: the texture is not copied for each
    pieces = resample(
        texture[None, None], rows.reshape(1, below, -1), columns.reshape(1, below, -1), edge="wrap"
    )
    return pieces.reshape(n, 1, *shape)


def _places(
    n: int,
    source: tuple[int, ...],
    shape: tuple[int, ...],
    degrees: Numbers | float,
    part: Numbers | float,
    across: Numbers | float,
    down: Numbers | float,
) -> tuple[Numbers, Numbers]:
    """Return the row and the column of the source where each pixel of a view of this shape lies."""
    turned = [math.radians(angle) for angle in np.broadcast_to(degrees, n).tolist()]
    cosine, sine = (_column([f(angle) for angle in turned], n) for f in (math.cos, math.sin))
    size = _column(part, n)
    half = np.float32(0.5)
    x = size * (np.arange(shape[1], dtype=np.float32) - half * (shape[1] - 1))
    y = size * (np.arange(shape[0], dtype=np.float32) - half * (shape[0] - 1))[:, None]
    columns = cosine * x - sine * y + ((half + _column(across, n)) * source[1] - half)
    rows = sine * x + cosine * y + ((half + _column(down, n)) * source[0] - half)
    return rows, columns


def crop_at_random(images: Images, random: PerInstance, part: float, *, edge: Edge = "edge") -> Images:
    """Enlarge a part of each image's sides, anywhere in it."""
    across, down = np.float32(1 - part) * random.uniform(2, low=-0.5, high=0.5).T
    return affine(images, part=part, across=across, down=down, edge=edge)


def tilt_at_random(
    images: Images, random: PerInstance, share: float, *, part: float = 1.0, edge: Edge = "edge"
) -> Images:
    """Tilt the plane of each image: its corners move inwards, by up to a share of its sides each way.

    Then the middle `part` of its sides is enlarged.
    """
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=np.float32)
    moved = corners + np.float32(share) * random.uniform(4, 2) * (1 - 2 * corners)
    return askew(images, moved, part=part, edge=edge)


def distances_from(places: Numbers, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Return how far each row and column lies from a place (down, across), in shorter sides of the image."""
    down, across = (
        (_middles(size)[None] - places[:, axis, None]).astype(np.float64) * (size / min(shape))
        for axis, size in enumerate(shape)
    )
    return down, across


def askew(images: Images, corners: Numbers, *, part: float = 1.0, edge: Edge = "edge") -> Images:
    """Put the corners of each image elsewhere, as if its plane were tilted; then enlarge the middle `part`.

    `corners` are positions (across, down), instances x 4 x 2: first the upper left, then on clockwise.
    """
    n = len(images)
    high, wide = images.shape[2:]
    half = np.float32(0.5)
    across = half + np.float32(part) * (_middles(wide) - half)
    down = (half + np.float32(part) * (_middles(high) - half))[:, None]
    (a, b, c), (d, e, f), (g, h, i) = [[_column(m, n) for m in row] for row in _inverse(_onto(corners))]
    depth = g * across + h * down + i
    columns = (a * across + b * down + c) / depth * wide - half
    rows = (d * across + e * down + f) / depth * high - half
    return resample(images, rows, columns, edge=edge)


def _onto(corners: Numbers) -> list[list[NDArray[np.float64]]]:
    """Return the projective map (Heckbert, 1989) of the unit square onto each quadrangle."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = corners.astype(np.float64).transpose(1, 2, 0)
    u1, u3, u = x1 - x2, x3 - x2, x0 - x1 + x2 - x3
    v1, v3, v = y1 - y2, y3 - y2, y0 - y1 + y2 - y3
    area = u1 * v3 - u3 * v1
    g, h = (u * v3 - u3 * v) / area, (u1 * v - u * v1) / area
    return [
        [x1 - x0 + g * x1, x3 - x0 + h * x3, x0],
        [y1 - y0 + g * y1, y3 - y0 + h * y3, y0],
        [g, h, np.ones_like(g)],
    ]


def _inverse(matrix: list[list[NDArray[np.float64]]]) -> list[list[NDArray[np.float64]]]:
    """Invert a projective map, which has a meaning up to a factor: the adjugate is enough."""
    (a, b, c), (d, e, f), (g, h, i) = matrix
    return [
        [e * i - f * h, c * h - b * i, b * f - c * e],
        [f * g - d * i, a * i - c * g, c * d - a * f],
        [d * h - e * g, b * g - a * h, a * e - b * d],
    ]


def _column(values: object, n: int) -> Numbers:
    """Return one number an instance (or one for all) a shape that stretches over rows and columns."""
    return np.broadcast_to(np.asarray(values, dtype=np.float32), n).reshape(n, 1, 1)


def _middles(size: int) -> Numbers:
    """Return where the middles of a line of pixels lie, as shares of its length."""
    return (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size)


def motion_weights(radius: float, sigma: float) -> list[float]:
    """Return the weight of each pixel along a motion that fades out as half a normal distribution."""
    weights = np.exp(-0.5 * (np.arange(2 * round(radius) + 1) / sigma) ** 2)
    return [float(weight) for weight in weights[weights > _FAINT] / weights.sum()]


def smear(planes: Planes, weights: list[float], degrees: Numbers) -> Planes:
    """Make each pixel the weighted mean of those on a line from it, 0 degrees to the right and 90 downwards.

    `planes` has the shape (instances, channels, height, width), and each instance degrees of its own. The
    line is one of whole pixels; beyond the edge the last pixel goes on.
    """
    n, channels, high, wide = planes.shape
    angles = [math.radians(angle) for angle in degrees.tolist()]
    rows, columns = (
        np.ceil(np.outer([f(angle) for angle in angles], range(len(weights))) - 0.5).astype(np.int64)
        for f in (math.sin, math.cos)
    )
    top, left = int(rows.min()), int(columns.min())
    down = np.clip(np.arange(top, high + int(rows.max())), 0, high - 1)
    along = np.clip(np.arange(left, wide + int(columns.max())), 0, wide - 1)
    # Channels lie side by side, so that the rows of memory are long.
    padded = planes.transpose(0, 2, 3, 1).take(down, axis=1).take(along, axis=2)
    padded = padded.reshape(n, len(down), len(along) * channels)
    result = np.zeros((n, high, wide * channels), dtype=np.float32)
    starts_down, starts_along = (rows - top).tolist(), ((columns - left) * channels).tolist()
    scales = [np.float32(weight) for weight in weights]
    for image, total, *starts in zip(padded, result, starts_down, starts_along, strict=True):
        for row, column, scale in zip(*starts, scales, strict=True):
            total += image[row : row + high, column : column + wide * channels] * scale
    return result.reshape(n, high, wide, channels).transpose(0, 3, 1, 2)
