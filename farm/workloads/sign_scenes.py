"""One physical sign: its face as it was drawn and after years outdoors, the place, the weather, the light.

All views of a sign share its scene; only the camera moves between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np
from PIL import Image, ImageDraw

from farm.workloads.photography import Pixels
from farm.workloads.sign_catalogue import OUTLINES, PLATES, SignDesign, Style
from farm.workloads.sign_pen import Path, Pen, Point
from farm.workloads.sign_pictograms import PICTOGRAMS

FACE_SIZE = 64
"""Pixels along a face; about what the sign covers in the doubled grid that the camera samples on."""

FACE_REACH = 1.06
"""Half the face's width, in half widths of a plate: a rim of air keeps the edges smooth when warped."""

BACKDROP_SIZE = 56
"""Pixels along a backdrop; each view sees a part of it."""

WEATHERS: Mapping[str, float] = {"clear": 0.6, "rain": 0.22, "fog": 0.18}
LIGHTS: Mapping[str, float] = {"day": 0.62, "dusk": 0.18, "night": 0.2}
"""What the conditions can be, and how often each is."""


@dataclass(frozen=True)
class Scene:
    """What the views of one sign have in common."""

    face: Image.Image
    backdrop: Pixels
    weather: str
    light: str
    ambient: float
    """How bright the surroundings are; 1 is a bright day."""
    lit: float
    """How bright the sign is: in the sun, in the shade, against the light or in headlights."""
    cast: Pixels
    """What the light and the white balance do to red, green and blue."""
    haze: float
    """How much of the view the air swallows."""
    shadow: tuple[float, float, float]
    """The edge of a shadow across the view (direction, offset from the middle) and how dark it is."""


def make_scene(rng: np.random.Generator, face: Image.Image) -> Scene:
    """Put a new sign up somewhere and let it age."""
    weather = str(rng.choice(list(WEATHERS), p=list(WEATHERS.values())))
    light = str(rng.choice(list(LIGHTS), p=list(LIGHTS.values())))
    ambient, lit, warmth = {
        "day": (rng.uniform(0.7, 1.05), rng.uniform(0.5, 1.05), rng.uniform(-0.06, 0.06)),
        "dusk": (rng.uniform(0.3, 0.55), rng.uniform(0.3, 0.62), rng.uniform(-0.16, 0.14)),
        "night": (rng.uniform(0.08, 0.25), rng.uniform(0.3, 0.95), rng.uniform(0.0, 0.18)),
    }[light]
    haze = {
        "clear": rng.uniform(0.0, 0.08),
        "rain": rng.uniform(0.08, 0.25),
        "fog": rng.uniform(0.25, 0.55),
    }[weather]
    sunny = weather == "clear" and light != "night" and rng.random() < 0.5
    place = str(rng.choice(list(PLACES)))
    return Scene(
        face=aged(rng, face),
        backdrop=PLACES[place](rng),
        weather=weather,
        light=light,
        ambient=ambient,
        lit=lit,
        cast=np.array([1 + warmth, 1 + rng.uniform(-0.03, 0.03), 1 - warmth], np.float32),
        haze=haze,
        shadow=(rng.uniform(0, 2 * np.pi), rng.uniform(-0.4, 0.5), rng.uniform(0.3, 0.6) if sunny else 0.0),
    )


def aged(rng: np.random.Generator, face: Image.Image) -> Image.Image:
    """Bleach a face, tint it and cover parts of it with dirt."""
    pixels = np.asarray(face, np.float32)
    colour = pixels[..., :3]
    grey = colour.mean(axis=-1, keepdims=True)
    bleached = colour + rng.uniform(0, 0.45) * (0.7 * grey + 50 - colour)
    tinted = bleached * rng.uniform(0.88, 1.06, 3).astype(np.float32)
    spots = np.clip(6 * (clouds(rng, len(pixels), 3) - rng.uniform(0.55, 1.0)), 0, 1)[..., None]
    dirt = np.array([88, 78, 62], np.float32) * rng.uniform(0.5, 1.4)
    soiled = tinted + rng.uniform(0.2, 0.75) * spots * (dirt - tinted)
    old = np.concatenate([np.clip(soiled, 0, 255), pixels[..., 3:]], axis=-1)
    return Image.fromarray(old.astype(np.uint8))


# Faces ------------------------------------------------------------------------------------------------


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


# Places -----------------------------------------------------------------------------------------------


