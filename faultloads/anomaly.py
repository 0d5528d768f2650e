"""Anomalies of a sensor that spoil some of its lines, bits or channels. Whole frames are in `frames`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from farm.api import Images, ObjectFate, PerInstance, Transformation, at_severity, check_choice, check_number
from faultloads._colour import need_colours

BENCHMARK = (
    "Ferreira, Guerin, Guiochet, Waeselynck: Benchmarking safety monitors for image classifiers with machine "
    "learning, PRDC 2021"
)
ORIGIN = "the 79 benchmark sets (Ferreira et al., 2021)"


class Anomaly(Transformation):
    """A failing sensor; the camera should have shown what the original label says."""

    category = "anomaly"
    objects: ClassVar[ObjectFate] = "stay"

    def __init__(self, *, no_answer: bool = False) -> None:
        self.keeps_meaning = not no_answer


class PixelTrap(Anomaly):
    """Rows of black pixels, anywhere: 3, 5 or 10 of 32 rows at severities 1 to 3.

    How many rows is scaled with the height of the image.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> white, ids = np.ones((1, 1, 32, 32), np.float32), np.array(["a"])
    >>> black = PixelTrap().apply(white, np.array([0]), ids, np.array([2.0])).images == 0
    >>> int(black.all(axis=3).sum())
    5
    """

    severities = (1, 2, 3)
    reference = BENCHMARK
    origin = ORIGIN

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        rows = _chosen(random, images.shape[2], _lines(severity, (3, 5, 10), images.shape[2]))
        return np.where(rows[:, None, :, None], np.float32(0), images)


class _AsDefined(Anomaly):
    """A fault that the authors' code defines a little otherwise than we first read their text."""

    severities = (1, 2, 3)
    reference = BENCHMARK
    origin = ORIGIN

    def __init__(self, *, definition: str = "authors", no_answer: bool = False) -> None:
        super().__init__(no_answer=no_answer)
        check_choice("definition", definition, ("authors", "own"))
        self._own = definition == "own"


class RowAddLogic(_AsDefined):
    """A row shows again in the next 3, 5 or 10 of 32 rows at severities 1 to 3.

    How many rows is scaled with the height of the image.

    Parameters
    ----------
    definition
        Which row: with `authors`, as in their code, the one two above the middle (14 of 32, counted from 0);
        with `own` the middle one (16).
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> ramp = np.linspace(0, 1, 32, dtype=np.float32).reshape(1, 1, 32, 1)
    >>> faulted = RowAddLogic().apply(ramp, np.array([0]), np.array(["a"]), np.array([1.0]))
    >>> np.flatnonzero(faulted.images == ramp[0, 0, 14, 0]).tolist()
    [14, 15, 16, 17]
    """

    objects = "move"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del random  # the row is the same in every image
        high = images.shape[2]
        row = high // 2 if self._own else max(0, high // 2 - 2)
        result = images.copy()
        result[:, :, row + 1 : row + 1 + _lines(severity, (3, 5, 10), high)] = images[:, :, row : row + 1]
        return result


class ShiftedPixel(_AsDefined):
    """Each row is rolled to the left at random, by less than 3, 5 or 10 of 32 pixels at severities 1 to 3.

    How far is scaled with the width of the image, and always a pixel for some rows.

    Parameters
    ----------
    definition
        With `authors`, as in their code, by 0 to 2, 4 or 9 pixels; with `own` by 0 to 3, 5 or 10.
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> image = np.eye(32, dtype=np.float32)[None, None]
    >>> faulted = ShiftedPixel().apply(image, np.array([0]), np.array(["a"]), np.array([1.0]))
    >>> shifts = (np.arange(32) - faulted.images[0, 0].argmax(axis=1)) % 32
    >>> int(shifts.min()), int(shifts.max())
    (0, 2)
    """

    objects = "move"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        n, _, high, wide = images.shape
        shifts_there_are = max(2, _lines(severity, (3, 5, 10), wide) + self._own)
        shifts = (random.uniform(high) * np.float32(shifts_there_are)).astype(np.int64)
        columns = (np.arange(wide) + shifts[:, :, None]) % wide
        return np.take_along_axis(images, columns.reshape(n, 1, high, wide), axis=3)


