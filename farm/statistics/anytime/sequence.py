"""What confidence sequences have in common: values in order, bounds that hold at all times together."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from farm.api.arrays import FloatArray
from farm.api.component import check_number
from farm.errors import DataError, ParameterError

BLOCK = 256
"""So many values are taken at a time."""


class ConfidenceSequence(ABC):
    """Bounds of a mean that may be looked at after every value, and stopped at whenever one likes.

    With a chance of at least `level`, neither bound is ever wrong, from the first value to the last; each by
    itself with (1 + level) / 2. The promise is about values that each have the same mean given all before:
    they may depend on the past otherwise, and need not be alike. Where the mean moves, the lower bound stays
    below the highest mean that there was and the upper one above the lowest; so they may pass each other, and
    then the mean did move.

    Parameters
    ----------
    level
        The chance that the mean lies between the bounds at all times.
    low, high
        The least and the greatest that a value could be.
    """

    def __init__(self, level: float = 0.95, low: float = 0.0, high: float = 1.0) -> None:
        check_level(level)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ParameterError(
                f"values from {low:g} to {high:g}; expected two numbers, the lowest below the highest"
            )
        self.level = float(level)
        self._lowest, self._width = float(low), float(high) - float(low)
        self._n, self._sum = 0, 0.0
        self._bounds = 0.0, 1.0

    @property
    def n(self) -> int:
        """How many values there were."""
        return self._n

    @property
    def mean(self) -> float:
        """Their mean; NaN before the first."""
        return self._lowest + self._width * self._sum / self._n if self._n else math.nan

    @property
    def low(self) -> float:
        """The highest lower bound so far."""
        return self._lowest + self._width * self._bounds[0]

    @property
    def high(self) -> float:
        """The lowest upper bound so far."""
        return self._lowest + self._width * self._bounds[1]

    @property
    def moved(self) -> bool:
        """Whether the bounds have passed each other: no single mean goes with all values."""
        return self._bounds[0] > self._bounds[1]

    def add(self, values: FloatArray) -> None:
        """Take the next values, in order."""
        self.follow(values)

    def follow(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Take the next values, and return both bounds after each."""
        unit = (
            checked(values, self._lowest, self._lowest + self._width, self._n) - self._lowest
        ) / self._width
        ends = np.empty((2, len(unit)))
        for part in blocks(len(unit)):
            own = np.clip(unit[part], 0.0, 1.0)
            lows, highs = self._follow(own)
            ends[0, part] = np.maximum.accumulate(np.maximum(lows, self._bounds[0]))
            ends[1, part] = np.minimum.accumulate(np.minimum(highs, self._bounds[1]))
            self._bounds = float(ends[0, part.stop - 1]), float(ends[1, part.stop - 1])
            self._n, self._sum = self._n + len(own), float(running(self._sum, own)[-1])
        return self._lowest + self._width * ends[0], self._lowest + self._width * ends[1]

    @abstractmethod
    def _follow(self, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both bounds after each of at most `BLOCK` values from 0 to 1."""


class Bets:
    """How much to bet on the next value: more where values have spread little, less the later it is.

    What is told of a value depends on those before it alone.

    References
    ----------
    I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the
    Royal Statistical Society B 86 (2024), equations 15 and 26.
    """

    def __init__(self, level: float) -> None:
        self._budget = 2 * math.log(2 / (1 - level))
        self._n, self._sum, self._squares = 0, 0.0, 0.0

    def follow(self, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean that was expected of each value and the bet on it."""
        n = self._n + np.arange(1, len(unit) + 1)
        sums = running(self._sum, unit)
        means = (0.5 + sums) / (n + 1)
        squares = running(self._squares, (unit - means) ** 2)
        before = np.concatenate([[(0.5 + self._sum) / (self._n + 1)], means[:-1]])
        variance = (0.25 + np.concatenate([[self._squares], squares[:-1]])) / n
        self._n, self._sum, self._squares = int(n[-1]), float(sums[-1]), float(squares[-1])
        return before, np.sqrt(self._budget / (variance * n * np.log(n + 1)))


def running(start: float, values: FloatArray) -> FloatArray:
    """Return the sums after each value."""
    return np.cumsum(np.concatenate([[start], values]))[1:]


def blocks(n: int) -> Iterator[slice]:
    """Cut `n` values into blocks.

    Examples
    --------
    >>> [(part.start, part.stop) for part in blocks(600)]
    [(0, 256), (256, 512), (512, 600)]
    """
    for start in range(0, n, BLOCK):
        yield slice(start, min(start + BLOCK, n))


def check_level(level: float) -> None:
    """Check that a level is a chance that can be promised."""
    check_number("level", level, above=0, high=1)
    if level == 1:
        raise ParameterError("level is 1; expected a number below 1: no bound but the widest is certain")


def checked(values: FloatArray, low: float, high: float, done: int = 0) -> FloatArray:
    """Return the values as a row of numbers that each can be; name the first that cannot."""
    row = np.asarray(values, dtype=np.float64).reshape(-1)
    out = np.flatnonzero(~((row >= low) & (row <= high)))
    if len(out):
        raise DataError(
            f"value {row[out[0]]:g} at place {done + out[0]}; expected a number from {low:g} to {high:g}"
        )
    return row
