"""By how much a monitor's measure differs from its baseline's, and how surely: a paired question.

An interval's ends are bounds as `farm.gate.bounds` makes them, of what `farm.gate.baseline.paired_tables`
counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from farm.api.arrays import BoolArray
from farm.comparing.joint_tracks import task_of
from farm.comparing.measures import Measured
from farm.comparing.sets import BenchmarkSet, each_once
from farm.errors import ExperimentError
from farm.gate.baseline.baseline import before
from farm.gate.baseline.paired_tables import PairedTables, changed_tracks
from farm.gate.bounds import redrawn
from farm.gate.measures import DRAWN, GATED
from farm.gate.observed import size_of
from farm.judging import Judgement, VerdictTable
from farm.measures import Bounded, Measure, undefined
from farm.statistics.paired import Paired, paired, right
from farm.statistics.resolution import REPLICATES, check_replicates
from farm.statistics.table import Missing

Task: TypeAlias = Literal["specific", "overall"]
Change: TypeAlias = Literal[
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
    def verdict(self) -> Change:
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
    check_replicates(replicates)
    names = [name for monitor in monitors for name in (monitor, before(monitor))]
    values = {name: _mean(sets, measure, name) if values is None else values[name] for name in names}
    asked = [(measure.name, m) for m in monitors if values[m].defined and values[before(m)].defined]
    why = f"{measure.name} has no interval by resampling"
    if GATED[measure.name].kind in DRAWN:
        why = size_of(sets, measure.name).too_few or ""
    draws = None
    if not why:
        draws = redrawn(sets, asked, replicates=replicates, seed=seed, tables_of=PairedTables)
    streams = [(one.workload, stream, rows) for one, stream, rows in each_once(sets)]
    tracks = {(w, t) for w, stream, rows in streams for t in np.unique(stream.track[rows]).tolist()}
    differences = []
    for monitor in monitors:
        now, then, column = values[monitor], values[before(monitor)], (measure.name, monitor)
        difference, changed = _minus(now, then), None
        if not difference.defined:
            bounded = Bounded.nowhere(difference)
        elif draws is None:
            bounded = Bounded(difference, undefined(why), undefined(why))
        else:
            bounded = draws.bounds(column, difference, 0.5 + level / 2)
            changed = changed_tracks(draws.tables, column)
        differences.append(
            PairedDifference(
                monitor=monitor,
                measure=measure,
                sets=tuple(one.name for one in sets),
                baseline=then,
                now=now,
                difference=bounded,
                level=level,
                n=sum(int(rows.sum()) for _, _, rows in streams),
                n_groups=len(tracks),
                changed=changed,
                right=right_more_often(streams, measure, monitor, seed),
            )
        )
    return differences


def _mean(sets: Sequence[BenchmarkSet], measure: Measured, monitor: str) -> Measure:
    cells = []
    for one in sets:
        cell = one.cell(measure, monitor)
        if isinstance(cell, Missing):
            return undefined(f"{cell.reason} on {one.name}")
        if not cell.defined:
            return undefined(f"{cell.reason} ({one.name})" if len(sets) > 1 else str(cell.reason))
        cells.append(cell.value)
    return Measure(float(np.mean(cells)))


def _minus(now: Measure, then: Measure) -> Measure:
    for value, what in ((then, "the baseline"), (now, "now")):
        if not value.defined:
            return undefined(f"{what}: {value.reason}")
    return Measure(now.value - then.value)


def right_more_often(
    streams: Sequence[tuple[str, VerdictTable, BoolArray]], measure: Measured, monitor: str, seed: int
) -> Paired:
    now, then, group = [np.empty(0, np.bool_)], [np.empty(0, np.bool_)], [np.empty(0, np.str_)]
    for workload, stream, rows in streams:
        if {monitor, before(monitor)} <= stream.said.keys():
            now.append(_right(measure, stream.said[monitor])[rows])
            then.append(_right(measure, stream.said[before(monitor)])[rows])
            group.append(np.char.add(f"{workload} ", stream.track[rows]))
    return paired(np.concatenate(now), np.concatenate(then), group=np.concatenate(group), seed=seed)


def _task(measure: Measured) -> Task:
    """Say which task a measure is of; scores are about OOD, and what is acted upon is about mistakes."""
    of_alarms = task_of(measure.name) == "specific" or measure.name in _OF_SCORES
    return "specific" if of_alarms else "overall"


def _right(measure: Measured, judged: Judgement) -> BoolArray:
    """Say where an alarm was right about OOD, or, of any other task, where cancelling or not was."""
    return right(judged.specific if _task(measure) == "specific" else judged.overall)
