"""By how much a monitor's measure differs from its baseline's, and how surely: a paired question.

An interval's ends are bounds as `farm.check.bounds` makes them, of what `farm.baseline.paired_tables` counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from farm.api.arrays import BoolArray, StrArray
from farm.baseline.changed import Task
from farm.baseline.paired_tables import PairedTables
from farm.baseline.pairing import before
from farm.check.bounds import Redrawn, redrawn
from farm.check.measures import GATED, PAIRED
from farm.check.seen import size_of
from farm.check.tables import AUROC
from farm.comparison.measures import Measured
from farm.comparison.sets import BenchmarkSet, Said, Stream
from farm.errors import ExperimentError
from farm.measures import Measure, undefined
from farm.measures.bounded import Bounded
from farm.oracle import outcomes
from farm.statistics.bootstrap import REPLICATES
from farm.statistics.paired import Paired, paired, right
from farm.statistics.table import Missing

Verdict: TypeAlias = Literal[
    "better, surely", "worse, surely", "cannot be told apart", "the same", "cannot be told"
]
_SAME = 1e-12
_OF_SCORES = ("auroc", "aupr", "fpr_at_95_tpr")


@dataclass(frozen=True)
class PairedDifference:
    """One monitor, one measure: the baseline's value, the one now, and now minus baseline."""

    monitor: str
    measure: Measured
    sets: tuple[str, ...]
    """The benchmark sets whose mean it is."""
    baseline: Measure
    now: Measure
    difference: Bounded
    """With the ends of its interval."""
    level: float
    """Two-sided; each end alone holds with half of what is missing to 1."""
    n: int
    """Instances; the ID instances that sets of one run share count once."""
    n_groups: int
    changed: int | None
    """Tracks in which the measure differs; None where it does not follow from what each track adds."""
    right: Paired
    """Now against before: who is right more often, of the measure's task."""

    @property
    def task(self) -> Task:
        """The task that `right` is about."""
        return _task(self.measure)

    @property
    def verdict(self) -> Verdict:
        """Say in words what the interval says."""
        value, low, high = self.difference.value, self.difference.low, self.difference.high
        if not value.defined:
            return "cannot be told"
        if self.changed == 0 and abs(value.value) <= _SAME:
            return "the same"
        if not (low.defined and high.defined):
            return "cannot be told"
        if low.value <= 0 <= high.value:
            return "cannot be told apart"
        return "better, surely" if (low.value > 0) == self.measure.higher_is_better else "worse, surely"


def paired_differences(
    sets: Sequence[BenchmarkSet],
    measure: Measured,
    monitors: Sequence[str],
    *,
    level: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
    values: Mapping[str, Measure] | None = None,
) -> list[PairedDifference]:
    """Compare monitors with their former selves: the mean over sets, in one joint resampling.

    Parameters
    ----------
    sets
        Of `paired_sets`: all of them, or some.
    monitors
        Each has to be there now and in the baseline.
    level
        Of the two-sided interval. For a bound that holds with 95 % on one side alone, ask for 0.9.
    values
        The values of the monitors, and of `before` of each, where they are known; else they are the means of
        what the sets' records say. Records are of whole streams: of a part of them values have to be given.
    """
    if not 0 < level < 1:
        raise ExperimentError(f"--level is {level}; expected a number between 0 and 1")
    if replicates < 1:
        raise ExperimentError(f"--replicates is {replicates}; expected at least 1")
    names = [name for monitor in monitors for name in (monitor, before(monitor))]
    values = {name: _mean(sets, measure, name) if values is None else values[name] for name in names}
    both = [each for each in monitors if values[each].defined and values[before(each)].defined]
    why = _why_not(sets, measure)
    made = None if why else _Made.of(sets, measure, both, replicates=replicates, seed=seed)
    pooled = list(_each_instance_once(sets))
    found = []
    for monitor in monitors:
        now, then = values[monitor], values[before(monitor)]
        difference, changed = _minus(now, then), None
        bounded = Bounded.nowhere(difference)
        if difference.defined and made is None:
            bounded = Bounded(difference, undefined(str(why)), undefined(str(why)))
        elif difference.defined and made is not None:
            bounded, changed = made.bounds(monitor, difference, 0.5 + level / 2), made.changed(monitor)
        found.append(
            PairedDifference(
                monitor=monitor,
                measure=measure,
                sets=tuple(one.name for one in sets),
                baseline=then,
                now=now,
                difference=bounded,
                level=level,
                n=sum(int(rows.sum()) for _, _, rows in pooled),
                n_groups=len({(w, t) for w, s, rows in pooled for t in np.unique(s.track[rows]).tolist()}),
                changed=changed,
                right=_right_more_often(pooled, measure, monitor, level, seed),
            )
        )
    return found


