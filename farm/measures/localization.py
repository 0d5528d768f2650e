"""How well boxes are predicted, and whether the spread that comes with them can be believed.

Boxes are left, top, right, bottom in pixels, a row an instance; coordinates are continuous, so that a box
from 2 to 5 is 3 pixels wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.api.component import check_number
from farm.errors import DataError, ParameterError
from farm.measures.measure import Measure, ratio, undefined, wilson

LEVELS = tuple(number / 10 for number in range(1, 11))
"""The upper ends of ten equal bins. The last holds whatever was predicted, and so lessens an error."""


@dataclass(frozen=True, slots=True)
class Level:
    """How many targets lie below what should be the quantile of that level."""

    level: float
    n: int
    share: Measure
    low: Measure
    high: Measure
    """Wilson's interval of the share."""


def mae(predicted: FloatArray, target: FloatArray) -> Measure:
    """Mean absolute error over all coordinates, in their unit.

    Examples
    --------
    >>> mae(np.array([[0.0, 0.0, 4.0, 4.0]]), np.array([[1.0, 0.0, 4.0, 7.0]])).value
    1.0
    """
    if why := why_not_measured(predicted, target):
        return undefined(why)
    return Measure(float(np.mean(np.abs(predicted - target))))


def iou(predicted: FloatArray, target: FloatArray) -> FloatArray:
    """Intersection over union of each pair of boxes.

    A predicted box without an area, or with its sides swapped, covers nothing: 0. A target without an area
    cannot be found at all, and one with its sides swapped is none: NaN.

    Examples
    --------
    >>> target = np.array([[0.0, 0.0, 4.0, 2.0], [0.0, 0.0, 4.0, 2.0]])
    >>> iou(np.array([[0.0, 0.0, 2.0, 2.0], [4.0, 0.0, 0.0, 2.0]]), target)
    array([0.5, 0. ])
    """
    for what, boxes in (("predicted", predicted), ("target", target)):
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise DataError(f"iou: {what} boxes have shape {boxes.shape}; expected instances x 4")
    _check_shapes(predicted, target)
    known = np.asarray(np.isfinite(np.hstack([predicted, target])).all(axis=1))[:, np.newaxis]
    predicted, target = np.where(known, predicted, 0.0), np.where(known, target, 0.0)
    low = np.maximum(predicted[:, :2], target[:, :2])
    high = np.minimum(predicted[:, 2:], target[:, 2:])
    both, whole = _area(np.hstack([low, high])), _area(target)
    result = np.full(len(target), np.nan)
    np.divide(both, _area(predicted) + whole - both, out=result, where=whole > 0)
    return result


def mean_iou(predicted: FloatArray, target: FloatArray) -> Measure:
    """Mean over instances; undefined where a target has no area.

    Examples
    --------
    >>> mean_iou(np.array([[0.0, 0.0, 1.0, 1.0]]), np.array([[3.0, 3.0, 3.0, 4.0]])).reason
    'the target has no area for 1 of 1 instances'
    """
    each = iou(predicted, target)
    if why := why_not_measured(predicted, target):
        return undefined(why)
    empty = int(np.isnan(each).sum())
    if empty:
        return undefined(f"the target has no area for {empty:,} of {len(each):,} instances")
    return Measure(float(each.mean()))


def gaussian_nll(predicted: FloatArray, spread: FloatArray, target: FloatArray) -> Measure:
    """Negative log-likelihood of the targets if each were normal about its prediction.

    ``0.5 * log(2 * pi * s**2) + (target - predicted)**2 / (2 * s**2)``, averaged over all coordinates, where
    s is the spread, a standard deviation. One spread of 0 leaves the mean undefined.

    Examples
    --------
    >>> one = np.array([[1.0]])
    >>> round(gaussian_nll(one, spread=one, target=one).value, 4)
    0.9189
    """
    if why := why_not_measured(predicted, target, spread):
        return undefined(why)
    return Measure(float(np.mean(gaussian_losses(predicted, spread, target))))


def gaussian_losses(predicted: FloatArray, spread: FloatArray, target: FloatArray) -> FloatArray:
    """Return the same of each coordinate; the spread has to be above 0."""
    standardised = (target - predicted) / spread
    return np.asarray(0.5 * np.log(2 * np.pi) + np.log(spread) + 0.5 * standardised**2)


def quantiles(predicted: FloatArray, spread: FloatArray, target: FloatArray) -> FloatArray:
    """Return at which of its predicted quantiles each target lies.

    Examples
    --------
    >>> quantiles(np.zeros(2), np.ones(2), np.array([0.0, 9.0])).tolist()
    [0.5, 1.0]
    """
    from scipy.special import ndtr  # not before: whoever judges classes alone need not wait for it

    return np.asarray(ndtr((target - predicted) / spread))


def quantile_table(
    predicted: FloatArray,
    spread: FloatArray,
    target: FloatArray,
    *,
    levels: Sequence[float] = LEVELS,
    confidence: float = 0.95,
) -> tuple[Level, ...]:
    """Compare, for one coordinate, predicted quantiles with the share of targets that do lie below them.

    If predictions were normal with the spread they claim, the share would be the level.

    References
    ----------
    V. Kuleshov, N. Fenner and S. Ermon, "Accurate Uncertainties for Deep Learning Using Calibrated
    Regression", ICML 2018.

    Examples
    --------
    >>> target = np.array([-3.0, -0.1, 0.1, 3.0])
    >>> table = quantile_table(np.zeros(4), np.ones(4), target, levels=(0.1, 0.5, 0.9))
    >>> [row.share.value for row in table]
    [0.25, 0.5, 0.75]
    """
    if target.ndim != 1:
        raise DataError(f"quantile_table: targets have shape {target.shape}; expected one coordinate")
    asked = _checked_levels(levels)
    if why := why_not_measured(predicted, target, spread):
        none = undefined(why)
        return tuple(Level(level, len(target), none, none, none) for level in asked.tolist())
    return level_table(quantiles(predicted, spread, target), levels=levels, confidence=confidence)


