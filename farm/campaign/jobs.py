"""What travels between a campaign and whoever computes its cells: a job, news, an outcome; and its log."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

State = Literal["done", "failed", "changed", "storage", "crashed", "over-time", "over-memory"]
"""`failed`: the cell itself broke. `changed`: its code or data did while it ran. `storage`: nothing could be
written, for the machine's sake. The last three say what became of the process."""


@dataclass(frozen=True)
class Limits:
    """What a cell may take before its process is ended; None is no limit."""

    seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Job:
    """One cell to compute: all that a process on any machine must be told.

    Everything in it is JSON, and paths are absolute.
    """

    cell: str
    """The cell's id."""
    title: str
    label: Mapping[str, Any]
    """What tells the cell from the others: its workload, classifier, faultload, severity and seed."""
    target: str
    """The name that the cell's new folder gets in the campaign's folder `cells`."""
    folder: str
    """The campaign's folder."""
    home: str
    """Where relative paths and the user's own modules are looked for."""
    experiment: Mapping[str, Any]
    """The cell as an experiment, with all of its monitors."""
    keys: Mapping[str, str]
    """The key of each monitor, by its name."""
    compute: tuple[str, ...]
    """The monitors that are not there yet."""
    donors: tuple[str, ...] = ()
    """Folders in `cells` that hold the others."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Monitors that cost the cell its process before, and why; they are not run again."""
    limits: Limits = Limits()
    group: str = ""
    """Jobs of one group share their workload and classifier: a process that has them is the one to go on."""
    made_of: Sequence[tuple[str, Mapping[str, Any]]] = ()
    """What its keys were made of that may change meanwhile; see `farm.campaign.keys`."""
    looked: float = 0.0
    """When that was looked at, in seconds since 1970."""
    workers: int = 1
    """How many cells the campaign computes at a time, as far as is known: beside others, times are longer."""

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Make it again."""
        given = dict(values)
        given["limits"] = Limits(**given["limits"])
        given["compute"], given["donors"] = tuple(given["compute"]), tuple(given["donors"])
        return cls(**given)


@dataclass(frozen=True)
class News:
    """How far a cell is: `at` of `total` steps of what it does now; or a line to be said."""

    cell: str
    doing: str = ""
    at: int = 0
    total: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of a cell."""

    cell: str
    state: State
    reason: str = ""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Monitors that failed in it, and why."""
    seconds: float = 0.0
    instances: int = 0
    nbytes: int = 0
    """What its folder takes."""


def log_path(job: Job) -> Path:
    """Return where a cell's log is: what its process printed, and why it ended, try after try."""
    return Path(job.folder) / "logs" / f"{job.cell}.log"


def open_log(job: Job) -> int:
    """Return a descriptor that appends to a cell's log; one that cannot be written is no reason to fail."""
    path = log_path(job)
    try:
        path.parent.mkdir(exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
