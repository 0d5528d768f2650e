"""Evidence that holds at all moments of a stream together, whoever looks when, and stops why.

What decides is a bet against the criterion and one against its contrary: the chance that either is ever won
wrongly is half of what the level leaves. The other half goes to the bounds of a confidence sequence. That a
criterion is failed holds however the share moves along the stream: it was worse than the bound for a while at
least. That it is met takes for granted that the share stays the same. Where what came later contradicts the
bounds it did not, and nothing is met.

References
----------
I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal
Statistical Society B 86 (2024).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.gate.criterion import Criterion
from farm.gate.demand import Decision, Demand, Evidence, Moments
from farm.gate.observed import counts_of
from farm.gate.selected import Selected
from farm.gate.shares import along_stream
from farm.measures import Bounded, Measure, undefined
from farm.statistics.anytime import BettingSequence, RateEvidence, by_track, repeated_fixed_n

MOVED = "what came later contradicts its bounds, so that it did not stay the same along the stream"
COUNTS_NONE = "no instance that was selected counts for it"


def anytime_evidence(selected: Selected, criterion: Criterion, monitor: str) -> Evidence:
    """Return the evidence on a share along what was selected, one run after the other.

    Instances that share a track count as one value, their own share.
    """
    runs, measure, level = [run.table for run in selected.runs], criterion.measure, criterion.level
    each = np.concatenate([along_stream(table, measure, monitor) for table in runs])
    counted = ~np.isnan(each)
    values, track = each[counted], _tracks(selected)[counted]
    is_ood = np.concatenate([table.is_ood for table in runs])[counted]
    of_tracks = len(np.unique(track)) < len(track)
    units = by_track(values, track) if of_tracks else values
    unit: Literal["track", "instance"] = "track" if of_tracks else "instance"
    bounded, moments = Bounded.nowhere(undefined(COUNTS_NONE)), None
    if len(units):
        demand = Demand.of(criterion)
        bounded, decided = decision_along(units, demand, level)
        moments = Moments(unit, len(units), decided, peeking(units, demand, level))
    sort = " track by track, each by its own share," if of_tracks else ""
    return Evidence(
        bounded.value,
        bounded.low,
        bounded.high,
        level,
        n=len(values),
        n_ood=int(is_ood.sum()),
        n_groups=len(units),
        sets=selected.set_names,
        method=(
            f"betting{sort} in the order of the stream; at all moments together, where the share stays the "
            "same along it"
        ),
        counts=counts_of(selected.sets, measure, monitor),
        grows=False,
        anytime=moments,
    )


def decision_along(values: FloatArray, demand: Demand, level: float) -> tuple[Bounded, Decision | None]:
    """Return a share with its bounds at the end of a stream, and what was decided first, and when.

    Examples
    --------
    >>> from farm.gate.criterion import parse_criterion
    >>> asked = Demand.of(parse_criterion("risk <= 0.05 anytime"))
    >>> bounded, decided = decision_along(np.arange(500) % 50 == 49, asked, 0.95)
    >>> decided, round(bounded.high.value, 3)
    (Decision(passed=True, at=281), 0.042)
    """
    sequence = BettingSequence(level)  # each end alone strays with half of what the level leaves
    lows, highs = sequence.follow(values)
    above, below = (_refuted(values, demand.bound, level, at_least=side) for side in (False, True))
    # The bound itself is one, as soon as a bet against it is won.
    above, below = above | (lows > demand.bound), below | (highs < demand.bound)
    met, failed = (above, below) if demand.above else (below, above)
    low = Measure(max(sequence.low, demand.bound) if above.any() else sequence.low)
    high = Measure(min(sequence.high, demand.bound) if below.any() else sequence.high)
    moved = not low.value <= sequence.mean <= high.value
    decided = _first(False, failed) or (None if moved else _first(True, met))
    if moved:  # what the share is at worst nothing tells
        low, high = (undefined(MOVED), high) if demand.above else (low, undefined(MOVED))
    return Bounded(Measure(sequence.mean), low, high), decided


def _refuted(values: FloatArray, bound: float, level: float, *, at_least: bool) -> BoolArray:
    """Say after each value whether a bet has been won against a mean of at most, or at least, the bound."""
    if not 0 < bound < 1:  # no mean is beyond
        return np.zeros(len(values), dtype=np.bool_)
    capital = np.cumsum(RateEvidence(bound, at_least=at_least).add(values))
    return np.asarray(np.maximum.accumulate(capital) >= math.log(2 / (1 - level)))


def _first(passed: bool, holds: BoolArray) -> Decision | None:
    return Decision(passed, int(np.argmax(holds)) + 1) if holds.any() else None


def peeking(values: FloatArray, demand: Demand, level: float) -> Decision | None:
    """Return what tests for a fixed number of values would have decided first, repeated after each value.

    Examples
    --------
    >>> from farm.gate.criterion import parse_criterion
    >>> asked = Demand.of(parse_criterion("risk <= 0.05 anytime"))
    >>> peeking(np.arange(200) % 5 == 0, asked, 0.95), peeking(np.zeros(200), asked, 0.95)
    (Decision(passed=False, at=6), Decision(passed=True, at=59))
    """
    found = [
        Decision(demand.above != at_least, at)
        for at_least in (False, True)
        if (at := repeated_fixed_n(values, demand.bound, level, at_least=at_least)) is not None
    ]
    return min(found, key=lambda one: one.at, default=None)


def _tracks(selected: Selected) -> IntArray:
    """Number the track of each instance, run by run; one without a track is one of its own.

    Tracks of one name on one workload are one. Instances that stand alone are not: what is run again is new.
    """
    workload = {each.run.number: each.of.workload for each in selected.streams}
    names = []
    for run in selected.runs:
        named = run.table.named_track
        tracks = [None] * len(run.table) if named is None else named.tolist()
        alone = [(run.run.number, place) for place in range(len(tracks))]
        own = workload[run.run.number]
        names += [at if name is None else (own, name) for name, at in zip(tracks, alone, strict=True)]
    places: dict[tuple[object, object], int] = {}
    return np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int64)
