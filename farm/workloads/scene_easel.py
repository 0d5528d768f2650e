"""How things are painted: each in perspective and in its light, and what is near over what is far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from farm.workloads.scene_light import Light
from farm.workloads.scene_views import NEAREST, Numbers, Placed, Window, tangents

_ROUND = (0.0, 0.4, -0.6)
"""Where rods and balls look, on the whole."""


class _Pieces:
    """All pieces of several things, a row each."""

    def __init__(self, things: Sequence[Placed]) -> None:
        shapes = [one.shape for one in things]
        self.world = np.concatenate([one.world for one in things])
        self.insides = np.concatenate([one.insides for one in things])
        self.lengths = np.concatenate([shape.lengths for shape in shapes])
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.widths = np.concatenate([shape.widths for shape in shapes])
        self.colours = np.concatenate([shape.colours for shape in shapes])
        self.glows = np.concatenate([shape.glows for shape in shapes])
        firsts = np.cumsum([0, *(len(shape.layers) for shape in shapes)]).tolist()
        self.parts = np.concatenate([s.parts + first for s, first in zip(shapes, firsts, strict=False)])
        away = np.add.reduceat(self.world[:, 2], self.starts)
        self.depths = np.maximum(away / self.lengths, NEAREST)
        layers = np.concatenate([shape.layers for shape in shapes])
        thing = np.repeat(np.arange(len(shapes)), [len(shape.layers) for shape in shapes])
        far = np.bincount(self.parts, away) / np.bincount(self.parts, self.lengths)
        self.order = np.lexsort((-far[self.parts], layers[self.parts], thing[self.parts]))
        """How they are to be painted: thing by thing, layer by layer, the farthest part first."""
        begins = np.cumsum([0, *(len(shape.starts) for shape in shapes)]).tolist()
        self.pictures = {
            begin + number: picture
            for shape, begin in zip(shapes, begins, strict=False)
            for number, picture in shape.pictures.items()
        }
        self.last_thing: int = begins[-2]
        """Where the pieces of the last thing begin."""

    def facing(self) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return where pieces look, and whether that is at the camera, as far as that matters."""
        last, starts = len(self.world) - 1, self.starts
        points = (self.world[np.minimum(starts + i, last)].T for i in range(3))
        (x0, y0, z0), (x1, y1, z1), (x2, y2, z2) = points
        ax, ay, az, bx, by, bz = x1 - x0, y1 - y0, z1 - z0, x2 - x0, y2 - y0, z2 - z0
        # NumPy's own cross product takes several times as long for so few.
        normals = np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=1)
        normals /= np.sqrt((normals**2).sum(axis=1, keepdims=True)) + 1e-12
        first = self.world[starts]
        outward = (normals * (first - self.insides[self.parts])).sum(axis=1)
        towards = -(normals * first).sum(axis=1)
        whole, rods = np.isnan(outward), self.widths > 0
        # Where no inside is told, the side that is seen is the outer one.
        normals *= np.sign(np.where(whole, towards, outward))[:, None]
        normals[rods] = _ROUND
        return normals, whole | (outward * towards > 0) | rods


