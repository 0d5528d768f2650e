"""Which things there are of each class, how often, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from farm.workloads.scene_bikes import bike, odd_bike
from farm.workloads.scene_odd_vehicles import odd_bus, odd_car, odd_lorry
from farm.workloads.scene_people import odd_person, walker
from farm.workloads.scene_setups import Setup
from farm.workloads.scene_signals import Mounted, light, odd_light, odd_sign, sign
from farm.workloads.scene_solids import Place, Range, Solid
from farm.workloads.scene_strangers import STRANGERS, stranger
from farm.workloads.scene_streets import Street
from farm.workloads.scene_vehicles import bus, car, lorry

CLASSES = ("traffic-sign", "traffic-light", "pedestrian", "car", "truck", "bus", "bike")
Maker: TypeAlias = Callable[[np.random.Generator, Setup, str], Solid | Mounted]
FALLEN = ("lying", "fallen over")
"""Kinds that do not stand."""


@dataclass(frozen=True)
class Sort:
    """Things of one class: who makes them, their kinds with how often each is, and where they stand."""

    make: Maker
    kinds: Mapping[str, float]
    away: Range
    """Metres from the camera."""
    stands: str
    """On the `road`, `anywhere`, or `beside` the road and turned towards who drives there."""


def _plates(setup: Setup) -> dict[str, float]:
    """Weigh each kind of plate by how many signs have it."""
    plates = [design.plate for design in setup.country.designs]
    return {plate: float(plates.count(plate)) for plate in dict.fromkeys(plates)}


def usual(setup: Setup) -> dict[str, Sort]:
    """Return what is met every day."""
    lorries = {"box lorry": 0.55, "flatbed": 0.12, "articulated lorry": 0.3, "pick-up": 0.03}
    return {
        "traffic-sign": Sort(sign, _plates(setup), (6, 30), "beside"),
        "traffic-light": Sort(light, {"on a post": 0.6, "over the road": 0.4}, (8, 35), "beside"),
        "pedestrian": Sort(walker, {"grown-up": 0.85, "child": 0.15}, (5, 25), "anywhere"),
        "car": Sort(car, setup.cars, (7, 32), "road"),
        "truck": Sort(lorry, lorries, (9, 40), "road"),
        "bus": Sort(bus, {"town bus": 0.7, "coach": 0.3}, (11, 45), "road"),
        "bike": Sort(bike, {"bicycle": 0.65, "motorcycle": 0.35}, (4, 18), "parked"),
    }


def unusual(setup: Setup) -> dict[str, Sort]:
    """Return corner cases: of the same classes, but unlike what is met every day."""
    changed: dict[str, tuple[Maker, tuple[str, ...]]] = {
        "traffic-sign": (odd_sign, ("from behind", "bent", "turned", "pasted over")),
        "traffic-light": (odd_light, ("horizontal", "single lamp", "five lamps", "not lit")),
        "pedestrian": (odd_person, ("sitting", "bending", "crouching", "lying", "in a wheelchair")),
        "car": (odd_car, ("roof load", "limousine", "micro car", "convertible")),
        "truck": (odd_lorry, ("concrete mixer", "crane", "tanker", "tipper", "trailer")),
        "bus": (odd_bus, ("double-decker", "school bus", "articulated bus", "open-top bus")),
        "bike": (odd_bike, ("cargo bike", "tricycle", "laden", "fallen over")),
    }
    found = usual(setup)
    return {
        name: replace(found[name], make=make, kinds=dict.fromkeys(kinds, 1.0))
        for name, (make, kinds) in changed.items()
    }


def unknown(setup: Setup) -> dict[str, Sort]:  # noqa: ARG001
    """Return what belongs to no class: each is a class of its own."""
    away = {"tram": (14.0, 45.0), "barrier": (4.0, 18.0), "animal": (4.0, 16.0)}
    return {
        name: Sort(
            stranger, {name: 1.0}, away.get(name, (2.5, 10.0)), "road" if name == "tram" else "anywhere"
        )
        for name in STRANGERS
    }


OBJECTS: Mapping[str, Callable[[Setup], dict[str, Sort]]] = {
    "usual": usual,
    "unusual": unusual,
    "unknown": unknown,
}


def choose_spot(
    rng: np.random.Generator, sort: Sort, kind: str, street: Street, setup: Setup
) -> tuple[Place, float]:
    """Choose where a thing stands, and its angle: 0 where it looks away from the camera."""
    near, far = np.log(sort.away)
    away, half = float(np.exp(rng.uniform(near, far))), street.half_road
    side = 1 if rng.random() < 0.5 else -1
    if sort.stands == "beside":
        right = (
            rng.uniform(-half, half)
            if kind in ("over the road", "horizontal")
            else side * (half + rng.uniform(0.3, 1.6))
        )
        return (right, 0.0, away), float(np.arctan2(right, away) + np.pi + rng.normal(0, 0.3))
    across = np.pi / 2 if rng.random() < 0.5 else -np.pi / 2
    if sort.stands in ("anywhere", "parked"):
        yaw = rng.uniform(0, 2 * np.pi) if sort.stands == "anywhere" else across + rng.normal(0, 0.5)
        return (rng.uniform(-half - 2, half + 2), 0.0, away), float(yaw)
    right = rng.uniform(1.2, max(half - 1.2, 1.3)) * side
    along = 0.0 if (side > 0) != setup.driving_left else np.pi
    yaw = across + rng.normal(0, 0.3) if rng.random() < 0.35 else along + rng.normal(0, 0.12)
    return (right, 0.0, away), float(yaw)
