"""What befalls a camera and stays for a while: darkness, glare, dirt, and a sensor that fades."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from farm.api import Images, IntArray, PerInstance, Transformation, at_severity
from faultloads.anomaly import Anomaly

SENSOR_NOISE = (
    "Foi, Trimeche, Katkovnik, Egiazarian: Practical Poissonian-Gaussian noise modeling and fitting for "
    "single-image raw-data, IEEE Transactions on Image Processing 2008"
)
SPOTS = 9
"""How many spots of dirt lie on a lens."""
GRID = 5
"""Between so many points along each side a sensor fades smoothly."""


class _Light(Transformation):
    """Another light, and the noise of a sensor in it, a new one in every frame."""

    category = "shift"
    objects = "stay"
    coherence = "instance"
    origin = "own"
    reference = SENSOR_NOISE


class Night(_Light):
    """Little light: 0.6, 0.4, 0.28, 0.18, 0.1 of it at severities 1 to 5, and the sensor's noise beside it.

    The noise has a part that grows with the light (variance 0.005 of it) and one that is always there
    (standard deviation 0.01 to 0.05); it is another one in every frame.

    Examples
    --------
    >>> white, ids = np.ones((1, 1, 64, 64), np.float32), np.array(["a"])
    >>> dark = Night().apply(white, np.array([0]), ids, np.array([2.0])).images
    >>> round(float(dark.mean()), 2)
    0.4
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        light = np.float32(at_severity(severity, [0.6, 0.4, 0.28, 0.18, 0.1], neutral=1))
        always = np.float32(at_severity(severity, [0.01, 0.015, 0.02, 0.03, 0.05], neutral=0))
        grows = np.float32(at_severity(severity, [0.005] * 5, neutral=0))
        return _seen(images * light, grows, always, random)


class Overexposure(_Light):
    """Too much light: 1.3, 1.6, 2, 2.6, 3.4 times as much at severities 1 to 5; what is white stays white.

    The gain brings the sensor's noise with it (standard deviation 0.01, times the gain), another one in
    every frame.

    Examples
    --------
    >>> grey, ids = np.full((1, 1, 64, 64), 0.3, np.float32), np.array(["a"])
    >>> bright = Overexposure().apply(grey, np.array([0]), ids, np.array([3.0])).images
    >>> round(float(bright.mean()), 2)
    0.6
    """

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        gain = np.float32(at_severity(severity, [1.3, 1.6, 2.0, 2.6, 3.4], neutral=1))
        noise = np.float32(at_severity(severity, [0.01] * 5, neutral=0))
        return _seen(images * gain, np.float32(0), noise * gain, random)


class DirtyLens(Anomaly):
    """Nine spots of dirt on the lens, soft at their edges, that stay where they are.

    Their radius is 0.06, 0.09, 0.12, 0.16, 0.2 of the image's side at severities 1 to 5, each a little more
    or less; in their middle nine tenths of the light are lost to a dark grey.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> white, ids = np.ones((2, 1, 32, 32), np.float32), np.array(["a", "b"])
    >>> dirty = DirtyLens().apply(white, np.zeros(2, int), ids, np.full(2, 3.0)).images
    >>> bool((dirty[0] == dirty[1]).all()), bool((dirty < 0.5).any())
    (False, True)
    """

    origin = "own"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        n, _, high, wide = images.shape
        x, y = random.uniform(SPOTS), random.uniform(SPOTS)
        sizes = random.uniform(SPOTS, low=0.7, high=1.3)
        radius = np.float32(at_severity(severity, [0.06, 0.09, 0.12, 0.16, 0.2], neutral=0)) * sizes
        clear = np.ones((n, high, wide), dtype=np.float32)
        rows, columns = (_places(size)[None] for size in (high, wide))
        for spot in range(SPOTS):
            down = (rows - y[:, spot, None])[:, :, None]
            across = (columns - x[:, spot, None])[:, None, :]
            near = 1 - (down * down + across * across) / (radius[:, spot] ** 2)[:, None, None]
            clear *= 1 - np.float32(0.9) * np.clip(near * 2, 0, 1)
        left = clear[:, None]
        return images * left + np.float32(0.15) * (1 - left)


class FadingSensor(Anomaly):
    """The sensor loses its sensitivity, here more and there less, and keeps the pattern.

    At most 0.3, 0.45, 0.6, 0.75, 0.9 of the light is lost at severities 1 to 5, half of it everywhere.

    Parameters
    ----------
    no_answer
        Whether no right answer remains: the label becomes -1.

    Examples
    --------
    >>> white, ids = np.ones((1, 1, 32, 32), np.float32), np.array(["a"])
    >>> faded = FadingSensor().apply(white, np.array([0]), ids, np.array([5.0])).images
    >>> bool((faded >= 0.1).all()), bool((faded <= 0.55).all())
    (True, True)
    """

    origin = "own"

    def _transform(self, images: Images, severity: float, random: PerInstance) -> Images:
        lost = np.float32(at_severity(severity, [0.3, 0.45, 0.6, 0.75, 0.9], neutral=0))
        pattern = _smooth(random.uniform(GRID, GRID), *images.shape[2:])
        return images * (1 - lost * (np.float32(0.5) + np.float32(0.5) * pattern))[:, None]


def _seen(light: Images, grows: np.float32, always: np.float32, random: PerInstance) -> Images:
    """Add the noise of a sensor to the light that falls on it."""
    spread = np.sqrt(grows * light + always * always)
    result: Images = light + spread * random.normal(*light.shape[1:])
    return result


def _places(size: int) -> NDArray[np.float32]:
    """Return where the middles of pixels are, from 0 to 1."""
    return ((np.arange(size) + 0.5) / size).astype(np.float32)


def _smooth(grid: Images, high: int, wide: int) -> Images:
    """Return values between those of a grid, each image by itself."""
    row, down = _between(high, grid.shape[1])
    column, across = _between(wide, grid.shape[2])
    above, below = grid[:, row], grid[:, row + 1]
    edges = [one[:, :, column] * (1 - across) + one[:, :, column + 1] * across for one in (above, below)]
    return (edges[0] * (1 - down[:, None]) + edges[1] * down[:, None]).astype(np.float32)


def _between(size: int, points: int) -> tuple[IntArray, NDArray[np.float32]]:
    place = np.linspace(0, points - 1, size, dtype=np.float32)
    before = np.minimum(place.astype(np.int64), points - 2)
    return before, (place - before).astype(np.float32)
