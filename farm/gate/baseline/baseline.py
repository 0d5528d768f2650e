"""A baseline: what monitors said at some time of one stream or several, to be put beside what they say now.

Beside a run, each monitor stands twice in its benchmark sets, now and before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from farm.comparing.sameness import RunNotes
from farm.comparing.sets import BenchmarkSet, judged_runs, sets_of
from farm.errors import DataError, suggestion
from farm.gate.baseline.entry import BaselineRun, run_name
from farm.gate.baseline.file import read_saved
from farm.judging import JudgedRun, VerdictTable
from farm.judging.readouts import load_runs
from farm.store.logs import SUFFIXES
from farm.store.readouts import Readouts

NEEDED = "a baseline needs it for all"
"""Why labels and `is_ood` have to be known."""


@dataclass(frozen=True)
class Baseline:
    """One run, or the cells of a campaign, each by its name."""

    where: str
    """The file or folder that it is from."""
    runs: tuple[BaselineRun, ...]

    @classmethod
    def of(cls, runs: Sequence[Readouts], where: str = "these runs") -> Baseline:
        """Take down runs; no two may go by one name."""
        return cls.of_judged(judged_runs(runs, NEEDED), where)

    @classmethod
    def of_judged(cls, runs: Sequence[JudgedRun], where: str) -> Baseline:
        """Take down runs that were judged."""
        own = tuple(map(BaselineRun.of, runs))
        twice = [name for name, times in Counter(one.name for one in own).items() if times > 1]
        if twice:
            raise DataError(
                f"{where}: two runs are called '{twice[0]}', so that a later one would not find its own; "
                "expected names that differ: save each in a file of its own, or run them as one campaign"
            )
        return cls(where, own)

    @property
    def monitors(self) -> tuple[str, ...]:
        """All monitors that any of the runs has."""
        return tuple(dict.fromkeys(name for run in self.runs for name in run.bits))

    @property
    def has_scores(self) -> bool:
        """Whether scores and classes are there, and not decisions alone."""
        return all(run.table is not None for run in self.runs)

    def of_run(self, run: RunNotes, *, alone: bool = True) -> BaselineRun:
        """Find what is kept of a run: by its name, unless there is but one on either side."""
        if len(self.runs) == 1 and alone:
            return self.runs[0]
        by_name = {own.name: own for own in self.runs}
        if (name := run_name(run)) not in by_name:
            raise DataError(f"{self.where} has nothing of '{name}'; {suggestion(name, by_name)}")
        return by_name[name]


def load_baseline(path: Path | str) -> Baseline:
    """Read a baseline: a saved file, a run's folder, a campaign's, or a log (.csv or .parquet)."""
    path = Path(path)
    if path.is_dir() or path.suffix.lower() in SUFFIXES:
        return Baseline.of(load_runs([path]), str(path))
    record = read_saved(path)
    try:
        return Baseline(
            str(path), tuple(BaselineRun.from_record(name, own) for name, own in record["runs"].items())
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def before(monitor: str) -> str:
    """Return the name under which a monitor's former self stands beside it.

    Examples
    --------
    >>> before("oob")
    'oob (baseline)'
    """
    return f"{monitor} (baseline)"


def paired_sets(runs: Sequence[Readouts], baseline: Baseline) -> list[BenchmarkSet]:
    """Return the runs' benchmark sets, and in each what the baseline said of the same instances.

    `before` gives the name by which it is found there. Predictions may differ: each side is judged against
    the mistakes of its own classifier.
    """
    return paired_with(judged_runs(runs, NEEDED), baseline)


def paired_with(judged: Sequence[JudgedRun], baseline: Baseline) -> list[BenchmarkSet]:
    """Return the same of runs that were judged."""
    former = [baseline.of_run(run, alone=len(judged) == 1).beside(run) for run in judged]
    sets = []
    for now, then in zip(sets_of(judged), sets_of(former), strict=True):
        records = [
            {**own, **{before(name): record for name, record in other.items()}}
            for own, other in zip(now.records, then.records, strict=True)
        ]
        streams = [side_by_side(*both) for both in zip(now.streams, then.streams, strict=True)]
        sets.append(replace(now, records=records, streams=streams))
    return sets


def side_by_side(now: VerdictTable, then: VerdictTable) -> VerdictTable:
    """Put what monitors said in the baseline, as `before` names them, into a table of the same instances."""
    former = {before(name): judged for name, judged in then.said.items()}
    if twice := former.keys() & now.said.keys():
        raise DataError(f"monitor '{min(twice)}': a baseline's monitors are called so; expected another name")
    return replace(now, said={**now.said, **former})
