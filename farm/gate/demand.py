"""What a criterion asks of a value, and what evidence says to that: met, failed, or what it would take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

from farm.gate.binomial import Trials
from farm.gate.criterion import Criterion
from farm.measures import Measure

CriterionOutcome: TypeAlias = Literal["pass", "fail", "undecided", "error"]
"""An `error` is no judgement: the monitor failed while it ran."""
_SAME = 1e-12
_MOST_DIGITS = 10
POWER = 0.8
"""The chance with which the number of instances that is told decides, unless asked otherwise."""
NO_NUMBER = "no number of instances would decide it, were the value the same"


@dataclass(frozen=True)
class DecisiveMoment:
    """That it was decided, how, and after how many instances or tracks."""

    passed: bool
    at: int

    def __str__(self) -> str:
        return "passed" if self.passed else "failed"


@dataclass(frozen=True)
class Moments:
    """When bounds along a stream decided for the first time, and when tests that promise nothing would have.

    Examples
    --------
    >>> print(Moments("instance", 2000, DecisiveMoment(True, 812), DecisiveMoment(False, 37)))
    passed at instance 812 of 2,000; peeking would have failed it at instance 37
    """

    unit: Literal["instance", "track"]
    n: int
    decided: DecisiveMoment | None
    peeked: DecisiveMoment | None
    """What came first of tests for a fixed number of instances, repeated after each of them."""
    by_lot: bool = False
    """Whether tracks alternate, so that they were taken in an order by lot and there are no moments."""

    def says(self, *, passed: bool) -> bool:
        """Whether it was decided so."""
        return self.decided is not None and self.decided.passed == passed

    def __str__(self) -> str:
        if self.by_lot:
            return "tracks alternate: taken in an order by lot"
        of_all = f"{self.unit} {{at:,}} of {self.n:,}"
        told = []
        if self.decided is not None:
            told.append(f"{self.decided} at {of_all.format(at=self.decided.at)}")
        if self.peeked is not None:
            place = f"{self.unit} {self.peeked.at:,}" if self.decided else of_all.format(at=self.peeked.at)
            told.append(f"peeking would have {self.peeked} it at {place}")
        return "; ".join(told)


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on: a value, and how low and how high it may be, each at the level asked for."""

    value: Measure
    low: Measure
    """A one-sided bound: it is no lower, at the level."""
    high: Measure
    level: float
    n: int
    """Of how many instances it is; of how many onsets, where these are what is counted."""
    n_ood: int | None
    """None where ID and OOD instances are not known apart."""
    n_groups: int
    """How many of them count as independent: tracks, or measurements of a time."""
    sets: tuple[str, ...]
    method: str
    """How the bounds are made, and what is taken for granted."""
    counts: Mapping[str, int] | None = None
    trials: Trials | None = None
    """The same asked as a question about a share, where it is one."""
    beside: float = 0.0
    """Which share of the variance is of a reference, that more instances do not lessen."""
    grows: bool = True
    """Whether it is known how more instances would draw the bounds near, so that a number can be told."""
    anytime: Moments | None = None
    """When it was decided, of bounds that hold at all moments together."""


@dataclass(frozen=True)
class Demand:
    """A value has to lie on one side of a bound.

    Examples
    --------
    >>> from farm.gate.criterion import parse_criterion
    >>> asked = Demand.of(parse_criterion("overall.mcc not worse than baseline:runs/main by 0.02"))
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
    def of(cls, criterion: Criterion) -> Demand:
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

    def judge(self, evidence: Evidence, power: float = POWER) -> tuple[CriterionOutcome, int | None, str]:
        """Return the verdict, how many instances would decide it if it is undecided, and the reason.

        They would with the chance `power`, were the true value the one that was seen.
        """
        low, high = evidence.low, evidence.high
        worst, best = (low, high) if self.above else (high, low)
        missed = (evidence.counts or {}).get("missed", 0)
        also = f"; {missed} of {evidence.n} onsets were missed" if missed else ""
        met, failed = worst.defined and self.meets(worst.value), best.defined and not self.meets(best.value)
        if (moments := evidence.anytime) is not None:
            also = f"; {moments}" if str(moments) else ""
            met, failed = moments.says(passed=True), moments.says(passed=False)
        if met:
            return "pass", None, self._decided(worst, met=True) + (also if moments else "")
        if failed:
            value = evidence.value.value
            strayed = moments is not None and (value > high.value if self.above else value < low.value)
            return "fail", None, self._decided(best, met=False, strayed=strayed) + also
        reason = self._undecided(low, high) + also
        if not evidence.grows or (not worst.defined and evidence.trials is None):
            return "undecided", None, reason
        needed = self._needed(evidence, power)
        if needed is None:
            reason += f"; {NO_NUMBER}{', beside so small a reference' if evidence.beside else ''}"
        return "undecided", needed, reason

    def _needed(self, evidence: Evidence, power: float) -> int | None:
        """Return the number that would decide: exact of shares, else by how bounds draw near to the value."""
        value, n = evidence.value.value, evidence.n
        if evidence.trials is not None:
            trials = evidence.trials.needed(evidence.level, power)
            if trials is None:
                return None
            needed = math.ceil(trials * n / evidence.trials.n - 1e-9)
        else:
            distance = abs(value - self.bound)
            if distance <= _SAME:
                return None
            half = value - evidence.low.value if value > self.bound else evidence.high.value - value
            if value in self.ends:  # nothing varies: the bound draws near with the number itself
                times = half / distance
            else:  # with its root; and the value varies as the bound's distance tells
                z, more = NormalDist().inv_cdf(evidence.level), NormalDist().inv_cdf(power)
                allowed = (distance / (half * (1 + more / z))) ** 2 - evidence.beside
                if allowed <= 0:
                    return None
                times = (1 - evidence.beside) / allowed
            needed = math.ceil(n * times - 1e-9)
        return max(needed, n + 1)

    def _decided(self, end: Measure, *, met: bool, strayed: bool = False) -> str:
        """Say how good or bad the value surely is, or was before it strayed."""
        if self.allowed is not None:
            worse = -end.value if self.above else end.value
            if worse <= 0:
                return f"better by at least {_figure(-worse)}"
            most = "most" if met else "least"
            return f"worse by at {most} {_figure(worse, self.allowed)}, and {self.allowed:g} is allowed"
        at = f"at {'least' if self.above == met else 'most'} {_figure(end.value, self.bound)}"
        if met:
            return at
        at = f"it was {at} for a while" if strayed else at
        short, beyond = ("not above", "below") if self.above else ("not below", "above")
        return f"{at}, which is {short if end.value == self.bound else beyond} {self.bound:g}"

    def _undecided(self, low: Measure, high: Measure) -> str:
        """Say between which ends the value may be, or why there are none."""
        for end in (low, high):
            if not end.defined:
                return str(end.reason)
        if self.allowed is None:
            least, most = (_figure(end.value, self.bound) for end in (low, high))
            return f"between {least} and {most}, and {self.bound:g} is within"
        worse = (-high.value, -low.value) if self.above else (low.value, high.value)
        least, most = (_figure(each, self.allowed) for each in worse)
        return f"worse by {least} to {most}, and {self.allowed:g} is allowed"


def _figure(value: float, beside: float | None = None) -> str:
    """Write a number with three digits, or as many as it takes to tell it from another."""
    if math.isinf(value):
        return "infinity"
    texts = (f"{value:.{digits}g}" for digits in range(3, _MOST_DIGITS))
    return next((text for text in texts if value == beside or float(text) != beside), repr(value))
