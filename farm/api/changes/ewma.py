"""The exponentially weighted moving average: sees small shifts, and what fades."""

from __future__ import annotations

import math

from farm.api.changes.detector import DIRECTIONS, ChangeDetector, either
from farm.api.component import check_choice, check_number

VARIANCES = ("exact", "steady")


class Ewma(ChangeDetector[float]):
    """An average in which older values weigh less and less, in units of its own standard deviation.

    Parameters
    ----------
    mean, sd
        Of the values while all is well.
    weight
        Of the newest value (lambda); 1 looks at it alone.
    variance
        `exact`: its standard deviation after so many values, so that the first count at once. `steady`: that
        after many.
    direction
        Whether a rise counts, a fall, or both.

    Examples
    --------
    >>> Ewma(weight=0.5, variance="steady").along([3**0.5, 0.0]).round(3).tolist()
    [1.5, 0.75]

    References
    ----------
    J. M. Lucas, M. S. Saccucci, "Exponentially weighted moving average control schemes", Technometrics 32
    (1990).
    """

    def __init__(
        self,
        *,
        mean: float = 0.0,
        sd: float = 1.0,
        weight: float = 0.1,
        variance: str = "exact",
        direction: str = "up",
    ) -> None:
        check_number("mean", mean)
        check_number("sd", sd, above=0)
        check_number("weight", weight, above=0, high=1)
        check_choice("variance", variance, VARIANCES)
        check_choice("direction", direction, DIRECTIONS)
        self._mean, self._sd, self._weight, self._direction = mean, sd, weight, direction
        self._first = 1.0 if variance == "exact" else 0.0
        self.forget()

    def follow(self, value: float) -> float:
        """Return how many of its standard deviations the average lies off."""
        weight = self._weight
        self._average += weight * ((value - self._mean) / self._sd - self._average)
        self._remains *= (1 - weight) ** 2
        own = self._average / math.sqrt(weight / (2 - weight) * (1 - self._remains))
        return either(own, -own, self._direction)

    def forget(self) -> None:
        """Begin at the mean."""
        self._average, self._remains = 0.0, self._first
