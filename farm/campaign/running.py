"""Running a campaign: what its folder lacks is computed, told and kept, cell by cell."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from farm import provenance, registry
from farm.campaign.board import Board
from farm.campaign.durations import recall, remember
from farm.campaign.estimate import Estimate, estimate
from farm.campaign.executor import Executor
from farm.campaign.folder import CampaignFolder
from farm.campaign.jobs import Outcome
from farm.campaign.plan import Plan, PlannedCell
from farm.campaign.spec import Campaign
from farm.campaign.status import State, write_status
from farm.errors import Failure, StorageError

BETWEEN_STATUSES = 1.0
"""Seconds after which a status is written for others to read."""


@dataclass(frozen=True)
class Failed:
    """Something that did not work: one monitor of a cell, or all of it."""

    title: str
    reason: str


@dataclass
class Summary:
    """What became of a campaign."""

    cells: int
    done: int
    computed: int = 0
    failures: list[Failed] = field(default_factory=list)


def estimate_of(plan: Plan, workers: int) -> Estimate:
    """Estimate what a plan's cells take that are not there."""
    finished = [{**_features(cell), **cell.took} for cell in plan.of("done") if cell.took]
    return estimate([_features(cell) for cell in plan.todo], finished, workers, recall())


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
        summary.failures += [Failed(cell.cell.title, reason) for reason in cell.failures.values()]
    todo = {cell.keys.cell: cell for cell in plan.todo}
    if not todo:
        return summary
    board.start(
        len(plan.cells),
        summary.done,
        estimate_of(plan, executor.workers),
        name=campaign.name,
        failed=len(plan.of("failed")),
        todo=[{"id": id_, "title": cell.cell.title, **cell.cell.label} for id_, cell in todo.items()],
        workers=executor.workers,
        folder=str(folder.path),
    )
    limits = campaign.limits.limits()
    stopped: list[Failure] = []

    def done(outcome: Outcome) -> bool:
        cell = todo[outcome.cell]
        if outcome.state in ("storage", "changed"):
            kind = StorageError if outcome.state == "storage" else Failure
            stopped.append(kind(f"{outcome.reason}; what is finished is kept: run it again to go on"))
            return False
        board.finished(outcome, cell.cell.title)
        _keep(outcome, cell, folder, summary)
        return True

    with _status_written(folder, board):
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
        summary.failures.append(Failed(title, outcome.reason))
        return
    summary.done += 1
    summary.computed += 1
    summary.failures += [Failed(title, reason) for reason in outcome.failures.values()]
    folder.forget_failure(outcome.cell)
    for donor in cell.contained:
        folder.discard(donor)
    took = {"seconds": outcome.seconds, "nbytes": outcome.nbytes, "instances": outcome.instances}
    remember([{**_features(cell), **took}])


def _features(cell: PlannedCell) -> dict[str, Any]:
    label = cell.cell.label
    asked = cell.compute or tuple(cell.keys.monitors)
    return {
        "workload": label["workload"],
        "classifier": label["classifier"],
        "monitors": asked,
        "instances": cell.cell.experiment.stream.length,
    }


def _record(plan: Plan, campaign: Campaign, home: Path) -> dict[str, Any]:
    """Give what is kept of a campaign beside its cells."""
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
def _status_written(folder: CampaignFolder, board: Board) -> Iterator[None]:
    """Tell others how far it is, once a second; and in the end, how it ended."""
    over = threading.Event()

    def write(state: State) -> None:
        with suppress(OSError):  # a status is for people; a full disk is told by the cells
            write_status(folder.status, board.status(state))

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
