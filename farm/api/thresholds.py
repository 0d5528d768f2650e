"""Where a threshold lies among scores: never on one of them where there is room between two."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import FloatArray
from farm.errors import ComponentFailure


def quantile_threshold(scores: FloatArray, accept: float) -> float:
    """Return a threshold at or below which lies at least the share `accept` of the scores.

    Examples
    --------
    >>> quantile_threshold(np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    2.5
    >>> quantile_threshold(np.array([1.0, 2.0, 3.0, 4.0]), 1.0)
    4.0
    """
    # The 1e-9 keeps 0.55 * 100 = 55.00000000000001 from asking for one more.
    return threshold_at(scores, max(int(np.ceil(accept * len(scores) - 1e-9)), 1))


def threshold_at(scores: FloatArray, rank: int) -> float:
    """Return a threshold that accepts the scores up to the one of this rank, the lowest being of rank 1.

    Examples
    --------
    >>> threshold_at(np.array([4.0, 2.0, 1.0]), 2)
    3.0
    """
    return threshold_above(scores, float(np.partition(scores, rank - 1)[rank - 1]))


def threshold_above(scores: FloatArray, value: float) -> float:
    """Return the middle between one of the scores and the next one up, or the score where it is the highest.

    A threshold that equals somebody's score is where decisions flip between machines and batch sizes, since
    floating-point sums differ in their last bits.
    """
    above = scores[scores > value]
    return half_way(value, float(above.min())) if above.size else value


def best_threshold(inliers: FloatArray, outliers: FloatArray) -> tuple[float, float]:
    """Return the threshold that tells two samples apart best, and its balanced accuracy.

    That is the mean of the share of inliers at or below it and the share of outliers above it, so that it
    does not matter which sample is the larger. The threshold is put half-way between neighbouring scores. Of
    several that are equally good it is the highest, which alarms least.

    Examples
    --------
    >>> best_threshold(np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 6.0, 7.0]))
    (4.0, 0.875)
    >>> best_threshold(np.array([1.0, 2.0]), np.array([4.0, 5.0]))
    (3.0, 1.0)
    """
    if not len(inliers) or not len(outliers):
        raise ComponentFailure(
            f"a threshold was to be set between {len(inliers)} inliers and {len(outliers)} outliers; "
            "expected at least one of each"
        )
    values, places = np.unique(np.concatenate([inliers, outliers]), return_inverse=True)
    accepted = np.cumsum(np.bincount(places[: len(inliers)], minlength=len(values)))
    missed = np.cumsum(np.bincount(places[len(inliers) :], minlength=len(values)))
    # In whole numbers, so that what is equally good is equal.
    good = accepted * len(outliers) + (len(outliers) - missed) * len(inliers)
    best = len(good) - 1 - int(good[::-1].argmax())
    value = float(values[best])
    threshold = half_way(value, float(values[best + 1])) if best + 1 < len(values) else value
    return threshold, float(good[best] / (2 * len(inliers) * len(outliers)))


def half_way(value: float, above: float) -> float:
    """Return the middle of two scores, or the lower where there is no number between them.

    Examples
    --------
    >>> half_way(1.0, 2.0)
    1.5
    """
    middle = value + (above - value) / 2
    return middle if middle < above else value
