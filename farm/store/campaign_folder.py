"""A campaign's folder: what lies where, who is at work in it, and which folders of runs are meant by it.

::

    DIR/campaign.json      the campaign, its cells, and where they are
        cells/ID-KEYS/     a cell: a run's folder; ID says what was streamed, KEYS which monitors watched
        failed/ID.json     a cell that failed, and why
        logs/ID.log        what its process printed
        status.json        how far the campaign is, while it runs
        lock               who runs it
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from farm.errors import DataError, StorageError
from farm.store.files import read_json, write_json
from farm.store.lock import is_held, locked

SCHEMA = 1
_CELL = re.compile(r"([0-9a-f]{16})-([0-9a-f]{16})(?:\.(\d+))?")


class CampaignFolder:
    """Knows the places in a campaign's folder; nothing is written before `prepare`."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.cells, self.logs, self.failed = (self.path / name for name in ("cells", "logs", "failed"))
        self.status = self.path / "status.json"
        self._record, self._lock = self.path / "campaign.json", self.path / "lock"

    @staticmethod
    def is_campaign(path: Path | str) -> bool:
        """Say whether a campaign lies in this folder."""
        return (Path(path) / "campaign.json").is_file()

    def record(self) -> dict[str, Any]:
        """Read what campaign lies here."""
        if not self.path.is_dir():
            raise DataError(f"{self.path} is no folder; expected a campaign's, which `farm run` wrote")
        if not self._record.exists():
            raise DataError(f"{self.path} holds no campaign.json; expected a campaign's folder")
        # Not before: whoever only counts cells needs no pydantic.
        from farm.store.campaign_form import CampaignForm
        from farm.store.records import read_record

        return read_record(self._record, SCHEMA, CampaignForm)

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Write what campaign lies here; whoever reads meanwhile sees the old record or the new."""
        with _told(self.path):
            write_json(self._record, {"schema": SCHEMA, **record})

    def check(self, name: str) -> None:
        """Raise where this cannot be the folder of the campaign of this name."""
        if self.path.exists() and not self.path.is_dir():
            raise DataError(
                f"{self.path} is a file; expected a folder for the campaign: choose another --out"
            )
        if self.is_campaign(self.path):
            other = name
            with suppress(DataError):  # a damaged record is only a list of what is in the cells themselves
                other = self.record()["name"]
            if other != name:
                raise DataError(
                    f"{self.path} holds the campaign '{other}', not '{name}'; choose another --out"
                )
        elif self.path.exists() and any(_is_foreign(file.name) for file in self.path.iterdir()):
            raise DataError(
                f"{self.path} is there and holds no campaign; expected a new folder, or that of a campaign"
            )

    def prepare(self) -> None:
        """Make the folders, and see that they can be written to."""
        with _told(self.path):
            for folder in (self.cells, self.logs, self.failed):
                folder.mkdir(parents=True, exist_ok=True)
                if not os.access(folder, os.W_OK | os.X_OK):
                    raise StorageError(f"cannot write {folder}: choose a folder you may write to with --out")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only one at work here; the system gives the lock back even when this process is killed."""
        with _told(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        with locked(self._lock, lambda: False) as free:
            if not free:
                raise DataError(f"{self.path}: {self._told_holder()}")
            now = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
            with suppress(OSError):  # who holds the lock is told for people; the lock itself is the system's
                self._lock.write_text(json.dumps(now), encoding="utf-8")
            yield

    def holder(self) -> Mapping[str, Any] | None:
        """Tell who is at work here now; None where nobody is."""
        if not is_held(self._lock):
            return None
        with suppress(DataError):
            return read_json(self._lock)
        return {}

    def _told_holder(self) -> str:
        holder = self.holder() or {}
        who = f"process {holder['pid']} on {holder['host']}" if "pid" in holder else "another process"
        return (
            f"another `farm run` is at work here ({who}); watch it with `farm status {self.path}`, "
            "or wait until it ends"
        )

    def cell_folders(self) -> dict[str, list[str]]:
        """Return the names of all cells' folders by the cells' ids, latest try first."""
        found: dict[str, list[tuple[int, str]]] = {}
        with suppress(FileNotFoundError):
            for entry in os.scandir(self.cells):
                if match := _CELL.fullmatch(entry.name):
                    found.setdefault(match[1], []).append((int(match[3] or 1), entry.name))
        return {cell: [name for _, name in sorted(names, reverse=True)] for cell, names in found.items()}

    def failure(self, cell: str) -> dict[str, Any] | None:
        """Tell why a cell failed, where it did."""
        path = self.failed / f"{cell}.json"
        from farm.store.campaign_form import FailureForm
        from farm.store.records import read_record

        return read_record(path, SCHEMA, FailureForm) if path.exists() else None

    def note_failure(self, cell: str, target: str, title: str, state: str, reason: str) -> None:
        """Keep why a cell failed."""
        when = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        values = {"schema": SCHEMA, "cell": cell, "target": target, "title": title}
        values |= {"state": state, "reason": reason}
        with _told(self.failed):
            write_json(self.failed / f"{cell}.json", {**values, "when": when})

    def forget_failure(self, cell: str) -> None:
        """Forget that a cell failed, since it is there now."""
        (self.failed / f"{cell}.json").unlink(missing_ok=True)

    def set_aside(self, name: str) -> None:
        """Move a damaged cell's folder out of the way; who wants to may look what is left of it."""
        place = self.path / "damaged" / f"{name}-{time.time_ns()}"
        with _told(place):
            place.parent.mkdir(exist_ok=True)
            (self.cells / name).rename(place)

    def discard(self, name: str) -> None:
        """Remove a cell's folder: first from its place, so that no half of it looks whole."""
        gone = self.cells / f".{name}.unfinished-gone"
        with _told(self.cells):
            shutil.rmtree(gone, ignore_errors=True)
            (self.cells / name).rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def sweep(self) -> int:
        """Remove what killed processes left unfinished; give how many there were."""
        left = [entry for entry in self.cells.glob(".*.unfinished-*") if entry.is_dir()]
        for entry in left:
            shutil.rmtree(entry, ignore_errors=True)
        return len(left)


def split_name(name: str) -> tuple[str, str, int]:
    """Take the name of a cell's folder apart: the cell's id, the digest of its keys, and which try it was."""
    match = _CELL.fullmatch(name)
    if match is None:
        raise DataError(f"'{name}' is no name of a cell's folder")
    return match[1], match[2], int(match[3] or 1)


def run_folders(paths: Iterable[Path | str]) -> list[Path]:
    """Put in the place of each campaign's folder those of its finished cells, in the campaign's order.

    What is no campaign's folder stays as it is. Orphans, which the campaign no longer asks for, are left out.

    Examples
    --------
    >>> [path.name for path in run_folders(["runs/quickstart-001", "own.csv"])]
    ['quickstart-001', 'own.csv']
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if not CampaignFolder.is_campaign(path):
            found.append(path)
            continue
        planned = planned_cells(CampaignFolder(path))
        there = [cell for _, cell in planned if cell is not None]
        if not there:
            raise DataError(
                f"{path}: none of the campaign's {len(planned)} cells is finished; `farm run` the "
                f"campaign, or see with `farm status {path}` what became of it"
            )
        found += there
    return found


def planned_cells(folder: CampaignFolder) -> list[tuple[Mapping[str, Any], Path | None]]:
    """Return each cell that a campaign asks for with its folder: the latest try; None where there is none."""
    names = folder.cell_folders()
    found: list[tuple[Mapping[str, Any], Path | None]] = []
    for cell in folder.record()["cells"]:
        wanted = cell["target"].partition(".")[0]
        tries = [name for name in names.get(cell["id"], []) if name.partition(".")[0] == wanted]
        found.append((cell, folder.cells / tries[0] if tries else None))
    return found


def missing_cells(path: Path | str) -> Iterator[tuple[str, str]]:
    """Return the titles of cells that a campaign asks for and has not, and why."""
    folder = CampaignFolder(path)
    for cell, place in planned_cells(folder):
        if place is None:
            failure = folder.failure(cell["id"])
            reason = failure["reason"] if failure else "it was not computed yet; `farm run` the campaign"
            yield cell["title"], reason


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}; choose a folder you may write to with --out"
        ) from error


def _is_foreign(name: str) -> bool:
    """Say whether this is nothing that a campaign's folder has."""
    return (
        name not in ("lock", "status.json", "cells", "logs", "failed", "damaged")
        and ".unfinished-" not in name
    )
