"""Runs and their baseline side by side: benchmark sets in which each monitor stands twice, now and before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from farm.baseline.baseline import Baseline
from farm.baseline.identity import along
from farm.comparison.sets import BenchmarkSet, Stream, benchmark_sets
from farm.errors import DataError
from farm.readouts import Readouts


def before(monitor: str) -> str:
    """Give the name under which a monitor's former self stands beside it.

    Examples
    --------
    >>> before("oob")
    'oob (baseline)'
    """
    return f"{monitor} (baseline)"


def paired_sets(runs: Sequence[Readouts], baseline: Baseline) -> list[BenchmarkSet]:
    """Give the runs' benchmark sets, and in each what the baseline said of the same instances.

    `before` gives the name by which it is found there. Predictions may differ: each side is judged against
    the mistakes of its own classifier.
    """
    return side_by_side(*map(benchmark_sets, both_sides(runs, baseline)))


def both_sides(runs: Sequence[Readouts], baseline: Baseline) -> tuple[list[Readouts], list[Readouts]]:
    """Give the runs' readouts and the baseline's, run by run and row by row of the same instances.

    What is selected from the one side and from the other by the same rule is the same.
    """
    own = [replace(run, instances=along(run)) for run in runs]
    return own, [baseline.of_run(run, alone=len(runs) == 1).beside(run) for run in own]


def side_by_side(now: Sequence[BenchmarkSet], then: Sequence[BenchmarkSet]) -> list[BenchmarkSet]:
    """Put the monitors of the baseline's sets, as `before` names them, into the sets of the runs."""
    return [_both(*each) for each in zip(now, then, strict=True)]


def _both(now: BenchmarkSet, then: BenchmarkSet) -> BenchmarkSet:
    records = [
        {**own, **{before(name): record for name, record in other.items()}}
        for own, other in zip(now.records, then.records, strict=True)
    ]
    streams = [_beside(own, other) for own, other in zip(now.streams, then.streams, strict=True)]
    return replace(now, records=records, streams=streams)


def _beside(now: Stream, then: Stream) -> Stream:
    former = {
        before(name): replace(said, should_cancel=then.should_cancel) for name, said in then.said.items()
    }
    if twice := former.keys() & now.said.keys():
        raise DataError(f"monitor '{min(twice)}': a baseline's monitors are called so; expected another name")
    return replace(now, said={**now.said, **former})