class _DeadLines(Anomaly):
    """Lines of the sensor that give a constant value."""

    axis: ClassVar[int]

    def __init__(self, *, value: float | None = None, no_answer: bool = False) -> None:
        super().__init__(no_answer=no_answer)
        if value is not None:
            check_number("value", value, low=0, high=1)
        self._value = value

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        n, size = len(images), images.shape[self.axis]
        dead = _chosen(random, size, _lines(severity, (1, 2, 4, 7, 11), size))
        values = random.uniform(size) if self._value is None else np.full((n, size), self._value, np.float32)
        shape = [n, 1, 1, 1]
        shape[self.axis] = size
        return np.where(dead.reshape(shape), values.reshape(shape), images)


class DeadRows(_DeadLines):
    """Rows that give a constant value: 1, 2, 4, 7 or 11 of 32 at severities 1 to 5, scaled with the height.

    Parameters
    ----------
    value
        What they give, from 0 (black) to 1 (white). None draws a grey level for each row.
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> grey, ids = np.full((1, 3, 32, 32), 0.5, np.float32), np.array(["a"])
    >>> white = DeadRows(value=1.0).apply(grey, np.array([0]), ids, np.array([3.0])).images == 1
    >>> int(white.all(axis=(1, 3)).sum())
    4
    """

    axis = 2
    origin = "own"


class DeadColumns(_DeadLines):
    """Columns that give a constant value: 1, 2, 4, 7 or 11 of 32 at severities 1 to 5, scaled with the width.

    Parameters
    ----------
    value
        What they give, from 0 (black) to 1 (white). None draws a grey level for each column.
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> grey, ids = np.full((1, 3, 32, 32), 0.5, np.float32), np.array(["a"])
    >>> black = DeadColumns(value=0.0).apply(grey, np.array([0]), ids, np.array([1.0])).images == 0
    >>> int(black.all(axis=(1, 2)).sum())
    1
    """

    axis = 3
    origin = "own"


class BitFlips(Anomaly):
    """Each bit of an 8-bit pixel flips with probability 0.003, 0.01, 0.03, 0.06 or 0.12 at severities 1 to 5.

    Pixels are rounded to 8 bits on the way, as they leave a camera.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> black, ids = np.zeros((1, 3, 64, 64), np.float32), np.array(["a"])
    >>> faulted = BitFlips().apply(black, np.array([0]), ids, np.array([5.0]))
    >>> flipped = np.unpackbits((faulted.images * 255).round().astype(np.uint8))
    >>> round(float(flipped.mean()), 2)
    0.12
    """

    origin = "own"
    coherence = "instance"  # other bits are lost in every frame

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        share = at_severity(severity, (0.003, 0.01, 0.03, 0.06, 0.12), neutral=0)
        flips = np.packbits(random.bits(*images.shape[1:], 8) < round(share * 2**16), axis=-1)[..., 0]
        pixels = np.rint(images * np.float32(255)).astype(np.uint8)
        return np.asarray((pixels ^ flips).astype(np.float32) / np.float32(255))


class DroppedChannel(Anomaly):
    """One of the colour channels, chosen for each instance, is lost and stays 0. Needs colour images.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> white, ids = np.ones((1, 3, 4, 4), np.float32), np.array(["a"])
    >>> faulted = DroppedChannel().apply(white, np.array([0]), ids, np.array([np.nan]))
    >>> sorted(faulted.images.mean(axis=(2, 3))[0].tolist())
    [0.0, 1.0, 1.0]
    """

    severities = ()
    origin = "own"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del severity
        need_colours(images, self.name)
        result = images.copy()
        result[np.arange(len(images)), random.integers(0, 2)] = 0
        return result


def _lines(severity: float, levels: tuple[int, ...], size: int) -> int:
    """Return how many of so many lines a severity spoils; levels are of 32. At least one, if any."""
    return max(1, min(size, round(at_severity(severity, levels, neutral=0) * size / 32)))


def _chosen(random: PerInstance, size: int, count: int) -> NDArray[np.bool_]:
    """Choose so many of the lines of each instance; those chosen at a lower severity stay chosen."""
    ranks = random.bits(size).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return np.asarray(ranks < count)
