"""Streets: sky, ground, houses, trees and lamp posts, as a camera sees them that stands on the road."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from PIL import Image

from farm.api import generator
from farm.workloads.photography import Pixels
from farm.workloads.scene_light import Light
from farm.workloads.scene_setups import Setup
from farm.workloads.scene_solids import IN_THE_DARK, Colour, Place, Range, Solid, choose, pick, tinted
from farm.workloads.scene_views import NEAREST, Shape, Window
from farm.workloads.sign_scenes import PLACES, clouds

_GRASSES = ((0.3, 0.38, 0.16), (0.4, 0.42, 0.2), (0.36, 0.32, 0.18))
_PAVEMENTS = ((0.55, 0.54, 0.52), (0.48, 0.45, 0.42), (0.6, 0.58, 0.54))
_LEAVES = ((0.16, 0.26, 0.1), (0.24, 0.34, 0.12), (0.34, 0.36, 0.12), (0.3, 0.22, 0.1))
_ROOFS = ((0.36, 0.2, 0.16), (0.25, 0.25, 0.27), (0.4, 0.32, 0.25))
_BARK, _LAMP_POST, _MARKING = (0.2, 0.15, 0.11), (0.32, 0.33, 0.34), (0.82, 0.82, 0.78)
_PANES = ((0.14, 0.17, 0.2), (0.24, 0.29, 0.34), (0.36, 0.43, 0.5))
_BANDS = (NEAREST, 2.0, 4.0, 8.0, 15.0, 28.0, 55.0, 400.0)
"""Where the ground is cut across: what is far is seen through more air."""
_FAR = 200.0
_WINDOWS_AT_MOST = 24
"""In the walls of a house."""
_WINDOWS_SEEN = 32.0
"""Up to how many metres windows are seen, of a view that is as wide as it is far."""
_SKIES, _GRAINS = 12, 48


@dataclass(frozen=True)
class Street:
    """One street: how wide it is, and what is beside it."""

    place: str
    half_road: float
    """Metres from the middle to the kerb."""
    walls: float
    """Metres from the middle to the houses."""


def choose_street(rng: np.random.Generator, setup: Setup) -> Street:
    """Choose where the camera is."""
    place, half = choose(rng, setup.places), rng.uniform(*setup.half_road)
    beside = {"town": (2.5, 5.0), "suburb": (6.0, 12.0), "country": (25.0, 60.0)}[place]
    return Street(place, half, half + rng.uniform(*beside))


@dataclass
class Skies:
    """Skies of every light and weather, and the grain of surfaces, made once each for many pictures."""

    seed: int
    names: tuple[str, ...]
    size: int
    """Pixels along a canvas."""
    _kept: dict[tuple[str, str, int], Image.Image] = field(default_factory=dict)
    _grains: dict[int, Pixels] = field(default_factory=dict)

    def over(self, rng: np.random.Generator, light: Light) -> Image.Image:
        """Return a canvas with a sky on it."""
        number = int(rng.random() * _SKIES)
        key = (light.weather, light.light, number)
        if key not in self._kept:
            self._kept[key] = self._painted(*key)
        sky = self._kept[key]
        left, top = (int(rng.random() * (side - self.size + 1)) for side in sky.size)
        return sky.crop((left, top, left + self.size, top + self.size))

    def grain(self, rng: np.random.Generator, size: int) -> Pixels:
        """Return unevenness around 0, a number a pixel of a picture."""
        number, down, across = (rng.random(3) * (_GRAINS, size // 2, size // 2)).astype(int).tolist()
        if number not in self._grains:
            made = clouds(generator(self.seed, *self.names, "grain", number), size * 3 // 2, 9)
            self._grains[number] = made - np.float32(0.5)
        return self._grains[number][down : down + size, across : across + size]

    def _painted(self, weather: str, light: str, number: int) -> Image.Image:
        pixels = PLACES["sky"](generator(self.seed, *self.names, "sky", weather, light, number))
        veil = {"clear": 0.0, "overcast": 0.75, "rain": 0.85, "snow": 0.9, "fog": 1.0}[weather]
        grey = pixels.mean(axis=2, keepdims=True) * np.array([0.97, 0.98, 1.0], np.float32)
        even = 0.25 * grey + 0.75 * np.array([0.78, 0.8, 0.83], np.float32)
        pixels = pixels + veil * (even - pixels)
        tint = {"day": (1.0, 1.0, 1.0), "dusk": (0.72, 0.56, 0.52), "night": (0.09, 0.1, 0.15)}[light]
        lit = np.clip(255 * pixels * np.array(tint), 0, 255).astype(np.uint8)
        side = self.size * 5 // 4
        return Image.fromarray(lit).resize((side, side), Image.Resampling.BILINEAR)


def scenery(rng: np.random.Generator, street: Street, setup: Setup, light: Light, window: Window) -> Shape:
    """Return what is behind all things, as far as a picture shows it: houses, the ground."""
    solid = Solid(heap=True)
    _houses(solid, street, rng, setup, light, window)
    _ground(solid, street, rng, setup, light)
    return Shape(solid)


def _ground(solid: Solid, street: Street, rng: np.random.Generator, setup: Setup, light: Light) -> None:
    """Add road, pavements or grass, and markings, which are all flat."""
    wet = 1 - light.wet
    verge = pick(rng, _PAVEMENTS if street.place == "town" else _GRASSES)
    verge, road = tinted(verge, wet), tinted(pick(rng, [setup.asphalt]), wet)
    half = street.half_road
    solid.part()
    for far, near in zip(_BANDS[:0:-1], _BANDS[-2::-1], strict=True):
        solid.piece(_strip(near, far, -_FAR, _FAR), verge)
        solid.piece(_strip(near, far, -half - 0.25, half + 0.25), _PAVEMENTS[0])
        solid.piece(_strip(near, far, -half, half), road)
    shift, lanes = rng.uniform(0, 6), (0.0,) if half < 6 else (-half / 2, 0.0, half / 2)
    for lane in lanes:
        for i in range(5):
            start = 1.5 + shift + 6 * i
            solid.piece(_strip(start, start + 3, lane - 0.07, lane + 0.07), _MARKING)


def _strip(near: float, far: float, left: float, right: float) -> list[Place]:
    return [(near, 0.0, left), (far, 0.0, left), (far, 0.0, right), (near, 0.0, right)]


class _House(NamedTuple):
    """One house: along the street, across it, how high it is, and numbers that vary its looks."""

    along: Range
    across: Range
    height: float
    wall: Colour
    looks: tuple[float, float, float]


def _houses(
    solid: Solid, street: Street, rng: np.random.Generator, setup: Setup, light: Light, window: Window
) -> None:
    """Add what stands at the horizon, and houses on either side, the farthest first."""
    seen = (window.left, window.left + window.side)
    _horizon(solid, rng, seen)
    town = street.place == "town"
    for side in (-1, 1):
        lots, away, wall = [], rng.uniform(-8, 4), side * street.walls
        while away < 110:
            deep = rng.uniform(8, 22) if town else rng.uniform(8, 13)
            lots.append((max(away, NEAREST), away + deep))
            away += deep + (rng.uniform(0, 1.5) if town else rng.uniform(4, 25))
        for near, far in reversed(lots):
            paint, roof, (tall, a, b, c) = pick(rng, setup.walls), pick(rng, _ROOFS), rng.random(4).tolist()
            ends = sorted((wall / max(far, NEAREST), (wall + 12 * side) / near))
            if far <= near or ends[1] < seen[0] or ends[0] > seen[1]:
                continue
            height = 5 + 13 * tall if town else 3.2 + 3 * tall
            house = _House((near, far), (wall, wall + 10 * side), height, paint, (a, b, c))
            _walls(solid, house, dark=light.dark, clearest=_WINDOWS_SEEN / window.side)
            if not town:
                _roof(solid, house, roof)


def _horizon(solid: Solid, rng: np.random.Generator, seen: Range) -> None:
    """Add woods or hills in the distance."""
    heights, colour = rng.uniform(2, 14) * rng.uniform(0.6, 1.4, 10), pick(rng, _LEAVES)
    across = np.linspace(seen[0] - 0.05, seen[1] + 0.05, 10) * _FAR
    ridge: list[Place] = [(_FAR, float(y), float(x)) for x, y in zip(across, heights, strict=True)]
    solid.part()
    solid.piece([*ridge, (_FAR, 0.0, float(across[-1])), (_FAR, 0.0, float(across[0]))], colour)


def _walls(solid: Solid, house: _House, *, dark: bool, clearest: float) -> None:
    """Add the wall that looks at the camera, and the one along the street, with windows."""
    (near, far), (x, end), height = house.along, house.across, house.height
    solid.part()
    solid.piece([(near, 0.0, x), (near, height, x), (near, height, end), (near, 0.0, end)], house.wall)
    solid.piece([(near, 0.0, x), (near, height, x), (far, height, x), (far, 0.0, x)], house.wall)
    a, b, c = house.looks
    storey, bay, pane = 2.9 + 0.5 * a, 2.2 + 2.2 * b, _PANES[int(c * len(_PANES))]
    floors = int(height / storey)
    shown = min(int((far - near) / bay), int((clearest - near) / bay), _WINDOWS_AT_MOST // max(floors, 1))
    for i in range(shown):
        start = near + bay * (i + 0.22)
        stop = start + 0.56 * bay
        for floor in range(floors):
            low = storey * (floor + 0.32)
            high, lit = low + 1.5, dark and (7 * i + 3 * floor + int(97 * a)) % 5 < 2
            corners = [(start, low, x), (start, high, x), (stop, high, x), (stop, low, x)]
            solid.piece(corners, (0.85, 0.66, 0.36) if lit else pane, glow=IN_THE_DARK if lit else 0.0)


def _roof(solid: Solid, house: _House, colour: Colour) -> None:
    (near, far), (x, end), height = house.along, house.across, house.height
    middle, ridge = (x + end) / 2, height + 2.6
    solid.part()
    solid.piece([(near, height, x), (near, ridge, middle), (near, height, end)], tinted(colour, 0.8))
    solid.piece([(near, height, x), (near, ridge, middle), (far, ridge, middle), (far, height, x)], colour)


def tree(rng: np.random.Generator, *, bare: bool) -> Solid:
    """Make a tree, with leaves or without."""
    solid, height, leaf = Solid(), rng.uniform(4.5, 9), pick(rng, _LEAVES)
    solid.rod([(0.0, 0.0, 0.0), (0.0, 0.6 * height, 0.0)], 0.04 * height, _BARK)
    for i, (a, b, c) in enumerate(rng.normal(0, 1, (9, 3)).tolist()):
        spot = (0.12 * height * a, height * (0.68 + 0.1 * b), 0.12 * height * c)
        if bare:
            solid.rod([(0.0, 0.55 * height, 0.0), spot], 0.012 * height, _BARK)
        else:
            solid.rod([spot], height * 0.26, tinted(leaf, 0.75 + 0.09 * i))
    return solid


def lamp_post(rng: np.random.Generator) -> Solid:
    """Make a street lamp."""
    solid, height, reach = Solid(), rng.uniform(4.5, 8), rng.uniform(0.8, 2.0)
    solid.rod([(0.0, 0.0, 0.0), (0.0, height, 0.0), (0.0, height + 0.2, reach)], 0.13, _LAMP_POST)
    solid.part()
    solid.piece([(0.0, height + 0.15, reach)], (1.0, 0.9, 0.65), 0.35, IN_THE_DARK)
    return solid
