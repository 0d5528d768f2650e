"""A curve over all thresholds, and the few of its points that a picture needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray

NONE = np.empty(0)


@dataclass(frozen=True)
class Curve:
    """Points from one end to the other, both axes from 0 to 1; none, and the reason, where it is undefined.

    Examples
    --------
    >>> Curve(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])).thinned(2).x.tolist()
    [0.0, 1.0]
    """

    x: FloatArray
    y: FloatArray
    why_not: str | None = None

    @classmethod
    def nowhere(cls, why_not: str) -> Curve:
        """Return a curve without a point."""
        return cls(NONE, NONE, why_not)

    def thinned(self, n: int) -> Curve:
        """Return the curve through at most `n` of its points: both ends, and those where it bends most.

        References
        ----------
        M. Visvalingam and J. D. Whyatt, "Line generalisation by repeated elimination of points",
        The Cartographic Journal 30 (1993).
        """
        n = max(n, 2)
        points = np.column_stack([self.x, self.y])
        if len(points) <= n:
            return self
        bends, turns = _bends(points)
        points = points[np.pad((bends > 0) | turns, 1, constant_values=True)]
        points = points[_along(points, 8 * n)] if len(points) > 8 * n else points
        while (excess := len(points) - n) > 0:
            bends, _ = _bends(points)
            straight = np.pad(bends <= np.median(bends), 1)
            # Of two neighbours one goes at a time: without it the other bends otherwise.
            alone = ~(straight[:-2] | straight[2:])
            least = np.flatnonzero(straight[1:-1] & (alone | (np.arange(len(bends)) % 2 == 0)))
            least = least[np.argsort(bends[least], kind="stable")[:excess]]
            points = np.delete(points, least + 1, axis=0)
        return Curve(points[:, 0], points[:, 1])


def _bends(points: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return each point's area with its two neighbours, and whether the line goes back there, or rests."""
    (ax, ay), (bx, by) = (points[1:-1] - points[:-2]).T, (points[2:] - points[1:-1]).T
    return np.abs(ax * by - ay * bx), ax * bx + ay * by <= 0


def _along(points: FloatArray, n: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the places of points at like distances along the line, and of those on both sides of a jump."""
    steps = np.hypot(*np.diff(points, axis=0).T)
    far = np.append(0.0, np.cumsum(steps))
    after = np.searchsorted(far, np.linspace(0.0, far[-1], n // 2))
    return np.unique(np.concatenate([np.maximum(after - 1, 0), after, [len(points) - 1]]))
