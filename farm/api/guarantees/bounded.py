"""False alarms at most at a rate, with a confidence: the lowest order statistic that accepts enough.

The k-th lowest of n independent scores accepts at least the share `accept` with a chance that is binomial
(`binomial.py`). Half-way to the next score up nothing is accepted less, and scores that are tied are accepted
together, so that both keep the promise.

Where instances share tracks a unit is a track: by one random instance of it, or by its highest score.
"""

from __future__ import annotations

from farm.api.calibration_data import CalibrationData
from farm.api.guarantee import INSTANCE, Unit, percent
from farm.api.guarantees.binomial import lowest_rank, smallest
from farm.api.guarantees.found import Found, Units, too_few
from farm.api.thresholds import threshold_at


def fewest(accept: float, confidence: float) -> int:
    """Return how few units can promise it: the highest of so many scores does, of one less it does not.

    Examples
    --------
    >>> fewest(0.95, 0.99), fewest(0.95, 0.95), fewest(0.9, 0.9)
    (90, 59, 22)
    """
    return smallest(lambda n: lowest_rank(n, accept, confidence) is not None)


def bounded(data: CalibrationData, *, accept: float, confidence: float, event: Unit = INSTANCE) -> Found:
    """Find the lowest threshold that accepts so much with this confidence."""
    units, needed = Units.of(data, event), fewest(accept, confidence)
    rank = lowest_rank(len(units), accept, confidence)
    if rank is None:
        what = f"{units.false_alarms(accept).words} with {percent(confidence)} confidence"
        raise too_few("bounded", units.counted, what, needed)
    threshold = threshold_at(units.scores, rank)
    return Found(threshold, units.guarantee([units.false_alarms(accept, threshold)], confidence, needed))
