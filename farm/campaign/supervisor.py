"""Computes cells in a process of its own, and ends it where a cell passes its limits.

A monitor that hangs, leaks or crashes costs the process, and the cell runs again in a new one without it. A
process that dies by itself gets a second chance first, since it may have been killed from outside. A monitor
can be excluded only once, so all this ends.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from farm.campaign.closable import Closable
from farm.campaign.endings import (
    Ending,
    ended_by_itself,
    ended_for_memory,
    ended_for_time,
    last_reason,
    to_exclude,
)
from farm.campaign.jobs import Job, News, Outcome
from farm.campaign.logs import open_log
from farm.campaign.memory import memory_of
from farm.campaign.processes import LineProcess, thread_environment
from farm.campaign.watch_page import WatchPage

POLL = 0.1
"""Seconds between two looks at the limits."""


class Interrupted(Exception):  # noqa: N818 - nothing broke
    """`cancel` was called: there is no outcome, and the cell may be run again."""


class Supervisor(Closable):
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
        self._page: WatchPage | None = None
        self._fresh = True
        self._cancelled = False

    def run(self, job: Job, news: Callable[[News], None]) -> Outcome:
        """Compute a cell; raise only `Interrupted`, and what `news` raises.

        Monitors that cost the cell its process are in the outcome's failures.
        """
        started = time.monotonic()
        died: Ending | None = None
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
            if ended.state == "over-memory" and not ended.fresh:
                news(_note(job, f"{ended.told}; it runs again in a process that computed no other cell"))
            elif ended.state == "crashed" and died is None:
                died = ended
                news(_note(job, f"{ended.told}; it runs once more in a new process"))
            elif ended.state == "over-time" and ended.culprit is None and not waited:
                # Another process may have been at what this one waited for, and may have been ended since.
                waited = True
                news(_note(job, f"{ended.told}, and no monitor took the greater part; it runs once more"))
            elif (culprit := to_exclude(job, ended, died)) is not None:
                job, died = replace(job, excluded={**job.excluded, culprit: ended.blame}), None
                news(_note(job, f"{ended.blame}; the cell runs again without it"))
            else:
                seconds = time.monotonic() - started
                return Outcome(job.cell, ended.state, last_reason(job, ended), dict(job.excluded), seconds)

    def cancel(self) -> None:
        """Have `run` kill the process and raise `Interrupted`, now and ever after; from any thread."""
        self._cancelled = True

    def close(self) -> None:
        """End the process, and give back all that was taken; not while `run` is at work."""
        self._stop()
        if self._page is not None:
            self._page.close()
            self._page = None

    def _try(self, job: Job, news: Callable[[News], None]) -> Outcome | Ending:
        """Give a job to the process, and stay with it until it is done or has to end."""
        self._check_cancelled(job)
        try:
            process, page = self._ready(job)
        except OSError as error:
            reason = f"cannot start a process for the cell: {error}"
            return Outcome(job.cell, "storage", reason, dict(job.excluded))
        fresh, self._fresh = self._fresh, False
        process.send(json.dumps({"job": job.to_json()}).encode() + b"\n")
        sent = time.monotonic()
        while True:
            gone = process.gone()  # asked first, so that what it wrote at last is read
            for line in process.lines(0 if gone else POLL):
                try:
                    told = json.loads(line)
                    if "outcome" in told:
                        return Outcome.from_json(told["outcome"])
                    latest = News(**told["news"])
                except (ValueError, TypeError, KeyError):
                    wrote = f"wrote what is no message ({line[:80].decode(errors='replace')!r})"
                    return ended_by_itself(job, page, wrote)
                news(latest)
            self._check_cancelled(job)
            if gone:
                return ended_by_itself(job, page, f"ended {process.how_it_ended()}")
            ending = ended_for_time(job, process, page, sent) or ended_for_memory(job, process, page)
            if ending is not None:
                return replace(ending, fresh=fresh)

    def _ready(self, job: Job) -> tuple[LineProcess, WatchPage]:
        """Give a process that waits for a job, and the page it will write."""
        if self._page is None:
            self._page = WatchPage()
        if self._process is not None and (self._process.gone() or _is_large(self._process, job)):
            self._stop()
        self._page.clear(list(job.keys))
        if self._process is None:
            self._process, self._fresh = self._start(job, self._page.descriptor), True
        return self._process, self._page

    def _start(self, job: Job, page: int) -> LineProcess:
        command = [self._python, "-P", "-m", "farm.campaign.worker", "--compute", self._compute]
        log = open_log(job)  # for what it may say before it reads its first job
        try:
            return LineProcess(
                [*command, "--page", str(page)],
                environment=thread_environment(self._threads),
                errors=log,
                inherited=(page,),
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


def _note(job: Job, message: str) -> News:
    return News(job.cell, note=f"{job.title}: {message}")
