"""Evidence that holds at all moments of a stream together, whoever looks when, and stops why.

What decides is a bet against the criterion and one against its contrary: the chance that either is ever won
wrongly is half of what the level leaves. The other half goes to the bounds of a confidence sequence. That a
criterion is failed holds however the share moves along the stream: it was worse than the bound for a while at
least. That it is met takes for granted that the share stays the same. Where what came later contradicts the
bounds it did not, and nothing is met.

A share of instances that come in tracks is a ratio of sums. It is at most b while a track's hits less b times
its instances are at most 0 in the mean: that is what is bet on, in parts of the longest track.

References
----------
I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal
Statistical Society B 86 (2024).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, StrArray
from farm.gate.criterion import Criterion
from farm.gate.demand import DecisiveMoment, Demand, Evidence, Moments
from farm.gate.observed import counts_of
from farm.gate.selected import Selected
from farm.gate.shares import along_stream
from farm.judging.along_stream import MOVED
from farm.measures import Bounded, Measure, undefined
from farm.statistics.anytime import RateEvidence, RatioSequence, Tracks, repeated_fixed_n

COUNTS_NONE = "no instance that was selected counts for it"


def anytime_evidence(selected: Selected, criterion: Criterion, monitor: str) -> Evidence:
    """Return the evidence on a share along what was selected, one run after the other.

    Instances that share a track are taken together.
    """
    runs, measure, level = [run.table for run in selected.runs], criterion.measure, criterion.level
    each = np.concatenate([along_stream(table, measure, monitor) for table in runs])
    counted = ~np.isnan(each)
    tracks = Tracks(_tracks(selected))
    sizes = tracks.sums(counted.astype(np.float64))
    hits, sizes = tracks.sums(np.where(counted, each, 0.0))[sizes > 0], sizes[sizes > 0]
    is_ood = np.concatenate([table.is_ood for table in runs])[counted]
    longest = int(sizes.max(initial=1.0))
    unit: Literal["track", "instance"] = "track" if longest > 1 else "instance"
    bounded, moments = Bounded.nowhere(undefined(COUNTS_NONE)), None
    if len(sizes):
        demand = Demand.of(criterion)
        bounded, decided = decision_along(hits, sizes, demand, level)
        peeked = None if tracks.alternate else peeking(hits, sizes, demand, level)
        moments = Moments(unit, len(sizes), decided, peeked, tracks.alternate)
    sort, same = "", "the share stays the same along it"
    if longest > 1:
        sort, same = " on the sums of tracks,", f"{same} and no track has more than {longest:,} that count"
    order = "an order by lot, as tracks alternate" if tracks.alternate else "the order of the stream"
    return Evidence(
        bounded.value,
        bounded.low,
        bounded.high,
        level,
        n=int(counted.sum()),
        n_ood=int(is_ood.sum()),
        n_groups=len(sizes),
        sets=selected.set_names,
        method=f"betting{sort} in {order}; at all moments together, where {same}",
        counts=counts_of(selected.sets, measure, monitor),
        grows=False,
        anytime=moments,
    )


def decision_along(
    hits: FloatArray, sizes: FloatArray, demand: Demand, level: float
) -> tuple[Bounded, DecisiveMoment | None]:
    """Return a share with its bounds at the end of a stream, and what was decided first, and when.

    Parameters
    ----------
    hits, sizes
        Of each track, or instance: of how many instances it is true, among those that count.
    demand
        What is asked of the share.
    level
        How sure each bound, and each decision, is by itself.

    Examples
    --------
    >>> from farm.gate.criterion import parse_criterion
    >>> asked = Demand.of(parse_criterion("risk <= 0.05 anytime"))
    >>> bounded, decided = decision_along(np.arange(500) % 50 == 49, np.ones(500), asked, 0.95)
    >>> decided, round(bounded.high.value, 3)
    (DecisiveMoment(passed=True, at=281), 0.042)
    """
    longest = int(sizes.max())
    sequence = RatioSequence(longest, level)  # each end alone strays with half of what the level leaves
    lows, highs = sequence.follow(hits, sizes)
    over = np.clip(demand.bound + (hits - demand.bound * sizes) / longest, 0.0, 1.0)
    above, below = (_refuted(over, demand.bound, level, at_least=side) for side in (False, True))
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


def _refuted(over: FloatArray, bound: float, level: float, *, at_least: bool) -> BoolArray:
    """Say after each value whether a bet has been won against a mean of at most, or at least, the bound."""
    if not 0 < bound < 1:  # no mean is beyond
        return np.zeros(len(over), dtype=np.bool_)
    capital = np.cumsum(RateEvidence(bound, at_least=at_least).add(over))
    return np.asarray(np.maximum.accumulate(capital) >= math.log(2 / (1 - level)))


def _first(passed: bool, holds: BoolArray) -> DecisiveMoment | None:
    return DecisiveMoment(passed, int(np.argmax(holds)) + 1) if holds.any() else None


def peeking(hits: FloatArray, sizes: FloatArray, demand: Demand, level: float) -> DecisiveMoment | None:
    """Return what tests for a fixed number would have decided first, repeated after each track or instance.

    Examples
    --------
    >>> from farm.gate.criterion import parse_criterion
    >>> asked = Demand.of(parse_criterion("risk <= 0.05 anytime"))
    >>> often, never, alone = np.arange(200) % 5 == 0, np.zeros(200), np.ones(200)
    >>> peeking(often, alone, asked, 0.95), peeking(never, alone, asked, 0.95)
    (DecisiveMoment(passed=False, at=6), DecisiveMoment(passed=True, at=59))
    """
    of_tracks = sizes if (sizes > 1).any() else None
    found = [
        DecisiveMoment(demand.above != at_least, at)
        for at_least in (False, True)
        if (at := repeated_fixed_n(hits, demand.bound, level, at_least=at_least, sizes=of_tracks)) is not None
    ]
    return min(found, key=lambda one: one.at, default=None)


def _tracks(selected: Selected) -> StrArray:
    """Name the track of each instance, run by run; one without a track is one of its own.

    Tracks of one name on one workload are one. Instances that stand alone are not: what is run again is new.
    """
    workload = {each.run.number: each.of.workload for each in selected.streams}
    names: list[tuple[object, object]] = []
    for run in selected.runs:
        named = run.table.named_track
        tracks = [None] * len(run.table) if named is None else named.tolist()
        alone = [(run.run.number, place) for place in range(len(tracks))]
        own = workload[run.run.number]
        names += [at if name is None else (own, name) for name, at in zip(tracks, alone, strict=True)]
    return np.array([repr(name) for name in names], dtype=np.str_)
