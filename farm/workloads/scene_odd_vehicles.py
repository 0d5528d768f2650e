"""Cars, lorries and buses that look unlike those which are usually met."""

from __future__ import annotations

import numpy as np

from farm.workloads.scene_setups import Setup
from farm.workloads.scene_solids import GLASS, IN_THE_DARK, Solid, pick
from farm.workloads.scene_vehicles import (
    DARK,
    TAIL_LAMP,
    bus_end,
    cabin,
    car,
    carriage,
    end,
    rows,
    tractor,
)

_STEEL, _YELLOW = (0.72, 0.74, 0.76), (0.93, 0.7, 0.12)


def odd_car(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make a car of an unusual kind."""
    if kind == "roof load":
        solid = car(rng, setup, "saloon" if rng.random() < 0.5 else "estate")
        top = max(y for _, y, _ in solid.points)
        for i in range(int(rng.integers(1, 4))):
            reach, tall = rng.uniform(0.8, 1.5), rng.uniform(0.25, 0.5)
            solid.block((-reach, reach), (top, top + tall), (-0.7, 0.7), pick(rng, setup.walls), layer=2 + i)
            top += tall
        return solid
    paint = pick(rng, setup.paints)
    if kind == "limousine":
        return carriage(rng.uniform(7.2, 8.4), 1.48, 0.16, 0.11, 0.03, paint)
    if kind == "micro car":
        return carriage(rng.uniform(2.2, 2.6), rng.uniform(1.5, 1.65), 0.08, 0.02, 0.06, paint, 0.26)
    solid, wide, half = Solid(), 0.9, rng.uniform(2.0, 2.3)  # an open car
    body = [(-half, 0.3), (-half, 0.82), (half - 1.3, 0.88), (half - 0.1, 0.74), (half, 0.3)]
    solid.prism(body, (-wide, wide), paint)
    end(solid, -half, (0.45, 0.72), wide)
    end(solid, half, (0.45, 0.68), wide)
    well = [(-0.9, 0.89, -0.75), (0.5, 0.89, -0.75), (0.5, 0.89, 0.75), (-0.9, 0.89, 0.75)]
    solid.part(1)
    solid.piece(well, (0.3, 0.16, 0.1))
    solid.piece([(0.6, 0.88, -0.8), (0.3, 1.25, -0.7), (0.3, 1.25, 0.7), (0.6, 0.88, 0.8)], GLASS)
    for side in (-0.4, 0.4):
        solid.block((-0.75, -0.6), (0.7, 1.2), (side - 0.2, side + 0.2), (0.3, 0.16, 0.1), layer=2)
    for x in (-0.62 * half, 0.62 * half):
        solid.wheels(x, 0.32, wide + 0.02)
    return solid


def odd_lorry(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make a lorry with an unusual body."""
    solid, wide = Solid(), 1.15
    if kind == "trailer":
        half, top, paint = rng.uniform(1.8, 2.8), rng.uniform(2.2, 2.6), pick(rng, setup.paints)
        solid.prism([(-half, 0.5), (-half, top), (0.9 * half, top), (half, 0.9)], (-wide, wide), paint)
        glass = [(-0.4 * half, 0.55 * top), (-0.4 * half, 0.8 * top), (0.3 * half, 0.8 * top)]
        solid.sides([*glass, (0.3 * half, 0.55 * top)], wide, GLASS)
        solid.plate(-half - 0.01, (0.5 * top, 0.8 * top), (-0.7, 0.7), GLASS)
        solid.rod([(half, 0.55, 0.0), (half + 1.2, 0.5, 0.0)], 0.12, DARK)
        solid.wheels(0.0, 0.34, wide + 0.03)
        return solid
    length = rng.uniform(4.5, 5.5)
    front = tractor(solid, rng, setup, length)
    rear = front - length
    if kind == "tanker":
        solid.round((rear, front), (1.1, 1.1), 2.0, 0.0, pick(rng, [_STEEL, *setup.buses]))
        solid.rod([(rear + 0.5, 3.12, 0.0), (front - 0.5, 3.12, 0.0)], 0.25, DARK, layer=1)
    elif kind == "concrete mixer":
        paint, middle = pick(rng, setup.paints), rear + 0.45 * length
        solid.round((rear, middle), (0.55, 1.2), 2.15, 0.0, paint)
        solid.round((middle, middle + 0.25 * length), (1.25, 1.25), 2.15, 0.0, pick(rng, setup.buses))
        solid.round((middle + 0.25 * length, front), (1.2, 0.7), 2.0, 0.0, paint)
        solid.prism([(rear - 0.5, 0.9), (rear, 2.0), (rear + 0.2, 0.9)], (-0.3, 0.3), DARK)
    elif kind == "crane":
        solid.block((rear, front), (0.95, 1.5), (-wide, wide), _YELLOW)
        solid.block((rear + 0.6, rear + 2.2), (1.5, 2.5), (-0.9, 0.9), _YELLOW, layer=1)
        tip = (front + 2.2, rng.uniform(4.2, 5.6), 0.0)
        solid.rod([(rear + 0.8, 2.5, 0.0), tip], 0.5, _YELLOW, layer=2)
        solid.rod([tip, (tip[0], tip[1] - 1.4, 0.0)], 0.14, DARK, layer=2)
    else:  # a tipper, raised
        rise, reach = rng.uniform(1.6, 2.6), 0.92 * length
        bed = [(rear, 1.1), (rear - 0.3, 2.1), (rear - 0.4 + reach, 2.2 + rise), (rear + reach, 1.1 + rise)]
        solid.prism(bed, (-wide, wide), pick(rng, [_YELLOW, *setup.paints]))
        solid.rod(
            [(front - 0.6, 0.9, 0.0), (rear + 0.7 * length, 1.1 + 0.7 * rise, 0.0)], 0.22, DARK, layer=-1
        )
    return solid


def odd_bus(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make a bus of an unusual build."""
    solid, wide, paint = Solid(), 1.25, pick(rng, setup.buses)
    half, n = rng.uniform(4.4, 5.2), int(rng.integers(5, 8))
    if kind == "school bus":
        height = 3.0
        solid.block((half - 1.6, half), (0.5, 1.6), (-0.95, 0.95), _YELLOW)
        end(solid, half, (0.8, 1.3), 0.95)
        solid.block((-half, half - 1.6), (0.45, height), (-wide, wide), _YELLOW)
        rows(solid, (-half, half - 1.6), height, wide, ((0.56, 0.82),), n)
        solid.sides([(-half, 1.2), (-half, 1.32), (half - 1.6, 1.32), (half - 1.6, 1.2)], wide, DARK)
        solid.plate(half - 1.59, (1.65, 2.6), (-0.9 * wide, 0.9 * wide), GLASS)
        for side in (-0.9, 0.9):
            solid.plate(-half - 0.01, (2.6, 2.85), (side - 0.2, side + 0.2), TAIL_LAMP, IN_THE_DARK)
        solid.plate(-half - 0.01, (1.5, 2.4), (-0.8, 0.8), GLASS)
    elif kind == "articulated bus":
        height, bend = 3.1, rng.uniform(-0.5, 0.5)
        solid.block((-0.6, 0.6), (0.5, 2.9), (-1.1, 1.1), DARK)
        solid.block((0.5, 2 * half), (0.35, height), (-wide, wide), paint)
        rows(solid, (0.5, 2 * half), height, wide, ((0.45, 0.8),), n)
        bus_end(solid, 2 * half, height, wide, (0.45, 0.8))
        solid.wheels(1.5 * half, 0.48, wide + 0.02)
        first, parts = len(solid.points), len(solid.insides)
        solid.block((-1.6 * half, -0.5), (0.35, height), (-wide, wide), paint)
        rows(solid, (-1.6 * half, -0.5), height, wide, ((0.45, 0.8),), n)
        bus_end(solid, -1.6 * half, height, wide, (0.45, 0.8))
        solid.wheels(-0.6 * half, 0.48, wide + 0.02)
        c, s = np.cos(bend), np.sin(bend)
        solid.points[first:] = [(x * c - z * s, y, x * s + z * c) for x, y, z in solid.points[first:]]
        insides = [inside or (0.0, 0.0, 0.0) for inside in solid.insides[parts:]]
        solid.insides[parts:] = [(x * c - z * s, y, x * s + z * c) for x, y, z in insides]
    else:
        height = rng.uniform(4.2, 4.5)
        closed = kind == "double-decker"
        wall = height if closed else 3.0
        solid.block((-half, half), (0.35, wall), (-wide, wide), paint)
        shares = ((0.24, 0.45), (0.62, 0.86)) if closed else ((0.4, 0.72),)
        rows(solid, (-half, half), wall, wide, shares, n)
        for x in (-half, half):
            bus_end(solid, x, wall, wide, shares[0])
        if closed:
            solid.plate(half + 0.01, (0.62 * height, 0.88 * height), (-0.93 * wide, 0.93 * wide), GLASS)
            solid.plate(-half - 0.01, (0.62 * height, 0.86 * height), (-0.7 * wide, 0.7 * wide), GLASS)
        else:
            for i in range(6):
                x = half * (0.3 * i - 0.85)
                solid.block((x, x + 0.2), (wall, wall + 0.6), (-1.0, 1.0), pick(rng, setup.clothes), layer=1)
            roof = (0.45 * half, 0.98 * half)
            cabin(solid, roof, roof, (wall, wall + 1.0), wide, paint)
    if kind != "articulated bus":
        for x in (-0.6 * half, 0.6 * half):
            solid.wheels(x, 0.48, wide + 0.02)
    return solid