class Easel:
    """A canvas, what part of the view it shows, and in which light."""

    def __init__(self, canvas: Image.Image, window: Window, light: Light) -> None:
        self.canvas, self.window, self.light = canvas, window, light

    def paint(self, things: Sequence[Placed], mask: Image.Image | None = None, shadow: float = 0.0) -> None:
        """Paint things one after another.

        Of the last one, the mask becomes white where it is, and the ground below it is darkened.
        """
        if not things:
            return
        pieces = _Pieces(things)
        normals, shown = pieces.facing()
        pixels = self._pixels(pieces.world)
        widths = pieces.widths * self.window.scale / pieces.depths
        shown &= self._within(pixels, pieces.starts, widths)
        colours = self.light.seen(pieces.colours, normals, pieces.depths, pieces.glows)
        flat, begins = pixels.ravel().tolist(), (2 * pieces.starts).tolist()
        ends = (2 * (pieces.starts + pieces.lengths)).tolist()
        across, inks = widths.tolist(), list(map(tuple, colours.tolist()))
        pen, white = ImageDraw.Draw(self.canvas), None if mask is None else ImageDraw.Draw(mask)
        for i in pieces.order[shown[pieces.order]].tolist():
            main = i >= pieces.last_thing
            if main and shadow:
                self._shade(things[-1], shadow)
                shadow = 0.0
            if i in pieces.pictures:
                corners, where = pixels[begins[i] // 2 :][:4], mask if main else None
                self._paste(pieces.pictures[i], corners, pieces.depths[i], normals[i], where)
                continue
            points = flat[begins[i] : ends[i]]
            _stroke(pen, points, across[i], inks[i])
            if main and white is not None:
                _stroke(white, points, across[i], 255)

    def _pixels(self, world: Numbers) -> Numbers:
        return (tangents(world) - self.window[:2]) * self.window.scale

    def _shade(self, placed: Placed, strength: float) -> None:
        """Darken the ground below a thing."""
        x, y, z = placed.world.T
        grown, floor = 0.08 * (x.max() - x.min()), y.min()
        (left, right), (near, far) = (x.min() - grown, x.max() + grown), (z.min(), z.max())
        corners = [(left, floor, near), (right, floor, near), (right, floor, far), (left, floor, far)]
        points = self._pixels(np.array(corners)).ravel().tolist()
        ImageDraw.Draw(self.canvas, "RGBA").polygon(points, fill=(0, 0, 0, int(255 * strength)))

    def _within(self, pixels: Numbers, starts: NDArray[np.int64], widths: Numbers) -> NDArray[np.bool_]:
        """Say which pieces reach into the picture."""
        low, high = np.minimum.reduceat(pixels, starts), np.maximum.reduceat(pixels, starts)
        half = widths[:, None] / 2
        reaches = (high + half > 0) & (low - half < self.canvas.size)
        return np.asarray(reaches.all(axis=1))

    def _paste(
        self, picture: Image.Image, corners: Numbers, depth: float, normal: Numbers, mask: Image.Image | None
    ) -> None:
        """Put a picture between four corners, in perspective."""
        levels = np.repeat(np.arange(256)[:, None] / 255, 3, axis=1)
        lit = self.light.seen(levels, normal[None], np.array([depth]), np.zeros(1)).T.ravel().tolist()
        left, top = np.floor(corners.min(axis=0)).astype(int).tolist()
        right, bottom = np.ceil(corners.max(axis=0)).astype(int).tolist()
        size = (max(right - left, 1), max(bottom - top, 1))
        back = _perspective(corners - (left, top), *picture.size)
        method, filtered = Image.Transform.PERSPECTIVE, Image.Resampling.BILINEAR
        warped = picture.point([*lit, *range(256)]).transform(size, method, back, filtered)
        opacity = warped.getchannel("A")
        self.canvas.paste(warped, (left, top), opacity)
        if mask is not None:
            mask.paste(255, (left, top), opacity)


def _stroke(
    pen: ImageDraw.ImageDraw, points: list[float], width: float, colour: int | tuple[int, ...]
) -> None:
    if not width:
        pen.polygon(points, fill=colour)
        return
    if len(points) > 2:
        pen.line(points, fill=colour, width=max(round(width), 1))
    half = width / 2
    for x, y in zip(points[::2], points[1::2], strict=True):
        pen.ellipse((x - half, y - half, x + half, y + half), fill=colour)


def _perspective(corners: Numbers, width: int, height: int) -> list[float]:
    """Return the eight numbers that lead from where a picture's corners shall be back into the picture."""
    rows, goals = [], []
    goal_corners = ((0, 0), (width, 0), (width, height), (0, height))
    for (x, y), (u, v) in zip(corners.tolist(), goal_corners, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        goals += [u, v]
    numbers: list[float] = np.linalg.solve(np.array(rows), np.array(goals)).tolist()
    return numbers
