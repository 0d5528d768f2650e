"""A number, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
    """Give a measure without a value."""
    return Measure(math.nan, reason)


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
