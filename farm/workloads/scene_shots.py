"""One picture of one thing: where it is, what is around it and before it, and what the camera makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from farm.api import BoolArray, FloatArray
from farm.workloads.photography import Pixels, blurred, boxes_around, developed, exposed
from farm.workloads.scene_company import Company, Surroundings, shapes_of
from farm.workloads.scene_easel import Easel
from farm.workloads.scene_light import Light, choose_light
from farm.workloads.scene_setups import Setup
from farm.workloads.scene_solids import choose
from farm.workloads.scene_streets import Skies, choose_street, scenery
from farm.workloads.scene_things import FALLEN, Sort, choose_spot
from farm.workloads.scene_views import Placed, Window, place

_SEEN = 0.25
"""How much of a pixel a thing must cover to be in it."""


@dataclass(frozen=True)
class Site:
    """What many pictures have in common."""

    setup: Setup
    weathers: Mapping[str, float]
    skies: Skies
    company: Company


@dataclass(frozen=True)
class Shot:
    """A picture before the camera has taken it, and what is known of it."""

    picture: Pixels
    outline: BoolArray
    """Where the thing is, also behind what covers it."""
    mask: BoolArray
    light: Light
    kind: str
    distance: float
    covered: float
    exposure: float
    contrast: float
    cast: Pixels
    defocus: float
    motion: tuple[float, float]
    noise: float
    sensor: Pixels


class Taken(NamedTuple):
    """Pictures, and the truth about them."""

    images: NDArray[np.uint8]
    boxes: FloatArray
    masks: BoolArray


def oversampling(size: int) -> int:
    """Return how many times finer than the picture its canvas is, which smooths edges."""
    return 3 if size <= 96 else 2


def shoot(rng: np.random.Generator, site: Site, sort: Sort, size: int) -> Shot:
    """Put a thing of some sort into a street, and look at it."""
    setup, fine = site.setup, oversampling(size)
    light, street = choose_light(rng, site.weathers), choose_street(rng, setup)
    height = rng.uniform(*setup.camera_height)
    kind = choose(rng, sort.kinds)
    shapes = shapes_of(sort.make(rng, setup, kind))
    spot, yaw = choose_spot(rng, sort, kind, street, setup)
    thing, *mount = (place(one, spot, height, yaw, lying=kind in FALLEN) for one in shapes)
    window = _window(rng, thing, size * fine)
    canvas = site.skies.over(rng, light)
    easel = Easel(canvas, window, light)
    ground = place(scenery(rng, street, setup, light, window), (0.0, 0.0, 0.0), height)
    company = site.company.around(rng, thing, Surroundings(street, light, window, height))
    outline = Image.new("L", canvas.size)
    behind = [one for one in company if one.distance > thing.distance]
    shadow = 0.0 if mount else 0.3 if light.light == "day" else 0.15
    easel.paint([ground, *behind, *mount, thing], outline, shadow)
    easel.paint([one for one in company if one.distance <= thing.distance])
    cover = _covered(rng, canvas, outline, easel)
    _falling(rng, canvas, light)
    whole, seen = (np.asarray(one.reduce(fine)) >= 255 * _SEEN for one in (outline, cover))
    grain = site.skies.grain(rng, size)[..., None]
    picture = np.asarray(canvas.reduce(fine), np.float32) / np.float32(255)
    picture *= 1 + (0.26 - 0.14 * whole[..., None]).astype(np.float32) * grain
    # What is far is seen with few pixels of the sensor, and enlarged.
    pixel = window.scale / fine / setup.sharpness
    shaken, direction = rng.uniform(0.8, 2.6) * (rng.random() < 0.1), rng.uniform(0, np.pi)
    unit = size / 48
    return Shot(
        picture=picture,
        outline=whole,
        mask=seen & whole,
        light=light,
        kind=kind,
        distance=thing.distance,
        covered=1 - float((seen & whole).sum() / max(whole.sum(), 1)),
        exposure=float(np.exp(rng.normal(0, 0.13))),
        contrast=rng.uniform(*setup.contrast),
        cast=np.array(setup.cast, np.float32) * np.exp(rng.normal(0, 0.03, 3)).astype(np.float32),
        defocus=unit * float(np.hypot(rng.uniform(*setup.defocus), 0.45 * min(pixel, 3.0) / unit)),
        motion=(unit * shaken * float(np.cos(direction)), unit * shaken * float(np.sin(direction))),
        noise=setup.noise * float(rng.gamma(4.0, 0.25)) * (1.5 if light.light == "night" else 1.0),
        sensor=rng.standard_normal((size, size, 3), np.float32),
    )


def develop(shots: Sequence[Shot]) -> Taken:
    """Take all these pictures; none depends on which others are taken."""
    picture = np.stack([shot.picture for shot in shots])
    exposures, contrasts = [shot.exposure for shot in shots], [shot.contrast for shot in shots]
    picture = exposed(picture, exposures, contrasts, [shot.cast for shot in shots])
    motions, pad = [shot.motion for shot in shots], picture.shape[1] // 12
    picture = blurred(picture, [shot.defocus for shot in shots], motions, pad)
    images = developed(picture, [shot.noise for shot in shots], np.stack([shot.sensor for shot in shots]))
    outlines = np.stack([shot.outline for shot in shots])
    return Taken(images, boxes_around(outlines), np.stack([shot.mask for shot in shots]))


def _window(rng: np.random.Generator, thing: Placed, size: int) -> Window:
    """Choose what part of the view the picture shows: the whole thing, somewhere in it."""
    left, top, right, bottom = thing.extent
    share = rng.uniform(0.62, 0.93)
    side = max(right - left, bottom - top) / share
    # A pixel of the picture remains around it.
    margin = 0.03 * side
    free = (side - 2 * margin - (right - left), side - 2 * margin - (bottom - top))
    across, down = (rng.random() * space for space in free)
    return Window(left - margin - across, top - margin - down, side, size)


def _covered(
    rng: np.random.Generator, canvas: Image.Image, outline: Image.Image, easel: Easel
) -> Image.Image:
    """Now and then put a post or leaves before the thing; return what is seen of it."""
    seen = outline.copy()
    if rng.random() > 0.1 or (box := outline.getbbox()) is None:
        return seen
    left, top, right, bottom = box
    wide, tall = right - left, bottom - top
    pen, eraser = ImageDraw.Draw(canvas), ImageDraw.Draw(seen)
    tone = 255 * easel.light.ambient * rng.uniform(0.12, 0.5)
    if rng.random() < 0.45:
        x, half = left + wide * rng.uniform(0.1, 0.9), wide * rng.uniform(0.04, 0.1)
        post = (x - half, 0.0, x + half, float(canvas.height))
        pen.rectangle(post, fill=(int(tone), int(tone), int(tone)))
        eraser.rectangle(post, fill=0)
        return seen
    side, radius = (left if rng.random() < 0.5 else right), 0.13 * max(wide, tall)
    for i, (a, b) in enumerate(rng.normal(0, 0.16, (10, 2)).tolist()):
        x, y, shade = side + wide * a, bottom + tall * (b - 0.1), tone * (0.85 + 0.04 * i)
        leaves = (x - radius, y - radius, x + radius, y + radius)
        pen.ellipse(leaves, fill=(int(0.75 * shade), int(shade), int(0.5 * shade)))
        eraser.ellipse(leaves, fill=0)
    return seen


def _falling(rng: np.random.Generator, canvas: Image.Image, light: Light) -> None:
    """Let rain or snow fall between the thing and the camera."""
    if light.weather not in ("rain", "snow"):
        return
    size = canvas.width
    tone = tuple(int(v) for v in np.clip(255 * (0.12 + light.air + 0.7 * light.lamps), 0, 255))
    pen = ImageDraw.Draw(canvas, "RGBA")
    n = int(rng.integers(30, 110))
    places, drawn = (rng.random((n, 2)) * 1.2 - 0.1) * size, rng.random((n, 2))
    lean = rng.uniform(-0.35, 0.35)
    for (x, y), (a, b) in zip(places.tolist(), drawn.tolist(), strict=True):
        if light.weather == "rain":
            long, opacity = size * (0.05 + 0.16 * a * a), int(40 + 110 * b)
            pen.line((x, y, x + lean * long, y + long), fill=(*tone, opacity), width=max(size // 120, 1))
        else:
            radius, opacity = size * (0.004 + 0.02 * a**3), int(110 + 140 * b)
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(*tone, opacity))
