"""Benchmark sets: what runs were about, and what every monitor was worth on each.

A set is one fault at one severity on one workload with one classifier. Runs that repeat it, with another
seed, are repetitions of that set and not sets of their own: to count them as such would make any difference
significant by running often enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farm.api.arrays import BoolArray
from farm.comparing.along_time import StreamPart, pooled
from farm.comparing.measures import Measured
from farm.comparing.sameness import check_distinct, names
from farm.errors import DataError
from farm.judging import JudgedRun, VerdictTable
from farm.judging.record import RANKED
from farm.measures import Measure
from farm.measures.oracle import ORACLE
from farm.measures.parts import UNNAMED_FAULT, Group, Part
from farm.statistics.table import Cell, Missing
from farm.store.readouts import Readouts

PURPOSE = "to compare monitors it has to be known for all"
NO_FAULT, NO_CATEGORY, NO_SEVERITY = "no fault", "no category", "no severity"
UNKNOWN = ("unknown faults", "unknown faults", NO_SEVERITY)
"""What stands in a fault's place where ID and OOD cannot be told apart."""
KNOWN = ("is_ood", "label")
INSTEAD = "; `farm judge` tells what can be told without it"


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
    streams: list[VerdictTable] = field(default_factory=list, compare=False)
    """A run's instances: all ID ones, and the OOD ones of this fault."""
    whole: list[StreamPart] = field(default_factory=list, compare=False)
    """The same runs with their whole streams, for what is measured along time."""
    alone: list[Mapping[str, Any]] = field(default_factory=list, compare=False)
    """A run's record of the perfect monitor, run by run: it tells what the classifier itself is worth."""

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
        """Return the mean over the runs, which are repetitions; each of them has to have a value.

        What is measured along time is of the onsets, or the quiet instances, of all runs together.
        """
        there = [records[monitor] for records in self.records if monitor in records]
        lasted = [record for record in there if record["failure"] is None]
        for found, of, what in ((there, self.records, "was not run"), (lasted, there, "failed")):
            if len(found) < len(of):
                few = (
                    f" in {len(of) - len(found)} of {len(self.records)} runs" if len(self.records) > 1 else ""
                )
                return Missing(what + few)
        if measure.along_time:
            return pooled(self.whole, measure, monitor)
        values = [measure.of(record) for record in lasted]
        gap = next((value for value in values if not value.defined), None)
        return gap or Measure(sum(value.value for value in values) / len(values))


def benchmark_sets(runs: Sequence[Readouts], measure: Measured | None = None) -> list[BenchmarkSet]:
    """Sort the groups of all runs into sets; what a measure does not need may be unknown."""
    if measure is None:
        return sets_of(judged_runs(runs))
    judged = judged_runs(runs, f"{measure.name} needs it for all", measure.needs)
    scores = [said.score for run in judged for said in run.table.said.values()]
    if measure.name in RANKED and scores and all(score is None for score in scores):
        raise DataError(f"no alarm has a score in any of the runs; {measure.name} needs scores")
    return sets_of(judged)


def judged_runs(
    runs: Sequence[Readouts], purpose: str = PURPOSE, needed: Sequence[str] = KNOWN
) -> list[JudgedRun]:
    """Judge each run once, for all that is asked of it; what is needed has to be known for all instances."""
    check_distinct(runs)
    for run in runs:
        _check_known(run, purpose, needed)
    return [JudgedRun.of(run.instances, run.alarms, run.run, number) for number, run in enumerate(runs)]


def sets_of(runs: Sequence[JudgedRun], *, recorded: bool = True) -> list[BenchmarkSet]:
    """Sort the groups of runs that were judged into sets; records, which take time, can be left out."""
    sets: dict[BenchmarkSet, BenchmarkSet] = {}
    categories, several = _categories(runs), _of_several_categories(runs)
    for run, workload, classifier in zip(
        runs, names(runs, "workload"), names(runs, "classifier"), strict=True
    ):
        records = run.points if recorded else []
        whole = [r for r in records if r["part"] == "all"]
        ranked = [r for r in whole if r["ranked"] and r["monitor"] != ORACLE]
        for part in run.parts:
            if part.name == "all":
                words = UNKNOWN if run.why_no_ood else fault_words(part)
                faultload, category, severity = words
                if category == NO_CATEGORY:
                    category = categories.get(part.group.faultload, NO_CATEGORY)
                if part.group.faultload in several:
                    faultload = f"{faultload} ({category})"
                made = BenchmarkSet(workload, classifier, faultload, category, severity)
                found = sets.setdefault(made, made)
                if recorded:
                    found.records.append({r["monitor"]: r for r in ranked if _is_of(r, part.group)})
                    found.alone.extend(r for r in whole if r["monitor"] == ORACLE and _is_of(r, part.group))
                found.streams.append(run.table.take(run.table.partition.rows(part)))
                found.whole.append(StreamPart(run, part, workload))
    _check_names(list(sets))
    return list(sets)


def each_once(sets: Sequence[BenchmarkSet]) -> Iterator[tuple[BenchmarkSet, VerdictTable, BoolArray]]:
    """Return sets, their streams and the rows that count: a run's ID instances are in all of its sets."""
    known: set[int] = set()
    for one in sets:
        for stream in one.streams:
            yield one, stream, stream.is_ood if stream.run in known else np.ones(len(stream), dtype=np.bool_)
            known.add(stream.run)


def _check_known(run: Readouts, purpose: str, needed: Sequence[str]) -> None:
    n = len(run.instances)
    for column in needed:
        missing = int(run.instances[column].isna().sum()) if column in run.instances else n
        if missing:
            where = f"{run.run['folder']}: " if run.run.get("folder") else ""
            raise DataError(
                f"{where}'{column}' is missing for {missing:,} of {n:,} instances; {purpose}"
                f"{'' if missing < n else INSTEAD}"
            )


def _check_names(sets: Sequence[BenchmarkSet]) -> None:
    categories: dict[str, str] = {}
    for one in sets:
        other = categories.setdefault(one.name, one.category)
        if other != one.category:
            raise DataError(
                f"{one.name}: the category is '{other}' here and '{one.category}' there; expected one"
            )


def fault_words(part: Part) -> tuple[str, str, str]:
    """Return faultload, category and severity as words."""
    group = part.group
    if len(part.strata) == 1:
        return NO_FAULT, NO_FAULT, NO_SEVERITY
    return group.faultload or UNNAMED_FAULT, group.category or NO_CATEGORY, group.level or NO_SEVERITY


def _categories(runs: Sequence[JudgedRun]) -> dict[str | None, str]:
    """Return the categories of named faults as far as any run tells: a log that lacks one has another's."""
    groups = [part.group for run in runs for part in run.parts]
    return {group.faultload: group.category for group in groups if group.faultload and group.category}


def _of_several_categories(runs: Sequence[JudgedRun]) -> set[str | None]:
    """Return the faults whose instances are of several categories in one run, as with mapped classes."""
    found: set[str | None] = set()
    for run in runs:
        groups = [part.group for part in run.parts if part.name == "all" and part.group.category]
        kinds = [fault for fault, _ in {(group.faultload, group.category) for group in groups}]
        found |= {fault for fault in kinds if kinds.count(fault) > 1}
    return found


def _is_of(record: Mapping[str, Any], group: Group) -> bool:
    return (record["faultload"], record["category"], record["severity"]) == (
        group.faultload,
        group.category,
        group.severity,
    )
