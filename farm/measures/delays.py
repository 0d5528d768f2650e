"""How soon onsets were noticed, counted: of a table of episodes, or one by one while a stream is watched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from farm.api.arrays import FloatArray
from farm.measures.measure import Measure, ratio, undefined

FEWEST_FOR_BOUND = 59
"""From so many onsets on, the longest delay bounds the 95th percentile with 95 % confidence: 0.95^59 is
below 0.05."""


class Outcome(StrEnum):
    """How an onset was noticed by a signal, which is alarms or what was cancelled."""

    FOUND = "found"
    """The first signal at or after the onset is on an OOD instance."""
    STANDING = "standing"
    """The signal was there on the instance before the onset, and still at the onset."""
    ON_ID = "on_id"
    """The first signal was on an ID instance within the episode."""
    AFTER = "after"
    """Missed, but there was a signal on the first instance after the episode."""
    MISSED = "missed"
    OPEN = "open"
    """The stream ended within the episode, and until then there was no signal."""


SHORT_WORDS = {
    Outcome.FOUND: "found",
    Outcome.STANDING: "standing",
    Outcome.ON_ID: "on ID",
    Outcome.AFTER: "after",
    Outcome.MISSED: "missed",
    Outcome.OPEN: "open",
}
"""What people read of them."""
Told: TypeAlias = tuple[Outcome, int]
"""An outcome and instances: until the signal where it is found, until the end where it is open, else 0."""


@dataclass
class Delays:
    """Delays of onsets, in instances; one that was missed is censored: infinite, and not left out.

    A delay of 0 is a signal at the onset itself. What is standing, on an ID instance or open has none.

    Examples
    --------
    >>> found = Delays.of(np.array([0.0, 3.0, np.inf]))
    >>> found.quantile(0.5).value, found.missed, found.in_time(2).value
    (3.0, 1, 0.3333333333333333)
    """

    counts: Counter[Told] = field(default_factory=Counter)

    @classmethod
    def of(cls, delays: FloatArray) -> Delays:
        """Count delays, those of missed onsets being infinite."""
        known, times = np.unique(delays, return_counts=True)
        return cls(
            Counter(
                {
                    (Outcome.MISSED, 0) if np.isinf(delay) else (Outcome.FOUND, int(delay)): int(n)
                    for delay, n in zip(known, times, strict=True)
                }
            )
        )

    @classmethod
    def together(cls, parts: Iterable[Delays]) -> Delays:
        """Put the onsets of several streams into one table."""
        return cls(sum((part.counts for part in parts), Counter()))

    def __getitem__(self, outcome: Outcome) -> int:
        return self.counted(outcome)

    @property
    def onsets(self) -> int:
        """How many onsets there were, whatever came of them."""
        return self.counts.total()

    @property
    def missed(self) -> int:
        """How many of them nobody noticed while they lasted."""
        return self[Outcome.MISSED] + self[Outcome.AFTER]

    @property
    def n(self) -> int:
        """How many onsets have a delay, be it infinite."""
        return self[Outcome.FOUND] + self.missed

    @property
    def without(self) -> int:
        """How many have none though their episode is over: they are standing, or on an ID instance."""
        return self[Outcome.STANDING] + self[Outcome.ON_ID]

    @property
    def by_outcome(self) -> Mapping[str, int]:
        """How many onsets had which outcome; `missed` are all of them, `after` some of these."""
        return {outcome.value: self[outcome] for outcome in Outcome} | {"missed": self.missed}

    @property
    def values(self) -> FloatArray:
        """The delays in rising order, infinite ones last."""
        found = self._found()
        times = [self.counts[Outcome.FOUND, delay] for delay in found]
        return np.append(np.repeat(np.array(found, dtype=np.float64), times), np.full(self.missed, np.inf))

    @property
    def missed_share(self) -> Measure:
        """The share of missed ones among the onsets that have a delay."""
        return ratio(self.missed, self.n, self._why_none())

    def quantile(self, q: float) -> Measure:
        """Return the delay that the share q of the onsets does not exceed."""
        return (
            self._smallest(max(int(np.ceil(q * self.n - 1e-9)), 1)) if self.n else undefined(self._why_none())
        )

    def bound_of_p95(self) -> Measure:
        """Bound the 95th percentile from above, with 95 % confidence, whatever the distribution."""
        if self.n < FEWEST_FOR_BOUND:
            onsets = "1 onset" if self.n == 1 else f"{self.n} onsets"
            return undefined(f"{onsets}; a bound needs at least {FEWEST_FOR_BOUND}")
        # The r-th smallest is a bound if fewer than r of n fall below the percentile with probability 0.95.
        from scipy.special import bdtr  # whose loading takes a fifth of a second

        below = bdtr(np.arange(self.n), self.n, 0.95)
        return self._smallest(min(int(np.searchsorted(below, 0.95)) + 1, self.n))

    def in_time(self, deadline: float) -> Measure:
        """Return the share of onsets found within so many instances."""
        return ratio(*self.in_time_of(deadline), self._why_none())

    def in_time_of(self, deadline: float) -> tuple[int, int]:
        """Return how many onsets were found in time, of how many; an open one counts if it outlasts it."""
        over = self.onsets - self[Outcome.OPEN] + self.open_after(deadline)
        return self.counted(Outcome.FOUND, high=deadline), over

    def open_after(self, instances: float) -> int:
        """Return how many open ones lasted longer than so many instances."""
        return self[Outcome.OPEN] - self.counted(Outcome.OPEN, high=instances)

    def counted(self, outcome: Outcome, low: float = 0, high: float = np.inf) -> int:
        """Return how many onsets had an outcome after so many instances at least and at most."""
        return sum(n for (name, late), n in self.counts.items() if name == outcome and low <= late <= high)

    def aside(self, but: int = 0) -> str:
        """Say how many onsets have no delay, but for some."""
        n = self.onsets - self.n - but
        return f"; {n:,} without a delay (standing, on ID or open)" if n else ""

    def _found(self) -> list[int]:
        return sorted(late for name, late in self.counts if name == Outcome.FOUND)

    def _smallest(self, rank: int) -> Measure:
        for delay in self._found():
            rank -= self.counts[Outcome.FOUND, delay]
            if rank <= 0:
                return Measure(float(delay))
        return undefined(f"{self.missed} of {self.n} onsets were missed")

    def _why_none(self) -> str:
        others = [f"{n:,} {SHORT_WORDS[outcome]}" for outcome in Outcome if (n := self[outcome])]
        return f"no onset has a delay: {', '.join(others)}" if others else "the stream has no onset"
