"""A baseline: what monitors said at some time of one stream or several, to be compared with now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from farm.baseline.kept import Kept, run_name
from farm.baseline.saved import read_saved
from farm.comparison.sameness import check_distinct
from farm.errors import DataError, suggestion
from farm.readouts import Readouts
from farm.run_folders import run_folders


@dataclass(frozen=True)
class Baseline:
    """One run, or the cells of a campaign, each by its name."""

    where: str
    """The file or folder that it is from."""
    runs: tuple[Kept, ...]

    @classmethod
    def of(cls, runs: Sequence[Readouts], where: str = "these runs") -> Baseline:
        """Take down runs; no two may go by one name."""
        check_distinct(runs)
        kept = tuple(map(Kept.of, runs))
        twice = [name for name, times in Counter(one.name for one in kept).items() if times > 1]
        if twice:
            raise DataError(
                f"{where}: two runs are called '{twice[0]}', so that a later one would not find its own; "
                "expected names that differ: save each in a file of its own, or run them as one campaign"
            )
        return cls(where, kept)

    @property
    def monitors(self) -> tuple[str, ...]:
        """All monitors that any of the runs has."""
        return tuple(dict.fromkeys(name for kept in self.runs for name in kept.bits))

    @property
    def has_scores(self) -> bool:
        """Whether scores and classes are there, and not decisions alone."""
        return all(kept.source is not None for kept in self.runs)

    def of_run(self, run: Readouts, *, alone: bool = True) -> Kept:
        """Find what is kept of a run: by its name, unless there is but one on either side."""
        if len(self.runs) == 1 and alone:
            return self.runs[0]
        found = {kept.name: kept for kept in self.runs}
        if (name := run_name(run)) not in found:
            raise DataError(f"{self.where} has nothing of '{name}'; {suggestion(name, found)}")
        return found[name]

    def check_same_stream(self, run: Readouts) -> None:
        """Raise where a run watched another stream than the baseline has of it."""
        self.of_run(run).check_same_stream(run)


def load_baseline(path: Path | str) -> Baseline:
    """Read a baseline: a saved file, a run's folder, or a campaign's."""
    path = Path(path)
    if path.is_dir():
        return Baseline.of(load_runs([path]), str(path))
    record = read_saved(path)
    try:
        return Baseline(str(path), tuple(Kept.from_record(name, own) for name, own in record["runs"].items()))
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def load_runs(paths: Sequence[Path | str]) -> list[Readouts]:
    """Read runs' folders, in the place of a campaign's those of its cells."""
    found = []
    for folder in run_folders(paths):
        run = Readouts.load(folder)
        found.append(replace(run, run={**run.run, "folder": str(folder)}))
    return found
