"""An attack that asks for probabilities and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from farm.api import FloatArray, Images, IntArray, PerInstance, check_number
from faultloads._attack import Attack, reach

_HALVED_AT = (10, 50, 200, 1000, 2000, 4000, 6000, 8000)
"""Where, of 10,000 queries, the area of the squares is halved."""


class SquareAttack(Attack):
    """The square attack: squares of the image change at random, and stay changed where that helps.

    No pixel moves further than `eps`, to the last bit. An image begins with vertical stripes; then, again and
    again, a square of it is moved by `eps` up or down in each channel, which is kept where the right class
    loses to the next best one. It ends once the attacked classifier predicts another class. What is tried
    depends on the instance's id; whether it is kept depends on probabilities, whose last bits change with the
    batch size: in batches of other sizes images nearly always agree, and need not; a stream without time
    makes them in batches of its own.

    Parameters
    ----------
    eps
        How far each pixel moves.
    queries
        At most this many trials an image.
    area
        The share of the image that the first squares cover; it is halved as the search goes on.
    surrogate
        The model to attack instead of the classifier under test, as for `fgsm`; none is needed.
    target, skip_wrong
        Which class to be taken for, and whether to leave wrong images alone, as for `fgsm`.

    Examples
    --------
    >>> SquareAttack().needs_gradients
    False
    """

    needs_gradients = False
    reference = "Andriushchenko, Croce, Flammarion, Hein: Square attack, ECCV 2020"
    origin = "Andriushchenko et al., 2020"

    def __init__(
        self,
        *,
        eps: float = 0.05,
        queries: int = 200,
        area: float = 0.8,
        surrogate: str | Mapping[str, Any] | None = None,
        target: str | int | None = None,
        skip_wrong: bool = False,
    ) -> None:
        super().__init__(surrogate=surrogate, target=target, skip_wrong=skip_wrong)
        check_number("eps", eps, above=0, high=1)
        check_number("queries", queries, low=1, whole=True)
        check_number("area", area, above=0, high=1)
        self._eps, self._queries, self._area = eps, queries, area

    def _attack(self, images: Images, labels: IntArray, random: PerInstance) -> Images:
        _, channels, high, wide = images.shape
        darkest, brightest = reach(images, self._eps)
        best = np.where(random.bits(channels, 1, wide) < 2**15, darkest, brightest)
        margins = self._margins(best, labels)
        # All that will be tried is drawn at once: it does not depend on who is still being attacked.
        places, colours = random.uniform(self._queries, 2), random.bits(self._queries, channels)
        sides = square_sides(self._queries, self._area, high, wide)
        for trial, side in enumerate(sides):
            rows = np.flatnonzero(margins >= 0)
            if not rows.size:
                break
            top, left = (places[rows, trial, i] * (size - side + 1) for i, size in enumerate((high, wide)))
            square = _within(top, side, high)[:, :, None] & _within(left, side, wide)[:, None, :]
            darker = colours[rows, trial][:, :, None, None] < 2**15
            coloured = np.where(darker, darkest[rows], brightest[rows])
            tried = np.where(square[:, None], coloured, best[rows])
            now = self._margins(tried, labels[rows])
            better = now < margins[rows]
            best[rows[better]], margins[rows[better]] = tried[better], now[better]
        return best

    def _margins(self, images: Images, labels: IntArray) -> FloatArray:
        """Return the log-odds of the right class against the next best, or of the best against the target.

        Below 0, the attack is done.
        """
        logs = np.log(np.maximum(self._attacked.observe(images).probabilities, 1e-300))
        rows = np.arange(len(images))
        wanted = labels if self._aim is None else np.full_like(labels, self._aim)
        own = logs[rows, wanted].copy()
        logs[rows, wanted] = -np.inf
        margins = own - logs.max(axis=1)
        return np.asarray(margins if self._aim is None else -margins)


def square_sides(queries: int, area: float, high: int, wide: int) -> list[int]:
    """Return the side of the square of each trial: halved in area as the search goes on.

    Examples
    --------
    >>> square_sides(10_000, 0.8, 32, 32)[::2000]
    [29, 7, 5, 4, 3]
    """
    passed = [sum(trial * 10_000 / queries > limit for limit in _HALVED_AT) for trial in range(queries)]
    return [max(1, min(round((area / 2**n * high * wide) ** 0.5), high, wide)) for n in passed]


def _within(start: np.ndarray, side: int, size: int) -> np.ndarray:
    first = start.astype(np.int64)[:, None]
    return np.asarray((np.arange(size) >= first) & (np.arange(size) < first + side))
