"""Quantiles of boxes that hold for validation data, whatever the spread says.

A target's *level* is the share of its predicted distribution that lies below it: of a normal one
Phi((target - predicted) / spread). Recalibrated, it is the share of validation targets whose level is no
higher, side by side, and between two of them what lies between their shares. Such shares rise with the level
as they are, so that the isotonic regression with which this is published returns the same ones: it adds
nothing, and is not run.

Two things differ from what is published. Shares are of n + 1 targets, the new one among them, and not of n:
then a new one of the same kind lies below its quantile of level p as often as p says, and otherwise too often
by up to 1 / n. And errors are kept in units of their spread, not as levels: in double precision these are
all 1 from 8.3 spreads on, where the targets of overconfident networks lie.

References
----------
V. Kuleshov, N. Fenner and S. Ermon, "Accurate Uncertainties for Deep Learning Using Calibrated Regression",
ICML 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from farm.api.arrays import FloatArray
from farm.api.component import check_number
from farm.measures.localization import LEVELS, levels_ece, why_not_measured
from farm.measures.measure import Measure, undefined
from farm.statistics.post_hoc.checks import check_measurable

_WHERE = "box quantiles"


@dataclass(frozen=True, eq=False)
class BoxQuantiles:
    """The errors of validation data in units of their spread, each side by itself.

    All arrays are instances x sides. Frames of one track count like any others.

    Examples
    --------
    A spread of 1 where errors go up to 4:

    >>> nowhere, spread, target = np.zeros((9, 1)), np.ones((9, 1)), np.arange(-4.0, 5.0)[:, None]
    >>> fitted = BoxQuantiles.fit(nowhere, spread, target)
    >>> fitted.levels(nowhere, spread, target).ravel().tolist()
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    >>> [fitted.quantiles(np.array([[7.0]]), np.array([[2.0]]), level).item() for level in (0.1, 0.5, 0.95)]
    [-1.0, 7.0, inf]
    """

    errors: FloatArray
    """A row a side, in rising order."""

    @classmethod
    def fit(cls, predicted: FloatArray, spread: FloatArray, target: FloatArray) -> BoxQuantiles:
        """Take the errors of validation data."""
        return cls(np.sort(_in_spreads(predicted, spread, target), axis=0).T)

    @property
    def n(self) -> int:
        """How many validation instances there were."""
        return len(self.errors.T)

    @property
    def shares(self) -> FloatArray:
        """The recalibrated levels of the validation targets of each side, in rising order."""
        return np.arange(1, self.n + 1) / (self.n + 1)

    def levels(self, predicted: FloatArray, spread: FloatArray, target: FloatArray) -> FloatArray:
        """Return at which of its recalibrated quantiles each target lies: 0 or 1 beyond all that was seen."""
        new = _in_spreads(predicted, spread, target, len(self.errors))
        found = []
        for seen, errors in zip(self.errors, new.T, strict=True):
            values = np.unique(seen)
            shares = np.searchsorted(seen, values, side="right") / (self.n + 1)
            found.append(np.interp(errors, values, shares, left=0.0, right=1.0))
        return np.column_stack(found)

    def quantiles(self, predicted: FloatArray, spread: FloatArray, level: float) -> FloatArray:
        """Return where each side's quantile of a level lies.

        It is infinitely far away where validation instances are too few for a level so near 0 or 1.
        """
        check_number(f"{_WHERE}: level", level, low=0, high=1)
        check_measurable(predicted, spread, predicted, _WHERE, len(self.errors))
        away = [np.interp(level, self.shares, seen, left=-np.inf, right=np.inf) for seen in self.errors]
        return np.asarray(predicted + spread * np.array(away))

    def ece(
        self,
        predicted: FloatArray,
        spread: FloatArray,
        target: FloatArray,
        *,
        levels: Sequence[float] = LEVELS,
    ) -> Measure:
        """Return `farm.measures.localization.regression_ece` with recalibrated levels.

        On the validation data themselves it is next to 0, whatever the network.
        """
        if why := why_not_measured(predicted, target, spread):
            return undefined(why)
        return levels_ece(self.levels(predicted, spread, target), levels=levels)

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"errors": self.errors.tolist(), "n": self.n}


def _in_spreads(
    predicted: FloatArray, spread: FloatArray, target: FloatArray, sides: int | None = None
) -> FloatArray:
    check_measurable(predicted, spread, target, _WHERE, sides)
    return np.asarray((target - predicted) / spread)
