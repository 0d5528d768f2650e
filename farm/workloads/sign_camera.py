"""The camera: from a scene and a point of view to a crop of 32 x 32 pixels, as a detector cuts it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import BoolArray, FloatArray
from farm.workloads.photography import Pixels, blurred, boxes_around, column, developed, exposed
from farm.workloads.sign_scenes import BACKDROP_SIZE, FACE_REACH, Scene

CROP_SIZE = 32

_COORDINATES = (np.arange(CROP_SIZE, dtype=np.float32) + 0.5) * 2 / CROP_SIZE - 1
_X, _Y = _COORDINATES[None, :], _COORDINATES[:, None]
_DISTANCE = 4.0
"""How far the camera stands, in half widths of the sign: near enough for a visible perspective."""


@dataclass(frozen=True)
class View:
    """Where the camera is, how it moves, and what comes between it and the sign."""

    yaw: float
    pitch: float
    roll: float
    """Angles in radians."""
    radius: float
    """Half the sign's width, in pixels."""
    middle: tuple[float, float]
    """Where the sign's centre is, in pixels."""
    window: tuple[int, int]
    """Which part of the backdrop is behind it: top, left."""
    exposure: float
    contrast: float
    defocus: float
    """Width of the blur, in pixels."""
    motion: tuple[float, float]
    """How far the picture moves while the shutter is open, in pixels."""
    noise: float
    occluder: tuple[float, float, float]
    """The direction from which something covers the sign, how near its edge is to the middle, its tone."""
    ragged: float
    """How uneven that edge is: a wall's is straight, a bush's is not."""
    texture: Pixels
    """Noise of this view alone: one layer a colour for the sensor, and one for leaves and rain drops."""

    @property
    def turned_degrees(self) -> float:
        """The angle between the line of sight and the sign's normal."""
        return float(np.degrees(np.arccos(np.cos(self.yaw) * np.cos(self.pitch))))


class Crops(NamedTuple):
    """Photographs, and the truth about them."""

    images: NDArray[np.uint8]
    boxes: FloatArray
    masks: BoolArray


def choose_view(rng: np.random.Generator) -> View:
    """Take up a position in front of a sign: mostly a fair one, now and then a poor one."""
    radius = rng.uniform(9.5, 15.5)
    slack = 0.4 * (CROP_SIZE / 2 - 0.85 * radius)
    covered, shaken, unsharp = rng.random(3) < (0.16, 0.18, 0.16)
    direction, length = rng.uniform(0, np.pi), rng.uniform(1.0, 3.5) * shaken
    left, top = rng.integers(BACKDROP_SIZE - CROP_SIZE + 1, size=2).tolist()
    return View(
        yaw=float(np.clip(rng.normal(0, 0.25), -1.0, 1.0)),
        pitch=float(rng.normal(0, 0.1)),
        roll=float(rng.normal(0, 0.06)),
        radius=radius,
        middle=(CROP_SIZE / 2 + rng.uniform(-slack, slack), CROP_SIZE / 2 + rng.uniform(-slack, slack)),
        window=(top, left),
        exposure=float(np.exp(rng.normal(0, 0.15))),
        contrast=rng.uniform(0.8, 1.15),
        defocus=rng.uniform(0.25, 0.6) + rng.uniform(0.3, 1.0) * unsharp,
        motion=(length * float(np.cos(direction)), length * float(np.sin(direction))),
        noise=float(rng.gamma(2.0, 0.013)),
        occluder=(
            rng.uniform(0, 2 * np.pi),
            rng.uniform(0.2, 0.75) if covered else 9.0,
            rng.uniform(0.05, 0.6),
        ),
        ragged=rng.uniform(0.0, 0.3),
        texture=rng.standard_normal((4, CROP_SIZE, CROP_SIZE), np.float32),
    )


def photograph(shots: Sequence[tuple[Scene, View]]) -> Crops:
    """Take all these pictures; none depends on which others are taken."""
    scenes, views = [scene for scene, _ in shots], [view for _, view in shots]
    signs: Pixels = np.stack([_warped(*shot) for shot in shots]).astype(np.float32) / np.float32(255)
    texture: Pixels = np.stack([view.texture for view in views])
    sensor, leaves = texture[:, :3].transpose(0, 2, 3, 1), texture[:, 3]
    cover = _covers(views, leaves)
    picture = _in_weather(_composed(shots, signs, cover, leaves), scenes, leaves)
    exposures, contrasts = [view.exposure for view in views], [view.contrast for view in views]
    picture = exposed(picture, exposures, contrasts, [scene.cast for scene in scenes])
    picture = blurred(picture, [view.defocus for view in views], [view.motion for view in views])
    images = developed(picture, [view.noise for view in views], sensor)
    outlines: BoolArray = signs[..., 3] >= 0.5
    return Crops(images, boxes_around(outlines), outlines & (cover[..., 0] < 0.5))


