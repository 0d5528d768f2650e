"""What a Dask worker does for a campaign: a job a task, in a process that it keeps from job to job.

The Dask worker itself computes nothing: it keeps a supervisor for every job that it has at a time, so that
limits, culprits and logs are those of one machine. What travels is JSON; of our code, only references to it.
Dask is imported when a task runs, and not before: it is an extra.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from farm.campaign.jobs import Job, News
from farm.campaign.supervisor import Interrupted, Supervisor
from farm.store.provenance import versions

TOPIC = "farm-campaign"
"""Dask's topic under which workers tell the campaign of their jobs."""
PREFIX = "farm-cell"
"""What the keys of our tasks begin with."""
PLUGIN = "farm-supervisors"
PATIENCE = 5.0
"""Seconds that a file written elsewhere may take to be seen through a network's file system."""

_ATTACHING = threading.Lock()


def run_job(text: str) -> str:
    """Compute a job as a Dask task; give its outcome, or why this worker is not fit to compute it.

    Parameters
    ----------
    text
        JSON: the `job`, which `run` of a campaign it belongs to, the `threads` and what is to `compute` it
        (see `Supervisor`), and what must be the `same` here as where the campaign runs.
    """
    dask = import_module("distributed")
    task = json.loads(text)
    job = Job.from_json(task["job"])
    worker = dask.get_worker()
    crew = _crew_of(worker)
    if (unfit := crew.unfit(task["run"], task["same"])) is not None:
        return json.dumps({"unfit": f"the Dask worker {worker.address} on {socket.gethostname()} {unfit}"})

    def tell(**what: Any) -> None:
        worker.log_event(TOPIC, {"run": task["run"], "cell": job.cell, **what})

    def pass_on(news: News) -> None:
        tell(news=asdict(news))

    tell(at="begun")
    try:
        with crew.supervisor(worker.get_current_task(), task["threads"], task["compute"]) as supervisor:
            return json.dumps({"outcome": asdict(supervisor.run(job, pass_on))})
    except Interrupted:
        # Nobody waits for it any more, or this worker is closing and another one is to compute it.
        raise dask.Reschedule from None
    finally:
        tell(at="left")


class Crew:
    """The supervisors of one Dask worker, as a plugin of it: it is told when a task is cancelled.

    A worker has as many as it ever had jobs at a time. Its methods are called from several threads.

    Parameters
    ----------
    make
        Makes a supervisor; it is given its `threads` and what is to `compute`.
    """

    def __init__(self, make: Callable[..., Supervisor] = Supervisor) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._busy: dict[str, Supervisor] = {}
        self._idle: dict[tuple[int, str], list[Supervisor]] = defaultdict(list)
        self._cancelled: set[str] = set()
        self._fit: set[str] = set()
        self._closed = False

    @contextmanager
    def supervisor(self, key: str, threads: int, compute: str) -> Iterator[Supervisor]:
        """Lend a supervisor to a task, the one that was used last; it is kept if the task went well."""
        with self._lock:
            if self._closed or key in self._cancelled:
                self._cancelled.discard(key)
                raise Interrupted(f"the task {key} was cancelled before it began")
            idle = self._idle[threads, compute]
            mine = self._busy[key] = idle.pop() if idle else self._make(threads=threads, compute=compute)
        well = False
        try:
            yield mine
            well = True
        finally:
            with self._lock:
                # One that was cancelled is not there any more, and of no further use.
                keep = self._busy.pop(key, None) is not None and well
                if keep:
                    idle.append(mine)
            if not keep:
                mine.close()

    def unfit(self, run: str, same: Mapping[str, Any]) -> str | None:
        """Say why no cell of a campaign may be computed here; looked at once for each of its runs."""
        if run in self._fit:
            return None
        why = _unseen(Path(same["file"]), same["token"]) or _different(same["versions"])
        if why is None:
            self._fit.add(run)
        return why

    def cancel(self, key: str) -> None:
        """End what computes a task's job, or will."""
        with self._lock:
            supervisor = self._busy.pop(key, None)
            if supervisor is None:
                self._cancelled.add(key)
            else:
                supervisor.cancel()

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Be told of every task that goes from one state to another: by Dask."""
        ours = isinstance(key, str) and key.startswith(PREFIX)
        if ours and start in ("executing", "long-running") and finish == "released":
            self.cancel(key)

    def teardown(self, worker: Any) -> None:
        """End everything, with the worker: called by Dask."""
        del worker
        with self._lock:
            self._closed = True
            for one in self._busy.values():
                one.cancel()
            self._busy.clear()
            idle = list(chain.from_iterable(self._idle.values()))
            self._idle.clear()
        for one in idle:
            one.close()


def _crew_of(worker: Any) -> Crew:
    with _ATTACHING:
        if PLUGIN not in worker.plugins:
            plugin = type("CrewPlugin", (Crew, import_module("distributed").WorkerPlugin), {})()
            adding = worker.plugin_add(plugin=plugin, name=PLUGIN)
            asyncio.run_coroutine_threadsafe(adding, worker.loop.asyncio_loop).result(30)
        crew: Crew = worker.plugins[PLUGIN]
        return crew


def _unseen(file: Path, token: str) -> str | None:
    """Say why a file cannot be seen that the campaign has just written."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if file.read_text(encoding="utf-8") == token:
                return None
            why = "it holds something else there"
        except OSError as error:
            why = error.strerror or str(error)
        if time.monotonic() >= deadline:
            return (
                f"does not see the campaign's folder: {file} ({why}); expected a file system that all "
                "machines see at the same path, for the campaign's folder, the data and the cache"
            )
        time.sleep(0.2)


def _different(expected: Mapping[str, str | None]) -> str | None:
    """Say which versions are others here: results may differ with any of them."""
    installed = versions(name for name in expected if name != "python")
    other = [
        f"{name} {installed[name] or 'not at all'} (not {wanted or 'at all'})"
        for name, wanted in expected.items()
        if installed[name] != wanted
    ]
    if not other:
        return None
    return f"has {', '.join(other)}; expected what the machine has that runs the campaign: install that there"
