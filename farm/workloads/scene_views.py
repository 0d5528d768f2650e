"""Where things stand before the camera, and where they are seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from farm.workloads.scene_solids import Place, Solid

Numbers: TypeAlias = NDArray[np.float64]

NEAREST = 0.4
"""What is nearer to the camera than these metres is painted as if it were so far away."""


Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom, in units of tangent: how far from straight ahead something is seen."""


class Window(NamedTuple):
    """What part of the view a square picture shows: its left and upper edge, its side, and that in pixels."""

    left: float
    top: float
    side: float
    pixels: int

    @property
    def scale(self) -> float:
        """Pixels a unit of tangent."""
        return self.pixels / self.side

    @property
    def box(self) -> Box:
        """Its edges."""
        return self.left, self.top, self.left + self.side, self.top + self.side


class Shape:
    """A finished solid, in arrays: what of it is the same wherever it stands."""

    def __init__(self, solid: Solid) -> None:
        none = (np.nan,) * 3
        self.points = np.array(solid.points)
        self.insides = np.array([none if one is None else one for one in solid.insides])
        self.layers = np.array(solid.layers)
        self.starts, self.parts = np.array(solid.starts), np.array(solid.part_of)
        self.lengths = np.array([*solid.starts[1:], len(self.points)]) - self.starts
        self.colours, self.widths = np.array(solid.colours), np.array(solid.widths)
        self.glows = np.array(solid.glows)
        self.pictures = solid.pictures


def tangents(world: Numbers) -> Numbers:
    """Return how far to the right and downwards points are seen."""
    seen: Numbers = world[:, :2] * (1, -1) / np.maximum(world[:, 2:], NEAREST)
    return seen


@dataclass(frozen=True)
class Placed:
    """A shape in front of the camera."""

    shape: Shape
    world: Numbers
    """A point a row: to the right of the camera, above it, and away from it, in metres."""
    insides: Numbers
    """A place inside each part, NaN where none is told."""

    @cached_property
    def distance(self) -> float:
        """How far away its middle is."""
        return float(self.world[:, 2].mean())

    @cached_property
    def extent(self) -> Box:
        """Where it is seen."""
        widths = np.repeat(self.shape.widths, self.shape.lengths)[:, None]
        half, seen = widths / 2 / np.maximum(self.world[:, 2:], NEAREST), tangents(self.world)
        (left, top), (right, bottom) = (seen - half).min(axis=0), (seen + half).max(axis=0)
        return float(left), float(top), float(right), float(bottom)


def place(shape: Shape, spot: Place, camera_height: float, yaw: float = 0.0, lying: bool = False) -> Placed:
    """Put a shape on its spot: to the right, above the ground, away; turned, or fallen over to its right.

    At a `yaw` of 0 it looks away from the camera.
    """
    n = len(shape.points)
    own = np.concatenate([shape.points, shape.insides])
    if lying:
        own = own[:, [0, 2, 1]] * (1, -1, 1)
        own[:, 1] -= own[:n, 1].min()
    c, s = np.cos(yaw), np.sin(yaw)
    turned = own @ np.array([[s, 0, c], [0, 1, 0], [c, 0, -s]])
    turned += (spot[0], spot[1] - camera_height, spot[2])
    return Placed(shape, turned[:n], turned[n:])