def _warped(scene: Scene, view: View) -> NDArray[np.uint8]:
    """See the face from where the camera stands, RGBA, on a grid twice as fine that is then reduced."""
    fine = 2
    cy, sy, cp, sp, cr, sr = (f(a) for a in (view.yaw, view.pitch, view.roll) for f in (np.cos, np.sin))
    turn = np.array([[cr, -sr, 0], [sr, cr, 0], [0, 0, 1]])
    turn = turn @ [[1, 0, 0], [0, cp, -sp], [0, sp, cp]] @ [[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]]
    (x, y), radius = np.multiply(view.middle, fine), view.radius * fine
    project = np.array([[radius, 0, x], [0, radius, y], [0, 0, 1]])
    plane = np.array([turn[0, :2], turn[1, :2], turn[2, :2] / _DISTANCE])
    unit = 2 * FACE_REACH / scene.face.width
    face = np.array([[unit, 0, -FACE_REACH], [0, unit, -FACE_REACH], [0, 0, 1]])
    onto_crop = project @ np.column_stack([plane, [0, 0, 1]]) @ face
    back = np.linalg.inv(onto_crop)
    coefficients = (back / back[2, 2]).ravel()[:8].tolist()
    grid = (CROP_SIZE * fine, CROP_SIZE * fine)
    seen = scene.face.transform(grid, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR)
    return np.asarray(seen.reduce(fine))


def _composed(shots: Sequence[tuple[Scene, View]], signs: Pixels, cover: Pixels, leaves: Pixels) -> Pixels:
    """Put the surroundings, the sign, shadows and what covers the sign on top of one another."""
    scenes = [scene for scene, _ in shots]
    behind = column([scene.ambient for scene in scenes]) * _behind(shots)
    lit = column([scene.lit for scene in scenes])
    picture = (behind + signs[..., 3:] * (lit * signs[..., :3] - behind)) * _shadows(scenes)
    tone = column([view.occluder[2] * scene.ambient for scene, view in shots])
    green = tone * (0.8 + 0.25 * leaves[..., None]) * np.array([0.85, 1.0, 0.7], np.float32)
    return np.asarray(picture + cover * (np.clip(green, 0, 1) - picture), np.float32)


def _behind(shots: Sequence[tuple[Scene, View]]) -> Pixels:
    """Cut each view's part out of the backdrop, and stand the pole in front of it."""
    pictures = np.empty((len(shots), CROP_SIZE, CROP_SIZE, 3), np.float32)
    for picture, (scene, view) in zip(pictures, shots, strict=True):
        top, left = view.window
        picture[:] = scene.backdrop[top : top + CROP_SIZE, left : left + CROP_SIZE]
        x, y = view.middle
        half = max(0.09 * view.radius, 0.8)
        picture[int(y) :, max(int(x - half), 0) : int(x + half) + 1] = (0.46, 0.47, 0.48)
    return pictures


def _shadows(scenes: Sequence[Scene]) -> Pixels:
    """Darken one side of an edge that runs across the view."""
    angle, offset, depth = (column([scene.shadow[i] for scene in scenes])[..., 0] for i in range(3))
    side = np.cos(angle) * _X + np.sin(angle) * _Y - offset
    shade: Pixels = 1 - depth * np.clip(0.5 + 4 * side, 0, 1)
    return shade[..., None]


def _covers(views: Sequence[View], texture: Pixels) -> Pixels:
    """Say how much of each pixel something in front of the sign covers."""
    angle, edge = (column([view.occluder[i] for view in views])[..., 0] for i in range(2))
    ragged = column([view.ragged for view in views])[..., 0]
    side = np.cos(angle) * _X + np.sin(angle) * _Y - edge
    # Noise smoothed twice each way, or the edge would be dust and not leaves.
    clumps = texture
    for axis in (1, 1, 2, 2):
        clumps = clumps + np.roll(clumps, 1, axis)
    cover: Pixels = np.clip(0.5 + 8 * (side + ragged / 6 * clumps), 0, 1)
    return cover[..., None]


def _in_weather(picture: Pixels, scenes: Sequence[Scene], texture: Pixels) -> Pixels:
    """Put the air between the sign and the camera: haze, and streaks where it rains."""
    # Fog takes the brightness of its surroundings: white by day, near black at night.
    air = column([0.15 + 0.68 * scene.ambient for scene in scenes])
    picture = picture + column([scene.haze for scene in scenes]) * (air - picture)
    rainy = column([float(scene.weather == "rain") for scene in scenes])[..., 0]
    drops = (texture > 2.2).astype(np.float32)
    streaks = np.max([np.roll(drops, (step, step // 3), axis=(1, 2)) for step in range(6)], axis=0)
    return np.asarray(picture + (0.16 * rainy * streaks)[..., None] * (0.4 + air), np.float32)
