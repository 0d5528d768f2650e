"""Page's and Hinkley's test: a cumulative sum that learns the mean from the stream itself."""

from __future__ import annotations

from collections.abc import Iterable

from farm.api.changes.detector import DIRECTIONS, ChangeDetector, either
from farm.api.component import check_choice, check_number


class PageHinkley(ChangeDetector[float]):
    """Adds up how far values lie from the mean of all so far; says how far that is from its extreme.

    Parameters
    ----------
    delta
        What each value may lie off for nothing, in its own unit.
    alpha
        What remains of the sum from one value to the next.
    fewest
        Before so many values the statistic is 0.
    direction
        Whether a rise counts, a fall, or both.

    Examples
    --------
    >>> PageHinkley(delta=0.0, alpha=1.0, fewest=1).along([0.0, 0.0, 3.0, 3.0]).tolist()
    [0.0, 0.0, 2.0, 3.5]

    References
    ----------
    E. S. Page, "Continuous inspection schemes", Biometrika 41 (1954). D. V. Hinkley, "Inference about the
    change-point from cumulative sum tests", Biometrika 58 (1971). Defaults and sums are those of river.
    """

    def __init__(
        self, *, delta: float = 0.005, alpha: float = 0.9999, fewest: int = 30, direction: str = "up"
    ) -> None:
        check_number("delta", delta, low=0)
        check_number("alpha", alpha, above=0, high=1)
        check_number("fewest", fewest, low=1, whole=True)
        check_choice("direction", direction, DIRECTIONS)
        self._delta, self._alpha, self._fewest, self._direction = delta, alpha, fewest, direction
        self.forget()

    _n: int
    _mean: float
    _rise: float
    _fall: float
    _lowest: float
    _highest: float

    def follow(self, value: float) -> float:
        """Return how far the sum is from its lowest, or its highest, so far."""
        self._n += 1
        self._mean += (value - self._mean) / self._n
        off = value - self._mean
        self._rise = self._alpha * self._rise + off - self._delta
        self._fall = self._alpha * self._fall + off + self._delta
        self._lowest = min(self._lowest, self._rise)
        self._highest = max(self._highest, self._fall)
        if self._n < self._fewest:
            return 0.0
        return either(self._rise - self._lowest, self._highest - self._fall, self._direction)

    def learn(self, values: Iterable[float]) -> None:
        """Know the mean of these, and have added up nothing."""
        self.along(values)
        self._calm()

    def forget(self) -> None:
        """Know no mean yet."""
        self._n, self._mean = 0, 0.0
        self._calm()

    def _calm(self) -> None:
        self._rise, self._fall = 0.0, 0.0
        self._lowest, self._highest = float("inf"), -1.0
