"""People on foot, and those who sit, bend, lie or crouch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import cos, radians, sin

import numpy as np

from farm.workloads.scene_setups import Setup
from farm.workloads.scene_solids import Colour, Flat, Solid, pick

_SKINS = ((0.9, 0.72, 0.6), (0.8, 0.6, 0.46), (0.55, 0.38, 0.27), (0.36, 0.24, 0.17))
_HAIRS = ((0.12, 0.09, 0.07), (0.3, 0.2, 0.12), (0.66, 0.5, 0.28), (0.55, 0.54, 0.53))
_WOOD = (0.42, 0.28, 0.16)


@dataclass(frozen=True)
class Pose:
    """Angles of limbs in degrees from hanging straight down, forward; and of the trunk from upright."""

    trunk: float = 4
    thighs: tuple[float, float] = (0, 0)
    shins: tuple[float, float] = (0, 0)
    arms: tuple[float, float] = (5, -5)
    forearms: tuple[float, float] = (15, 10)


POSES: Mapping[str, Pose] = {
    "sitting": Pose(2, (85, 80), (5, 0), (20, 25), (60, 70)),
    "bending": Pose(82, (2, -3), (-4, -8), (-8, 10), (5, 20)),
    "crouching": Pose(28, (110, 100), (-35, -45), (40, 50), (70, 80)),
    "lying": Pose(0, (10, 0), (0, -12), (14, 30), (30, 60)),
    "in a wheelchair": Pose(4, (82, 82), (15, 15), (15, 20), (65, 65)),
}


def walker(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make somebody who walks or stands, grown up or a child."""
    step = rng.uniform(8, 30) * (rng.random() < 0.75)
    back, swing = rng.uniform(0, 0.8) * step, rng.uniform(0.5, 1.0) * step
    pose = Pose(
        trunk=rng.uniform(-2, 8),
        thighs=(step, -step),
        shins=(step - 0.5 * back, -step - back),
        arms=(-swing, swing),
        forearms=(-swing + rng.uniform(0, 50), swing + rng.uniform(0, 50)),
    )
    height = rng.uniform(1.0, 1.35) if kind == "child" else rng.uniform(1.52, 1.92)
    return figure(rng, setup, pose, height)


def odd_person(rng: np.random.Generator, setup: Setup, kind: str) -> Solid:
    """Make somebody in an unusual posture, with what that needs."""
    height, pose = rng.uniform(1.55, 1.88), POSES[kind]
    pose = replace(pose, trunk=pose.trunk + rng.uniform(-8, 8))
    solid = figure(rng, setup, pose, height)
    if kind == "in a wheelchair":
        for side in (-0.34, 0.34):
            solid.ring(0.0, 0.3, side, 0.05, (0.15, 0.15, 0.16))
            solid.rod(
                [(0.5, 0.08, side), (0.3, 0.45, side), (-0.25, 0.45, side), (-0.3, 0.95, side)], 0.05, _WOOD
            )
    elif kind == "sitting":
        solid.block((-0.4, 0.3), (0.36, 0.43), (-0.6, 0.6), _WOOD)
        for side in (-0.5, 0.5):
            solid.block((-0.3, 0.2), (0.0, 0.36), (side - 0.04, side + 0.04), _WOOD)
    return solid


def figure(rng: np.random.Generator, setup: Setup, pose: Pose, height: float) -> Solid:
    """Make a person of some height in a pose, whose lowest point is on the ground."""
    solid, k = Solid(), height / 1.75
    broad = k * rng.uniform(0.88, 1.2)
    coat, trousers, skin = pick(rng, setup.clothes), pick(rng, setup.clothes), pick(rng, _SKINS)
    sleeve = coat if rng.random() < 0.75 else skin
    hips = (0.0, 0.0)
    for side, thigh, shin in (
        (-1, *_each(pose.thighs, pose.shins, 0)),
        (1, *_each(pose.thighs, pose.shins, 1)),
    ):
        knee = _limb(hips, thigh, 0.44 * k)
        ankle = _limb(knee, shin, 0.42 * k)
        toe = _limb(ankle, shin + 80, 0.16 * k)
        z = side * 0.1 * broad
        _part(solid, [hips, knee, ankle], z, 0.15 * broad, trousers)
        _part(solid, [ankle, toe], z, 0.09 * k, (0.1, 0.09, 0.09))
    chest = _limb(hips, 180 - pose.trunk, 0.5 * k)
    for side in (-1, 1):
        _part(solid, [hips, chest], side * 0.1 * broad, 0.22 * broad, coat)
    if rng.random() < 0.3:  # a skirt or a long coat
        hem = _limb(hips, 0.5 * sum(pose.thighs), rng.uniform(0.25, 0.42) * k)
        for side in (-1, 1):
            _part(solid, [hips, hem], side * 0.1 * broad, 0.27 * broad, coat)
    for side, arm, forearm in (
        (-1, *_each(pose.arms, pose.forearms, 0)),
        (1, *_each(pose.arms, pose.forearms, 1)),
    ):
        elbow = _limb(chest, arm, 0.3 * k)
        hand = _limb(elbow, forearm, 0.27 * k)
        z = side * 0.25 * broad
        _part(solid, [chest, elbow, hand], z, 0.1 * k, sleeve)
        _part(solid, [hand], z, 0.1 * k, skin)
    head = _limb(chest, 180 - 0.7 * pose.trunk, 0.24 * k)
    _part(solid, [chest, head], 0.0, 0.12 * k, skin)
    _part(solid, [head], 0.0, 0.23 * k, skin)
    hair = (head[0] - 0.05 * k, head[1] + 0.04 * k)
    _part(solid, [hair], 0.0, 0.23 * k, pick(rng, _HAIRS if rng.random() < 0.8 else setup.clothes))
    if rng.random() < 0.25 and pose.trunk < 30:
        pack = _limb(hips, 180 - pose.trunk, 0.3 * k)
        _part(solid, [(pack[0] - 0.2 * k, pack[1])], 0.0, 0.32 * k, pick(rng, setup.clothes))
    low = min(y - w / 2 for (_, y, _), w in _ends(solid))
    solid.points = [(x, y - low, z) for x, y, z in solid.points]
    return solid


def _each(upper: tuple[float, float], lower: tuple[float, float], which: int) -> tuple[float, float]:
    return upper[which], lower[which]


def _limb(start: Flat, angle: float, length: float) -> Flat:
    """Return where a limb ends that begins somewhere, so many degrees forward from hanging down."""
    return start[0] + length * sin(radians(angle)), start[1] - length * cos(radians(angle))


def _part(solid: Solid, joints: list[Flat], z: float, width: float, colour: Colour) -> None:
    solid.rod([(x, y, z) for x, y in joints], width, colour)


def _ends(solid: Solid) -> list[tuple[tuple[float, float, float], float]]:
    stops = [*solid.starts[1:], len(solid.points)]
    return [
        (point, width)
        for start, stop, width in zip(solid.starts, stops, solid.widths, strict=True)
        for point in solid.points[start:stop]
    ]
