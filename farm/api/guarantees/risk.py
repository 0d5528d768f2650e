"""The share of wrong decisions among the accepted ones at most at a rate, with a confidence.

Let u be the j-th lowest score. Given u, the M units below it are independent draws of those that score below
u, so that how many of them are wrong is binomial with just the risk of accepting what scores below u. If so
few are wrong that this would be rare at a risk above the one asked for, the threshold below u is certified.
Several ranks are tried, chosen by the number of units alone, each at its part of the allowed doubt, so that
trying them is paid for; of those that are certified the highest is taken, which accepts most.

The threshold is the last number below u: half-way to the score below it would leave out, in between, what
the count was about. Where instances share tracks, one random instance of each is a unit: simple and exact.

References
----------
Y. Geifman and R. El-Yaniv, "Selective classification for deep neural networks" (NeurIPS 2017).
"""

from __future__ import annotations

import math

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.api.calibration_data import CalibrationData
from farm.api.guarantee import Promise, percent
from farm.api.guarantees.binomial import feared, fewest_if_none, is_small, larger_sample
from farm.api.guarantees.found import Found, Units, missed, seen_wrong, too_few

RANKS = 10
"""So many thresholds are tried at most: fewer where the units are too few for as many."""


def fewest(risk: float, confidence: float) -> int:
    """Return how few units can promise it: all but the highest accepted, and none of these wrong.

    Examples
    --------
    >>> fewest(0.02, 0.9), fewest(0.05, 0.99)
    (115, 91)
    """
    return 1 + fewest_if_none(risk, 1 - confidence)


def ranks(n: int, risk: float, confidence: float) -> IntArray:
    """Return the ranks that are tried, evenly from the lowest that could be certified to the highest score's.

    They are a tenth of the units apart or more, since each that is tried makes the others harder.

    Examples
    --------
    >>> ranks(1000, 0.05, 0.9).tolist()
    [91, 192, 293, 394, 495, 596, 697, 798, 899, 1000]
    >>> ranks(100, 0.05, 0.9).tolist(), ranks(45, 0.05, 0.9).tolist()
    ([68, 84, 100], [])
    """
    for tried in range(RANKS, 0, -1):
        first = 1 + fewest_if_none(risk, (1 - confidence) / tried)
        if first + (tried - 1) * n / RANKS <= n:
            return np.linspace(first, n, tried).round().astype(np.int64)
    return np.empty(0, np.int64)


def selective(data: CalibrationData, *, risk: float, confidence: float) -> Found:
    """Find the highest threshold below which so few decisions are wrong, with this confidence."""
    units, needed, promise = Units.of(data), fewest(risk, confidence), Promise("risk", risk)
    tried = ranks(len(units), risk, confidence)
    what = f"{promise.words} with {percent(confidence)} confidence"
    if not len(tried):
        raise too_few("risk", units.counted, what, needed)
    order = np.argsort(units.scores, kind="stable")
    ordered, wrong = units.scores[order], np.append(0, np.cumsum(units.wrong[order]))
    level = (1 - confidence) / len(tried)
    counts = _counts(ordered, wrong, tried)
    certified = [place for place, (k, m) in enumerate(counts) if is_small(k, m, risk, level)]
    if not certified:
        n = len(units)

        def enough(many: int) -> bool:
            then = ranks(many, risk, confidence)
            alike = _counts(ordered, wrong, np.ceil(then * n / many).astype(np.int64))
            level = (1 - confidence) / len(then)
            return any(is_small(feared(k, n, many), m * many // n, risk, level) for k, m in alike)

        # What came nearest: of several, what was seen most of.
        k, m = min(counts, key=lambda one: (one[0] / one[1] if one[1] else math.inf, -one[1]))
        found = (
            seen_wrong(k, m, " accepted")
            if m
            else f"no threshold that is tried accepts any, since the {tried[-1]:,} lowest scores are the same"
        )
        raise missed("risk", units.counted, what, found, larger_sample(n, enough))
    best = certified[-1]
    k, m = counts[best]
    threshold = float(np.nextafter(ordered[tried[best] - 1], -np.inf))
    return Found(threshold, units.guarantee([Promise("risk", risk, k / m)], confidence, needed))


def _counts(ordered: FloatArray, wrong: IntArray, tried: IntArray) -> list[tuple[int, int]]:
    """Return how many are wrong, and how many there are, below the score of each rank."""
    below = np.searchsorted(ordered, ordered[tried - 1], side="left")
    return [(int(wrong[m]), int(m)) for m in below]
