"""False alarms at most at a rate on average: the threshold that a new score keeps to, whatever its law.

Among n exchangeable scores a new one may have each rank with the same chance. So it is at most the k-th
lowest of the n with a chance of k / (n + 1) or more, which is the coverage asked for where
k = ceil((n + 1) coverage). Where that is more than n, nothing less than everything has this coverage.

With tracks each of these counts the same, its frames a share of it, n is how many tracks there are, and the
promise is of any one frame of a new track. It is an average over validation sets: with a particular one there
may be more false alarms, and with few units many more.

Within groups (the predicted class, or a condition) each has its own threshold, from its own units. A monitor
does not see conditions at work, so that its one threshold is the highest of those of the groups.

References
----------
V. Vovk, A. Gammerman and G. Shafer, "Algorithmic Learning in a Random World" (2005). Y. Lee, R. F. Barber and
R. Willett, "Distribution-free inference with hierarchical data" (2023).
"""

from __future__ import annotations

import math

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.api.calibration_data import CLASS, CalibrationData
from farm.api.guarantee import INSTANCE, TRACK, Guarantee, Promise, Unit
from farm.api.guarantees.found import Found, counted, too_few
from farm.api.thresholds import threshold_above

_ROUNDING = 1e-9
"""Keeps 0.95 * 20 from being more than 19."""


def rank(n: int, coverage: float) -> int:
    """Return the lowest rank, of n + 1 scores, that a new one is at most at with this chance.

    Examples
    --------
    >>> rank(19, 0.95), rank(18, 0.95), rank(100, 0.9)
    (19, 19, 91)
    """
    return math.ceil((n + 1) * coverage - _ROUNDING)


def fewest(accept: float) -> int:
    """Return how many validation instances it takes to cover less than everything, and yet so much.

    Examples
    --------
    >>> fewest(0.5), fewest(0.9), fewest(0.95), fewest(0.99)
    (1, 9, 19, 99)
    """
    return math.ceil(accept / (1 - accept) - _ROUNDING)


def covering(scores: FloatArray, coverage: float, code: IntArray) -> float:
    """Return the lowest of the scores that covers so much of a new unit; infinite where none does.

    Parameters
    ----------
    code
        The number of the unit of each score, from 0 without gaps.

    Examples
    --------
    >>> covering(np.array([1.0, 2.0, 3.0, 4.0]), 0.5, np.array([0, 0, 1, 2]))
    3.0
    """
    sizes = np.bincount(code)
    order = np.argsort(scores, kind="stable")
    below = np.cumsum(1 / sizes[code[order]])
    place = int(np.searchsorted(below, (len(sizes) + 1) * coverage - _ROUNDING))
    return float(scores[order[place]]) if place < len(scores) else math.inf


def conformal(data: CalibrationData, *, accept: float, by: str | None = None) -> Found:
    """Find the threshold, in each group by itself where that is asked for."""
    data, groups = (data, {"": data}) if by is None else data.grouped(by)
    unit: Unit = TRACK if data.shares_tracks else INSTANCE
    needed, promise = fewest(accept), Promise("false_alarms", round(1 - accept, 12))
    least = min(groups, key=lambda name: groups[name].n_tracks)
    if (there := groups[least].n_tracks) < needed:
        n = counted(there, unit) + (f" of {least}" if by else "")
        raise too_few("conformal", n, f"{promise.words} on average", needed)
    thresholds = [_threshold(own, accept) for own in groups.values()]
    highest = max(thresholds)
    each = np.array(thresholds) if by == CLASS else None
    shares = [
        _share_above(own, threshold if by == CLASS else highest)
        for own, threshold in zip(groups.values(), thresholds, strict=True)
    ]
    guarantee = Guarantee(
        (Promise(promise.what, promise.at_most, max(shares)),),
        n=data.n_tracks,
        needed=needed,
        unit=unit,
        by=by,
        seen_in_fit=data.seen_in_fit,
    )
    return Found(highest, guarantee, each)


def _threshold(data: CalibrationData, accept: float) -> float:
    # Half-way to the next score up covers no less.
    return threshold_above(data.scores, covering(data.scores, accept, data.code))


def _share_above(data: CalibrationData, threshold: float) -> float:
    """Return the share of alarms, each track counting the same."""
    weight = 1 / np.bincount(data.code)[data.code]
    return float(weight[data.scores > threshold].sum() / weight.sum())
