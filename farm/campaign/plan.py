"""What a campaign still has to compute, and what is there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from farm.campaign.changes import changeable
from farm.campaign.folder import CampaignFolder, split_name
from farm.campaign.housekeeping import orphans
from farm.campaign.jobs import Job, Limits
from farm.campaign.keys import KeyMaker, Keys
from farm.campaign.spec import Campaign, Cell
from farm.errors import DataError, ExperimentError, StorageError
from farm.identity.undeclared import Since
from farm.readouts import checked_record

CellState = Literal["done", "failed", "partial", "missing"]


@dataclass(frozen=True)
class PlannedCell:
    """A cell, where it is or will be, and what of it must be computed.

    `partial` cells have some of their monitors in other folders: those rows are taken over.
    """

    cell: Cell
    keys: Keys
    group: str
    state: CellState
    target: str
    compute: tuple[str, ...] = ()
    donors: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    """Monitors that failed in it, and why; of a failed cell, why it failed, under an empty name."""
    contained: tuple[str, ...] = ()
    """Donors that the new folder will contain entirely."""
    took: Mapping[str, Any] = field(default_factory=dict)
    """Of a finished cell: `seconds`, `nbytes` and `instances`."""

    def job(self, folder: CampaignFolder, home: Path, limits: Limits, workers: int = 1) -> Job:
        """Give what a process must be told to compute it, one of so many."""
        return Job(
            cell=self.keys.cell,
            title=self.cell.title,
            label=self.cell.label,
            target=self.target,
            folder=str(folder.path.resolve()),
            home=str(home),
            experiment=self.cell.experiment.model_dump(mode="json", by_alias=True, exclude_unset=True),
            keys=self.keys.monitors,
            compute=self.compute,
            donors=self.donors,
            limits=limits,
            group=self.group,
            made_of=[(who, changeable(identity)) for who, identity in self.keys.made_of],
            looked=self.keys.looked,
            workers=workers,
        )

    def record(self) -> dict[str, Any]:
        """Give what campaign.json has of it."""
        return {
            "id": self.keys.cell,
            "title": self.cell.title,
            "label": dict(self.cell.label),
            "target": self.target,
            "monitors": self.keys.monitors,
        }


@dataclass(frozen=True)
class Plan:
    """All cells of a campaign, and what else lies in its folder."""

    cells: Sequence[PlannedCell]
    orphans: Sequence[str] = ()
    """Folders of cells that the campaign, as it is now, does not ask for."""
    damaged: Mapping[str, str] = field(default_factory=dict)
    """Folders that are not what their checksums say, and why."""
    stale: Mapping[str, str] = field(default_factory=dict)
    """Folders that were made with files which no parameter names, and which are others now."""
    new: int = 0
    """Cells that the campaign did not have when it was run last."""
    gone: int = 0
    """Cells that it had then and does not have now."""

    @property
    def todo(self) -> list[PlannedCell]:
        """What must be computed."""
        return [cell for cell in self.cells if cell.state in ("partial", "missing")]

    def of(self, state: CellState) -> list[PlannedCell]:
        """Give the cells in this state."""
        return [cell for cell in self.cells if cell.state == state]


def make_plan(campaign: Campaign, home: Path, folder: CampaignFolder, *, retry_failed: bool = False) -> Plan:
    """Compare what a campaign asks for with what its folder holds. Nothing is changed."""
    shelf = _Shelf(folder, home)
    keymaker = KeyMaker(home)
    planned: list[PlannedCell] = []
    seen: dict[str, str] = {}
    for cell in campaign.cells(home):
        keys = keymaker.keys(cell.experiment)
        if keys.cell in seen:
            raise ExperimentError(f"cells '{seen[keys.cell]}' and '{cell.title}' are the same; leave one out")
        seen[keys.cell] = cell.title
        group = keymaker.group(cell.experiment)
        planned.append(_planned(cell, keys, group, shelf, folder, retry_failed))
    before = set(shelf.earlier)
    return Plan(
        cells=planned,
        orphans=[
            name for name in orphans(folder, [cell.record() for cell in planned]) if name not in shelf.damaged
        ],
        damaged=dict(shelf.damaged),
        stale={name: why for name, why in shelf.stale.items() if why},
        new=len(seen.keys() - before) if before else 0,
        gone=len(before - seen.keys()),
    )


def _planned(
    cell: Cell, keys: Keys, group: str, shelf: _Shelf, folder: CampaignFolder, retry_failed: bool
) -> PlannedCell:
    wanted = keys.monitors
    names = shelf.of(keys.cell)
    latest = next((name for name in names if name.startswith(keys.target)), None)
    record = shelf.record(latest) if latest else None
    if latest and record is not None and not shelf.why_stale(latest):
        failures = _failures(record)
        if not (retry_failed and failures):
            took = _took(record, folder.cells / latest)
            return PlannedCell(cell, keys, group, "done", latest, failures=failures, took=took)
    failed = None if retry_failed else _failed_before(folder, keys)
    if failed is not None:
        return PlannedCell(cell, keys, group, "failed", keys.target, failures={"": str(failed.get("reason"))})
    target = keys.target
    if latest:
        target = f"{keys.target}.{split_name(latest)[2] + 1}"
    donors: list[str] = []
    contained: list[str] = []
    missing = set(wanted)
    for name in names:
        held = shelf.record(name)
        if held is None:
            continue
        failed_there = _failures(held) if retry_failed else {}
        gives = {
            monitor
            for monitor, key in held["cell"]["keys"].items()
            if monitor in missing and wanted[monitor] == key and monitor not in failed_there
        }
        if gives and not shelf.why_stale(name):
            donors.append(name)
            missing -= gives
        if held["cell"]["keys"].items() <= wanted.items():
            contained.append(name)
    state: CellState = "partial" if donors else "missing"
    compute = tuple(monitor for monitor in wanted if monitor in missing)
    return PlannedCell(cell, keys, group, state, target, compute, tuple(donors), contained=tuple(contained))


class _Shelf:
    """The cells' folders that are there; each is read and checked at most once, and only when asked for."""

    def __init__(self, folder: CampaignFolder, home: Path) -> None:
        self._folder, self._since = folder, Since(home)
        self._names = folder.cell_folders()
        self._records: dict[str, dict[str, Any] | None] = {}
        self.damaged: dict[str, str] = {}
        self.stale: dict[str, str] = {}
        self.earlier: list[str] = []
        with suppress(DataError):  # a record that is not there, or damaged, is written anew
            self.earlier = [cell["id"] for cell in folder.record()["cells"]]

    def of(self, cell: str) -> list[str]:
        return self._names.get(cell, [])

    def record(self, name: str) -> dict[str, Any] | None:
        """Give a cell's record; None, and the reason in `damaged`, where it cannot be trusted."""
        if name not in self._records:
            self._records[name] = None
            try:
                record = checked_record(self._folder.cells / name)
                if "cell" not in record:
                    raise DataError(f"{self._folder.cells / name}: its record tells of no cell")
                self._records[name] = record
            except DataError as error:
                self.damaged[name] = str(error)
            except OSError as error:  # unreadable for now is not damaged
                raise StorageError(f"cannot read {self._folder.cells / name}: {error.strerror}") from error
        return self._records[name]

    def why_stale(self, name: str) -> str:
        """Say which files that were read for a cell and are in no key are others now; nothing where none."""
        if name not in self.stale:
            self.stale[name] = "; ".join(self._since.changes(self.record(name) or {}))
        return self.stale[name]


def _failures(record: Mapping[str, Any]) -> dict[str, str]:
    return {monitor["name"]: monitor["failure"] for monitor in record["monitors"] if monitor["failure"]}


def _failed_before(folder: CampaignFolder, keys: Keys) -> dict[str, Any] | None:
    """Tell why a cell failed with just these monitors; what cannot be read is no reason not to try again."""
    try:
        failed = folder.failure(keys.cell)
    except DataError:
        return None
    return failed if failed and failed.get("target") == keys.target else None


def _took(record: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Tell what a finished cell took, for estimates; a cell of several passes says little of one."""
    if len(record["passes"]) > 1:
        return {}
    return {
        "seconds": record["passes"][0]["cell_seconds"],
        "nbytes": sum(file.stat().st_size for file in folder.iterdir()),
        "instances": record["stream"]["length"],
    }
