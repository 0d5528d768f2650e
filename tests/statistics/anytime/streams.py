"""Streams of numbers from 0 to 1 whose mean, given all before, is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farm.api.arrays import FloatArray
from farm.statistics.anytime import ConfidenceSequence

Drawn = Callable[[np.random.Generator, int], FloatArray]


def bernoulli(p: float) -> Drawn:
    """Return what draws 0 or 1."""
    return lambda random, n: (random.random(n) < p).astype(np.float64)


def wandering(random: np.random.Generator, n: int) -> FloatArray:
    """Draw numbers whose spread depends on those before; their mean, given these, is always 0.3."""
    values, spread = np.empty(n), 0.3
    for at, (wide, up) in enumerate(zip(random.random(n) < 0.5, random.random(n) < 0.5, strict=True)):
        values[at] = 0.3 + (spread if up else -spread)
        # After a high number the next ones stay close by, for as long as the coin says so.
        spread = 0.02 if values[at] > 0.3 else 0.3 if wide else spread
    return values


STREAMS: dict[str, tuple[float, Drawn]] = {
    **{f"bernoulli {p:g}": (p, bernoulli(p)) for p in (0.001, 0.01, 0.05, 0.3, 0.5, 0.999)},
    "beta": (0.2, lambda random, n: random.beta(0.5, 2.0, n)),
    "two points": (0.7, lambda random, n: np.where(random.random(n) < 0.5, 0.6, 0.8)),
    "constant": (0.3, lambda random, n: np.full(n, 0.3)),
    "wandering": (0.3, wandering),
    "quarters": (0.5, lambda random, n: random.integers(0, 5, n) / 4),
}


def ever_wrong(sequence: ConfidenceSequence, values: FloatArray, mean: float) -> tuple[bool, bool]:
    """Return whether the lower bound was ever above the mean, and whether the upper one was ever below."""
    low, high = sequence.follow(values)
    return bool((low > mean + 1e-9).any()), bool((high < mean - 1e-9).any())
