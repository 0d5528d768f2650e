"""Computes cells in a process of its own, and ends it where a cell passes its limits.

A monitor that hangs, leaks, crashes or closes its files costs the process, and the cell runs again in a new
one without it. A process that dies by itself gets a second chance first, since it may have been killed from
outside. A monitor can be excluded only once, so all this ends.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Literal

from farm.campaign.at_work import FILES_CLOSED, WorkRecord
from farm.campaign.jobs import Job, News, Outcome, log_path, open_log
from farm.campaign.processes import LineProcess, memory_of
from farm.store.amounts import in_bytes

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""The variables by which numerical libraries are told how many, which they read when they are loaded."""
POLL = 0.1
"""Seconds between two looks at the limits."""
START_UP = 120.0
"""Seconds that a process may take to load its libraries, before a cell's own time begins to count."""


class Interrupted(Exception):  # noqa: N818 - nothing broke
    """`cancel` was called: there is no outcome, and the cell may be run again."""


class Supervisor:
    """Runs jobs, one at a time, in one process that is started when needed.

    Parameters
    ----------
    threads
        How many threads the process's numerical libraries may use.
    python
        The interpreter.
    compute
        What computes a job in that process, as `module:function`.
    """

    def __init__(
        self,
        threads: int = 1,
        python: str = sys.executable,
        compute: str = "farm.campaign.cell:compute",
    ) -> None:
        self._threads, self._python, self._compute = threads, python, compute
        self._process: LineProcess | None = None
        self._record: WorkRecord | None = None
        self._begun = 0
        """How many cells the process has begun."""
        self._cancelled = False

    def run(self, job: Job, news: Callable[[News], None]) -> Outcome:
        """Compute a cell; raise only `Interrupted`, and what `news` raises.

        Monitors that cost the cell its process are in the outcome's failures.
        """
        started = time.monotonic()
        died: str | None = None
        waited = False
        while True:
            try:
                ended = self._try(job, news)
            except BaseException:
                self._stop()
                raise
            if isinstance(ended, Outcome):
                if ended.state == "changed":
                    self._stop()  # it has the old code loaded
                return replace(ended, failures={**job.excluded, **ended.failures})
            self._stop()
            culprit = "" if ended.culprit in job.excluded else ended.culprit
            if ended.state == "over-memory" and self._begun > 1:
                note = f"{ended.event}; it runs again in a process that computed no other cell"
            elif ended.state == "crashed" and died is None:
                died = culprit
                note = f"{ended.event}; it runs once more in a new process"
            elif ended.state == "over-time" and not ended.culprit and not waited:
                # Another process may have been at what this one waited for, and may have been ended since.
                waited = True
                note = f"{ended.event}, and no monitor took the greater part; it runs once more"
            elif culprit and (ended.state != "crashed" or culprit == died):
                job, died = replace(job, excluded={**job.excluded, culprit: ended.blame}), None
                note = f"{ended.blame}; the cell runs again without it"
            else:
                seconds = time.monotonic() - started
                return Outcome(job.cell, ended.state, ended.last_reason(job), job.excluded, seconds)
            news(News(job.cell, note=f"{job.title}: {note}"))

    def cancel(self) -> None:
        """Have `run` kill the process and raise `Interrupted`, now and ever after; from any thread."""
        self._cancelled = True

    def close(self) -> None:
        """End the process, and give back all that was taken; not while `run` is at work."""
        self._stop()
        if self._record is not None:
            self._record.close()
            self._record = None

    def _try(self, job: Job, news: Callable[[News], None]) -> Outcome | Ending:
        """Send a job to the process, and stay with it until it is done or has to end."""
        self._check_cancelled(job)
        try:
            process, record = self._ready(job)
        except OSError as error:
            reason = f"cannot start a process for the cell: {error}"
            return Outcome(job.cell, "storage", reason, dict(job.excluded))
        self._begun += 1
        process.send(json.dumps({"job": asdict(job)}).encode() + b"\n")
        sent = time.monotonic()
        while True:
            gone = process.gone()  # asked first, so that what it wrote at last is read
            for line in process.lines(0 if gone else POLL):
                try:
                    message = json.loads(line)
                    if "outcome" in message:
                        return Outcome(**message["outcome"])
                    if "started" in message:
                        record.started(message["started"], message["by"])
                        continue
                    latest = News(**message["news"])
                except (ValueError, TypeError, KeyError):
                    wrote = f"wrote what is no message ({line[:80].decode(errors='replace')!r})"
                    return ended_by_itself(job, record, wrote)
                news(latest)
            self._check_cancelled(job)
            if gone:
                how = process.how_it_ended()
                closed = how == f"with exit code {FILES_CLOSED}"
                how = "since files that it needs were closed" if closed else how
                return ended_by_itself(job, record, f"ended {how}")
            ending = ended_for_time(job, process, record, sent) or ended_for_memory(job, process, record)
            if ending is not None:
                return ending

    def _ready(self, job: Job) -> tuple[LineProcess, WorkRecord]:
        """Return a process that waits for a job, and the record that it will write."""
        if self._record is None:
            self._record = WorkRecord()
        if self._process is not None and (self._process.gone() or _is_large(self._process, job)):
            self._stop()
        self._record.clear(list(job.keys))
        if self._process is None:
            self._process, self._begun = self._start(job, self._record.descriptor), 0
        return self._process, self._record

    def _start(self, job: Job, record: int) -> LineProcess:
        command = [self._python, "-P", "-m", "farm.campaign.worker", "--compute", self._compute]
        log = open_log(job)  # for what it may say before it reads its first job
        try:
            return LineProcess(
                [*command, "--record", str(record)],
                environment={**os.environ, **dict.fromkeys(THREADS, str(self._threads))},
                errors=log,
                inherited=(record,),
            )
        finally:
            os.close(log)

    def _stop(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def _check_cancelled(self, job: Job) -> None:
        if self._cancelled:
            raise Interrupted(f"the cell '{job.title}' was interrupted")


def _is_large(process: LineProcess, job: Job) -> bool:
    """Say whether earlier cells left so much in memory that this one might pass its limit for it."""
    limit = job.limits.memory_bytes
    return limit is not None and memory_of(process.pid, limit / 2).total > limit / 2


@dataclass(frozen=True)
class Ending:
    """How a process ended before its cell did, and whose fault that was."""

    state: Literal["crashed", "over-time", "over-memory"]
    event: str
    """What happened, as in "the cell passed its limit of 600 s"."""
    culprit: str = ""
    """The monitor whose fault it was; of one that was at work when a process died, if it dies so twice."""
    blame: str = ""
    """Why the culprit is to be excluded."""

    def last_reason(self, job: Job) -> str:
        """Say why the cell itself is given up, and what to try."""
        if self.state == "crashed":
            return f"{self.event}, for the second time; see the end of {log_path(job)}"
        raised = "memory limit" if self.state == "over-memory" else "limit"
        return (
            f"{self.event}, and no monitor took the greater part; try a higher {raised} or fewer instances; "
            f"see the end of {log_path(job)}"
        )


def ended_for_time(job: Job, process: LineProcess, record: WorkRecord, sent: float) -> Ending | None:
    """End the process where the cell passed its limit of seconds."""
    now, limit = time.monotonic(), job.limits.seconds
    if limit is None or now - (record.began or sent + START_UP) <= limit:
        return None
    process.tell_where()
    process.kill()
    event = f"the cell passed its limit of {_seconds(limit)}"
    if (culprit := record.most_time(limit, now)) is None:
        return Ending("over-time", event)
    what = "did not come back" if culprit.at_work else "was too slow"
    took = f"of which it took {_seconds(culprit.amount)} in {culprit.doing}"
    blame = f"monitor '{culprit.monitor}' {what}: {event}, {took}"
    return Ending("over-time", event, culprit.monitor, blame)


def ended_for_memory(job: Job, process: LineProcess, record: WorkRecord) -> Ending | None:
    """End the process where it and those that it started have more memory than the cell's limit."""
    limit = job.limits.memory_bytes
    if limit is None or (memory := memory_of(process.pid, limit)).total <= limit:
        return None
    process.kill()
    event = f"the cell passed its memory limit of {in_bytes(limit)}"
    if (culprit := record.most_memory(memory)) is None:
        before = in_bytes(record.resident_before)
        return Ending("over-memory", f"{event} (its process had {before} when it began)")
    took = f"of which it took {in_bytes(culprit.amount)} in {culprit.doing}"
    blame = f"monitor '{culprit.monitor}' took too much memory: {event}, {took}"
    return Ending("over-memory", event, culprit.monitor, blame)


def ended_by_itself(job: Job, record: WorkRecord, how: str) -> Ending:
    """Say who was at work when the process ended, as in "ended by SIGSEGV"."""
    event = f"the cell's process {how}"
    if "SIGKILL" in how:
        event += " (as the system does where memory is short)"
    if (culprit := record.at_work()) is None:
        return Ending("crashed", event)
    at_work = f"was at work twice, in {culprit.doing}, when {event}"
    blame = f"monitor '{culprit.monitor}' {at_work}; see the end of {log_path(job)}"
    return Ending("crashed", event, culprit.monitor, blame)


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"
