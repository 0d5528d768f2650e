"""How often the classifier of a log without labels is right, by a reference that has some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from farm.gate.drift import Reference
from farm.judging.inspection import Look
from farm.judging.label_free import SampledRun, estimate
from farm.judging.label_free_errors import FaultErrors, fault_errors, mean_error
from farm.judging.label_free_looks import errors_look, estimates_look
from farm.judging.record import Record, plain
from farm.measures import Bounded, Measure
from farm.statistics.label_free.estimates import METHODS, WEIGHTING, LabelFree
from farm.store.readouts import Readouts

ABOUT: Record = {"run": None, "monitor": None}
"""What a record of a classifier has in common with those of monitors."""


@dataclass(frozen=True, eq=False)
class LabelledReference:
    """Labelled instances, and how far estimates from them are off under the faults of their runs."""

    name: str
    run: SampledRun
    runs: Sequence[SampledRun]

    @classmethod
    def of(cls, reference: Reference) -> LabelledReference | None:
        """Take the labelled instances of a reference; None where it has none."""
        run = SampledRun.of(reference.readouts)
        if not len(run.reference):
            return None
        return cls(reference.name, run, [SampledRun.of(each) for each in reference.runs] or [run])

    @cached_property
    def faults(self) -> list[FaultErrors]:
        """How far each method is off under each fault; none where the runs have no labelled ones."""
        return fault_errors(self.runs)

    def accuracy(self, readouts: Readouts) -> LogAccuracy:
        """Estimate how often the classifier of a log is right."""
        target = SampledRun.of(readouts)
        return LogAccuracy(self, target, estimate(self.run, target))

    @property
    def looks(self) -> list[Look]:
        """Return the errors under faults as a table, if there are any."""
        return [errors_look(self.faults)] if self.faults else []

    @property
    def records(self) -> list[Record]:
        """Return the errors under faults for JSON, a record a fault and method."""
        return [
            {
                **ABOUT,
                "part": "error without labels",
                "reference": self.name,
                "fault": fault.name,
                "category": fault.category,
                "n": fault.n,
                "method": method,
                **plain({"truth": fault.truth.value, **_ends("error", fault.errors[method])}),
            }
            for fault in self.faults
            for method in METHODS
        ]


@dataclass(frozen=True, eq=False)
class LogAccuracy:
    """What each method says of one log, and where it says that from."""

    reference: LabelledReference
    target: SampledRun
    found: LabelFree

    @property
    def look(self) -> Look:
        """Return it as a table."""
        reference = self.reference
        n = len(reference.run.reference)
        return estimates_look(self.target.called, reference.name, n, self.found, reference.faults)

    @property
    def records(self) -> list[Record]:
        """Return it for JSON, a record a method; what is undefined is null, with the reason."""
        reference, found = self.reference, self.found
        about = {
            **ABOUT,
            "run": self.target.readouts.run.get("folder"),
            "part": "accuracy without labels",
            "reference": reference.name,
            "n": len(self.target.table),
            "n_reference": len(reference.run.reference),
        }
        return [
            {
                **about,
                "method": method,
                **plain(
                    {
                        **_ends("accuracy", found.accuracy[method]),
                        **({"effective_tracks": found.effective_tracks} if method == WEIGHTING else {}),
                        "mean_error": mean_error(reference.faults, method),
                    }
                ),
            }
            for method in METHODS
        ]


def _ends(name: str, found: Bounded) -> dict[str, Measure]:
    return {name: found.value, "low": found.low, "high": found.high}