def clouds(rng: np.random.Generator, size: int, cells: int, octaves: int = 3) -> Pixels:
    """Make smooth noise in [0, 1]: random grids, each finer and weaker than the one before."""
    total = np.zeros((size, size), np.float32)
    weight = 1.0
    for octave in range(octaves):
        n = cells * 2**octave
        grid = Image.fromarray(rng.random((n, n), np.float32))
        total += np.float32(weight) * np.asarray(grid.resize((size, size), Image.Resampling.BICUBIC))
        weight *= 0.55
    total -= total.min()
    total /= total.max()
    return total


def _mix(share: Pixels, first: Pixels, second: Pixels) -> Pixels:
    return first + share[..., None] * (second - first)


def _colour(rng: np.random.Generator, red: float, green: float, blue: float, spread: float = 0.08) -> Pixels:
    """Vary a colour: much in brightness, little in hue, as real surfaces do."""
    varied = np.array((red, green, blue)) + rng.normal(0, spread) + rng.normal(0, 0.3 * spread, 3)
    return np.clip(varied, 0, 1).astype(np.float32)


_DOWN: Pixels = np.linspace(0, 1, BACKDROP_SIZE, dtype=np.float32)[:, None].repeat(BACKDROP_SIZE, 1)


def _sky(rng: np.random.Generator) -> Pixels:
    blue, white = _colour(rng, 0.42, 0.6, 0.86), _colour(rng, 0.88, 0.9, 0.93, 0.04)
    cover = np.clip(1.6 * clouds(rng, BACKDROP_SIZE, 2) - rng.uniform(0, 0.8), 0, 1)
    return _mix(np.clip(0.5 * _DOWN + cover, 0, 1), blue, white)


def _foliage(rng: np.random.Generator) -> Pixels:
    dark, bright = _colour(rng, 0.09, 0.15, 0.06, 0.04), _colour(rng, 0.42, 0.56, 0.2, 0.1)
    leaves = 0.35 * clouds(rng, BACKDROP_SIZE, 3) + 0.65 * clouds(rng, BACKDROP_SIZE, 10)
    trees = _mix(leaves, dark, bright)
    gaps = np.clip(8 * (clouds(rng, BACKDROP_SIZE, 4) - rng.uniform(0.6, 1.0)), 0, 1)
    return _mix(gaps, trees, _sky(rng))


def _hills(rng: np.random.Generator) -> Pixels:
    horizon = rng.uniform(0.3, 0.8) + 0.25 * (clouds(rng, BACKDROP_SIZE, 2)[0] - 0.5)
    land = np.clip(20 * (_DOWN - horizon), 0, 1)
    grass = _mix(clouds(rng, BACKDROP_SIZE, 6), _colour(rng, 0.3, 0.36, 0.14), _colour(rng, 0.55, 0.52, 0.3))
    far = _foliage(rng) if rng.random() < 0.5 else grass
    return _mix(land, _sky(rng), far)


def _facade(rng: np.random.Generator) -> Pixels:
    grain = 0.12 * (clouds(rng, BACKDROP_SIZE, 8) - 0.5)[..., None]
    wall = _colour(rng, 0.62, 0.54, 0.46, 0.14) + grain
    pane = _colour(rng, 0.2, 0.24, 0.3, 0.1)
    steps = np.arange(BACKDROP_SIZE)
    across = (steps + rng.integers(40)) % rng.integers(9, 20) < rng.integers(4, 9)
    down = (steps + rng.integers(40)) % rng.integers(11, 24) < rng.integers(5, 11)
    house = np.where((down[:, None] & across)[..., None], pane + grain, wall)
    edge = rng.uniform(-0.5, 1.2)
    beyond = (
        np.clip(30 * (_DOWN.T - edge), 0, 1) if rng.random() < 0.5 else np.clip(30 * (edge - _DOWN.T), 0, 1)
    )
    return _mix(beyond, _sky(rng), house.astype(np.float32))


def _street(rng: np.random.Generator) -> Pixels:
    view = _mix(
        np.clip(25 * (_DOWN - rng.uniform(0.4, 0.7)), 0, 1), _facade(rng), _colour(rng, 0.36, 0.36, 0.38)
    )
    view = view + 0.1 * (clouds(rng, BACKDROP_SIZE, 12) - 0.5)[..., None]
    # Parked cars, shop fronts, hoardings: what fills a street is mostly coloured boxes.
    for _ in range(rng.integers(3, 8)):
        left, top = rng.integers(0, BACKDROP_SIZE - 6, 2)
        width, height = rng.integers(4, 22, 2)
        view[top : top + height, left : left + width] = _colour(rng, 0.45, 0.42, 0.42, 0.2)
    return view


PLACES: Mapping[str, Callable[[np.random.Generator], Pixels]] = {
    "sky": _sky,
    "foliage": _foliage,
    "hills": _hills,
    "facade": _facade,
    "street": _street,
}
