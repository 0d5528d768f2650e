"""How far a campaign is: written by whoever runs it, read by whoever wants to know."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from farm.campaign.progress import REASONS_SHOWN, SCHEMA, Running, State, Status, time_left
from farm.errors import DataError
from farm.store.campaign_folder import CampaignFolder, planned_cells
from farm.store.files import read_json, write_json
from farm.store.records import Form, read_record
from farm.store.run_form import SCHEMA as RUN_SCHEMA
from farm.store.run_form import WholeRunForm

BAR = 40


def write_status(path: Path, status: Status) -> None:
    """Put a status in the place of the one before, at once."""
    write_json(path, status.to_json())


def read_status(folder: CampaignFolder) -> tuple[Status, bool]:
    """Tell how far a campaign is, and whether somebody is at work on it.

    What nobody is at work on is looked up in the folder itself: a killed process leaves an old status.
    """
    holder = folder.holder()
    if holder is None:
        was = {}
        with suppress(DataError):
            was = read_json(folder.status)
        return _counted(folder, "interrupted" if was.get("state") == "interrupted" else "stopped"), False
    try:
        status = Status.from_json(read_record(folder.status, SCHEMA, Form))
        # One that has only just begun has not written its own yet.
        current = status.state == "running" and (status.started or 0.0) >= holder.get("since", 0.0)
    except (DataError, TypeError, ValueError):
        return _counted(folder, "running"), True
    return (status if current else _counted(folder, "running")), True


def render(status: Status, alive: bool) -> str:
    """Write a status for people; `alive` says whether a process is at work.

    Examples
    --------
    >>> print(render(Status("signs", "finished", total=4, done=3, failed=1, folder="out"), alive=False))
    signs: finished: 3 of 4 cells done, 1 failed
    [##############################..........]  75 %
    try what failed again: `farm run ... --retry-failed`
    logs: out/logs/
    """
    return "\n".join(_lines(status, alive))


def bar(done: int, total: int, width: int = BAR) -> str:
    """Draw a bar of characters.

    Examples
    --------
    >>> bar(1, 2, width=8)
    '[####....]  50 %'
    """
    share = done / total if total else 1.0
    full = int(width * share)
    return f"[{'#' * full}{'.' * (width - full)}] {int(100 * share):3d} %"


def progress_words(running: Running) -> str:
    """Say what a cell does and how far that is.

    Examples
    --------
    >>> progress_words(Running("1", "one", doing="streaming", at=3, total=40))
    'streaming 3/40'
    """
    if running.total is not None:
        return f"{running.doing} {running.at}/{running.total}"
    return f"{running.doing} {running.at}" if running.at else running.doing or "starting"


def _lines(status: Status, alive: bool) -> Iterator[str]:
    state = "stopped" if status.state == "running" and not alive else status.state
    gone = {
        "stopped": " (its process is gone): `farm run ...` continues",
        "interrupted": ": `farm run ...` continues",
    }
    counted = f"{status.done} of {status.total} cells done{_failed(status)}"
    yield f"{status.name}: {state}{gone.get(state, '')}: {counted}"
    yield bar(status.done, status.total)
    if alive:
        yield _time(status)
        for one in status.running:
            yield f"  {one.title}: {progress_words(one)}, for {_exactly(one.seconds)}"
    for reason in status.reasons[:REASONS_SHOWN]:
        yield f"  failed: {reason}"
    unsaid = status.failed + status.failed_monitors - len(status.reasons[:REASONS_SHOWN])
    if unsaid > 0 and status.reasons:
        yield f"  ... and {unsaid} more: `farm verify {status.folder}` tells all"
    if not alive and (status.failed or status.failed_monitors):
        yield "try what failed again: `farm run ... --retry-failed`"
    yield f"logs: {Path(status.folder) / 'logs'}/"


def _failed(status: Status) -> str:
    cells = f", {status.failed} failed" if status.failed else ""
    monitors = status.failed_monitors
    return cells + (f", {monitors} monitor failure{'s' if monitors != 1 else ''}" if monitors else "")


def _time(status: Status) -> str:
    left = time_left(status.seconds_left)
    workers = f"{status.workers} worker" + ("s" if status.workers != 1 else "")
    since = f", running for {_exactly(max(time.time() - status.started, 0))}" if status.started else ""
    return f"{left}, {workers}{since}"


def _exactly(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))


def _counted(folder: CampaignFolder, state: State) -> Status:
    """Count what lies in the folder."""
    done = failed = failed_monitors = 0
    reasons: list[str] = []
    for cell, path in planned_cells(folder):
        if path is not None:
            done += 1
            failures = _failures(path)
            failed_monitors += len(failures)
            reasons += [f"{cell['title']}: {why}" for why in failures]
        elif (failure := folder.failure(cell["id"])) is not None:
            failed += 1
            reasons.append(f"{cell['title']}: {failure.get('reason')}")
    record = folder.record()
    total = len(record["cells"])
    return Status(
        name=record["name"],
        state="finished" if state != "running" and done + failed == total else state,
        total=total,
        done=done,
        failed=failed,
        failed_monitors=failed_monitors,
        reasons=tuple(reasons[:REASONS_SHOWN]),
        folder=str(folder.path),
    )


def _failures(path: Path) -> list[str]:
    try:
        record = read_record(path / "run.json", RUN_SCHEMA, WholeRunForm)
    except DataError as error:
        return [str(error)]
    return [one["failure"] for one in record["monitors"] if one["failure"]]
