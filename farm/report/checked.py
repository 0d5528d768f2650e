"""What a check found, for all that tells of it: verdicts, what could not run, and what follows."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from farm.gate.verdict import judge_criteria
from farm.store.campaign_folder import CampaignFolder, missing_cells

if TYPE_CHECKING:
    from farm.gate.criteria_file import CriteriaFile, Undecided
    from farm.gate.demand import CriterionOutcome
    from farm.gate.reported import Reported
    from farm.gate.verdict import CriterionVerdict
    from farm.store.readouts import Readouts

PASSED, FAILED, BAD_CRITERIA, UNDECIDED = 0, 1, 2, 3
"""Exit codes. A criterion that makes no sense is an error (2), and then nothing is told of the others; one
that cannot be judged because a monitor failed is told with them, and counts as failed."""

RECORD_BEGINS = "<!DOCTYPE html>\n<!-- farm check: type-approval record -->\n"
"""The first lines of a type-approval record, which tell that it may be replaced by the next check's."""
_FIRST: Mapping[CriterionOutcome, int] = {"error": 0, "fail": 1, "undecided": 2, "pass": 3}


@dataclass(frozen=True)
class NotRun:
    """What was to be run and was not: a monitor that failed, a campaign's cell that is not there."""

    what: str
    where: str
    """A run's folder, or a campaign's."""
    reason: str


@dataclass(frozen=True)
class RunIdentity:
    """What tells one run from all others; empty, or None, where its record does not say so."""

    name: str
    checksum: str
    workload: str
    workload_hash: str
    classifier: str
    classifier_digest: str
    faults: tuple[tuple[str, float | None], ...]
    """Names and severities."""
    n: int | None
    """How many instances it streamed."""
    seed: int | None
    versions: Mapping[str, str]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> RunIdentity:
        """Take it from a run's record; that of a log says little.

        Examples
        --------
        >>> RunIdentity.of({"name": "log", "classifier": {"name": None}}).classifier
        ''
        """
        workload, classifier = record.get("workload") or {}, record.get("classifier") or {}
        stream = record.get("stream") or {}
        faults = [*(stream.get("faults") or ()), *(stream.get("everywhere") or ())]
        return cls(
            name=str(record.get("name") or ""),
            checksum=str(record.get("checksum") or (record.get("log") or {}).get("digest") or ""),
            workload=str(workload.get("name") or ""),
            workload_hash=str(workload.get("hash") or ""),
            classifier=str(classifier.get("name") or ""),
            classifier_digest=str(classifier.get("digest") or ""),
            faults=tuple((str(one.get("name")), _number(one.get("severity"))) for one in faults),
            n=stream.get("length"),
            seed=record.get("seed"),
            versions={str(name): str(one) for name, one in (record.get("versions") or {}).items()},
        )


def _number(value: object) -> float | None:
    """Return a severity that is one number; a ramp has none."""
    return float(value) if isinstance(value, int | float) else None


@dataclass(frozen=True)
class Checked:
    """All that a check found, and of what."""

    judged: Sequence[CriterionVerdict]
    broken: Sequence[NotRun]
    criteria: str
    """Where the criteria are."""
    runs: Sequence[str]
    """Where the runs are."""
    undecided: Undecided
    """What becomes of criteria that the instances do not decide."""
    seed: int
    replicates: int
    version: str
    began: datetime
    seconds: float
    criteria_sha256: str = ""
    """Of the file's bytes, as `sha256sum` tells it."""
    tested: Sequence[RunIdentity] = ()
    """What the runs are of."""

    @property
    def counts(self) -> dict[str, int]:
        """How many verdicts there are of each kind."""
        found = Counter(one.verdict for one in self.judged)
        return {verdict: found[verdict] for verdict in _FIRST}

    @property
    def not_passed(self) -> list[CriterionVerdict]:
        """What could not be judged, what failed, and then what is undecided."""
        return [one for one in self.worst_first if one.verdict != "pass"]

    @property
    def worst_first(self) -> list[CriterionVerdict]:
        """All, in the order of the criteria but for what did not pass, which comes first."""
        return sorted(self.judged, key=lambda one: _FIRST[one.verdict])

    @property
    def exit_code(self) -> int:
        """What `farm check` ends with."""
        counts = self.counts
        if counts["error"] or counts["fail"] or self.broken:
            return FAILED
        if counts["undecided"] and self.undecided == "fail":
            return FAILED
        return UNDECIDED if counts["undecided"] and self.undecided == "report" else PASSED


def check_runs(
    runs: Sequence[Readouts],
    file: CriteriaFile,
    *,
    places: Sequence[str],
    seed: int | None = None,
    replicates: int | None = None,
    undecided: Undecided | None = None,
    reported: Reported | None = None,
) -> Checked:
    """Judge runs by a file of criteria; `places` are where they are, `reported` what their protocol found.

    Of `seed`, `replicates` and `undecided` None stands for what the file says.
    """
    seed = file.seed if seed is None else seed
    replicates = file.replicates if replicates is None else replicates
    began, started = datetime.now(UTC), time.perf_counter()
    place = places[0] if len(places) == 1 else f"{places[0]} with {len(places) - 1} more"
    judged = judge_criteria(runs, file, seed=seed, replicates=replicates, reported=reported, place=place)
    return Checked(
        judged=judged,
        broken=[*_missing_cells(places), *_failed_monitors(runs)],
        criteria=str(file.path),
        runs=list(places),
        undecided=undecided or file.undecided,
        seed=seed,
        replicates=replicates,
        version=version("farm-testbed"),
        began=began,
        seconds=time.perf_counter() - started,
        criteria_sha256=hashlib.sha256(file.path.read_bytes()).hexdigest(),
        tested=[RunIdentity.of(run.run) for run in runs],
    )


def _missing_cells(places: Sequence[str]) -> Iterator[NotRun]:
    """Tell which cells campaigns ask for and have not: what was not run met nothing."""
    for place in places:
        if CampaignFolder.is_campaign(place):
            for title, reason in missing_cells(place):
                yield NotRun(f"cell '{title}'", place, reason)


def _failed_monitors(runs: Sequence[Readouts]) -> Iterator[NotRun]:
    for run in runs:
        for monitor in run.run.get("monitors") or ():
            if monitor.get("failure"):
                yield NotRun(f"monitor '{monitor['name']}'", str(run.run["folder"]), monitor["failure"])
