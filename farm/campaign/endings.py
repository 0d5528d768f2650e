"""How a process ended before its cell did, and whose fault that was."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from farm.campaign.jobs import Job
from farm.campaign.logs import log_path
from farm.campaign.memory import memory_of
from farm.campaign.processes import LineProcess
from farm.campaign.watch_page import Taken, WatchPage

START_UP = 120.0
"""Seconds that a process may take to load its libraries, before a cell's own time begins to count."""


@dataclass(frozen=True)
class Ending:
    """The end of a process that had not finished its cell."""

    state: Literal["crashed", "over-time", "over-memory"]
    told: str
    """What happened, as in "the cell passed its limit of 600 s"."""
    culprit: Taken | None
    blame: str = ""
    """Why the culprit is to be excluded."""
    fresh: bool = True
    """The process had computed no other cell before."""


def ended_for_time(job: Job, process: LineProcess, page: WatchPage, sent: float) -> Ending | None:
    """End the process where the cell passed its limit of seconds."""
    now, limit = time.monotonic(), job.limits.seconds
    if limit is None or now - (page.began or sent + START_UP) <= limit:
        return None
    process.tell_where()
    process.kill()
    told = f"the cell passed its limit of {_seconds(limit)}"
    if (culprit := page.culprit_of_time(limit, now)) is None:
        return Ending("over-time", told, None)
    what = "did not come back" if culprit.at_work else "was too slow"
    took = f"of which it took {_seconds(culprit.amount)} in {culprit.doing}"
    return Ending("over-time", told, culprit, f"monitor '{culprit.monitor}' {what}: {told}, {took}")


def ended_for_memory(job: Job, process: LineProcess, page: WatchPage) -> Ending | None:
    """End the process where it and those that it started have more memory than the cell's limit."""
    limit = job.limits.memory_bytes
    if limit is None or (memory := memory_of(process.pid, limit)).total <= limit:
        return None
    process.kill()
    told = f"the cell passed its memory limit of {_bytes(limit)}"
    if (culprit := page.culprit_of_memory(memory)) is None:
        told += f" (its process had {_bytes(page.resident_before)} when it began)"
        return Ending("over-memory", told, None)
    blame = (
        f"monitor '{culprit.monitor}' took too much memory: {told}, of which it took "
        f"{_bytes(culprit.amount)} in {culprit.doing}"
    )
    return Ending("over-memory", told, culprit, blame)


def ended_by_itself(job: Job, page: WatchPage, how: str) -> Ending:
    """Say who was at work when the process ended, as in "ended by SIGSEGV"."""
    told = f"the cell's process {how}"
    if "SIGKILL" in how:
        told += " (as the system does where memory is short)"
    if (culprit := page.at_work()) is None:
        return Ending("crashed", told, None)
    blame = (
        f"monitor '{culprit.monitor}' was at work twice, in {culprit.doing}, when {told}; "
        f"see the end of {log_path(job)}"
    )
    return Ending("crashed", told, culprit, blame)


def to_exclude(job: Job, ending: Ending, before: Ending | None) -> str | None:
    """Give the monitor to go on without; None where it is the cell's own fault.

    A process that died by itself is a monitor's fault only if it was at work the time `before`, too.
    """
    if ending.culprit is None or (name := ending.culprit.monitor) in job.excluded:
        return None
    if ending.state == "crashed":
        again = before is not None and before.culprit is not None and before.culprit.monitor == name
        return name if again else None
    return name


def last_reason(job: Job, ending: Ending) -> str:
    """Say why the cell itself is given up, and what to try."""
    if ending.state == "crashed":
        return f"{ending.told}, for the second time; see the end of {log_path(job)}"
    raised = "memory limit" if ending.state == "over-memory" else "limit"
    return (
        f"{ending.told}, and no monitor took the greater part; try a higher {raised} or fewer instances; "
        f"see the end of {log_path(job)}"
    )


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


def _bytes(value: float) -> str:
    return f"{value / 1e9:.1f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"
