"""Textures of weather, drawn by code: snow in the air, rain in the air, frost on glass.

Each is four times as wide and high as the images, and goes on from its other side, so that a piece for an
image can be cut anywhere. Values are from 0 (nothing) to 1 (white).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from farm.api import Images, PerInstance, generator
from faultloads._filters import Planes, gaussian_blur, resample
from faultloads._warps import cut_out

_WIDER = 4
Point = tuple[float, float]


@lru_cache(maxsize=8)
def snow_texture(size: int) -> Planes:
    """Draw flakes: many small ones, and a few large and fainter ones near the lens."""
    random = generator(0, "texture", "snow")
    texture = _empty(size)
    for down, across, near in random.random((900, 3)).tolist():
        place = (down * _WIDER, across * _WIDER)
        _stroke(texture, size, place, place, 0.008 + 0.02 * near**4, 1 - 0.3 * near**4)
    return texture


@lru_cache(maxsize=8)
def rain_texture(size: int) -> Planes:
    """Draw streaks, a few degrees off the vertical, the longer ones being nearer and broader."""
    random = generator(0, "texture", "rain")
    texture = _empty(size)
    for down, across, near, lean in random.random((500, 4)).tolist():
        start, length = (down * _WIDER, across * _WIDER), 0.12 + 0.25 * near
        end = (start[0] + length, start[1] + (lean - 0.5) * 0.1 * length)
        _stroke(texture, size, start, end, 0.006 + 0.008 * near, 0.5 + 0.5 * near)
    return texture


@lru_cache(maxsize=8)
def frost_texture(size: int) -> Planes:
    """Draw ice: feathers of crystals that branch at 60 degrees, on a white breath of uneven thickness."""
    random = generator(0, "texture", "frost")
    cells = 8 * _WIDER
    places = ((np.arange(_WIDER * size, dtype=np.float32) + 0.5) / size * 8 - 0.5).astype(np.float32)
    rows, columns = np.meshgrid(places, places, indexing="ij")
    coarse = random.random((1, 1, cells, cells), dtype=np.float32)
    breath = resample(coarse, rows[None], columns[None], edge="wrap")[0, 0]
    breath = gaussian_blur(breath, 0.1 * size, edge="wrap")
    breath = (breath - breath.min()) / (breath.max() - breath.min())
    texture: Planes = np.float32(0.1) + np.float32(0.4) * breath
    for down, across, turn, length, white in random.random((130, 5)).tolist():
        root = (down * _WIDER, across * _WIDER)
        _feather(texture, size, root, 2 * np.pi * turn, 0.3 + 0.5 * length, 0.7 + 0.3 * white, order=2)
    # As bright and as uneven as the photographs of ImageNet-C, by what they do to images at severity 5.
    brighter: Planes = np.clip(np.float32(0.1) + np.float32(1.2) * texture, 0, 1)
    return brighter


def cut_at_random(
    texture: Planes, shape: tuple[int, int], random: PerInstance, *, degrees: float, nearer: float = 1.0
) -> Images:
    """Cut a piece for each instance: anywhere, turned up to +-degrees, and up to `nearer` times as large."""
    across, down, turn, scale = random.uniform(4, low=-0.5, high=0.5).T
    return cut_out(
        texture,
        shape,
        degrees=2 * np.float32(degrees) * turn,
        part=1 - (scale + np.float32(0.5)) * np.float32(1 - 1 / nearer),
        across=across,
        down=down,
    )


def _empty(size: int) -> Planes:
    return np.zeros((_WIDER * size, _WIDER * size), dtype=np.float32)


def _feather(
    texture: Planes, size: int, root: Point, angle: float, length: float, white: float, order: int
) -> None:
    """Draw a stem with feathers of a lower order on both sides, shorter towards its tip."""
    if length * size < 1:
        return  # less than a pixel
    down, across = length * math.sin(angle), length * math.cos(angle)
    _stroke(texture, size, root, (root[0] + down, root[1] + across), 0.004 + 0.005 * order, white)
    for place in (0.1, 0.27, 0.44, 0.61, 0.78) if order else ():
        knot = (root[0] + place * down, root[1] + place * across)
        for side in (-1, 1):
            turned = angle + side * math.pi / 3
            _feather(texture, size, knot, turned, 0.5 * length * (1 - place), 0.93 * white, order - 1)


def _stroke(texture: Planes, size: int, start: Point, end: Point, half: float, white: float) -> None:
    """Draw a line with round ends over what is darker; places and half its width are in sides of an image."""
    (down, across), (to_down, to_across) = [(size * a, size * b) for a, b in (start, end)]
    reach = max(half * size, 0.5) + 1
    rows = np.arange(math.floor(min(down, to_down) - reach), math.ceil(max(down, to_down) + reach))
    columns = np.arange(math.floor(min(across, to_across) - reach), math.ceil(max(across, to_across) + reach))
    y, x = rows[:, None] + 0.5 - down, columns + 0.5 - across
    run_down, run_across = to_down - down, to_across - across
    squared = max(run_down**2 + run_across**2, 1e-9)
    along = np.clip((y * run_down + x * run_across) / squared, 0, 1)
    distance = np.hypot(y - along * run_down, x - along * run_across)
    # A line thinner or shorter than a pixel covers a part of it.
    width = 2 * half * size
    most = min(1, width) * min(1, width + math.sqrt(squared))
    cover = np.clip(width / 2 + 0.5 - distance, 0, most)
    place = np.ix_(rows % len(texture), columns % len(texture))
    texture[place] += (cover * np.maximum(white - texture[place], 0)).astype(np.float32)
