"""Who computes a campaign's cells: the workers of a Dask cluster.

Dask gives out the jobs, notices workers that die and gives their jobs to others; this only hands over jobs
and takes down what comes of them.
"""

from __future__ import annotations

import json
import queue
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from farm.campaign.cluster_connection import Connection, DaskLog, connect, dask
from farm.campaign.cluster_worker import PREFIX, TOPIC, run_job
from farm.campaign.jobs import Job, News, Outcome
from farm.errors import Failure, RequirementError, StorageError, one_line
from farm.store.provenance import versions

RESCALE = 60.0
"""Seconds between two times that workers are asked for which a cluster of ours lost."""
UNUSUAL = 5.0
"""Seconds without any worker after which it is said that one is waited for."""
LEAVING = 5.0
"""Seconds that workers have to say that they left what was cancelled."""
DEATHS = 3
"""As many times a cell may be begun by workers that die over it; then it is the cell's fault."""
GIVEN = 10
"""As many times a cell is handed to Dask whose workers die before they begin it."""
RETRIES = 2
"""How often Dask gives a task to a worker again on which it could not even begin."""


class ClusterExecutor:
    """The workers of a Dask cluster; close it when done.

    Parameters
    ----------
    where
        A scheduler's address, a scheduler file (`*.json`) or a name in Dask's configuration.
    workers
        How many workers a cluster is to have that is made by its name; its configuration may say it.
    threads
        How many threads the numerical libraries of a cell may use.
    compute
        What computes a job, as `module:function`; see `Supervisor`.
    """

    def __init__(
        self,
        where: str,
        workers: int | None = None,
        threads: int = 1,
        *,
        compute: str = "farm.campaign.cell:compute",
    ) -> None:
        self._where, self._threads, self._compute = where, threads, compute
        self._log, self._open = DaskLog(), ExitStack()
        with ExitStack() as stack:
            dask()  # imported first, since that is when it sets up its logging
            stack.enter_context(self._log.instead())
            self._connection = connect(where, workers)
            stack.callback(self._connection.close)
            self._open = stack.pop_all()

    @property
    def workers(self) -> int:
        """How many cells it computes at a time, as far as is known: a worker has a cell for each thread."""
        threads: int = sum(self._connection.client.nthreads().values())
        return max(1, threads, self._connection.workers or 0)

    def run(self, jobs: Sequence[Job], news: Callable[[News], None], done: Callable[[Outcome], bool]) -> None:
        """Compute all jobs; `news` and `done` are called from the thread that calls this."""
        if not jobs:
            return
        logs = Path(jobs[0].folder) / "logs"
        file, token = logs / ".cluster-token", uuid.uuid4().hex
        try:
            logs.mkdir(exist_ok=True)
            file.write_text(token, encoding="utf-8")
        except OSError as error:
            raise StorageError(f"cannot write {file}: {error.strerror or error}") from error
        self._log.path = logs / "dask.log"
        same = {"file": str(file), "token": token, "versions": versions()}
        common = {"run": token, "threads": self._threads, "compute": self._compute, "same": same}
        try:
            _Run(self._connection, self._where, self._log.path, common, news, done).go(jobs)
        finally:
            file.unlink(missing_ok=True)

    def close(self) -> None:
        """Disconnect; a cluster that was made for this is ended."""
        self._open.close()


