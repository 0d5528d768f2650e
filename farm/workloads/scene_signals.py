"""Traffic signs and traffic lights, and such as are bent, turned, or built unlike most."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from farm.workloads.scene_setups import Setup
from farm.workloads.scene_solids import ALWAYS, CIRCLE, Colour, Place, Solid, pick, tinted
from farm.workloads.sign_catalogue import ABROAD, HOME, Country
from farm.workloads.sign_scenes import FACE_REACH, aged, draw_face

_POLE, _BACK, _BOARD = (0.5, 0.51, 0.52), (0.55, 0.56, 0.57), (0.05, 0.05, 0.06)
_RED, _AMBER, _GREEN = (1.0, 0.14, 0.1), (1.0, 0.68, 0.1), (0.15, 0.95, 0.55)
_OFF = 0.2
"""How much of its colour a lamp shows that is not lit."""


class Mounted(NamedTuple):
    """A thing, and what holds it up."""

    solid: Solid
    mount: Solid


def sign(rng: np.random.Generator, setup: Setup, kind: str) -> Mounted:
    """Make a sign of one of the country's kinds of plates."""
    return _put_up(rng, _face(rng, setup.country, kind), rng.uniform(-0.06, 0.06))


def odd_sign(rng: np.random.Generator, setup: Setup, kind: str) -> Mounted:
    """Make a sign that is seen from behind, bent, turned, or pasted over."""
    plates = sorted({design.plate for design in setup.country.designs})
    face, turned, bent = _face(rng, setup.country, plates[int(rng.random() * len(plates))]), 0.0, 0.0
    if kind == "from behind":
        face = _from_behind(face)
    elif kind == "turned":
        turned = rng.uniform(0.5, 2.6) * (1 if rng.random() < 0.5 else -1)
    elif kind == "bent":
        bent = rng.uniform(0.3, 0.55)
    else:
        face = _pasted_over(rng, face)
    return _put_up(rng, face, turned, bent)


def _put_up(rng: np.random.Generator, face: Image.Image, turned: float, bent: float = 0.0) -> Mounted:
    half, bottom = rng.uniform(0.3, 0.45), rng.uniform(1.9, 2.6)
    reach, middle = half * FACE_REACH, bottom + half
    c, s = np.cos(turned), np.sin(turned)
    flat = [(-reach, reach), (reach, reach), (reach, -reach), (-reach, -reach)]
    # It looks forward, so that its left side is the thing's right one.
    corners: list[Place] = [(0.03, middle + y * c - x * s, -(x * c + y * s)) for x, y in flat]
    if bent:
        for i in (0, 1) if rng.random() < 0.5 else (1, 2):
            x, y, z = corners[i]
            corners[i] = (x - 1.4 * bent * half, y + (middle - y) * bent, z * (1 - 0.9 * bent))
    solid, mount = Solid(), Solid()
    solid.part()
    solid.picture(corners, face)
    mount.rod([(0.0, 0.0, 0.0), (0.0, middle + 0.5 * half, 0.0)], 0.07, _POLE)
    if rng.random() < 0.25:
        mount.part()
        mount.plate(0.02, (bottom - 0.3, bottom - 0.08), (-0.5 * half, 0.5 * half), (0.85, 0.85, 0.83))
    return Mounted(solid, mount)


@cache
def _faces(name: str) -> dict[str, list[Image.Image]]:
    """Draw all signs of a country, by their kinds of plates."""
    country = {one.name: one for one in (HOME, ABROAD)}[name]
    faces: dict[str, list[Image.Image]] = {}
    for design in country.designs:
        faces.setdefault(design.plate, []).append(draw_face(design, country.style))
    return faces


def _face(rng: np.random.Generator, country: Country, plate: str) -> Image.Image:
    faces = _faces(country.name)[plate]
    return aged(rng, faces[int(rng.random() * len(faces))])


def _from_behind(face: Image.Image) -> Image.Image:
    grey = Image.new("RGBA", face.size, tuple(int(255 * c) for c in _BACK))
    pen, (width, height) = ImageDraw.Draw(grey), face.size
    for share in (0.32, 0.66):
        pen.rectangle((0.1 * width, share * height, 0.9 * width, (share + 0.05) * height), fill=(90, 91, 93))
    pen.rectangle((0.46 * width, 0, 0.54 * width, height), fill=(105, 106, 108))
    grey.putalpha(face.getchannel("A"))
    return grey


