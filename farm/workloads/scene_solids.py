"""Things in three dimensions, put together of flat faces, rods and balls.

A thing has a frame of its own, in metres: x forward, y upwards from the ground, z to its right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import cos, pi, sin
from typing import TypeAlias

import numpy as np
from PIL import Image

Colour: TypeAlias = tuple[float, float, float]
"""Red, green, blue in [0, 1], as in full light."""
Place: TypeAlias = tuple[float, float, float]
Flat: TypeAlias = tuple[float, float]
Range: TypeAlias = tuple[float, float]

ALWAYS = 1.0
IN_THE_DARK = 0.5
"""When something gives light of its own."""

TYRE: Colour = (0.07, 0.07, 0.08)
GLASS: Colour = (0.16, 0.2, 0.24)

CIRCLE = [(cos(i * pi / 6), sin(i * pi / 6)) for i in range(12)]


class Solid:
    """A thing that is put together piece by piece.

    Its parts are painted layer by layer, in each the farthest first, and the pieces of a part in the order in
    which they were added; those of a `heap` all in that order. A part may tell a place that is inside of it:
    then only faces that look at the camera are seen. A piece without width is a face; others are rods, or of
    one point a ball.
    """

    def __init__(self, *, heap: bool = False) -> None:
        self.heap = heap
        self.points: list[Place] = []
        self.starts: list[int] = []
        self.colours: list[Colour] = []
        self.widths: list[float] = []
        self.glows: list[float] = []
        self.part_of: list[int] = []
        self.layers: list[int] = []
        self.insides: list[Place | None] = []
        self.pictures: dict[int, Image.Image] = {}
        """What is on faces of four corners, by the number of the piece: with a channel of opacity."""

    def part(self, layer: int = 0, inside: Place | None = None) -> None:
        """Begin a new part."""
        self.layers.append(len(self.layers) if self.heap else layer)
        self.insides.append(inside)

    def piece(self, points: Sequence[Place], colour: Colour, width: float = 0.0, glow: float = 0.0) -> None:
        """Add a piece to the part that was begun last."""
        self.starts.append(len(self.points))
        self.points += points
        self.colours.append(colour)
        self.widths.append(width)
        self.glows.append(glow)
        self.part_of.append(len(self.layers) - 1)

    def picture(self, corners: Sequence[Place], image: Image.Image) -> None:
        """Add a face with a picture on it: left top, right top, right bottom, left bottom."""
        self.pictures[len(self.starts)] = image
        self.piece(corners, (0.5, 0.5, 0.5))

    def rod(self, points: Sequence[Place], width: float, colour: Colour, layer: int = 0) -> None:
        """Add a part that is a bent rod."""
        self.part(layer)
        self.piece(points, colour, width)

    def hull(self, one: Sequence[Place], other: Sequence[Place], colour: Colour, layer: int = 0) -> None:
        """Add a part with two faces of as many corners, and those between them."""
        x, y, z = (sum(along) / (2 * len(one)) for along in zip(*one, *other, strict=True))
        self.part(layer, (x, y, z))
        for i in range(len(one)):
            self.piece([one[i - 1], one[i], other[i], other[i - 1]], colour)
        self.piece(one, colour)
        self.piece(other, colour)

    def prism(self, outline: Sequence[Flat], z: Range, colour: Colour, layer: int = 0) -> None:
        """Add a part with an outline as seen from the side, drawn out from one side to the other."""
        self.hull([(x, y, z[0]) for x, y in outline], [(x, y, z[1]) for x, y in outline], colour, layer)

    def block(self, x: Range, y: Range, z: Range, colour: Colour, layer: int = 0) -> None:
        """Add a part that is a box."""
        self.prism([(x[0], y[0]), (x[0], y[1]), (x[1], y[1]), (x[1], y[0])], z, colour, layer)

    def round(
        self, x: Range, radii: Range, y: float, z: float, colour: Colour, layer: int = 0, along: int = 0
    ) -> None:
        """Add a part that is round about a line: its two ends and their radii, forward or upwards."""
        one, other = (
            [(end, y + r * s, z + r * c) if along == 0 else (y + r * s, end, z + r * c) for c, s in CIRCLE]
            for end, r in zip(x, radii, strict=True)
        )
        self.hull(one, other, colour, layer)

    def sides(self, outline: Sequence[Flat], z: float, colour: Colour, glow: float = 0.0) -> None:
        """Add a face on either side."""
        for side in (-z, z):
            self.piece([(x, y, side) for x, y in outline], colour, glow=glow)

    def plate(self, x: float, y: Range, z: Range, colour: Colour, glow: float = 0.0) -> None:
        """Add an upright face that looks forward or backward."""
        corners = [(x, y[0], z[0]), (x, y[1], z[0]), (x, y[1], z[1]), (x, y[0], z[1])]
        self.piece(corners, colour, glow=glow)

    def wheels(self, x: float, radius: float, z: float, rim: Colour = (0.5, 0.5, 0.52)) -> None:
        """Add a pair of wheels whose outer sides are `z` from the middle."""
        tread = (x - 0.75 * radius, x + 0.75 * radius)
        for side in (-1, 1):
            inner, outer = sorted((side * (z - 0.5 * radius), side * z))
            self.block(tread, (0.0, radius), (inner, outer), TYRE, layer=-1)
            self.part(0, (x, radius, 0.0))
            for share, colour in ((1.0, TYRE), (0.6, rim)):
                self.disc(x, radius, side * z, share * radius, colour)

    def disc(self, x: float, y: float, z: float, radius: float, colour: Colour) -> None:
        """Add a round face that looks to the side."""
        self.piece([(x + radius * c, y + radius * s, z) for c, s in CIRCLE], colour)

    def ring(self, x: float, radius: float, z: float, width: float, colour: Colour) -> None:
        """Add a part that is a standing hoop."""
        circle = [(x + radius * c, radius + radius * s, z) for c, s in [*CIRCLE, CIRCLE[0]]]
        self.rod(circle, width, colour)


def tinted(colour: Colour, share: float) -> Colour:
    """Return a colour that is so many times as bright."""
    red, green, blue = colour
    return share * red, share * green, share * blue


def choose(rng: np.random.Generator, shares: Mapping[str, float]) -> str:
    """Choose a name, each as often as its share says."""
    left = rng.random() * sum(shares.values())
    for name, share in shares.items():
        left -= share
        if left < 0:
            return name
    return list(shares)[-1]  # what rounding leaves


def pick(rng: np.random.Generator, table: Sequence[Colour]) -> Colour:
    """Choose a colour, and vary it as dirt and paint do."""
    which, shift, a, b = rng.random(4).tolist()
    red, green, blue = table[int(which * len(table))]
    shift = 0.16 * (shift - 0.5)
    return (
        min(max(red + shift + 0.06 * (a - 0.5), 0.02), 1.0),
        min(max(green + shift, 0.02), 1.0),
        min(max(blue + shift + 0.06 * (b - 0.5), 0.02), 1.0),
    )
