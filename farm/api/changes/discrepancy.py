"""Maximum mean discrepancy: how far the features in a sliding window are from those of a reference."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from farm.api.arrays import FloatArray
from farm.api.changes.detector import ChangeDetector
from farm.api.component import check_number
from farm.errors import ParameterError

BLOCK = 64
"""So many rows are compared at a time."""


class Discrepancy(ChangeDetector[FloatArray]):
    """The unbiased estimate of the squared discrepancy of a window and a reference.

    It sees any change of the features' distribution, also one that leaves every single row inconspicuous.
    Until the window is full it is 0. The kernel is Gaussian, as wide as the median distance between rows of
    the reference. The time that a row takes is in proportion to the window and the reference, since sums go
    on from row to row.

    Parameters
    ----------
    reference
        Rows of features while all is well.
    window
        How many of the latest rows count.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(400, 3))
    >>> there = Discrepancy(rows[:100], window=50)
    >>> same, other = there.along(rows[100:])[-1], there.along(rows[100:] + 1)[-1]
    >>> bool(abs(same) < 0.02 < other)
    True

    References
    ----------
    A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf, A. Smola, "A kernel two-sample test", JMLR 13 (2012).
    """

    def __init__(self, reference: FloatArray, *, window: int = 50) -> None:
        check_number("window", window, low=2, whole=True)
        if reference.ndim != 2 or len(reference) < 2:
            raise ParameterError(
                f"reference has shape {reference.shape}; expected at least 2 rows of features"
            )
        self._reference, self._window = np.asarray(reference, dtype=np.float64), window
        squares = _squares(self._reference, self._reference)
        pairs = squares[np.triu_indices(len(squares), 1)]
        width = float(np.median(np.sqrt(pairs))) or float(np.sqrt(pairs).mean()) or 1.0
        self._scale = -1 / (2 * width**2)
        self._own = float(np.exp(pairs * self._scale).mean())
        self.forget()

    def follow(self, value: FloatArray) -> float:
        """Return the discrepancy after this row."""
        return float(self._after(np.asarray(value, dtype=np.float64)[None])[0])

    def along(self, values: Iterable[FloatArray], limit: float = math.inf) -> FloatArray:
        """Return the discrepancy after each row, many at a time where it does not restart."""
        if limit < math.inf:
            return super().along(list(values), limit)
        rows = np.asarray(values, dtype=np.float64)
        parts = [self._after(rows[start : start + BLOCK]) for start in range(0, len(rows), BLOCK)]
        return np.concatenate([np.empty(0), *parts])

    def forget(self) -> None:
        """Begin with an empty window."""
        before = self._window - 1
        self._n, self._pairs, self._across = 0, 0.0, 0.0
        self._latest = np.zeros((before, self._reference.shape[1]))
        self._near = np.zeros(self._window)
        """The kernel of each row of the window with the reference."""
        self._lags = np.zeros((before, before))
        """That of each of the latest rows with those before it, by how many rows ago they were."""

    def _after(self, rows: FloatArray) -> FloatArray:
        window, before, n = self._window, self._window - 1, np.arange(len(rows))[:, None]
        past = np.arange(before)
        known = np.concatenate([self._latest, rows])
        near = np.concatenate(
            [self._near, np.exp(_squares(rows, self._reference) * self._scale).mean(axis=1)]
        )
        between = np.exp(_squares(rows, known) * self._scale)
        lags = np.concatenate([self._lags, between[n, before - 1 - past + n]])
        # With the newest row come its pairs, and with the oldest go those that later ones make with it. The
        # zeros that stand before the first row have all gone when the window is full.
        changes = lags[before:].sum(axis=1) - lags[n + past, past].sum(axis=1)
        pairs = self._pairs + np.cumsum(changes)
        across = self._across + np.cumsum(near[window:] - near[: len(rows)])
        filled = self._n + 1 + n[:, 0] >= window
        self._n = min(self._n + len(rows), window)
        if len(rows):
            self._pairs, self._across = float(pairs[-1]), float(across[-1])
            self._latest, self._near, self._lags = known[len(rows) :], near[len(rows) :], lags[len(rows) :]
        found = 2 * pairs / (window * before) + self._own - 2 * across / window
        return np.where(filled, found, 0.0)


def _squares(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Return the squared distance of each row from each of the others."""
    lengths = np.square(rows).sum(axis=1)[:, None] + np.square(others).sum(axis=1)
    squares: FloatArray = np.maximum(lengths - 2 * rows @ others.T, 0.0)
    return squares
