"""Several promises at once, with one confidence: few false alarms, and little that is wrong and acted upon.

The allowed doubt is halved. With one half, thresholds from the `bounded` one up have few false alarms; the
lowest of them is the safest there is: it alarms most. With the other half it is tested for what is wrong and
yet accepted. Both shares only fall, or only rise, with the threshold, so that to look for it costs nothing
more: if at any threshold too much were wrong, then already at the lowest such one too few of the units would
have been wrong.

The risk, wrong among accepted, is at most r where the hazard, wrong and accepted among all, is at most r
times the share that is accepted; that share is at least `accept` by the first promise.

Where instances share tracks, one random instance of each is a unit.

References
----------
A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan and L. Lei, "Learn then test: calibrating predictive
algorithms to achieve risk control" (2021).
"""

from __future__ import annotations

import math

from farm.api.calibration_data import CalibrationData
from farm.api.guarantee import Promise, What, listed, percent
from farm.api.guarantees import bounded
from farm.api.guarantees.binomial import feared, fewest_if_none, is_small, larger_sample, lowest_rank
from farm.api.guarantees.found import Found, Units, missed, seen_wrong, too_few
from farm.api.thresholds import threshold_at

METHOD = "learn-then-test"


def fewest(accept: float, confidence: float, risk: float | None = None, hazard: float | None = None) -> int:
    """Return how few units can promise it all: none of them wrong, and all accepted.

    Examples
    --------
    >>> fewest(0.95, 0.99, hazard=0.02), fewest(0.95, 0.9, hazard=0.5)
    (263, 59)
    """
    limit, level = _limit(accept, risk, hazard), (1 - confidence) / 2
    return max(fewest_if_none(limit, level), bounded.fewest(accept, 1 - level))


def several(
    data: CalibrationData,
    *,
    accept: float,
    confidence: float,
    risk: float | None = None,
    hazard: float | None = None,
) -> Found:
    """Find the lowest threshold with few false alarms, and test what is wrong below it."""
    units, needed = Units.of(data), fewest(accept, confidence, risk, hazard)
    limit, level = _limit(accept, risk, hazard), (1 - confidence) / 2
    bounds: dict[What, float | None] = {"risk": risk, "residual_hazard": hazard}
    asked = [Promise(what, bound) for what, bound in bounds.items() if bound is not None]
    said = [units.false_alarms(accept), *asked]
    what = f"{listed([one.words for one in said])} with {percent(confidence)} confidence"
    rank, n = lowest_rank(len(units), accept, 1 - level), len(units)
    if rank is None or n < needed:
        raise too_few(METHOD, units.counted, what, needed)
    threshold = threshold_at(units.scores, rank)
    accepted = units.scores <= threshold
    k = int((accepted & units.wrong).sum())
    if not is_small(k, n, limit, level):

        def enough(many: int) -> bool:
            then = lowest_rank(many, accept, 1 - level)
            assert then is not None  # more than fewer that have one
            below = units.scores <= threshold_at(units.scores, math.ceil(then * n / many))
            return is_small(feared(int((below & units.wrong).sum()), n, many), many, limit, level)

        found = f"{seen_wrong(k, n)} and accepted at the lowest threshold with so few false alarms"
        raise missed(METHOD, units.counted, what, found, larger_sample(n, enough))
    shares = {"risk": k / int(accepted.sum()), "residual_hazard": k / n}
    kept = [Promise(one.what, one.at_most, shares[one.what]) for one in asked]
    promises = [units.false_alarms(accept, threshold), *kept]
    return Found(threshold, units.guarantee(promises, confidence, needed))


def _limit(accept: float, risk: float | None, hazard: float | None) -> float:
    """Return how much may be wrong and accepted, of all."""
    return min(accept * risk if risk is not None else 1.0, hazard if hazard is not None else 1.0)
