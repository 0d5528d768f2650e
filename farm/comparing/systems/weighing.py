"""How much each part of some streams counts: as it occurs in them, or at an asked prevalence of faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from farm.api.arrays import IntArray
from farm.comparing.sets import NO_FAULT, NO_SEVERITY, fault_words
from farm.judging import JudgedRun

Weights = Mapping[int, float]
"""From strata's places to how much each counts; they sum to 1."""


@dataclass(frozen=True, eq=False)
class Stratum:
    """A run's ID instances, or those under one fault at one severity."""

    run: int
    workload: str
    fault: str
    """`NO_FAULT` of ID instances."""
    rows: IntArray = field(repr=False)


@dataclass(frozen=True)
class Strata:
    """All that the instances of some runs are sorted into."""

    each: tuple[Stratum, ...]
    faults: tuple[str, ...]
    """By name, in the order in which they occur."""

    @classmethod
    def of(cls, runs: Sequence[JudgedRun], workloads: Sequence[str]) -> Strata:
        """Sort the instances of runs; a fault on two workloads is two."""
        keyed = list(_keyed(runs, workloads))
        faults = list(dict.fromkeys(key for _, key in keyed if key[1] != NO_FAULT))
        called = {key: _called(key, faults) for key in faults}
        each = tuple(
            Stratum(run, key[0], called.get(key, NO_FAULT), rows) for (run, rows), key in keyed if len(rows)
        )
        return cls(each, tuple(called[key] for key in faults))

    @property
    def share(self) -> float:
        """The share of instances that are under a fault, each run weighing alike."""
        shares = [self.share_of(run) for run in self.runs]
        return sum(shares) / len(shares)

    def share_of(self, run: int) -> float:
        """Return the share of a run's instances that are under a fault."""
        weights = self._as_they_are([run])
        return sum(weight for i, weight in weights.items() if self.each[i].fault != NO_FAULT)

    @property
    def runs(self) -> tuple[int, ...]:
        """The numbers of the runs."""
        return tuple(dict.fromkeys(one.run for one in self.each))

    def weights(self, runs: Sequence[int], prevalence: float | None) -> Weights | str:
        """Return how much each stratum of some of the runs counts, or what is missing from these.

        At a prevalence all faults weigh alike, and so do all workloads without one, and several runs of
        either. Without one, strata count as they occur, and runs weigh alike.
        """
        asked = {NO_FAULT: 1.0 if prevalence is None else 1 - prevalence}
        asked |= {
            fault: 1.0 if prevalence is None else prevalence / len(self.faults) for fault in self.faults
        }
        mixed: dict[int, float] = {}
        for fault, part in asked.items():
            if not part:
                continue
            found = self.of_fault(fault, runs)
            if isinstance(found, str):
                return found
            mixed |= {place: part * weight for place, weight in found.items()}
        return self._as_they_are(runs) if prevalence is None else mixed

    def of_fault(self, fault: str, runs: Sequence[int]) -> Weights | str:
        """Return the same of the instances of one fault alone, or of none; workloads and runs weigh alike."""
        everywhere = [i for i, one in enumerate(self.each) if one.fault == fault]
        workloads = dict.fromkeys(self.each[i].workload for i in everywhere)
        found: dict[int, float] = {}
        for workload in workloads:
            own = [i for i in everywhere if self.each[i].workload == workload and self.each[i].run in runs]
            if not own:
                return (
                    f"not run on {workload} without a fault" if fault == NO_FAULT else f"not run on {fault}"
                )
            found |= dict.fromkeys(own, 1 / (len(workloads) * len(own)))
        return found

    def _as_they_are(self, runs: Sequence[int]) -> Weights:
        own = {i: len(one.rows) for i, one in enumerate(self.each) if one.run in runs}
        sizes = {run: sum(n for i, n in own.items() if self.each[i].run == run) for run in runs}
        return {i: n / sizes[self.each[i].run] / len(runs) for i, n in own.items()}


FaultKey = tuple[str, str, str, str]
"""Workload, faultload, severity, category."""


def _keyed(
    runs: Sequence[JudgedRun], workloads: Sequence[str]
) -> Iterator[tuple[tuple[int, IntArray], FaultKey]]:
    for number, (run, workload) in enumerate(zip(runs, workloads, strict=True)):
        strata = run.table.partition.strata
        yield (number, strata[0]), (workload, NO_FAULT, NO_SEVERITY, NO_FAULT)
        for part in run.parts:
            if part.name == "all" and len(part.strata) > 1:
                faultload, category, severity = fault_words(part)
                yield (number, strata[part.strata[-1]]), (workload, faultload, severity, category)


def _called(key: FaultKey, faults: Sequence[FaultKey]) -> str:
    """Name a fault, as shortly as tells it from the others."""
    workload, faultload, severity, category = key
    name = faultload if severity == NO_SEVERITY else f"{faultload} {severity}"
    if len({other[3] for other in faults if other[:3] == key[:3]}) > 1:
        name = f"{name} ({category})"
    return name if len({other[0] for other in faults}) == 1 else f"{name} on {workload}"
