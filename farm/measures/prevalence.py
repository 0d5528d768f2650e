"""What a monitor's rates would mean at another share of OOD instances, or of decisions to be cancelled.

A benchmark set often has as many OOD as ID instances; on a road they are rare. FPR and FNR carry over as long
as faults and images stay of the same kind, and with a share of positives they fix every other measure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from farm.api.arrays import FloatArray
from farm.errors import ParameterError
from farm.measures import many
from farm.measures.detection import Counts, rates
from farm.measures.measure import Bounded, Measure, defined_or, undefined

_UP, _DOWN = 1, -1
# How each measure moves when FPR rises, and when FNR rises: so its extremes lie in two known corners.
_FORMS: dict[str, tuple[Callable[[FloatArray], FloatArray], int, int]] = {
    "mcc": (many.mcc, _DOWN, _DOWN),
    "precision": (many.precision, _DOWN, _DOWN),
    "f1": (many.f1, _DOWN, _DOWN),
    "error": (many.error, _UP, _UP),
    "alarm_rate": (many.flagged, _UP, _DOWN),
}


@dataclass(frozen=True)
class AtPrevalence:
    """One monitor's measures at one share of positives."""

    prevalence: float
    fpr: Bounded
    fnr: Bounded
    mcc: Bounded
    precision: Bounded
    f1: Bounded
    error: Bounded
    alarm_rate: Bounded


def at_prevalence(
    counts: Counts,
    prevalences: Sequence[float],
    level: float = 0.95,
    *,
    rates_at: Callable[[float], tuple[Bounded, Bounded]] | None = None,
) -> list[AtPrevalence]:
    """Re-weight the measures of one task to stated shares of positives.

    Positives are OOD instances in the specific task, decisions that should be cancelled in the overall one.
    FPR and FNR have Wilson's intervals unless others are given. What follows from both moves one way with
    each of them, so its ends lie in corners of a rectangle; FPR and FNR come of different instances, hence
    are independent, and the root of the level for each side gives the rectangle the level asked for. Such an
    interval is rather too wide than too narrow.

    Parameters
    ----------
    counts
        What was seen, at whatever share the stream had.
    prevalences
        The shares of positives to re-weight to, from 0 to 1.
    rates_at
        FPR and FNR with intervals of a level. By default Wilson's: as instances in tracks are not independent
        of each other, they need others.

    Examples
    --------
    >>> half, rare = at_prevalence(Counts(tp=90, fp=5, tn=95, fn=10), [0.5, 0.001])
    >>> round(half.precision.value.value, 3), round(rare.precision.value.value, 3)
    (0.947, 0.018)
    >>> round(rare.precision.low.value, 3), round(rare.precision.high.value, 3)
    (0.007, 0.047)
    """
    # Wilson's interval checks this too, but after a root has made something else of it.
    if not 0 < level < 1:
        raise ParameterError(f"at_prevalence: level = {level}; expected a number between 0 and 1")
    shares = np.asarray(prevalences, dtype=np.float64)
    for bad in shares[~((shares >= 0) & (shares <= 1))].tolist():
        raise ParameterError(f"at_prevalence: prevalence = {bad}; expected a share from 0 to 1")
    rates_at = rates_at or partial(rates, counts)
    fpr, fnr = rates_at(level)
    box = rates_at(math.sqrt(level))
    why_no_end = next((end.reason for rate in box for end in (rate.low, rate.high) if not end.defined), None)
    found: dict[str, FloatArray] = {}
    for name, (form, *ways) in _FORMS.items():
        low = [_end(rate, -way) for rate, way in zip(box, ways, strict=True)]
        high = [_end(rate, way) for rate, way in zip(box, ways, strict=True)]
        corners = ([fpr.value, fnr.value], low, high)
        found[name] = np.stack([form(_matrices(shares, *corner)) for corner in corners], axis=-1)
    return [
        AtPrevalence(
            prevalence,
            fpr,
            fnr,
            **{
                name: _bounded(ends[i].tolist(), _why(counts, name, prevalence), str(why_no_end))
                for name, ends in found.items()
            },
        )
        for i, prevalence in enumerate(shares.tolist())
    ]


def _end(rate: Bounded, way: int) -> Measure:
    return rate.high if way == _UP else rate.low


def _matrices(shares: FloatArray, fpr: Measure, fnr: Measure) -> FloatArray:
    """Return each share's confusion matrix; the rate of an absent side does not count."""
    false_alarms = np.where(shares == 1, 0.0, fpr.value)
    missed = np.where(shares == 0, 0.0, fnr.value)
    negative = 1 - shares
    return np.stack(
        [negative * (1 - false_alarms), negative * false_alarms, shares * missed, shares * (1 - missed)],
        axis=-1,
    )


def _bounded(ends: list[float], why: str, why_no_end: str) -> Bounded:
    if math.isnan(ends[0]):
        return Bounded.nowhere(undefined(why))
    value, *others = ends
    return Bounded(Measure(value), *(defined_or(end, why_no_end) for end in others))


def _why(counts: Counts, name: str, prevalence: float) -> str:
    """Say why a measure is undefined at a share, if it is."""
    if counts.positive == counts.n and prevalence < 1:
        return counts.each(counts.wording.positive)
    if counts.positive == 0 and prevalence > 0:
        return counts.none(counts.wording.positive)
    if 0 < prevalence < 1:
        return (counts.each if counts.flagged else counts.none)(counts.wording.flagged)
    whom = "each" if prevalence else "none"
    return f"at a share of {prevalence:g}, " + (
        f"{whom} {counts.wording.positive}" if name == "mcc" else f"none {counts.wording.flagged}"
    )