@dataclass
class _Run:
    """Hands jobs over to Dask, and what it hears of them to whoever asked for it."""

    connection: Connection
    where: str
    log: Path
    common: Mapping[str, Any]
    """What every task is told beside its job; see `run_job`."""
    news: Callable[[News], None]
    done: Callable[[Outcome], bool]

    def __post_init__(self) -> None:
        self._client = self.connection.client
        self._heard: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._tasks: dict[str, tuple[int, str]] = {}
        self._wanted = True
        self._futures: dict[str, Any] = {}
        self._running: set[str] = set()
        self._given: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()

    def go(self, jobs: Sequence[Job]) -> None:
        """Stay until there is an outcome for every job, or it was said that no more are wanted."""
        self.connection.scale()
        self._client.subscribe_topic(TOPIC, lambda event: self._hear(event[1]))
        try:
            for place, job in enumerate(jobs):
                self._tasks[job.cell] = place, json.dumps({"job": asdict(job), **self.common})
                self._give(job.cell)
            self._stay(jobs[0].cell)
        except BaseException:
            self._abandon()
            raise
        finally:
            with suppress(Exception):
                self._client.unsubscribe_topic(TOPIC)

    def _stay(self, first: str) -> None:
        scaled = time.monotonic()
        unusual: float | None = scaled + UNUSUAL
        while self._futures:
            with suppress(queue.Empty):
                self._take(self._heard.get(timeout=1.0))
            now = time.monotonic()
            if now - scaled > RESCALE:
                self.connection.scale()
                scaled = now
            if unusual is not None and now > unusual and not self._begun:
                unusual, there = None, {"": 0}
                with suppress(OSError):  # that a scheduler is gone is told by its futures
                    there = self._client.nthreads()
                if not there:
                    waiting = f"waiting for a Dask worker; what Dask says of it would be in {self.log}"
                    self.news(News(first, note=waiting))

    def _give(self, cell: str) -> None:
        """Hand a job to Dask; those that come first have precedence."""
        self._given[cell] += 1
        key = f"{PREFIX}-{self.common['run']}-{cell}-{self._given[cell]}"
        place, text = self._tasks[cell]
        future = self._client.submit(run_job, text, key=key, priority=-place, retries=RETRIES, pure=False)
        self._futures[cell] = future
        future.add_done_callback(lambda _: self._heard.put({"cell": cell, "at": "over"}))

    def _hear(self, message: dict[str, Any]) -> None:
        if message["run"] == self.common["run"]:
            self._heard.put(message)

    def _take(self, message: dict[str, Any]) -> None:
        """Pass on what was heard, of jobs whose outcome is still open."""
        cell = message["cell"]
        if cell not in self._futures:
            return
        if "news" in message:
            self.news(News(**message["news"]))
        elif message["at"] == "begun":
            self._begun[cell] += 1
            self._running.add(cell)
            self.news(News(cell, "starting"))
        elif message["at"] == "over":
            self._running.discard(cell)
            outcome = self._outcome(cell, self._futures.pop(cell))
            if outcome is None:
                if self._wanted:
                    self._give(cell)
            elif not self.done(outcome):
                self._wanted = False
                self._drop([one for one in self._futures if one not in self._running])

    def _outcome(self, cell: str, future: Any) -> Outcome | None:
        """Return what became of a cell; None if workers died, and not for its sake."""
        distributed = dask()
        try:
            result = json.loads(future.result())
        except distributed.KilledWorker as error:
            if self._begun[cell] < DEATHS and self._given[cell] < GIVEN:
                return None
            died = (
                f"the cell was begun {self._begun[cell]} times by Dask workers that died, the last "
                f"{error.last_worker.address}; see their logs"
            )
            return Outcome(cell, "crashed", died)
        except distributed.CancelledError as error:
            raise Failure(
                f"--cluster {self.where}: the Dask scheduler is not connected any more; what was "
                "finished is kept: run it again to go on"
            ) from error
        except Exception as error:
            raise RequirementError(
                f"--cluster {self.where}: no cell can be computed there ({_root(error)}); expected "
                "the same farm-testbed and Dask on the scheduler and all workers as here"
            ) from error
        if "unfit" in result:
            raise RequirementError(result["unfit"])
        return Outcome(**result["outcome"])

    def _drop(self, cells: Sequence[str]) -> None:
        self._client.cancel([self._futures.pop(cell) for cell in cells])

    def _abandon(self) -> None:
        """Cancel everything, and wait a while until what had begun was left."""
        open_ = self._running.intersection(self._futures)
        with suppress(Exception):
            self._drop(list(self._futures))
            deadline = time.monotonic() + LEAVING
            while open_:
                message = self._heard.get(timeout=max(0.0, deadline - time.monotonic()))
                if message.get("at") == "left":
                    open_.discard(message["cell"])


def _root(error: BaseException) -> str:
    """Say what is at the bottom of an error, whatever Dask tells about it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return one_line(error)[:300]