def _mean(sets: Sequence[BenchmarkSet], measure: Measured, monitor: str) -> Measure:
    found = []
    for one in sets:
        cell = one.cell(measure, monitor)
        if isinstance(cell, Missing):
            return undefined(f"{cell.reason} on {one.name}")
        if not cell.defined:
            return undefined(f"{cell.reason} ({one.name})" if len(sets) > 1 else str(cell.reason))
        found.append(cell.value)
    return Measure(float(np.mean(found)))


@dataclass(frozen=True)
class _Made:
    """What was drawn of one measure, for all monitors that have it now and had it before."""

    measure: Measured
    drawn: Redrawn
    tables: Sequence[PairedTables]

    @classmethod
    def of(
        cls,
        sets: Sequence[BenchmarkSet],
        measure: Measured,
        monitors: Sequence[str],
        *,
        replicates: int,
        seed: int,
    ) -> _Made:
        tables: list[PairedTables] = []

        def kept(*given: Any) -> PairedTables:
            tables.append(PairedTables(*given))
            return tables[-1]

        asked = [(measure.name, monitor) for monitor in monitors]
        return cls(
            measure, redrawn(sets, asked, replicates=replicates, seed=seed, tables_of=kept), tuple(tables)
        )

    def bounds(self, monitor: str, difference: Measure, level: float) -> Bounded:
        return self.drawn.bounds((self.measure.name, monitor), difference, level)

    def changed(self, monitor: str) -> int:
        """Count the tracks in which the measure differs."""
        tracks = [each.changed((self.measure.name, monitor)) for each in self.tables]
        return len(np.unique(np.concatenate(tracks)))


def _minus(now: Measure, then: Measure) -> Measure:
    for value, what in ((then, "the baseline"), (now, "now")):
        if not value.defined:
            return undefined(f"{what}: {value.reason}")
    return Measure(now.value - then.value)


def _why_not(sets: Sequence[BenchmarkSet], measure: Measured) -> str | None:
    """Say why there is no interval, if there is none."""
    if GATED[measure.name].kind not in (*PAIRED, AUROC):
        return f"{measure.name} has no interval by resampling"
    return size_of(sets, measure.name).too_few


def _each_instance_once(sets: Sequence[BenchmarkSet]) -> Iterator[tuple[str, Stream, BoolArray]]:
    """Give streams, their workloads, and the rows that count: a run's ID instances are in all its sets."""
    known: set[int] = set()
    for one in sets:
        for stream in one.streams:
            rows = stream.is_ood if stream.run in known else np.ones(len(stream), dtype=np.bool_)
            known.add(stream.run)
            yield one.workload, stream, rows


def _right_more_often(
    pooled: Sequence[tuple[str, Stream, BoolArray]], measure: Measured, monitor: str, level: float, seed: int
) -> Paired:
    now, then, group = [np.empty(0, np.bool_)], [np.empty(0, np.bool_)], [np.empty(0, np.str_)]
    for workload, stream, rows in pooled:
        if {monitor, before(monitor)} <= stream.said.keys():
            now.append(_right(measure, stream, stream.said[monitor])[rows])
            then.append(_right(measure, stream, stream.said[before(monitor)])[rows])
            group.append(_named(workload, stream.track[rows]))
    return paired(
        np.concatenate(now), np.concatenate(then), group=np.concatenate(group), seed=seed, level=level
    )


def _named(workload: str, track: StrArray) -> StrArray:
    """Tell the tracks of two workloads apart."""
    return np.char.add(f"{workload} ", track)


def _task(measure: Measured) -> Task:
    """Say which task a measure is of; scores are about OOD, and what is acted upon is about mistakes."""
    return "specific" if measure.name.startswith("specific.") or measure.name in _OF_SCORES else "overall"


def _right(measure: Measured, stream: Stream, said: Said) -> BoolArray:
    """Say where an alarm was right about OOD, or, of any other task, where cancelling or not was."""
    if _task(measure) == "specific":
        return right(outcomes(stream.is_ood, said.alarm))
    should = stream.should_cancel if said.should_cancel is None else said.should_cancel
    return right(outcomes(should, said.cancelled))
