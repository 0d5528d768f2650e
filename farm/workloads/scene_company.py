"""What else stands in a street: trees, lamp posts, and small or distant things of the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from farm.api import generator
from farm.workloads.scene_light import Light
from farm.workloads.scene_setups import Setup
from farm.workloads.scene_signals import Mounted
from farm.workloads.scene_solids import Place, Solid, choose
from farm.workloads.scene_streets import Street, lamp_post, tree
from farm.workloads.scene_things import Sort, choose_spot
from farm.workloads.scene_views import Box, Placed, Shape, Window, place

LARGEST_OTHER = 1 / 4
"""The area of another thing, as a share of the main one's."""
_OF_EACH = 16


class Surroundings(NamedTuple):
    """In which street and light the camera is, how high, and what part of the view it shows."""

    street: Street
    light: Light
    window: Window
    camera_height: float


@dataclass
class Company:
    """Things that stand in many pictures, made once each."""

    seed: int
    names: tuple[str, ...]
    setup: Setup
    sorts: Mapping[str, Sort]
    _kept: dict[tuple[str, int], tuple[str, list[Shape]]] = field(default_factory=dict)

    def around(self, rng: np.random.Generator, thing: Placed, scene: Surroundings) -> list[Placed]:
        """Return what is around a thing and hides nothing of it, in the order of painting."""
        found, names, view = self._furniture(rng, thing, scene), list(self.sorts), scene.window.box
        for _ in range(int(rng.random() * 3)):
            name, away = names[int(rng.random() * len(names))], thing.distance * rng.uniform(0.9, 4.0)
            right, number = away * rng.uniform(view[0], view[2]), int(rng.random() * _OF_EACH)
            kind, shapes = self._made(name, number)
            _, yaw = choose_spot(rng, self.sorts[name], kind, scene.street, self.setup)
            one, *held = (place(shape, (right, 0.0, away), scene.camera_height, yaw) for shape in shapes)
            if _area(_common(one.extent, view)) > LARGEST_OTHER * _area(thing.extent):
                continue
            behind = min(part.distance for part in (one, *held)) > thing.distance
            if behind or not any(_area(_common(part.extent, thing.extent)) for part in (one, *held)):
                found += [*held, one]
        return sorted(found, key=lambda one: -one.distance)

    def _furniture(self, rng: np.random.Generator, thing: Placed, scene: Surroundings) -> list[Placed]:
        found, bare = [], scene.light.snow > 0 and rng.random() < 0.7
        for name, most in (("bare tree" if bare else "tree", 4), ("lamp post", 2)):
            for _ in range(int(rng.random() * (most + 1))):
                right, away, yaw, number = rng.random(4).tolist()
                away = thing.distance + 2 + 58 * away
                side = scene.street.half_road + 0.8 + 3.2 * abs(2 * right - 1)
                spot: Place = (side if right > 0.5 else -side, 0.0, away)
                if scene.window.box[0] - 0.2 < spot[0] / away < scene.window.box[2] + 0.2:
                    _, (shape,) = self._made(name, int(number * _OF_EACH))
                    found.append(place(shape, spot, scene.camera_height, 2 * np.pi * yaw))
        return found

    def _made(self, name: str, number: int) -> tuple[str, list[Shape]]:
        """Return a thing, and what holds it up."""
        if (name, number) not in self._kept:
            rng = generator(self.seed, *self.names, "company", name, number)
            if name in FURNITURE:
                self._kept[name, number] = name, [Shape(FURNITURE[name](rng))]
            else:
                kind = choose(rng, self.sorts[name].kinds)
                self._kept[name, number] = kind, shapes_of(self.sorts[name].make(rng, self.setup, kind))
        return self._kept[name, number]


FURNITURE: Mapping[str, Callable[[np.random.Generator], Solid]] = {
    "tree": lambda rng: tree(rng, bare=False),
    "bare tree": lambda rng: tree(rng, bare=True),
    "lamp post": lamp_post,
}


def shapes_of(made: Solid | Mounted) -> list[Shape]:
    """Finish a thing, and what holds it up."""
    return [Shape(one) for one in made] if isinstance(made, Mounted) else [Shape(made)]


def _common(one: Box, other: Box) -> Box:
    return max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])


def _area(box: Box) -> float:
    return max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)
