"""What a check found, for all that tells of it: verdicts, what could not run, and what follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from farm.gate.criteria_file import Undecided
    from farm.gate.demand import CriterionOutcome
    from farm.gate.verdict import CriterionVerdict

PASSED, FAILED, BAD_CRITERIA, UNDECIDED = 0, 1, 2, 3
"""Exit codes. A criterion that makes no sense is an error (2), and then nothing is told of the others; one
that cannot be judged because a monitor failed is told with them, and counts as failed."""

_FIRST: Mapping[CriterionOutcome, int] = {"error": 0, "fail": 1, "undecided": 2, "pass": 3}


@dataclass(frozen=True)
class NotRun:
    """What was to be run and was not: a monitor that failed, a campaign's cell that is not there."""

    what: str
    where: str
    """A run's folder, or a campaign's."""
    reason: str


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
