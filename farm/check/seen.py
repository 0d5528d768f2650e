"""What was seen of a selection: a measure's mean over benchmark sets, the counts behind it, and of how many.

A measure of ID instances alone, such as the false alarm rate, is of these and of no others; so are its n and
the number that would decide it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray
from farm.check.measures import GATED, SIDES, Side
from farm.comparison import BenchmarkSet, measured
from farm.comparison.resampled import tabulated
from farm.comparison.sets import Stream
from farm.measures import OVERALL, SPECIFIC, Counts, Measure, accepted_accuracy, auroc, detection, undefined
from farm.oracle import outcomes, tally
from farm.statistics.resampling import FEWEST, Resampling


@dataclass(frozen=True)
class Size:
    """How much a measure is of."""

    n: int
    """Instances; the ID instances that sets of one run share count once."""
    n_ood: int
    n_tracks: int
    too_few: str | None
    """Why there are too few tracks for any bound, if so."""


def mean_over(sets: Sequence[BenchmarkSet], name: str, monitor: str) -> Measure:
    """Give the mean over sets of the mean over their streams, all of which must have a value."""
    means = []
    for one in sets:
        values = [_value(stream, name, monitor) for stream in one.streams]
        if gap := next((value for value in values if not value.defined), None):
            where = f" on {one.name}" if len(sets) > 1 else ""
            return undefined(f"{gap.reason}{where}")
        means.append(sum(value.value for value in values) / len(values))
    return Measure(float(np.mean(means)))


def counts_of(sets: Sequence[BenchmarkSet], name: str, monitor: str) -> Mapping[str, int] | None:
    """Count true and false positives and negatives of the measure's task; None where it is of scores."""
    if name == "auroc":
        return None
    codes = []
    for stream, rows in _once(sets):
        said = stream.said[monitor]
        is_specific = name.startswith("specific.")
        pair = (stream.is_ood, said.alarm) if is_specific else (stream.should_cancel, said.cancelled)
        codes.append(outcomes(*pair)[rows])
    return tally(np.concatenate(codes))


def size_of(sets: Sequence[BenchmarkSet], name: str) -> Size:
    """Say of how many instances and tracks a measure is."""
    side = _side(name)
    n = n_ood = 0
    for stream, once in _once(sets):
        rows = once & _on(stream, side)
        n, n_ood = n + int(rows.sum()), n_ood + int((rows & stream.is_ood).sum())
    tracks = {
        (one.workload, track)
        for one in sets
        for stream in one.streams
        for track in np.unique(stream.track[_on(stream, side)]).tolist()
    }
    return Size(n, n_ood, len(tracks), next(_too_few(sets, side), None))


def _value(stream: Stream, name: str, monitor: str) -> Measure:
    said = stream.said[monitor]
    if name == "auroc":
        return undefined("no scores were given") if said.score is None else auroc(said.score, stream.is_ood)
    table = tabulated(measured(name), stream, [monitor], Resampling(len(stream)))
    if table is None:
        return undefined(f"{name} does not follow from decisions")
    counts = np.sum([side.by_kind.sum(axis=0) for side in table.sides], axis=0)
    task, _, rate = name.rpartition(".")
    if task:
        tn, fp, fn, tp = counts.astype(int).tolist()
        wording = SPECIFIC if task == "specific" else OVERALL
        found: Measure = getattr(detection, rate)(Counts(tp=tp, fp=fp, tn=tn, fn=fn, wording=wording))
        return found
    value = float(table.form(counts))
    # Only this one of the measures of decisions is not a share of all instances.
    return accepted_accuracy(0, 0, len(stream)) if np.isnan(value) else Measure(value)


def _once(sets: Sequence[BenchmarkSet]) -> Iterator[tuple[Stream, BoolArray]]:
    """Give streams and those of their rows that count: a run's ID instances are in all of its sets."""
    known: set[int] = set()
    for one in sets:
        for stream in one.streams:
            yield stream, stream.is_ood if stream.run in known else np.ones(len(stream), dtype=np.bool_)
            known.add(stream.run)


def _side(name: str) -> Side | None:
    """Give the side whose share a measure is; None where it is of both, or of any."""
    asked = [side for side in SIDES if side in GATED[name].needs]
    return asked[0] if len(asked) == 1 else None


def _on(stream: Stream, side: Side | None) -> BoolArray:
    if side is None:
        return np.ones(len(stream), dtype=np.bool_)
    return stream.is_ood if side == "ood" else ~stream.is_ood


def _too_few(sets: Sequence[BenchmarkSet], side: Side | None) -> Iterator[str]:
    for one in sets:
        for stream in one.streams:
            for each in SIDES if side is None else (side,):
                n = len(np.unique(stream.track[_on(stream, each)]))
                if 0 < n < FEWEST:
                    few = f"{n} track{'s' if n > 1 else ''}; a bound needs at least {FEWEST}"
                    yield f"{one.name}: the {each.upper()} instances are of {few}"
