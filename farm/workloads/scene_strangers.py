"""Things on and beside the road that belong to none of the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from farm.workloads.scene_setups import Setup
from farm.workloads.scene_solids import GLASS, TYRE, Solid, pick, tinted
from farm.workloads.scene_vehicles import DARK, bus_end, rows

_ORANGE, _WHITE, _RED, _STEEL = (0.95, 0.38, 0.1), (0.92, 0.92, 0.9), (0.8, 0.12, 0.1), (0.55, 0.56, 0.58)
_FURS = ((0.5, 0.34, 0.2), (0.3, 0.2, 0.13), (0.12, 0.11, 0.1), (0.75, 0.66, 0.52), (0.88, 0.86, 0.82))


def _cone(solid: Solid, rng: np.random.Generator, setup: Setup) -> None:  # noqa: ARG001
    k = rng.uniform(0.5, 0.9)
    solid.block((-0.24 * k, 0.24 * k), (0.0, 0.05 * k), (-0.24 * k, 0.24 * k), DARK)
    radii = [0.17, 0.13, 0.1, 0.07, 0.03]
    for i, colour in enumerate((_ORANGE, _WHITE, _ORANGE, _WHITE)):
        up = (k * (0.05 + 0.23 * i), k * (0.28 + 0.23 * i))
        solid.round(up, (k * radii[i], k * radii[i + 1]), 0.0, 0.0, colour, layer=i, along=1)


def _bin(solid: Solid, rng: np.random.Generator, setup: Setup) -> None:
    colour = pick(
        rng, [(0.12, 0.3, 0.18), (0.25, 0.26, 0.27), (0.15, 0.25, 0.5), (0.7, 0.6, 0.1), *setup.paints[:1]]
    )
    wide, tall = rng.uniform(0.27, 0.36), rng.uniform(0.95, 1.15)
    low, high = 0.75 * wide, wide
    solid.hull(
        [(-low, 0.1, -low), (-high, tall, -high), (high, tall, -high), (low, 0.1, -low)],
        [(-low, 0.1, low), (-high, tall, high), (high, tall, high), (low, 0.1, low)],
        colour,
    )
    out = 1.12 * wide
    lid = [(-out, tall), (-out, tall + 0.1), (out, tall + 0.05), (out, tall)]
    solid.prism(lid, (-out, out), tinted(colour, 0.7), layer=1)
    for side in (-low, low):
        solid.ring(-low, 0.11, side, 0.08, TYRE)


def _animal(solid: Solid, rng: np.random.Generator, setup: Setup) -> None:  # noqa: ARG001
    fur, tall = pick(rng, _FURS), rng.uniform(0.55, 1.25)
    reach, back = 0.52 * tall, 0.78 * tall
    solid.rod([(-reach, back, 0.0), (reach, back, 0.0)], 0.36 * tall, fur)
    for x, lean in ((-reach, -0.06), (reach, 0.05)):
        for side in (-0.09 * tall, 0.09 * tall):
            solid.rod([(x, back - 0.1 * tall, side), (x + lean * tall, 0.04 * tall, side)], 0.1 * tall, fur)
    head = (reach + 0.3 * tall, back + rng.uniform(0.15, 0.42) * tall, 0.0)
    solid.rod([(reach, back, 0.0), head], 0.2 * tall, fur)
    solid.rod([head, (head[0] + 0.2 * tall, head[1] - 0.06 * tall, 0.0)], 0.16 * tall, fur)
    for side in (-0.08 * tall, 0.08 * tall):
        solid.rod([head, (head[0] - 0.05 * tall, head[1] + 0.17 * tall, side)], 0.06 * tall, fur)
    solid.rod(
        [(-reach, back, 0.0), (-reach - 0.22 * tall, back - rng.uniform(-0.2, 0.25) * tall, 0.0)],
        0.07 * tall,
        fur,
    )


def _ball(solid: Solid, rng: np.random.Generator, setup: Setup) -> None:
    size, colour = rng.uniform(0.22, 0.5), pick(rng, [*setup.paints, _ORANGE, _RED])
    solid.rod([(0.0, size / 2, 0.0)], size, colour)
    for x, y in ((0.2, 0.62), (-0.16, 0.74), (0.02, 0.34)):
        solid.rod([(-0.3 * size, y * size, x * size)], 0.26 * size, _WHITE, layer=1)


def _barrier(solid: Solid, rng: np.random.Generator, setup: Setup) -> None:  # noqa: ARG001
    half, stripes = rng.uniform(0.8, 1.3), 6
    colour = _RED if rng.random() < 0.6 else _ORANGE
    for side in (-0.75 * half, 0.75 * half):
        solid.block((-0.2, 0.2), (0.0, 0.08), (side - 0.06, side + 0.06), DARK)
        solid.block((-0.03, 0.03), (0.08, 1.05), (side - 0.04, side + 0.04), _STEEL)
    for low in (0.42, 0.8):
        for i in range(stripes):
            z = (-half + 2 * half * i / stripes, -half + 2 * half * (i + 1) / stripes)
            solid.block((-0.04, 0.04), (low, low + 0.24), z, colour if i % 2 else _WHITE, layer=1)


def _tram(solid: Solid, rng: np.random.Generator, setup: Setup) -> None:
    half, height, wide = rng.uniform(7.0, 9.0), 3.3, 1.2
    paint, band = pick(rng, setup.paints), pick(rng, setup.buses)
    for x, lean in (((-half, -0.4), (0.9, 0.0)), ((0.4, half), (0.0, 0.9))):
        outline = [(x[0], 0.3), (x[0] + lean[0], height), (x[1] - lean[1], height), (x[1], 0.3)]
        solid.prism(outline, (-wide, wide), paint)
        solid.sides([(x[0], 0.4), (x[0], 1.2), (x[1], 1.2), (x[1], 0.4)], wide, band)
        rows(solid, (x[0] + lean[0], x[1] - lean[1]), height, wide, ((0.46, 0.78),), 5)
        bus_end(solid, x[0] if lean[0] else x[1], 0.72 * height, wide, (0.5, 0.92))
    solid.block((-0.5, 0.5), (0.5, 3.1), (-1.05, 1.05), DARK)
    solid.rod([(-1.5, height, 0.0), (-0.4, height + 0.6, 0.0), (-1.2, height + 1.2, 0.0)], 0.1, DARK, layer=1)
    solid.rod([(-1.2, height + 1.2, -0.8), (-1.2, height + 1.2, 0.8)], 0.1, DARK, layer=1)


def _pram(solid: Solid, rng: np.random.Generator, setup: Setup) -> None:
    cloth = pick(rng, setup.clothes)
    for x in (-0.32, 0.32):
        for side in (-0.24, 0.24):
            solid.ring(x, 0.14, side, 0.05, TYRE)
    for side in (-0.22, 0.22):
        solid.rod([(0.32, 0.14, side), (-0.35, 0.72, side), (-0.62, 1.02, side)], 0.05, _STEEL)
        solid.rod([(-0.32, 0.14, side), (0.3, 0.5, side)], 0.05, _STEEL)
    solid.rod([(-0.62, 1.02, -0.24), (-0.62, 1.02, 0.24)], 0.06, TYRE)
    solid.prism([(-0.38, 0.5), (-0.42, 0.72), (0.45, 0.72), (0.36, 0.42)], (-0.22, 0.22), cloth)
    hood = [(0.0, 0.72), (0.12, 1.0), (0.34, 1.02), (0.47, 0.85), (0.45, 0.72)]
    solid.prism(hood, (-0.23, 0.23), pick(rng, setup.clothes), layer=1)


def _hydrant(solid: Solid, rng: np.random.Generator, setup: Setup) -> None:
    colour = pick(rng, [_RED, (0.9, 0.75, 0.12), *setup.paints[3:5]])
    for i, (low, high, start, stop) in enumerate(
        ((0.0, 0.08, 0.2, 0.2), (0.08, 0.58, 0.14, 0.13), (0.58, 0.66, 0.18, 0.18), (0.66, 0.85, 0.15, 0.04))
    ):
        solid.round((low, high), (start, stop), 0.0, 0.0, colour, layer=i, along=1)
    for z in (-0.2, 0.2):
        solid.rod([(0.0, 0.45, 0.0), (0.0, 0.45, z)], 0.12, colour, layer=4)
    solid.rod([(0.16, 0.42, 0.0)], 0.16, GLASS, layer=4)


STRANGERS: Mapping[str, Callable[[Solid, np.random.Generator, Setup], None]] = {
    "cone": _cone,
    "bin": _bin,
    "animal": _animal,
    "ball": _ball,
    "barrier": _barrier,
    "tram": _tram,
    "pram": _pram,
    "hydrant": _hydrant,
}


def stranger(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make something of no class."""
    solid = Solid()
    STRANGERS[kind](solid, rng, setup)
    return solid
