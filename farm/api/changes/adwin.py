"""ADWIN: a window that is as long as its values are of one mean."""

from __future__ import annotations

import math
from collections.abc import Iterable

from farm.api.changes.detector import DIRECTIONS, ChangeDetector
from farm.api.component import check_choice, check_number

Bucket = tuple[float, float]
"""The sum of its values, and the sum of their squared distances from their mean."""
LOWEST = -math.log(2 * math.log(2**60))
"""No statistic is lower, in windows of up to so many values: the newer part is as the older."""


class Adwin(ChangeDetector[float]):
    """Compares the older with the newer part of a window, at every cut, and drops what no longer belongs.

    The window is an exponential histogram: row i has buckets of 2 to the i values each, so that memory and
    time grow with the logarithm of the window. The statistic is log(1/delta) for the smallest delta at which
    some cut would be found; alarms at `delta` are those above log(1/delta). Below 0 it promises nothing, but
    still tells much from less. It is as it was at the latest look, of which there is one in `clock` values.
    After a look the oldest bucket is dropped for as long as a cut is found at `delta`.

    Parameters
    ----------
    delta
        At which cuts the window is shortened.
    clock
        How often it looks: at each so many-th value.
    buckets
        A row with more than that joins its two oldest.
    fewest
        Parts with fewer values are not compared.
    grace
        It looks only when there are more values than that.
    direction
        Whether a rise counts, a fall, or both. Either shortens the window.

    Examples
    --------
    >>> statistic = Adwin().along([0.0] * 64 + [1.0] * 64)
    >>> int((statistic > math.log(1 / 0.002)).argmax())
    95

    References
    ----------
    A. Bifet, R. Gavaldà, "Learning from time-changing data with adaptive windowing", SDM 2007 (ADWIN2, with
    the variance of the window). Defaults are those of river.
    """

    def __init__(
        self,
        *,
        delta: float = 0.002,
        clock: int = 32,
        buckets: int = 5,
        fewest: int = 5,
        grace: int = 10,
        direction: str = "up",
    ) -> None:
        check_number("delta", delta, above=0, high=1)
        for name, value in (("clock", clock), ("buckets", buckets), ("fewest", fewest)):
            check_number(name, value, low=1, whole=True)
        check_number("grace", grace, low=1, whole=True)
        check_choice("direction", direction, DIRECTIONS)
        self._limit = math.log(1 / delta)
        self._clock, self._buckets, self._fewest, self._grace = clock, buckets, fewest, grace
        self._direction = direction
        self.forget()

    _n: int
    _tick: int

    @property
    def width(self) -> int:
        """How many values the window has."""
        return self._n

    def follow(self, value: float) -> float:
        """Return the statistic of the latest look."""
        self._tick += 1
        self._add(value)
        if self._tick % self._clock == 0 and self._n > self._grace:
            surest, self._statistic = self._looked()
            while surest > self._limit:
                self._drop()
                surest, _ = self._looked()
        return self._statistic

    def learn(self, values: Iterable[float]) -> None:
        """Begin with these in the window; no cut among them is a change."""
        for value in values:
            self._add(value)
        self._learned = self._n

    def forget(self) -> None:
        """Begin with an empty window."""
        self._learned = 0
        self._rows: list[list[Bucket]] = [[]]
        self._n, self._total, self._squares = 0, 0.0, 0.0
        self._tick, self._statistic = 0, LOWEST

    def _add(self, value: float) -> None:
        if self._n:
            self._squares += self._n * (value - self._total / self._n) ** 2 / (self._n + 1)
        self._n += 1
        self._total += value
        self._rows[0].append((value, 0.0))
        size = 1
        for i, row in enumerate(self._rows):
            if len(row) <= self._buckets:
                break
            if i + 1 == len(self._rows):
                self._rows.append([])
            (a, own_a), (b, own_b) = row[:2]
            del row[:2]
            self._rows[i + 1].append((a + b, own_a + own_b + (a - b) ** 2 / (2 * size)))
            size *= 2

    def _drop(self) -> None:
        """Drop the oldest bucket."""
        size = 2 ** (len(self._rows) - 1)
        total, squares = self._rows[-1].pop(0)
        self._n -= size
        self._learned = max(self._learned - size, 0)
        self._total -= total
        apart = total / size - self._total / self._n
        self._squares -= squares + size * self._n / (size + self._n) * apart**2
        while len(self._rows) > 1 and not self._rows[-1]:
            self._rows.pop()

    def _looked(self) -> tuple[float, float]:
        """Return the surest of all cuts, and of those in the direction that counts; in the order of time."""
        surest = counts = LOWEST
        fewest = self._fewest
        if self._n < 2 * fewest:
            return surest, counts
        spread = 2 * max(self._squares, 0.0) / self._n
        older, total = 0, 0.0
        logs = math.log(2 * math.log(self._n))
        for i in range(len(self._rows) - 1, -1, -1):
            for own, _ in self._rows[i]:
                older += 2**i
                total += own
                newer = self._n - older
                if newer < fewest:
                    return surest, counts
                if older < max(fewest, self._learned):
                    continue
                apart = (self._total - total) / newer - total / older
                share = 1 / (older - fewest + 1) + 1 / (newer - fewest + 1)
                # apart = sqrt(share * spread * x) + 2/3 * share * x, solved for x = log(2 log(n) / delta)
                half = math.sqrt(share * spread)
                root = (math.sqrt(half * half + 8 / 3 * share * abs(apart)) - half) / (4 / 3 * share)
                found = root * root - logs
                surest = max(surest, found)
                if self._direction == "both" or (apart > 0) == (self._direction == "up"):
                    counts = max(counts, found)
        return surest, counts
