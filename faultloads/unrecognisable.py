"""Novelty made of the instances themselves, so that no class is left to recognise.

What is made of nothing at all is in `textures`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from farm.api import (
    FaultContext,
    FloatArray,
    Images,
    IntArray,
    ObjectFate,
    PerInstance,
    StrArray,
    Transformation,
    check_choice,
    check_number,
    uniform_by_id,
)
from farm.errors import DataError
from faultloads._colour import need_colours
from faultloads._filters import resample
from faultloads._instances import InstanceFault, Places
from faultloads._warps import Warp

HEINDRICH = "Heindrich: An evaluation framework for robustness, Utrecht University 2020, 3.1.2"
ORIGIN = "framework for robustness (Heindrich, 2020)"
ORDERS = ("gbr", "brg", "bgr", "grb", "rbg")
"""The colour orders that are not the usual one; in the first two no channel stays where it is."""


class Unrecognisable(Transformation):
    """Leaves no class to recognise: the label becomes -1."""

    category = "novelty"
    coherence = "track"  # what it is stays the same for as long as it is seen
    objects: ClassVar[ObjectFate] = "hidden"
    severities = ()
    keeps_meaning = False


class ShuffledPixels(Unrecognisable):
    """The pixels of each image in a random order: all of its colours, nothing of its shapes.

    Examples
    --------
    >>> image = np.linspace(0, 1, 16, dtype=np.float32).reshape(1, 1, 4, 4)
    >>> faulted = ShuffledPixels().apply(image, np.array([-1]), np.array(["a"]), np.array([np.nan])).images
    >>> bool((faulted != image).any()), bool((np.sort(faulted.ravel()) == image.ravel()).all())
    (True, True)
    """

    reference = HEINDRICH
    origin = ORIGIN

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del severity
        n, channels, high, wide = images.shape
        order = random.bits(high * wide).argsort(axis=1, kind="stable")
        pixels = images.reshape(n, channels, high * wide)
        return np.take_along_axis(pixels, order[:, None], axis=2).reshape(images.shape)


class MixedHalves(InstanceFault):
    """The left half of an instance beside the right half of one of another class, drawn from the same split.

    Examples
    --------
    >>> MixedHalves().keeps_meaning
    False
    """

    reads_other_instances = True
    category = "novelty"
    coherence = "track"
    objects = "hidden"
    keeps_meaning = False
    reference = HEINDRICH
    origin = ORIGIN

    def _make_ready(self, context: FaultContext) -> None:
        split = context.split
        if len(np.unique(split.labels)) < 2:
            raise DataError(
                f"faultload '{self.name}': split '{split.name}' has a single class; expected two at least"
            )
        self._split = split
        self._places = Places(split, f"faultload '{self.name}'")
        self._by_class = np.argsort(split.labels, kind="stable")

    def _change(
        self, images: Images, labels: IntArray, ids: StrArray, severity: FloatArray, random: PerInstance
    ) -> Images:
        del labels, severity, random
        right = images.shape[3] // 2
        result = images.copy()
        result[..., right:] = self._split.images.read(self.partners(ids))[..., right:]
        return result

    def partners(self, ids: StrArray) -> IntArray:
        """Choose for each instance one of another class, each of them equally likely."""
        own = self._split.labels[self._places.of(ids)]
        labels = self._split.labels[self._by_class]
        first, end = np.searchsorted(labels, own, "left"), np.searchsorted(labels, own, "right")
        alike = end - first
        drawn = (uniform_by_id(self._seed, self.name, ids) * (len(labels) - alike)).astype(np.int64)
        return self._by_class[np.where(drawn < first, drawn, drawn + alike)]


class Swirl(Warp, Unrecognisable):
    """The image turned about its middle, the more the nearer to it, as if stirred.

    Parameters
    ----------
    turns
        How far it is turned in the middle, in whole turns.
    radius
        Where hardly anything moves any more (0.1 % of the angle), in half widths of the image.

    Examples
    --------
    >>> image = np.zeros((1, 1, 9, 9), np.float32)
    >>> image[0, 0, 4] = 1
    >>> faulted = Swirl().apply(image, np.array([-1]), np.array(["a"]), np.array([np.nan])).images
    >>> bool(faulted[0, 0, 4, 4] == 1), bool((faulted != image).any())
    (True, True)
    """

    _edge = "symmetric"
    reference = HEINDRICH
    origin = ORIGIN

    def __init__(self, *, turns: float = 1.5, radius: float = 2.5) -> None:
        check_number("turns", turns, above=0)
        check_number("radius", radius, above=0)
        self._turns, self._radius = turns, radius

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del severity, random
        high, wide = images.shape[2:]
        down, along = np.mgrid[:high, :wide] - np.reshape([(high - 1) / 2, (wide - 1) / 2], (2, 1, 1))
        distance = np.hypot(down * wide / high, along) / (wide / 2)
        angle = 2 * math.pi * self._turns * np.exp(-math.log(1000) * distance / self._radius)
        rows = np.sin(angle) * along + np.cos(angle) * down + (high - 1) / 2
        columns = np.cos(angle) * along - np.sin(angle) * down + (wide - 1) / 2
        # Rounded, so that sines which differ in their last bit between machines make no other image.
        rows, columns = (np.rint(places[None] * 1024) / 1024 for places in (rows, columns))
        return resample(images, rows.astype(np.float32), columns.astype(np.float32), edge=self._edge)


class ColourSwap(Unrecognisable):
    """The colour channels change places: a stop sign turns blue. Needs colour images.

    Parameters
    ----------
    order
        The old channels in their new order, such as `bgr`. None draws `gbr` or `brg` for each instance, so
        that no pure colour stays what it is.

    Examples
    --------
    >>> red = np.array([1, 0, 0], np.float32).reshape(1, 3, 1, 1)
    >>> ColourSwap(order="gbr").apply(red, np.array([-1]), np.array(["a"]), np.array([np.nan])).images.ravel()
    array([0., 0., 1.], dtype=float32)
    """

    reference = HEINDRICH
    origin = ORIGIN
    objects = "stay"

    def __init__(self, *, order: str | None = None) -> None:
        if order is not None:
            check_choice("order", order, ORDERS)
        self._order = order

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del severity
        need_colours(images, self.name)
        channels = np.array([["rgb".index(c) for c in order] for order in ORDERS])
        drawn = random.integers(0, 1)
        which = drawn if self._order is None else np.full(len(images), ORDERS.index(self._order))
        return np.take_along_axis(images, channels[which][:, :, None, None], axis=1)
