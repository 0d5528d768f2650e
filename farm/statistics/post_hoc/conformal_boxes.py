"""Bands that all four sides of a box lie in as often as was asked.

How surprising a box is, is told by its worst side: the greatest of the four errors, each divided by its
spread where there is one. So a band is as many spreads wide for all sides and instances, and without a
spread as many pixels.

References
----------
J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani and L. Wasserman, "Distribution-Free Predictive Inference for
Regression", Journal of the American Statistical Association 113 (2018). F. de Grancey, J.-L. Adam,
L. Alecu, S. Gerchinovitz, F. Mamalet and D. Vigouroux, "Object Detection with Probabilistic Guarantees: A
Conformal Prediction Approach", SAFECOMP 2022 Workshops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import FloatArray
from farm.errors import DataError
from farm.measures.localization import why_not_measured
from farm.measures.measure import Measure, undefined
from farm.statistics.post_hoc.checks import check_measurable, check_sides
from farm.statistics.post_hoc.conformal import Threshold
from farm.statistics.post_hoc.coverage import LEVEL, CoverageHad

_WHERE = "conformal boxes"


@dataclass(frozen=True, slots=True)
class ConformalBoxes:
    """How far the sides of a box may lie from where they are predicted, as validation data tell.

    All arrays are instances x sides.

    Examples
    --------
    Errors of 0 to 18 pixels on the right side, none elsewhere:

    >>> predicted = np.zeros((19, 4))
    >>> target = predicted + np.arange(19.0)[:, None] * [0, 0, 1, 0]
    >>> fitted = ConformalBoxes.fit(predicted, None, target, 0.9)
    >>> fitted.half_widths(predicted[:1], None).tolist()
    [[17.0, 17.0, 17.0, 17.0]]
    >>> fitted.coverage(predicted + 2, None, target).had.value.value
    1.0
    """

    threshold: Threshold
    sides: int
    by_spread: bool
    """Whether it is in spreads, rather than in pixels."""

    @classmethod
    def fit(
        cls,
        predicted: FloatArray,
        spread: FloatArray | None,
        target: FloatArray,
        coverage: float,
        *,
        track: NDArray[Any] | None = None,
    ) -> ConformalBoxes:
        """Find the threshold.

        Parameters
        ----------
        spread
            A standard deviation for each side; None where there is none.
        coverage
            Which share of new boxes is to lie wholly within its bands.
        track
            What each instance belongs to; None where they are exchangeable.
        """
        check_measurable(predicted, spread, target, _WHERE)
        threshold = Threshold.of(_scores(predicted, spread, target), coverage, track)
        return cls(threshold, predicted.shape[1], spread is not None)

    def half_widths(self, predicted: FloatArray, spread: FloatArray | None) -> FloatArray:
        """Return how far to either side of its prediction each side's band goes.

        That is infinitely far where validation instances are too few for the coverage.
        """
        self._check_like_fitted(predicted, spread)
        check_measurable(predicted, spread, predicted, _WHERE)
        return np.asarray(self.threshold.score * (np.ones_like(predicted) if spread is None else spread))

    def mean_width(self, predicted: FloatArray, spread: FloatArray | None) -> Measure:
        """Return how many pixels a band is wide on the average, over all sides."""
        self._check_like_fitted(predicted, spread)
        why = why_not_measured(predicted, predicted, spread) or self.threshold.why_all
        return undefined(why) if why else Measure(float(2 * self.half_widths(predicted, spread).mean()))

    def coverage(
        self,
        predicted: FloatArray,
        spread: FloatArray | None,
        target: FloatArray,
        *,
        track: NDArray[Any] | None = None,
        level: float = LEVEL,
    ) -> CoverageHad:
        """Return how many boxes lie wholly within their bands; undefined where one has no place or spread."""
        self._check_like_fitted(predicted, spread)
        if why := why_not_measured(predicted, target, spread):
            return CoverageHad.of(np.empty(0, dtype=np.bool_), [self.threshold], why_none=why)
        covered = _scores(predicted, spread, target) <= self.threshold.score
        return CoverageHad.of(covered, [self.threshold], track=track, level=level)

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"unit": "spreads" if self.by_spread else "pixels", "threshold": self.threshold.record()}

    def _check_like_fitted(self, predicted: FloatArray, spread: FloatArray | None) -> None:
        check_sides(predicted, _WHERE, self.sides)
        if self.by_spread != (spread is not None):
            raise DataError(
                f"{_WHERE}: fitted {'with' if self.by_spread else 'without'} a spread; expected the same"
            )


def _scores(predicted: FloatArray, spread: FloatArray | None, target: FloatArray) -> FloatArray:
    away = np.abs(target - predicted)
    return np.asarray((away if spread is None else away / spread).max(axis=1))
