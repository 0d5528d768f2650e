"""Novelty made of nothing: images that never showed an object."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from farm.api import Images, PerInstance, check_choice
from faultloads.unrecognisable import Unrecognisable

Field = NDArray[np.float32]
"""One number for each pixel of each instance."""


class Textures(Unrecognisable):
    """A pattern in two colours instead of the image: stripes, checks, rings, dots or clouds.

    Coarseness, direction, place and colours are drawn for each instance; they scale with the image.

    Parameters
    ----------
    pattern
        Which pattern. None draws one for each instance.

    Examples
    --------
    >>> image, ids = np.zeros((1, 3, 32, 32), np.float32), np.array(["a"])
    >>> texture = Textures(pattern="stripes").apply(image, np.array([-1]), ids, np.array([np.nan])).images
    >>> bool(texture.std() > 0.05)
    True
    """

    origin = "own"

    def __init__(self, *, pattern: str | None = None) -> None:
        if pattern is not None:
            check_choice("pattern", pattern, tuple(PATTERNS))
        self._pattern = pattern

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del severity
        n, channels, high, wide = images.shape
        drawn = random.integers(0, len(PATTERNS) - 1)
        which = drawn if self._pattern is None else np.full(n, tuple(PATTERNS).index(self._pattern))
        numbers = random.uniform(_WAVES, 4, 1, 1)
        dark, light = random.uniform(channels, 1, 1, high=0.45), random.uniform(channels, 1, 1, low=0.55)
        # Which of the two colours is the brighter one is drawn for each channel.
        swapped = random.bits(channels, 1, 1) < 2**15
        one, other = np.where(swapped, light, dark), np.where(swapped, dark, light)
        across = np.arange(wide, dtype=np.float32) / np.float32(high)
        down = (np.arange(high, dtype=np.float32) / np.float32(high))[:, None]
        result = np.empty_like(images)
        for number, pattern in enumerate(PATTERNS.values()):
            rows = which == number
            if rows.any():
                field = pattern(across, down, numbers[rows])[:, None]
                result[rows] = one[rows] + field * (other[rows] - one[rows])
        return result


class PureNoise(Unrecognisable):
    """No image at all: every value drawn by itself.

    Parameters
    ----------
    distribution
        `uniform` from 0 to 1, or `normal` about 0.5 with a standard deviation of 0.25, cut to [0, 1].

    Examples
    --------
    >>> image = np.zeros((1, 3, 32, 32), np.float32)
    >>> noise = PureNoise().apply(image, np.array([-1]), np.array(["a"]), np.array([np.nan])).images
    >>> round(float(noise.mean()), 1), round(float(noise.std()), 2)
    (0.5, 0.29)
    """

    reference = "Shafaei, Schmidt, Little: A less biased evaluation of OOD sample detectors, BMVC 2019"
    origin = "OD-test (Shafaei et al., 2019)"

    def __init__(self, *, distribution: str = "uniform") -> None:
        check_choice("distribution", distribution, ("uniform", "normal"))
        self._distribution = distribution

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        del severity
        shape = images.shape[1:]
        if self._distribution == "uniform":
            return random.uniform(*shape)
        return random.normal(*shape) * np.float32(0.25) + np.float32(0.5)


_WAVES = 6
"""How many waves are drawn for an instance: clouds take them all."""


def _wave(across: Field, down: Field, numbers: Field, scale: float = 1.0) -> Field:
    """Make a wave between 0 and 1 in a direction of its own: 2 to 6 crests an image, times the scale."""
    steep, flat, phase, side = numbers[:, 0], numbers[:, 1], numbers[:, 2], numbers[:, 3]
    one, other = 2 + 4 * steep, 4 * flat - 2
    lies = side < 0.5
    rate_across, rate_down = np.where(lies, one, other), np.where(lies, other, one)
    turns = np.float32(scale) * (rate_across * across + rate_down * down)
    return _crest(np.asarray(turns + phase, dtype=np.float32))


def _crest(turns: Field) -> Field:
    """Go smoothly from 0 to 1 and back in each whole turn: like a sine, and the same on every machine."""
    up = 1 - np.abs(2 * (turns - np.floor(turns)) - 1)
    return np.asarray(up * up * (3 - 2 * up))


def _stripes(across: Field, down: Field, numbers: Field) -> Field:
    return _wave(across, down, numbers[:, 0])


def _checks(across: Field, down: Field, numbers: Field) -> Field:
    one, other = _wave(across, down, numbers[:, 0]) > 0.5, _wave(-down, across, numbers[:, 0]) > 0.5
    return (one ^ other).astype(np.float32)


def _rings(across: Field, down: Field, numbers: Field) -> Field:
    rate, x, y, phase = numbers[:, 0, 0], numbers[:, 0, 1], numbers[:, 0, 2], numbers[:, 0, 3]
    distance = np.sqrt((across - x) ** 2 + (down - y) ** 2)
    return _crest((2 + 4 * rate) * distance + phase)


def _dots(across: Field, down: Field, numbers: Field) -> Field:
    rate, x, y = 3 + 3 * numbers[:, 0, 0], numbers[:, 0, 1], numbers[:, 0, 2]
    height = _crest(rate * across + x) * _crest(rate * down + y)
    return np.asarray(np.clip(3 * height - 1, 0, 1))


def _clouds(across: Field, down: Field, numbers: Field) -> Field:
    total = np.zeros((len(numbers), down.shape[0], across.shape[-1]), dtype=np.float32)
    for i in range(_WAVES):
        scale = 0.3 * 1.4**i  # the finer, the fainter
        total += np.float32(0.3 / scale) * _wave(across, down, numbers[:, i], scale)
    low, high = total.min(axis=(1, 2), keepdims=True), total.max(axis=(1, 2), keepdims=True)
    return np.asarray((total - low) / np.maximum(high - low, np.float32(1e-6)))


PATTERNS: Mapping[str, Callable[[Field, Field, Field], Field]] = {
    "stripes": _stripes,
    "checks": _checks,
    "rings": _rings,
    "dots": _dots,
    "clouds": _clouds,
}
