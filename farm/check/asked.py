"""What a criterion asks of a value, and what bounds say to that: met, failed, or how much more it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from farm.check.criterion import Criterion
from farm.check.evidence import Evidence
from farm.measures import Measure

Verdict: TypeAlias = Literal["pass", "fail", "undecided", "error"]
"""An `error` is no judgement: the monitor failed while it ran."""
_SAME = 1e-12
_MOST_DIGITS = 10
NO_NUMBER = "no number of instances would decide it, were the value the same"


@dataclass(frozen=True)
class Asked:
    """A value has to lie on one side of a bound.

    Examples
    --------
    >>> from farm.check.criterion import parse_criterion
    >>> asked = Asked.of(parse_criterion("overall.mcc not worse than baseline:runs/main by 0.02"))
    >>> asked.bound, asked.meets(-0.01), asked.meets(-0.03)
    (-0.02, True, False)
    """

    bound: float
    above: bool
    """Whether it has to lie above."""
    strict: bool
    """Whether the bound itself is not enough."""
    ends: tuple[float, float]
    """The lowest and the highest value there is; a difference has its end at 0, where none was seen."""
    allowed: float | None = None
    """By how much it may be worse than a baseline."""

    @classmethod
    def of(cls, criterion: Criterion) -> Asked:
        """Take it from a criterion."""
        known = criterion.gated
        if criterion.margin is not None:
            bound = -criterion.margin if known.higher_is_better else criterion.margin
            return cls(bound, known.higher_is_better, False, (0.0, 0.0), criterion.margin)
        if criterion.bound is None:
            raise criterion.error("expected a bound, or a baseline and a margin")
        relation = criterion.relation
        ends = (known.lowest, known.highest)
        return cls(criterion.bound, relation in (">=", ">"), relation in (">", "<"), ends)

    def meets(self, value: float) -> bool:
        """Whether a value is as it has to be."""
        if value == self.bound:
            return not self.strict
        return (value > self.bound) == self.above

    def judge(self, found: Evidence) -> tuple[Verdict, int | None, str]:
        """Give the verdict, how many instances would decide it if it is undecided, and the reason."""
        worst, best = (found.low, found.high) if self.above else (found.high, found.low)
        if worst.defined and self.meets(worst.value):
            return "pass", None, self._told(worst, met=True)
        if best.defined and not self.meets(best.value):
            return "fail", None, self._told(best, met=False) + _missed(found)
        reason = self._between(found) + _missed(found)
        if not worst.defined and found.trials is None:
            return "undecided", None, reason
        needed = self._needed(found)
        return "undecided", needed, reason if needed is not None else f"{reason}; {NO_NUMBER}"

    def _needed(self, found: Evidence) -> int | None:
        """Give the number that would decide: exactly by shares, else by how bounds draw near to the value."""
        value = found.value.value
        if found.trials is not None:
            trials = found.trials.needed(found.level)
            if trials is None:
                return None
            needed = math.ceil(trials * found.n / found.trials.n - 1e-9)
        else:
            distance = abs(value - self.bound)
            if distance <= _SAME:
                return None
            half = value - found.low.value if value > self.bound else found.high.value - value
            # A bound draws near with the root of the number, but with the number itself where nothing varies.
            power = 1 if value in self.ends else 2
            needed = math.ceil(found.n * (half / distance) ** power - 1e-9)
        return max(needed, found.n + 1)

    def _told(self, end: Measure, *, met: bool) -> str:
        if self.allowed is not None:
            worse = -end.value if self.above else end.value
            if worse <= 0:
                return f"better by at least {_figure(-worse)}"
            most = "most" if met else "least"
            return f"worse by at {most} {_figure(worse, self.allowed)}, and {self.allowed:g} is allowed"
        most = "least" if self.above == met else "most"
        told = f"at {most} {_figure(end.value, self.bound)}"
        if met:
            return told
        short = ("not above" if self.above else "not below") if end.value == self.bound else self._wrong_side
        return f"{told}, which is {short} {self.bound:g}"

    @property
    def _wrong_side(self) -> str:
        return "below" if self.above else "above"

    def _between(self, found: Evidence) -> str:
        for end in (found.low, found.high):
            if not end.defined:
                return str(end.reason)
        low, high = found.low.value, found.high.value
        if self.allowed is None:
            told = f"between {_figure(low, self.bound)} and {_figure(high, self.bound)}"
            return f"{told}, and {self.bound:g} is within"
        least, most = (-high, -low) if self.above else (low, high)
        told = f"worse by {_figure(least, self.allowed)} to {_figure(most, self.allowed)}"
        return f"{told}, and {self.allowed:g} is allowed"


def _missed(found: Evidence) -> str:
    missed = (found.counts or {}).get("missed", 0)
    return f"; {missed} of {found.n} onsets were missed" if missed else ""


def _figure(value: float, beside: float | None = None) -> str:
    """Write a number with three digits, or as many as it takes to tell it from another."""
    if math.isinf(value):
        return "infinity"
    texts = (f"{value:.{digits}g}" for digits in range(3, _MOST_DIGITS))
    return next((text for text in texts if value == beside or float(text) != beside), repr(value))
