"""The cumulative sum: the fastest to see a lasting shift of known size."""

from __future__ import annotations

from farm.api.changes.detector import ChangeDetector
from farm.api.component import check_choice, check_number

UNITS = ("sd", "log-likelihood")


class Cusum(ChangeDetector[float]):
    """Adds up by how much values lie above half the shift that it is to see, and never goes below zero.

    Parameters
    ----------
    mean, sd
        Of the values while all is well.
    shift
        The rise of the mean that is to be seen soonest, in standard deviations: twice Page's k.
    unit
        Of the statistic: `sd`, as textbooks have its limit h, or `log-likelihood`, the logarithm of how much
        likelier normal values are with the shift than without. For such values and the limit log(n), at
        least n of them come between two false alarms on average (Lorden).

    Examples
    --------
    >>> Cusum().along([1.0, -2.0, 2.0, 2.0]).tolist()
    [0.5, 0.0, 1.5, 3.0]

    References
    ----------
    E. S. Page, "Continuous inspection schemes", Biometrika 41 (1954). G. Lorden, "Procedures for reacting
    to a change in distribution", Annals of Mathematical Statistics 42 (1971).
    """

    def __init__(self, *, mean: float = 0.0, sd: float = 1.0, shift: float = 1.0, unit: str = "sd") -> None:
        check_number("mean", mean)
        check_number("sd", sd, above=0)
        check_number("shift", shift, above=0)
        check_choice("unit", unit, UNITS)
        scale = shift if unit == "log-likelihood" else 1.0
        self._base, self._scale = mean + sd * shift / 2, scale / sd
        self._sum = 0.0

    def follow(self, value: float) -> float:
        """Return the sum after this value."""
        self._sum = max(0.0, self._sum + (value - self._base) * self._scale)
        return self._sum

    def forget(self) -> None:
        """Begin at zero."""
        self._sum = 0.0
