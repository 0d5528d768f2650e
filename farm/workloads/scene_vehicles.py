"""Cars, lorries and buses as they are usually met."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from farm.workloads.scene_setups import Setup
from farm.workloads.scene_solids import GLASS, IN_THE_DARK, Colour, Place, Range, Solid, pick

LAMP, TAIL_LAMP, DARK = (1.0, 0.95, 0.8), (0.85, 0.08, 0.06), (0.1, 0.1, 0.11)
_CARGO = (
    (0.9, 0.9, 0.88),
    (0.9, 0.9, 0.88),
    (0.9, 0.9, 0.88),
    (0.7, 0.72, 0.74),
    (0.7, 0.72, 0.74),
    (0.3, 0.4, 0.3),
)
_BUMPER = (0.22, 0.22, 0.23)

CAR_SHAPES = {
    "saloon": ((4.3, 4.9), (1.38, 1.5), 0.28, 0.19, 0.1),
    "hatchback": ((3.7, 4.3), (1.42, 1.55), 0.25, 0.03, 0.07),
    "estate": ((4.4, 4.9), (1.42, 1.56), 0.26, 0.02, 0.05),
    "off-roader": ((4.3, 4.9), (1.65, 1.85), 0.25, 0.02, 0.04),
    "van": ((4.4, 5.2), (1.8, 2.1), 0.13, 0.01, 0.02),
}
"""Length, height, and as shares of the length the bonnet, the boot and how far the rear window leans."""


def patch(quad: Sequence[Place], along: Range, up: Range) -> list[Place]:
    """Return a part of a face: shares of its length, and of its height.

    The face's corners are: one end below, there above, the other end above, there below.
    """
    low_start, high_start, high_end, low_end = quad

    def at(s: float, t: float) -> Place:
        near, far = (1 - t) * (1 - s), t * (1 - s)
        high, low = t * s, (1 - t) * s
        x, y, z = (
            near * a + far * b + high * c + low * d
            for a, b, c, d in zip(low_start, high_start, high_end, low_end, strict=True)
        )
        return x, y, z

    (s0, s1), (t0, t1) = along, up
    return [at(s0, t0), at(s0, t1), at(s1, t1), at(s1, t0)]


def car(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make a car."""
    lengths, heights, nose, tail, lean = CAR_SHAPES[kind]
    length, height = rng.uniform(*lengths), rng.uniform(*heights)
    return carriage(length, height, nose, tail, lean, pick(rng, setup.paints))


def carriage(
    length: float, height: float, nose: float, tail: float, lean: float, paint: Colour, radius: float = 0.32
) -> Solid:
    """Make what has a low body, and a cabin with windows on it."""
    solid, wide = Solid(), 0.78 + 0.03 * length
    front, back, belt = length / 2, -length / 2, 0.6 * height
    hood = belt - 0.1 * (nose > 0.15)
    cowl, deck = front - nose * length, back + tail * length
    body = [(back, 0.3), (back, 0.92 * belt), (deck, belt), (cowl, belt), (front - 0.15, hood), (front, 0.3)]
    solid.prism(body, (-wide, wide), paint)
    end(solid, back, (0.5 * belt, 0.84 * belt), wide)
    end(solid, front, (0.5 * belt, 0.84 * belt), wide)
    for x in (back + 0.19 * length, front - 0.19 * length):
        solid.wheels(x, radius, wide + 0.02)
    roof_back, roof_front = deck + lean * length, cowl - (0.13 if nose > 0.15 else 0.07) * length
    cabin(solid, (deck, cowl), (roof_back, roof_front), (belt, height), wide, paint)
    return solid


def cabin(solid: Solid, base: Range, roof: Range, y: Range, wide: float, paint: Colour) -> None:
    """Add a cabin that is narrower above, with windows all around."""
    outline = [(base[0], y[0], 0.94), (roof[0], y[1], 0.74), (roof[1], y[1], 0.74), (base[1], y[0], 0.94)]
    left, right = ([(x, up, side * wide * share) for x, up, share in outline] for side in (-1, 1))
    solid.hull(left, right, paint, layer=1)
    for quad in (left, right):
        for along in ((0.07, 0.48), (0.53, 0.93)):
            solid.piece(patch(quad, along, (0.08, 0.86)), GLASS)
    for i in (0, 3):
        j = 1 if i == 0 else 2
        solid.piece(patch([left[i], left[j], right[j], right[i]], (0.06, 0.94), (0.06, 0.9)), GLASS)


def end(solid: Solid, x: float, y: Range, wide: float) -> None:
    """Add to the last part what is at one end: lamps, bumper, number plate, in front a grille."""
    lamp = LAMP if x > 0 else TAIL_LAMP
    out = x + 0.01 * np.sign(x)
    solid.plate(out, (0.3, 0.75 * y[0] + 0.08), (-wide, wide), _BUMPER)
    if lamp is LAMP:
        solid.plate(out, y, (-0.5 * wide, 0.5 * wide), DARK)
    for side in (-1, 1):
        solid.plate(out, y, (side * 0.62 * wide, side * 0.96 * wide), lamp, IN_THE_DARK)
    solid.plate(out, (y[0] - 0.14, y[0] - 0.02), (-0.26, 0.26), (0.88, 0.88, 0.82))


