"""Running a campaign: what its folder lacks is computed, told and kept, cell by cell, by processes here."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from farm import registry
from farm.campaign.board import Board
from farm.campaign.jobs import Job, News, Outcome
from farm.campaign.plan import Plan, PlannedCell
from farm.campaign.progress import CampaignProgress, State, Status
from farm.campaign.spec import Campaign
from farm.campaign.status import write_status
from farm.campaign.supervisor import Supervisor
from farm.errors import Failure, StorageError
from farm.store import provenance
from farm.store.campaign_folder import CampaignFolder

BETWEEN_STATUSES = 1.0
"""Seconds after which a status is written for others to read."""


class Executor(Protocol):
    """Computes jobs, somewhere."""

    @property
    def workers(self) -> int:
        """How many cells it computes at a time."""
        ...

    def run(self, jobs: Sequence[Job], news: Callable[[News], None], done: Callable[[Outcome], bool]) -> None:
        """Compute all jobs; `done` says of each outcome whether to go on.

        Both are called from one thread at a time. On an interrupt all work is ended before it is raised.
        """
        ...

    def close(self) -> None:
        """Give back what was taken."""
        ...


@dataclass
class Summary:
    """What became of a campaign."""

    cells: int
    done: int
    computed: int = 0
    failures: list[str] = field(default_factory=list)
    """Each monitor of a cell that did not work, or all of the cell: its title, and why."""

    def fail(self, title: str, reasons: Iterable[str]) -> None:
        """Note why a cell failed, or some of its monitors."""
        self.failures += [f"{title}: {reason}" for reason in reasons]


def run_plan(
    plan: Plan,
    campaign: Campaign,
    home: Path,
    folder: CampaignFolder,
    executor: Executor,
    board: Board,
) -> Summary:
    """Compute what a plan lacks; call it with the folder's lock held.

    A cell that fails is noted and the others go on; where nothing can be written, or where code or data
    change under way, everything stops.
    """
    folder.prepare()
    folder.sweep()
    for name, reason in plan.damaged.items():
        board.note(f"damaged, set aside, and computed again where it is asked for: {reason}")
        folder.set_aside(name)
    folder.write_record(_record(plan, campaign, home))
    summary = Summary(len(plan.cells), done=len(plan.of("done")))
    for cell in plan.cells:
        summary.fail(cell.cell.title, cell.failures.values())
    todo = {cell.keys.cell: cell for cell in plan.todo}
    if not todo:
        return summary
    there = len(plan.cells), summary.done, len(plan.of("failed"))
    progress = CampaignProgress(
        Status(campaign.name, "running", *there, workers=executor.workers, folder=str(folder.path)),
        [{"id": id_, "title": cell.cell.title, **cell.cell.label} for id_, cell in todo.items()],
        plan.finished,
    )
    board.start(progress)
    limits = campaign.limits.limits()
    stopped: list[Failure] = []

    def done(outcome: Outcome) -> bool:
        cell = todo[outcome.cell]
        if outcome.state in ("storage", "changed"):
            kind = StorageError if outcome.state == "storage" else Failure
            stopped.append(kind(f"{outcome.reason}; what is finished is kept: run it again to go on"))
            return False
        board.finish(outcome, cell.cell.title)
        _keep(outcome, cell, folder, summary)
        return True

    with _status_written(folder, progress):
        workers = min(executor.workers, len(todo))
        executor.run([cell.job(folder, home, limits, workers) for cell in plan.todo], board.news, done)
        if stopped:
            raise stopped[0]
    return summary


def _keep(outcome: Outcome, cell: PlannedCell, folder: CampaignFolder, summary: Summary) -> None:
    """Note what became of a cell, in its folder and in the summary."""
    title = cell.cell.title
    if outcome.state != "done":
        folder.note_failure(outcome.cell, cell.keys.target, title, outcome.state, outcome.reason)
        summary.fail(title, [outcome.reason])
        return
    summary.done += 1
    summary.computed += 1
    summary.fail(title, outcome.failures.values())
    folder.forget_failure(outcome.cell)
    for donor in cell.contained:
        folder.discard(donor)


def _record(plan: Plan, campaign: Campaign, home: Path) -> dict[str, Any]:
    """Return what is kept of a campaign beside its cells."""
    return {
        "name": campaign.name,
        "home": str(home),
        "campaign": campaign.model_dump(mode="json", by_alias=True, exclude_unset=True),
        "cells": [cell.record() for cell in plan.cells],
        "versions": provenance.versions(),
        "commit": provenance.git_commit(registry.HOME),
        "experiment_commit": provenance.git_commit(home),
    }


@contextmanager
def _status_written(folder: CampaignFolder, progress: CampaignProgress) -> Iterator[None]:
    """Tell others how far it is, once a second; and in the end, how it ended."""
    over = threading.Event()

    def write(state: State) -> None:
        with suppress(OSError):  # a status is for people; a full disk is told by the cells
            write_status(folder.status, progress.status(state))

    def tell() -> None:
        write("running")
        while not over.wait(BETWEEN_STATUSES):
            write("running")

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    state: State = "stopped"
    try:
        yield
        state = "finished"
    except KeyboardInterrupt:
        state = "interrupted"
        raise
    finally:
        over.set()
        teller.join()
        write(state)


class LocalExecutor:
    """Processes on this machine, one supervisor each."""

    def __init__(self, workers: int, threads: int = 1) -> None:
        self.workers = workers
        self._threads = threads

    def run(self, jobs: Sequence[Job], news: Callable[[News], None], done: Callable[[Outcome], bool]) -> None:
        """Compute all jobs, at least one; each process stays with cells that share what it has in memory."""
        queue, lock = _Groups(jobs), threading.Lock()
        supervisors = [Supervisor(threads=self._threads) for _ in range(min(self.workers, len(jobs)))]

        def tell(one: News) -> None:
            with lock:
                news(one)

        def work(supervisor: Supervisor) -> None:
            group = ""
            try:
                while (job := queue.take(group)) is not None:
                    group = job.group
                    tell(News(job.cell, "starting"))
                    outcome = supervisor.run(job, tell)
                    with lock:
                        if not done(outcome):
                            queue.stop()
            finally:
                queue.stop()  # nothing is left, or something broke
                supervisor.close()

        with ThreadPoolExecutor(len(supervisors)) as threads:
            working = [threads.submit(work, one) for one in supervisors]
            try:
                wait(working)
            except BaseException:
                queue.stop()
                for one in supervisors:
                    one.cancel()
                raise
        for ended in working:
            ended.result()

    def close(self) -> None:
        """Do nothing: its processes ended with the last `run`."""


class _Groups:
    """Hands jobs out so that workers begin in different groups, and stay in theirs as long as it lasts."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._lock = threading.Lock()
        self._groups: dict[str, deque[Job]] = {}
        for job in jobs:
            self._groups.setdefault(job.group, deque()).append(job)
        self._taken = Counter[str]()

    def take(self, latest: str) -> Job | None:
        """Return the next job for a worker whose latest was of this group; None where none is left."""
        with self._lock:
            self._taken[latest] -= 1
            left = {group: jobs for group, jobs in self._groups.items() if jobs}
            if not left:
                return None
            # In campaign order: the own group, else the first that fewest others are at.
            group = latest if latest in left else min(left, key=lambda name: self._taken[name])
            self._taken[group] += 1
            return left[group].popleft()

    def stop(self) -> None:
        """Hand out nothing more."""
        with self._lock:
            self._groups.clear()
