"""One scale for the scores of all monitors: how rare such a score is among ID validation data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np

from farm.api import FloatArray, State

KNOTS = 256
"""At most this many ID scores are kept, whatever the size of the validation data."""
LARGEST = 1e300
"""Nothing goes beyond: differences and sums of such numbers are still finite."""
ROUNDING = 1e-6
"""Scores that differ by less than this share of the largest differ by what networks round off."""
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, slots=True)
class TailScale:
    """Turns a score s into z(s): minus the decimal logarithm of how probable s or more is on ID data.

    With c of n ID scores at or above s, that probability is taken to be (c + 1) / (n + 2), the rule of
    succession, so that it is neither 0 nor 1. Rejecting all above z = 2 rejects about 1 % of the ID data,
    whichever monitor the scores are from. Between two ID scores z goes in a straight line.

    Above the largest ID score z is at least log10(n + 2), and rises by 1 for every `spread`. Below the
    smallest it sinks towards 0 but not under it: no score, however low, outweighs what others find. So z
    rises with s everywhere. ID scores that are equal share the z that counts them all; where all of them
    are, z is nearly 0 there and jumps to log10(n + 2) right above.

    Parameters
    ----------
    values, levels
        ID scores, rising, and their z. The largest is always among them; where there are too many to keep,
        they are evenly spaced in z, and so dense in the upper tail.
    top
        Where z goes on above the largest ID score.
    spread
        From the median of the ID scores to what 95 % of them do not exceed. On that way the probability
        falls to a tenth, so that the line above goes on as it began. Where most scores are equal, from the
        median (or else the smallest) to the largest; where all are, 1.

    Examples
    --------
    >>> scale = TailScale.of(np.arange(98.0))
    >>> scale(np.array([79.0, 97.0, 97.01, 140.65])).round(2).tolist()
    [0.7, 1.7, 2.0, 3.0]
    """

    values: FloatArray
    levels: FloatArray
    top: float
    spread: float

    @classmethod
    def of(cls, scores: FloatArray) -> Self:
        """Learn the scale from the scores of ID validation data, at least one."""
        ordered = np.sort(np.clip(scores, -LARGEST, LARGEST))
        n = len(ordered)
        values, below = np.unique(ordered, return_index=True)
        levels = -np.log10((n - below + 1) / (n + 2))
        if len(values) > KNOTS:
            kept = np.unique(np.searchsorted(levels, np.linspace(levels[0], levels[-1], KNOTS)))
            values, levels = values[kept], levels[kept]
        median, high = np.quantile(ordered, [0.5, 0.95])
        least = ROUNDING * np.abs(ordered).max()
        widths = (high - median, ordered[-1] - median, ordered[-1] - ordered[0])
        spread = next((float(width) for width in widths if width > least), 1.0)
        return cls(values, levels, float(np.log10(n + 2)), spread)

    @classmethod
    def load(cls, state: Mapping[str, np.ndarray]) -> Self:
        """Make it from the arrays that `state` gave."""
        values, levels = (np.asarray(state[name], dtype=np.float64) for name in ("values", "levels"))
        return cls(values, levels, float(state["top"]), float(state["spread"]))

    @property
    def state(self) -> State:
        """All of it, as arrays."""
        return {name: np.asarray(value) for name, value in asdict(self).items()}

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return z of each score."""
        scores = np.clip(scores, -LARGEST, LARGEST)
        place = np.searchsorted(self.values, scores, side="right")
        lower, upper = np.maximum(place - 1, 0), np.minimum(place, len(self.values) - 1)
        start, step = self.values[lower], self.values[upper] - self.values[lower]
        way = np.divide(scores - start, step, out=np.zeros_like(scores), where=step > 0)
        level = self.levels[lower] + way * (self.levels[upper] - self.levels[lower])
        level = np.minimum(level, self.levels[upper])  # which rounding may pass by a last bit
        beyond, short = scores - self.values[-1], np.maximum(self.values[0] - scores, 0.0)
        with np.errstate(over="ignore"):
            above = np.minimum(self.top + beyond / self.spread, LARGEST)
        level = np.where(short > 0, self.levels[0] * (self.spread / (self.spread + short)), level)
        result: FloatArray = np.where(beyond > 0, above, level)
        return result

    def margins(self, scores: FloatArray, threshold: float) -> FloatArray:
        """Return how many spreads each score lies above a threshold: above 0 exactly where the score is.

        Examples
        --------
        >>> TailScale.of(np.arange(101.0)).margins(np.array([95.0, 50.0, 5.0]), 50.0).tolist()
        [1.0, 0.0, -1.0]
        """
        with np.errstate(over="ignore"):
            margins = np.clip((scores - threshold) / self.spread, -LARGEST, LARGEST)
        return np.where(scores > threshold, np.maximum(margins, TINY), margins)
