"""A pen for sign faces: polygons, discs, strokes, arrows and lettering, in coordinates of its own.

Every figure is drawn in a square from -1 to 1, x to the right and y downwards, wherever and however
large that square lies on the canvas. Lettering is made of strokes, so no font file is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import cos, hypot, radians, sin
from typing import Self, TypeAlias

from PIL import ImageDraw

Point: TypeAlias = tuple[float, float]
Path: TypeAlias = Sequence[Point]
Colour: TypeAlias = tuple[int, int, int]


def arc(x: float, y: float, rx: float, ry: float, start: float, end: float, step: float = 10) -> list[Point]:
    """Return points along an ellipse, in degrees clockwise from the right.

    Examples
    --------
    >>> [(round(x, 6), round(y, 6)) for x, y in (arc(0, 0, 1, 2, 0, 90)[0], arc(0, 0, 1, 2, 0, 90)[-1])]
    [(1.0, 0.0), (0.0, 2.0)]
    """
    steps = max(int(abs(end - start) / step), 2)
    angles = [radians(start + (end - start) * i / steps) for i in range(steps + 1)]
    return [(x + rx * cos(a), y + ry * sin(a)) for a in angles]


@dataclass(frozen=True)
class Pen:
    """Draws on a canvas; `ink` is the colour where none is named, `weight` widens every stroke."""

    canvas: ImageDraw.ImageDraw
    palette: Mapping[str, Colour]
    centre: Point
    scale: float
    ink: str = "black"
    weight: float = 1.0

    def at(self, x: float, y: float, scale: float) -> Self:
        """Return a pen whose square lies within this one's."""
        return replace(self, centre=self._pixel((x, y)), scale=self.scale * scale)

    def inked(self, ink: str) -> Self:
        """Return a pen with another colour in it."""
        return replace(self, ink=ink)

    def weighted(self, weight: float) -> Self:
        """Return a pen whose strokes are this much wider."""
        return replace(self, weight=weight)

    def polygon(self, points: Path, colour: str = "") -> None:
        """Fill a polygon."""
        self.canvas.polygon([self._pixel(p) for p in points], fill=self._colour(colour))

    def disc(self, x: float, y: float, rx: float, ry: float | None = None, colour: str = "") -> None:
        """Fill an ellipse."""
        self.polygon(arc(x, y, rx, rx if ry is None else ry, 0, 360), colour)

    def stroke(self, path: Path, width: float, colour: str = "") -> None:
        """Draw a line of some width, with round ends and corners."""
        pixels = [self._pixel(p) for p in path]
        thickness = width * self.weight * self.scale
        fill = self._colour(colour)
        self.canvas.line(pixels, fill=fill, width=round(thickness))
        for x, y in pixels:
            r = thickness / 2
            self.canvas.ellipse((x - r, y - r, x + r, y + r), fill=fill)

    def ring(self, x: float, y: float, radius: float, width: float, colour: str = "") -> None:
        """Draw a circle's outline."""
        self.stroke(arc(x, y, radius, radius, 0, 360), width, colour)

    def arrow(self, path: Path, width: float, head: float, colour: str = "") -> None:
        """Draw a line that ends in an arrow head, whose tip lies `head` beyond the last point."""
        self.stroke(path, width, colour)
        (x0, y0), (x1, y1) = path[-2], path[-1]
        length = hypot(x1 - x0, y1 - y0)
        dx, dy = (x1 - x0) / length * head, (y1 - y0) / length * head
        self.polygon([(x1 + dx, y1 + dy), (x1 - dy, y1 + dx), (x1 + dy, y1 - dx)], colour)

    def text(self, letters: str, width: float, height: float, stroke: float, colour: str = "") -> None:
        """Write within a box of this half width and half height, centred."""
        pitch = 2 * width / len(letters)
        # A stroke's own width and the gap to the next letter come off the letter's box.
        rx, ry = (pitch - stroke) / 2 - 0.04 * (len(letters) > 1), height - stroke / 2
        for i, letter in enumerate(letters):
            x = -width + (i + 0.5) * pitch
            for path in GLYPHS[letter]:
                self.stroke([(x + rx * px, ry * py) for px, py in path], stroke, colour)

    def _pixel(self, point: Point) -> Point:
        return self.centre[0] + self.scale * point[0], self.centre[1] + self.scale * point[1]

    def _colour(self, name: str) -> Colour:
        return self.palette[name or self.ink]


GLYPHS: Mapping[str, Sequence[Path]] = {
    "0": [arc(0, 0, 1, 1, 0, 360)],
    "1": [[(-0.6, -0.55), (0.2, -1), (0.2, 1)]],
    "3": [arc(-0.05, -0.5, 0.9, 0.5, -155, 90) + arc(-0.05, 0.5, 1, 0.5, -90, 155)],
    "4": [[(0.45, 1), (0.45, -1), (-1, 0.45), (1, 0.45)]],
    "5": [[(0.85, -1), (-0.75, -1), (-0.85, -0.05), *arc(-0.05, 0.35, 1, 0.65, -140, 150)]],
    "8": [arc(0, -0.52, 0.82, 0.48, 0, 360), arc(0, 0.48, 1, 0.52, 0, 360)],
    "H": [[(-0.9, -1), (-0.9, 1)], [(0.9, -1), (0.9, 1)], [(-0.9, 0), (0.9, 0)]],
    "O": [arc(0, 0, 1, 1, 0, 360)],
    "P": [[(-0.8, 1), (-0.8, -1), *arc(0.1, -0.42, 0.8, 0.58, -90, 90), (-0.8, 0.16)]],
    "S": [arc(0, -0.5, 0.9, 0.5, -25, -270) + arc(0, 0.5, 0.95, 0.5, -90, 155)],
    "T": [[(-1, -1), (1, -1)], [(0, -1), (0, 1)]],
}