def bus(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make a bus for a town, or a coach for journeys."""
    paint = pick(rng, setup.buses)
    length, height = rng.uniform(8.5, 12), rng.uniform(2.9, 3.3)
    solid, wide = Solid(), 1.25
    half = length / 2
    solid.block((-half, half), (0.35, height), (-wide, wide), paint)
    stripe = pick(rng, setup.paints)
    solid.sides([(-half, 0.4), (-half, 0.85), (half, 0.85), (half, 0.4)], wide, stripe)
    row = (0.42, 0.8) if kind == "town bus" else (0.5, 0.88)
    rows(solid, (-half, half), height, wide, (row,), int(rng.integers(5, 8)) if kind == "town bus" else 3)
    for x in (-half, half):
        bus_end(solid, x, height, wide, row)
    if kind == "town bus":
        for x in (0.72 * half, -0.05 * half):
            outline = [(x, 0.4), (x, 0.78 * height), (x + 1.1, 0.78 * height), (x + 1.1, 0.4)]
            solid.piece([(a, b, wide) for a, b in outline], DARK)
    for x in (-0.55 * half, 0.62 * half):
        solid.wheels(x, 0.48, wide + 0.02)
    return solid


def rows(solid: Solid, x: Range, height: float, wide: float, shares: Sequence[Range], windows: int) -> None:
    """Add rows of windows to both sides."""
    for side in (-wide, wide):
        wall = [(x[0], 0.0, side), (x[0], height, side), (x[1], height, side), (x[1], 0.0, side)]
        for up in shares:
            for i in range(windows):
                solid.piece(patch(wall, ((i + 0.12) / windows, (i + 0.94) / windows), up), GLASS, glow=0.0)


def bus_end(solid: Solid, x: float, height: float, wide: float, row: Range) -> None:
    """Add to the last part what is in front of a bus, or at its back."""
    low, high, out = row[0] * height, row[1] * height, x + 0.01 * np.sign(x)
    if x > 0:
        solid.plate(out, (0.85 * low, high), (-0.93 * wide, 0.93 * wide), GLASS)
        solid.plate(out, (high + 0.08, height - 0.08), (-0.7 * wide, 0.7 * wide), DARK)
        letters = (high + 0.14, height - 0.14), (-0.5 * wide, 0.5 * wide)
        solid.plate(out, *letters, (0.95, 0.6, 0.15), IN_THE_DARK)
    else:
        solid.plate(out, (low, high), (-0.7 * wide, 0.7 * wide), GLASS)
    solid.plate(out, (0.36, 0.6), (-wide, wide), _BUMPER)
    for side in (-1, 1):
        lamp = (side * 0.66 * wide, side * 0.94 * wide)
        solid.plate(out, (0.66, 0.95), lamp, LAMP if x > 0 else TAIL_LAMP, IN_THE_DARK)


def lorry(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make a lorry, or a pick-up."""
    if kind == "pick-up":
        length, height = rng.uniform(5.0, 5.8), rng.uniform(1.75, 1.95)
        tail = rng.uniform(0.36, 0.44)
        return carriage(length, height, 0.26, tail, 0.02, pick(rng, setup.paints), 0.4)
    solid, wide = Solid(), 1.22
    length = {"box lorry": rng.uniform(4.2, 6.5), "flatbed": rng.uniform(4.2, 6.5), "articulated lorry": 9.5}[
        kind
    ]
    front = tractor(solid, rng, setup, length)
    cargo = pick(rng, _CARGO)
    if kind == "flatbed":
        solid.block((front - length, front), (0.95, 1.5), (-wide, wide), cargo)
        if rng.random() < 0.7:
            load = (front - rng.uniform(0.5, 0.95) * length, front - 0.4)
            solid.block(
                load, (1.5, rng.uniform(1.8, 2.5)), (-0.85 * wide, 0.85 * wide), pick(rng, setup.walls), 1
            )
        return solid
    top = rng.uniform(3.1, 3.8)
    solid.block((front - length, front), (0.95, top), (-wide, wide), cargo)
    if rng.random() < 0.5:
        logo = [(front - 0.75 * length, 1.7), (front - 0.75 * length, 2.6), (front - 0.25 * length, 2.6)]
        solid.sides([*logo, (front - 0.25 * length, 1.7)], wide, pick(rng, setup.paints))
    rear = front - length - 0.01
    solid.plate(rear, (1.0, top - 0.1), (-0.03, 0.03), DARK)
    for side in (-1, 1):
        solid.plate(rear, (0.97, 1.15), (side * 0.65 * wide, side * 0.97 * wide), TAIL_LAMP, IN_THE_DARK)
    return solid


def tractor(solid: Solid, rng: np.random.Generator, setup: Setup, length: float) -> float:
    """Add a driver's cab with chassis and wheels for a load of some length; return where the load begins."""
    paint, wide = pick(rng, setup.paints), 1.12
    bonnet = 1.3 if rng.random() < setup.bonnets else 0.0
    half = (length + 2.1 + bonnet) / 2
    cowl, behind = half - bonnet, half - bonnet - 1.9
    height = rng.uniform(2.4, 2.8)
    solid.block((-half + 0.1, cowl), (0.55, 0.95), (-0.9, 0.9), DARK)
    if bonnet:
        solid.block((cowl, half), (0.45, 1.55), (-0.9, 0.9), paint)
    else:
        solid.block((behind, half), (0.45, height), (-wide, wide), paint)
    end(solid, half, (0.75, 1.3 if bonnet else 1.05), 0.9 if bonnet else wide)
    if bonnet:
        solid.block((behind, cowl), (0.5, height), (-wide, wide), paint)
    pane = (0.56 * height, 0.9 * height)
    solid.plate(cowl + 0.01, pane, (-0.92 * wide, 0.92 * wide), GLASS)
    glass = [(cowl - 1.2, pane[0]), (cowl - 1.2, pane[1]), (cowl - 0.2, pane[1]), (cowl - 0.1, pane[0])]
    solid.sides(glass, wide + 0.005, GLASS)
    solid.wheels(half - 0.95, 0.5, wide + 0.03)
    for i in range(2 if length > 5 else 1):
        solid.wheels(-half + 1.1 + 1.15 * i, 0.5, wide + 0.08)
    return behind - 0.15
