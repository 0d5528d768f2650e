"""A sign's face as it leaves the factory: plate, layers and pictogram, drawn once a class."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

from PIL import Image, ImageDraw

from farm.workloads.sign_catalogue import OUTLINES, PLATES, SignDesign, Style
from farm.workloads.sign_pen import Path, Pen, Point
from farm.workloads.sign_pictograms import PICTOGRAMS

FACE_SIZE = 64
"""Pixels along a face; about what the sign covers in the doubled grid that the camera samples on."""

FACE_REACH = 1.06
"""Half the face's width, in half widths of a plate: a rim of air keeps the edges smooth when warped."""


def draw_face(design: SignDesign, style: Style, size: int = FACE_SIZE) -> Image.Image:
    """Draw a sign in a country's style, RGBA, transparent around the plate.

    Examples
    --------
    >>> from farm.workloads.sign_catalogue import HOME
    >>> draw_face(HOME.designs[0], HOME.style).getpixel((0, 0))
    (0, 0, 0, 0)
    """
    # Drawn far larger and reduced, because the drawing itself knows no smooth edges.
    oversampling = 8
    large = Image.new("RGBA", (size * oversampling, size * oversampling))
    middle = size * oversampling / 2
    plate = PLATES[design.plate]
    pen = Pen(ImageDraw.Draw(large), style.palette, (middle, middle), middle / FACE_REACH, plate.ink)
    outline = OUTLINES[plate.outline]
    for colour, depth in plate.layers:
        pen.polygon(_rounded(_inset(outline, depth * style.rim), style.corner), colour)
    painter = pen.at(*plate.centre, plate.size * style.pictogram).weighted(style.weight)
    PICTOGRAMS[design.pictogram](painter)
    return large.reduce(oversampling)


def _inset(outline: Path, depth: float) -> Path:
    """Move every edge of a regular outline inwards by the same distance."""
    if not depth:
        return outline
    n = len(outline)
    x0, y0 = sum(x for x, _ in outline) / n, sum(y for _, y in outline) / n
    (ax, ay), (bx, by) = outline[0], outline[1]
    to_edge = abs((bx - ax) * (ay - y0) - (ax - x0) * (by - ay)) / hypot(bx - ax, by - ay)
    k = 1 - depth / to_edge
    return [(x0 + k * (x - x0), y0 + k * (y - y0)) for x, y in outline]


def _rounded(outline: Path, radius: float) -> Sequence[Point]:
    """Replace every corner by a curve that begins and ends at some distance from it."""
    result: list[Point] = []
    for i, corner in enumerate(outline):
        before = _towards(corner, outline[i - 1], radius)
        after = _towards(corner, outline[(i + 1) % len(outline)], radius)
        for t in (0.0, 0.25, 0.5, 0.75, 1.0):
            a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t**2
            result.append(
                (a * before[0] + b * corner[0] + c * after[0], a * before[1] + b * corner[1] + c * after[1])
            )
    return result


def _towards(start: Point, goal: Point, distance: float) -> Point:
    """Go some distance towards a goal, but never past half the way."""
    dx, dy = goal[0] - start[0], goal[1] - start[1]
    share = min(distance / hypot(dx, dy), 0.5)
    return start[0] + share * dx, start[1] + share * dy