def _pasted_over(rng: np.random.Generator, face: Image.Image) -> Image.Image:
    face, opacity = face.copy(), face.getchannel("A")
    pen, size = ImageDraw.Draw(face), face.width
    for _ in range(int(rng.integers(5, 9))):
        x, y, w, h = rng.uniform(0.1, 0.75, 2).tolist() + rng.uniform(0.12, 0.34, 2).tolist()
        colour = tuple(int(v) for v in rng.integers(20, 240, 3))
        pen.rectangle((size * x, size * y, size * (x + w), size * (y + h)), fill=colour)
    face.putalpha(opacity)
    return face


def light(rng: np.random.Generator, setup: Setup, kind: str) -> Mounted:
    """Make a traffic light with three lamps, on a post or on an arm over the road."""
    lit = int(rng.random() * 3)
    bottom = rng.uniform(2.3, 2.9) if kind == "on a post" else rng.uniform(4.8, 5.6)
    lamps = [(0.0, bottom + 0.2 + 0.3 * i, lit == i) for i in range(3)]
    return _hung(rng, setup, lamps, (_GREEN, _AMBER, _RED), over_road=kind != "on a post")


def odd_light(rng: np.random.Generator, setup: Setup, kind: str) -> Mounted:
    """Make a traffic light whose lamps stand otherwise, or of which none is lit."""
    over_road = kind == "horizontal"
    bottom, lit = rng.uniform(4.8, 5.6) if over_road else rng.uniform(2.3, 2.9), int(rng.random() * 3)
    if over_road:
        lamps = [(0.3 * (i - 1), bottom + 0.2, lit == i) for i in range(3)]
        return _hung(rng, setup, lamps, (_GREEN, _AMBER, _RED), over_road=True)
    if kind == "single lamp":
        return _hung(rng, setup, [(0.0, bottom + 0.2, True)], ((_RED, _AMBER)[lit % 2],), over_road=False)
    if kind == "five lamps":
        top = (0.0, bottom + 0.8, lit == 0)
        lamps = [
            top,
            *((side, bottom + 0.2 + 0.3 * i, lit == 1 + i) for i in (0, 1) for side in (-0.16, 0.16)),
        ]
        return _hung(rng, setup, lamps, (_RED, _GREEN, _GREEN, _AMBER, _AMBER), over_road=False)
    lamps = [(0.0, bottom + 0.2 + 0.3 * i, False) for i in range(3)]
    return _hung(rng, setup, lamps, (_GREEN, _AMBER, _RED), over_road=False)


def _hung(
    rng: np.random.Generator,
    setup: Setup,
    lamps: list[tuple[float, float, bool]],
    colours: tuple[Colour, ...],
    *,
    over_road: bool,
) -> Mounted:
    """Put lamps, to the right of the middle and above the ground, into a housing and that onto its mount."""
    solid, mount, housing = Solid(), Solid(), pick(rng, setup.housings)
    z, y = [one[0] for one in lamps], [one[1] for one in lamps]
    wide, tall = (min(z) - 0.18, max(z) + 0.18), (min(y) - 0.2, max(y) + 0.2)
    if rng.random() < setup.boards:
        rim = 0.1
        solid.part(-1)
        solid.plate(-0.02, (tall[0] - rim, tall[1] + rim), (wide[0] - rim, wide[1] + rim), _BOARD)
    solid.block((0.0, 0.22), tall, wide, housing)
    for (right, up, lit), colour in zip(lamps, colours, strict=True):
        solid.part(1, (0.0, up, -right))
        shown = colour if lit else tinted(colour, _OFF)
        circle = [(0.23, up + 0.125 * s, -right + 0.125 * c) for c, s in CIRCLE]
        solid.piece(circle, shown, glow=ALWAYS if lit else 0.0)
        hood = [(0.23, up + 0.05, -right - 0.14), (0.23, up + 0.14, -right), (0.23, up + 0.05, -right + 0.14)]
        solid.part(2)
        solid.piece([*hood, (0.4, up + 0.13, -right)], housing)
    if over_road:
        reach = 5.0 if rng.random() < 0.5 else -5.0
        mount.rod([(-0.1, tall[1] + 0.1, 0.0), (-0.1, tall[1] + 0.2, reach), (-0.1, 0.0, reach)], 0.14, _POLE)
    else:
        mount.rod([(-0.1, 0.0, 0.0), (-0.1, tall[1] - 0.1, 0.0)], 0.12, _POLE)
    return Mounted(solid, mount)
