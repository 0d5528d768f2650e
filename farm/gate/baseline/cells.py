"""What changed between two runs, or two campaigns: benchmark set by benchmark set, beyond noise or not.

Each monitor is compared with its former self on the same instances: on which of them cancelling, or not, was
right at one time only? Since there are as many questions as sets and monitors, p is Holm's over all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from farm.comparing.measures import Measured, measured
from farm.comparing.sets import BenchmarkSet, each_once
from farm.errors import DataError
from farm.gate.baseline.baseline import Baseline, before, paired_with
from farm.gate.baseline.difference import right_more_often
from farm.gate.baseline.entry import run_name
from farm.judging import JudgedRun
from farm.measures.measure import Measure, undefined
from farm.statistics.corrections import holm
from farm.statistics.table import Missing

ALPHA = 0.05


@dataclass(frozen=True)
class CellChange:
    """One monitor on one benchmark set, then and now."""

    set: str
    monitor: str
    before: Measure
    now: Measure
    newly_right: int
    """Instances on which the verdict is right now, and was wrong."""
    newly_wrong: int
    p: float
    """Of no change, corrected for all sets and monitors."""

    @property
    def verdict(self) -> str:
        """Say whether its verdicts are more often right than before, and whether that is more than noise."""
        if not self.newly_right and not self.newly_wrong:
            return "the same"
        if self.p >= ALPHA:
            return "within noise"
        return (
            "more often right, surely" if self.newly_right > self.newly_wrong else "less often right, surely"
        )


@dataclass(frozen=True)
class CellChanges:
    """All that changed, and what is on one side only."""

    measure: Measured
    rows: tuple[CellChange, ...]
    """The least likely to be noise first."""
    gone: tuple[str, ...]
    """Runs, and monitors of runs that are on both sides, which only the earlier side has."""
    new: tuple[str, ...]


def cell_changes(
    earlier: Sequence[JudgedRun], later: Sequence[JudgedRun], *, measure: str = "overall.error", seed: int = 0
) -> CellChanges | None:
    """Compare two sides run by run, by their names; None where no run of one has its like in the other.

    A run alone is compared with a run alone, whatever they are called. Raises where two of one name are on
    different streams, or have no monitor in common. What is told is how often verdicts are right: an MCC may
    rise while they are less often right, where mistakes are rare.
    """
    what = measured(measure)
    baseline = Baseline.of_judged(earlier, "the earlier side")
    alone = len(earlier) == len(later) == 1
    known = {one.name for one in baseline.runs}
    both = [run for run in later if alone or run_name(run) in known]
    if not both:
        return None
    rows = [
        _change(one, monitor, what, seed) for one in paired_with(both, baseline) for monitor in _monitors(one)
    ]
    if not rows:
        raise DataError("no monitor is on both sides")
    corrected = holm([row.p for row in rows])
    rows = [replace(row, p=p) for row, p in zip(rows, corrected, strict=True)]
    sides = [{run_name(run): set(run.table.said) for run in side} for side in (earlier, later)]
    if alone:
        sides[0] = dict(zip(sides[1], sides[0].values(), strict=True))
    return CellChanges(
        what,
        tuple(sorted(rows, key=lambda row: row.p)),
        gone=tuple(_only(*sides)),
        new=tuple(_only(*reversed(sides))),
    )


def _only(one: Mapping[str, Collection[str]], other: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Name the runs that one side alone has, and of the others the monitors."""
    for run, monitors in one.items():
        if run not in other:
            yield run
            continue
        if names := sorted(set(monitors) - set(other[run])):
            yield f"{', '.join(names)} in {run}"


def _monitors(one: BenchmarkSet) -> list[str]:
    there = [records.keys() for records in one.records]
    names = dict.fromkeys(name for keys in there for name in keys)
    return [
        name for name in names if all({name, before(name)} <= stream.said.keys() for stream in one.streams)
    ]


def _change(one: BenchmarkSet, monitor: str, measure: Measured, seed: int) -> CellChange:
    streams = [(own.workload, stream, rows) for own, stream, rows in each_once([one])]
    found = right_more_often(streams, measure, monitor, seed)
    then, now = (_value(one, measure, name) for name in (before(monitor), monitor))
    p = found.p.value if found.p.defined else 1.0
    return CellChange(one.name, monitor, then, now, found.first, found.second, p)


def _value(one: BenchmarkSet, measure: Measured, monitor: str) -> Measure:
    cell = one.cell(measure, monitor)
    return undefined(cell.reason) if isinstance(cell, Missing) else cell
