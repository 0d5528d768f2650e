"""A number and how sure it is, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from farm.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Measure:
    """A value; where it is undefined, NaN and the reason.

    Examples
    --------
    >>> Measure(0.25)
    Measure(value=0.25, reason=None)
    >>> undefined("no instances").defined
    False
    """

    value: float
    reason: str | None = None

    def __post_init__(self) -> None:
        if math.isnan(self.value) != (self.reason is not None):
            raise ValueError(f"a measure is a number or has a reason, never both or neither: {self!r}")

    @property
    def defined(self) -> bool:
        """Whether there is a number."""
        return self.reason is None

    @property
    def json(self) -> float | None:
        """The number as JSON can hold it: null where it is undefined."""
        return self.value if self.defined else None


def undefined(reason: str) -> Measure:
    """Return a measure without a value."""
    return Measure(math.nan, reason)


def defined_or(value: float, reason: str) -> Measure:
    """Return a value, or the reason where it is NaN.

    Examples
    --------
    >>> defined_or(0.5, "no instances").value, defined_or(math.nan, "no instances").reason
    (0.5, 'no instances')
    """
    return undefined(reason) if math.isnan(value) else Measure(value)


def ratio(part: float, whole: float, reason: str) -> Measure:
    """Divide; a `whole` of 0 leaves the ratio undefined for the reason given.

    Examples
    --------
    >>> ratio(1, 4, "no instances").value
    0.25
    >>> ratio(0, 0, "no instances").reason
    'no instances'
    """
    return Measure(part / whole) if whole else undefined(reason)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value and how low and how high it may be; each of the three may be undefined."""

    value: Measure
    low: Measure
    high: Measure

    @classmethod
    def nowhere(cls, why: Measure) -> Bounded:
        """Return an undefined measure, its ends undefined for the same reason."""
        return cls(why, why, why)


def wilson(k: int, n: int, level: float = 0.95) -> tuple[Measure, Measure]:
    """Return Wilson's score interval for a proportion of which `k` in `n` were seen.

    Unlike the textbook interval p +- z * s it keeps its level near 0 and 1, where the error of a good
    monitor lies, and it has a width when `k` is 0 or `n`.

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22 (1927).

    Examples
    --------
    >>> low, high = wilson(0, 10)
    >>> low.value, round(high.value, 4)
    (0.0, 0.2775)
    """
    if not 0 <= k <= n:
        raise ParameterError(f"wilson: k = {k} of n = {n}; expected 0 <= k <= n")
    if not 0 < level < 1:
        raise ParameterError(f"wilson: level = {level}; expected a number between 0 and 1")
    if n == 0:
        return undefined("no instances"), undefined("no instances")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    seen = k / n
    shrink = 1 + z * z / n
    centre = (seen + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(seen * (1 - seen) / n + z * z / (4 * n * n))
    # The ends are exact in theory; rounding would leave 1e-17 there.
    low = 0.0 if k == 0 else max(centre - half, 0.0)
    high = 1.0 if k == n else min(centre + half, 1.0)
    return Measure(low), Measure(high)


def share(part: int, whole: int, reason: str, level: float = 0.95) -> Bounded:
    """Return a proportion with Wilson's interval; where `whole` is 0 it is undefined, for the reason given.

    Examples
    --------
    >>> found = share(0, 10, "no instances")
    >>> found.value.value, found.low.value, round(found.high.value, 4)
    (0.0, 0.0, 0.2775)
    """
    value = ratio(part, whole, reason)
    return Bounded(value, *wilson(part, whole, level)) if value.defined else Bounded.nowhere(value)