def level_table(
    lies: FloatArray, *, levels: Sequence[float] = LEVELS, confidence: float = 0.95
) -> tuple[Level, ...]:
    """Return the same where it is known at which of its predicted quantiles each target lies.

    Examples
    --------
    >>> [row.share.value for row in level_table(np.array([0.1, 0.2, 0.6, 0.7]), levels=(0.2, 0.5))]
    [0.5, 0.5]
    """
    asked, n = _checked_levels(levels), len(lies)
    below = _counts_below(lies, asked).tolist()
    return tuple(
        Level(level, n, ratio(k, n, "no instances"), *wilson(k, n, confidence))
        for level, k in zip(asked.tolist(), below, strict=True)
    )


def regression_ece(
    predicted: FloatArray, spread: FloatArray, target: FloatArray, *, levels: Sequence[float] = LEVELS
) -> Measure:
    """Mean gap between levels and shares; of several coordinates (columns) the mean of their gaps.

    Coordinates are not pooled: two that err to opposite sides would look calibrated together.

    Examples
    --------
    >>> never = np.full(4, 9.0)
    >>> round(regression_ece(np.zeros(4), np.ones(4), never, levels=(0.25, 0.75)).value, 4)
    0.5
    """
    return _of_spread(predicted, spread, target, levels, _mean_gap)


def kuleshov_error(
    predicted: FloatArray, spread: FloatArray, target: FloatArray, *, levels: Sequence[float] = LEVELS
) -> Measure:
    """Sum of the squared gaps between levels and shares, each of weight 1: the calibration error of 2018."""
    return _of_spread(predicted, spread, target, levels, lambda gaps: float(np.sum(gaps**2)))


def levels_ece(lies: FloatArray, *, levels: Sequence[float] = LEVELS) -> Measure:
    """Return what `regression_ece` does where it is known at which of its quantiles each target lies.

    Examples
    --------
    >>> levels_ece(np.array([0.1, 0.2, 0.6, 0.7]), levels=(0.2, 0.5)).value
    0.15
    """
    asked = _checked_levels(levels)
    why = why_not_measured(lies, lies)
    return undefined(why) if why else _over_columns(lies, asked, _mean_gap)


def _of_spread(
    predicted: FloatArray,
    spread: FloatArray,
    target: FloatArray,
    levels: Sequence[float],
    reduce: Callable[[FloatArray], float],
) -> Measure:
    asked = _checked_levels(levels)
    if why := why_not_measured(predicted, target, spread):
        return undefined(why)
    return _over_columns(quantiles(predicted, spread, target), asked, reduce)


def _over_columns(lies: FloatArray, asked: FloatArray, reduce: Callable[[FloatArray], float]) -> Measure:
    found = []
    for own in lies.reshape(len(lies), -1).T:
        found.append(reduce(_counts_below(own, asked) / len(own) - asked))
    return Measure(float(np.mean(found)))


def _counts_below(lies: FloatArray, asked: FloatArray) -> IntArray:
    return np.asarray(np.searchsorted(np.sort(lies), asked, side="right"))


def _mean_gap(gaps: FloatArray) -> float:
    return float(np.mean(np.abs(gaps)))


def _checked_levels(levels: Sequence[float]) -> FloatArray:
    if not len(levels):
        raise ParameterError("levels is empty; expected at least one number from 0 to 1")
    for level in levels:
        check_number("levels", level, low=0, high=1)
    return np.asarray(levels, dtype=np.float64)


def why_not_measured(
    predicted: FloatArray, target: FloatArray, spread: FloatArray | None = None
) -> str | None:
    """Say why there is nothing to measure; refuse what cannot be compared.

    Examples
    --------
    >>> why_not_measured(np.zeros((2, 4)), np.array([[0.0, 0.0, 1.0, 1.0], [np.nan] * 4]))
    'a number is missing for 1 of 2 instances'
    """
    given = [predicted, target] if spread is None else [predicted, target, spread]
    _check_shapes(*given)
    n = len(target)
    if target.size == 0:
        return "no instances"
    missing = int((~np.isfinite(given).all(axis=0)).reshape(n, -1).any(axis=1).sum())
    if missing:
        return f"a number is missing for {missing:,} of {n:,} instances"
    if spread is None:
        return None
    if (spread < 0).any():
        raise DataError(f"the least spread is {spread.min():g}; expected standard deviations above 0")
    certain = int((spread == 0).reshape(n, -1).any(axis=1).sum())
    return f"the spread is 0 for {certain:,} of {n:,} instances" if certain else None


def _check_shapes(*arrays: FloatArray) -> None:
    # Broadcasting would compare each with each, and say nothing.
    if len({values.shape for values in arrays}) > 1:
        shapes = " and ".join(str(values.shape) for values in arrays)
        raise DataError(f"arrays have the shapes {shapes}; expected the same")


def _area(boxes: FloatArray) -> FloatArray:
    width = np.maximum(boxes[:, 2] - boxes[:, 0], 0.0)
    height = np.maximum(boxes[:, 3] - boxes[:, 1], 0.0)
    area: FloatArray = width * height
    return area
