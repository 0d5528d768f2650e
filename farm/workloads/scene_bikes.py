"""Bicycles and motorcycles without their riders, and bikes that are built or left unlike most."""

from __future__ import annotations

import numpy as np

from farm.workloads.scene_setups import Setup
from farm.workloads.scene_solids import IN_THE_DARK, TYRE, Colour, Solid, pick

_STEEL, _LEATHER = (0.55, 0.56, 0.58), (0.1, 0.09, 0.08)


def bike(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make a bicycle or a motorcycle."""
    solid, paint = Solid(), pick(rng, setup.paints)
    if kind == "motorcycle":
        _motorcycle(solid, paint, rng.uniform(0.92, 1.08))
        return solid
    radius, base = rng.uniform(0.31, 0.36), rng.uniform(0.48, 0.56)
    _frame(solid, paint, radius, -base, base)
    if rng.random() < 0.35:
        solid.block((base - 0.05, base + 0.3), (0.8, 1.02), (-0.18, 0.18), (0.5, 0.4, 0.28))
    if rng.random() < 0.3:
        solid.rod([(-base - 0.2, 0.78, 0.0), (-base + 0.25, 0.78, 0.0)], 0.12, _LEATHER)
    return solid


def odd_bike(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make a bike with a box, with a third wheel, with much luggage, or one that has fallen over."""
    solid, paint = Solid(), pick(rng, setup.paints)
    if kind == "fallen over":
        return bike(rng, setup, "bicycle")
    if kind == "cargo bike":
        _frame(solid, paint, 0.31, -0.75, 0.25)
        solid.ring(1.15, 0.24, 0.0, 0.06, TYRE)
        solid.rod([(0.1, 0.35, 0.0), (1.15, 0.24, 0.0)], 0.07, paint)
        box = [(0.3, 0.3), (0.22, 0.85), (1.12, 0.85), (1.0, 0.3)]
        solid.prism(box, (-0.32, 0.32), pick(rng, setup.walls), layer=1)
    elif kind == "tricycle":
        _frame(solid, paint, 0.3, -0.6, 0.5)
        for side in (-0.36, 0.36):
            solid.ring(-0.6, 0.3, side, 0.06, TYRE)
        solid.rod([(-0.6, 0.3, -0.36), (-0.6, 0.3, 0.36)], 0.06, _STEEL)
        solid.block((-1.0, -0.3), (0.55, 0.95), (-0.34, 0.34), pick(rng, setup.walls))
    else:  # laden
        _frame(solid, paint, 0.34, -0.52, 0.52)
        for side in (-1, 1):
            solid.block(
                (-0.85, -0.3),
                (0.25, 0.75),
                (min(0.1 * side, 0.36 * side), max(0.1 * side, 0.36 * side)),
                pick(rng, setup.clothes),
            )
        solid.block((-0.95, -0.25), (0.8, 1.35), (-0.35, 0.35), pick(rng, setup.clothes))
        solid.block((0.35, 0.85), (0.75, 1.15), (-0.28, 0.28), pick(rng, setup.clothes))
    return solid


def _frame(solid: Solid, paint: Colour, radius: float, back: float, front: float) -> None:
    """Add wheels, tubes, saddle and handlebar."""
    for x in (back, front):
        solid.ring(x, radius, 0.0, 0.055, TYRE)
        solid.rod([(x, radius, 0.0)], 0.09, _STEEL)
    crank = (back + 0.46, 0.28)
    seat, head = (back + 0.3, 0.8), (front - 0.2, 0.82)
    for path in (
        [(back, radius), crank, seat, (back, radius)],
        [seat, head, crank],
        [(front, radius), head, (front - 0.25, 0.98)],
        [seat, (seat[0] - 0.04, 0.94)],
    ):
        solid.rod([(x, y, 0.0) for x, y in path], 0.05, paint)
    solid.rod([(seat[0] - 0.16, 0.95, 0.0), (seat[0] + 0.1, 0.96, 0.0)], 0.08, _LEATHER)
    bar = front - 0.25
    solid.rod([(bar - 0.05, 1.0, -0.28), (bar, 0.99, 0.0), (bar - 0.05, 1.0, 0.28)], 0.05, _LEATHER)
    solid.rod([(crank[0], crank[1], 0.0)], 0.14, _STEEL)


def _motorcycle(solid: Solid, paint: Colour, k: float) -> None:
    back, front, radius = -0.68 * k, 0.72 * k, 0.31 * k
    for x in (back, front):
        solid.ring(x, radius, 0.0, 0.14, TYRE)
        solid.rod([(x, radius, 0.0)], 0.3 * k, _STEEL)
    solid.prism([(-0.32, 0.25), (-0.36, 0.6), (0.34, 0.62), (0.4, 0.3)], (-0.17, 0.17), (0.3, 0.3, 0.31))
    solid.prism([(-0.1, 0.66), (0.0, 0.92), (0.34, 0.92), (0.44, 0.68)], (-0.15, 0.15), paint)
    solid.prism([(-0.85, 0.72), (-0.95, 0.88), (-0.1, 0.82), (-0.1, 0.66)], (-0.13, 0.13), _LEATHER)
    solid.rod([(front, radius, 0.0), (0.42, 0.98, 0.0)], 0.1, _STEEL)
    solid.rod([(0.3, 1.08, -0.36), (0.42, 1.0, 0.0), (0.3, 1.08, 0.36)], 0.06, _LEATHER)
    solid.rod([(-0.9, 0.34, 0.16), (0.1, 0.3, 0.16)], 0.1, _STEEL)
    solid.block((0.46, 0.56), (0.8, 1.0), (-0.1, 0.1), paint)
    solid.plate(0.57, (0.82, 0.97), (-0.08, 0.08), (1.0, 0.95, 0.8), IN_THE_DARK)
    solid.plate(-0.96, (0.74, 0.86), (-0.08, 0.08), (0.85, 0.08, 0.06), IN_THE_DARK)
