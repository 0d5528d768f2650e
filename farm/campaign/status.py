"""How far a campaign is: written by whoever runs it, read by whoever wants to know."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from farm.campaign.estimate import in_words
from farm.campaign.folder import CampaignFolder
from farm.errors import DataError
from farm.files import read_json, read_record, replace_json
from farm.run_folders import planned_cells

SCHEMA = 1
REASONS_SHOWN = 5
BAR = 40

State = Literal["running", "finished", "stopped", "interrupted"]
"""`finished`: no cell is left that has not failed. `interrupted`: somebody ended it. `stopped`: it is not at
work, and nobody said why."""


@dataclass(frozen=True)
class Running:
    """A cell that is being computed."""

    cell: str
    title: str
    doing: str = ""
    at: int = 0
    total: int | None = None
    seconds: float = 0.0
    """For how long."""
    worker: str = ""


@dataclass(frozen=True)
class Status:
    """What there is to tell of a campaign at one moment; `failed` are cells, beside those `done`."""

    name: str
    state: State
    total: int
    done: int
    failed: int = 0
    failed_monitors: int = 0
    """In cells that are done."""
    reasons: tuple[str, ...] = ()
    """Why the first of them failed."""
    running: tuple[Running, ...] = ()
    started: float | None = None
    """When it was started, in seconds since 1970; None where it is not running."""
    seconds_left: float | None = None
    workers: int = 0
    folder: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Make it again."""
        given = {name: value for name, value in values.items() if name != "schema"}
        given["running"] = tuple(Running(**one) for one in given["running"])
        given["reasons"] = tuple(given["reasons"])
        return cls(**given)


def write_status(path: Path, status: Status) -> None:
    """Put a status in the place of the one before, at once."""
    replace_json(path, status.to_json())


def read_status(folder: CampaignFolder) -> tuple[Status, bool]:
    """Tell how far a campaign is, and whether somebody is at work on it.

    What nobody is at work on is looked up in the folder itself: a killed process leaves an old status.
    """
    holder = folder.holder()
    if holder is None:
        return _found(folder, _last_state(folder)), False
    try:
        status = Status.from_json(read_record(folder.status, SCHEMA, ["running", "reasons"]))
    except (DataError, TypeError):
        return _found(folder, "running"), True
    # One that has only just begun has not written its own yet.
    own = status.state == "running" and (status.started or 0.0) >= holder.get("since", 0.0)
    return (status if own else _found(folder, "running")), True


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
    state = status.state
    if not alive:
        state = "stopped" if state == "running" else state
    gone = " (its process is gone): `farm run ...` continues" if state == "stopped" else ""
    gone = ": `farm run ...` continues" if state == "interrupted" else gone
    yield f"{status.name}: {state}{gone}: {status.done} of {status.total} cells done{_failed(status)}"
    yield bar(status.done, status.total)
    if alive:
        yield _time(status)
        for one in status.running:
            who = f"{one.worker}: " if one.worker else ""
            yield f"  {who}{one.title}: {progress_words(one)}, for {_exactly(one.seconds)}"
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
    left = (
        "time left not known yet" if status.seconds_left is None else f"{in_words(status.seconds_left)} left"
    )
    workers = f"{status.workers} worker" + ("s" if status.workers != 1 else "")
    since = f", running for {_exactly(max(time.time() - status.started, 0))}" if status.started else ""
    return f"{left}, {workers}{since}"


def _exactly(seconds: float) -> str:
    """Say a time that is known.

    Examples
    --------
    >>> _exactly(4.2), _exactly(125), _exactly(7500)
    ('4 s', '2:05 min', '2:05 h')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60}:{whole % 60:02d} min" if whole < 3600 else f"{whole // 3600}:{whole // 60 % 60:02d} h"
    )


def _last_state(folder: CampaignFolder) -> State:
    try:
        return "interrupted" if read_json(folder.status).get("state") == "interrupted" else "stopped"
    except DataError:
        return "stopped"


def _found(folder: CampaignFolder, state: State) -> Status:
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
        monitors = read_json(path / "run.json").get("monitors", [])
    except DataError as error:
        return [str(error)]
    return [one["failure"] for one in monitors if one.get("failure")]
