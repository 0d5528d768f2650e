"""Benchmark sets: what runs were about, and what every monitor was worth on each.

A set is one fault at one severity on one workload with one classifier. Runs that repeat it, with another
seed, are repetitions of that set and not sets of their own: to count them as such would make any difference
significant by running often enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from farm.api.arrays import NO_ANSWER, BoolArray, FloatArray, StrArray
from farm.comparison.measures import Measured
from farm.comparison.sameness import check_distinct, names
from farm.errors import DataError
from farm.measures import Measure
from farm.measures.classification import system_outcome
from farm.oracle import ORACLE
from farm.readouts import Readouts
from farm.records import judge
from farm.records.parts import Group, Part, Partition, partition
from farm.records.verdicts import truth, verdicts
from farm.statistics.table import Cell, Missing

NO_FAULT, NO_CATEGORY, NO_SEVERITY = "no fault", "no category", "no severity"


@dataclass(frozen=True)
class Said:
    """What one monitor said of a stream's instances."""

    alarm: BoolArray
    cancelled: BoolArray
    decided: BoolArray
    """Where a decision was acted upon: one that was accepted, or a fallback's."""
    right: BoolArray
    """Where that one was right."""
    score: FloatArray | None


@dataclass(frozen=True)
class Stream:
    """One run's instances of a set: all ID ones, and the OOD ones of its fault."""

    run: int
    """The number of the run; streams of one run share their ID instances."""
    track: StrArray
    is_ood: BoolArray
    should_cancel: BoolArray
    said: Mapping[str, Said]
    """By monitor; those that failed said nothing."""

    def __len__(self) -> int:
        return len(self.is_ood)


@dataclass(frozen=True)
class BenchmarkSet:
    """One fault at one severity on one workload, with the records and the streams of every run of it."""

    workload: str
    classifier: str
    faultload: str
    category: str
    severity: str
    records: list[dict[str, Mapping[str, Any]]] = field(default_factory=list, compare=False)
    """A run's records by monitor, run by run."""
    streams: list[Stream] = field(default_factory=list, compare=False)

    @property
    def name(self) -> str:
        """What to call it."""
        severity = "" if self.severity == NO_SEVERITY else f" {self.severity}"
        return f"{self.faultload}{severity} on {self.workload} with {self.classifier}"

    @property
    def failures(self) -> dict[str, str]:
        """Why monitors failed, by name."""
        return {
            name: str(record["failure"])
            for records in self.records
            for name, record in records.items()
            if record["failure"] is not None
        }

    def cell(self, measure: Measured, monitor: str) -> Cell:
        """Give the mean over the runs, which are repetitions; each of them has to have a value."""
        there = [records[monitor] for records in self.records if monitor in records]
        lasted = [record for record in there if record["failure"] is None]
        for found, of, what in ((there, self.records, "was not run"), (lasted, there, "failed")):
            if len(found) < len(of):
                few = f" in {len(of) - len(found)} of {len(self.records)} runs" if len(self.records) > 1 else ""
                return Missing(what + few)
        values = [measure.of(record) for record in lasted]
        gap = next((value for value in values if not value.defined), None)
        return gap or Measure(sum(value.value for value in values) / len(values))


def benchmark_sets(runs: Sequence[Readouts]) -> list[BenchmarkSet]:
    """Sort the groups of all runs into sets."""
    check_distinct(runs)
    sets: dict[BenchmarkSetKey, BenchmarkSet] = {}
    named = zip(runs, names(runs, "workload"), names(runs, "classifier"), strict=True)
    for number, (run, workload, classifier) in enumerate(named):
        _check(run)
        records = [r for r in judge(run.instances, run.alarms, run.run) if r["part"] == "all"]
        streams = _Streams(number, run)
        for part in streams.parts:
            made = BenchmarkSet(workload, classifier, *_fault(part))
            key = (workload, classifier, made.faultload, made.category, made.severity)
            found = sets.setdefault(key, made)
            own = [r for r in records if _is_of(r, part.group) and r["ranked"] and r["monitor"] != ORACLE]
            found.records.append({r["monitor"]: r for r in own})
            found.streams.append(streams.of(part))
    _check_names(list(sets.values()))
    return list(sets.values())


BenchmarkSetKey = tuple[str, str, str, str, str]


def _check(run: Readouts) -> None:
    where = f"{run.run['folder']}: " if run.run.get("folder") else ""
    for column in ("is_ood", "label"):
        missing = int(run.instances[column].isna().sum()) if column in run.instances else len(run.instances)
        if missing:
            raise DataError(
                f"{where}'{column}' is missing for {missing} of {len(run.instances)} instances; monitors can be "
                "compared only where it is known for all"
            )


def _check_names(sets: Sequence[BenchmarkSet]) -> None:
    categories: dict[str, str] = {}
    for one in sets:
        other = categories.setdefault(one.name, one.category)
        if other != one.category:
            raise DataError(
                f"{one.name}: the category is '{other}' here and '{one.category}' there; expected one"
            )


def _fault(part: Part) -> tuple[str, str, str]:
    """Give faultload, category and severity as words."""
    group = part.group
    if len(part.strata) == 1:
        return NO_FAULT, NO_FAULT, NO_SEVERITY
    severity = NO_SEVERITY if group.severity is None else f"{group.severity:g}"
    if group.severity_range:
        # Two digits: the last instance of a ramp is not in every run the one at its end.
        severity = f"up to {group.severity_range[1]:.2g}"
    return group.faultload or "unnamed fault", group.category or NO_CATEGORY, severity


def _is_of(record: Mapping[str, Any], group: Group) -> bool:
    return (record["faultload"], record["category"], record["severity"]) == (
        group.faultload,
        group.category,
        group.severity,
    )


class _Streams:
    """One run's verdicts in the order of its parts."""

    def __init__(self, number: int, run: Readouts) -> None:
        known = truth(run.instances)
        self._number, self._parted = number, partition(run.instances, known.is_ood)
        failed = [note["name"] for note in run.run.get("monitors") or () if note.get("failure")]
        alarms = run.alarms[~run.alarms["monitor"].isin(failed)]
        label = known.label
        self._should_cancel, self._is_ood, self._track = known.should_cancel, known.is_ood, _tracks(run.instances)
        self._said: dict[str, Said] = {}
        for each in verdicts(alarms, known.position):
            decision = each.decision
            if decision is None:
                decision = system_outcome(known.predicted, each.cancelled)
            else:
                decision = known.code(decision)
            decided = decision != NO_ANSWER
            score = None if each.score is None or np.isnan(each.score).any() else each.score
            self._said[each.monitor] = Said(
                each.alarm, each.cancelled, decided, decided & (decision == label), score
            )
