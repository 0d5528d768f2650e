"""Benchmark sets: what runs were about, and what every monitor was worth on each.

A set is one fault at one severity on one workload with one classifier. Runs that repeat it, with another
seed, are repetitions of that set and not sets of their own: to count them as such would make any difference
significant by running often enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

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
from farm.records.notes import failures
from farm.records.parts import Group, Part, partition
from farm.records.verdicts import Truth, Verdicts, decisions, truth, verdicts
from farm.statistics.table import Cell, Missing

T = TypeVar("T", bound=np.generic)

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
    should_cancel: BoolArray | None = None
    """Where the classifier that it watched was wrong, if that is not the stream's own (a baseline's)."""


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
                few = (
                    f" in {len(of) - len(found)} of {len(self.records)} runs" if len(self.records) > 1 else ""
                )
                return Missing(what + few)
        values = [measure.of(record) for record in lasted]
        gap = next((value for value in values if not value.defined), None)
        return gap or Measure(sum(value.value for value in values) / len(values))


def benchmark_sets(runs: Sequence[Readouts]) -> list[BenchmarkSet]:
    """Sort the groups of all runs into sets."""
    check_distinct(runs)
    sets: dict[BenchmarkSet, BenchmarkSet] = {}
    named = zip(runs, names(runs, "workload"), names(runs, "classifier"), strict=True)
    for number, (run, workload, classifier) in enumerate(named):
        _check(run)
        records = [r for r in judge(run.instances, run.alarms, run.run) if r["part"] == "all"]
        streams = _Streams(number, run)
        for part in streams.parts:
            made = BenchmarkSet(workload, classifier, *fault_words(part))
            found = sets.setdefault(made, made)
            own = [r for r in records if _is_of(r, part.group) and r["ranked"] and r["monitor"] != ORACLE]
            found.records.append({r["monitor"]: r for r in own})
            found.streams.append(streams.of(part))
    _check_names(list(sets))
    return list(sets)


def _check(run: Readouts) -> None:
    where = f"{run.run['folder']}: " if run.run.get("folder") else ""
    for column in ("is_ood", "label"):
        missing = int(run.instances[column].isna().sum()) if column in run.instances else len(run.instances)
        if missing:
            raise DataError(
                f"{where}'{column}' is missing for {missing} of {len(run.instances)} instances; to compare "
                "monitors it has to be known for all"
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
    """One run's verdicts, to be taken part by part."""

    def __init__(self, number: int, run: Readouts) -> None:
        failed = failures(run.run)
        alarms = run.alarms[~run.alarms["monitor"].isin(failed)]
        known = truth(run.instances, decisions(alarms))
        self._number, self._known, self._track = number, known, _tracks(run.instances)
        self._parted = partition(run.instances, known.is_ood)
        self._said = {
            each.monitor: as_said(each.coded(known), known) for each in verdicts(alarms, known.position)
        }

    @property
    def parts(self) -> list[Part]:
        """Those with ID and OOD together."""
        return [part for part in self._parted.parts if part.name == "all"]

    def of(self, part: Part) -> Stream:
        """Give the instances of a part."""

        def take(values: NDArray[T]) -> NDArray[T]:
            return self._parted.take(values[self._parted.order], part)

        return Stream(
            run=self._number,
            track=take(self._track),
            is_ood=take(self._known.is_ood),
            should_cancel=take(self._known.should_cancel),
            said={
                name: Said(
                    take(said.alarm),
                    take(said.cancelled),
                    take(said.decided),
                    take(said.right),
                    None if said.score is None else take(said.score),
                )
                for name, said in self._said.items()
            },
        )


def as_said(verdicts: Verdicts, known: Truth) -> Said:
    """Give what follows from one monitor's verdicts, whose classes are codes, in the order they come in."""
    outcome = verdicts.decision
    if outcome is None:
        outcome = system_outcome(known.predicted, verdicts.cancelled)
    decided = outcome != NO_ANSWER
    score = verdicts.score
    return Said(
        alarm=verdicts.alarm,
        cancelled=verdicts.cancelled,
        decided=decided,
        right=decided & (outcome == known.label),
        score=None if score is None or np.isnan(score).any() else score,
    )


def _tracks(instances: pd.DataFrame) -> StrArray:
    """Give each instance's track; one without a track is a track of its own."""
    alone = "instance " + instances["position"].astype(str)
    if "track" in instances:
        alone = instances["track"].astype(object).where(instances["track"].notna(), alone)
    return alone.to_numpy(dtype=np.str_)
