"""What a campaign still has to compute, what is there already, and what no run of it would use any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from farm.api import Context
from farm.campaign.expanding import Cell
from farm.campaign.jobs import Job, Limits
from farm.campaign.keys import KeyMaker, Keys
from farm.campaign.spec import Campaign
from farm.config.experiment import ComponentSpec, Experiment
from farm.errors import DataError, ExperimentError, RequirementError, StorageError
from farm.store.campaign_folder import CampaignFolder, split_name
from farm.store.readouts import checked_record
from farm.store.records import read_record
from farm.store.run_form import SCHEMA, FinishedCellForm

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
    """Of a finished cell: `seconds` and `nbytes`."""

    def job(self, folder: CampaignFolder, home: Path, limits: Limits, workers: int = 1) -> Job:
        """Return what a process must be told to compute it, one of so many."""
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
            made_of=self.keys.made_of,
            looked=self.keys.looked,
            workers=workers,
        )

    def record(self) -> dict[str, Any]:
        """Return what campaign.json has of it."""
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
    new: int = 0
    """Cells that the campaign did not have when it was run last."""
    gone: int = 0
    """Cells that it had then and does not have now."""

    @property
    def todo(self) -> list[PlannedCell]:
        """What must be computed."""
        return [cell for cell in self.cells if cell.state in ("partial", "missing")]

    @property
    def finished(self) -> list[dict[str, Any]]:
        """What the cells that are there took, for estimates of the others."""
        return [{**cell.cell.label, **cell.took} for cell in self.of("done") if cell.took]

    def of(self, state: CellState) -> list[PlannedCell]:
        """Return the cells in this state."""
        return [cell for cell in self.cells if cell.state == state]


def make_plan(campaign: Campaign, home: Path, folder: CampaignFolder, *, retry_failed: bool = False) -> Plan:
    """Compare what a campaign asks for with what its folder holds. Nothing is changed."""
    shelf = _Shelf(folder)
    keymaker = KeyMaker(home)
    planned: dict[str, PlannedCell] = {}
    for cell in campaign.cells(home):
        keys = keymaker.keys(cell.experiment)
        if (other := planned.get(keys.cell)) is not None:
            raise ExperimentError(
                f"cells '{other.cell.title}' and '{cell.title}' are the same; leave one out"
            )
        group = keymaker.group(cell.experiment)
        planned[keys.cell] = _planned(
            PlannedCell(cell, keys, group, "missing", keys.target), shelf, retry_failed
        )
    unused = orphans(folder, [cell.record() for cell in planned.values()])
    return Plan(
        cells=list(planned.values()),
        orphans=[name for name in unused if name not in shelf.damaged],
        damaged=shelf.damaged,
        new=len(planned.keys() - shelf.earlier) if shelf.earlier else 0,
        gone=len(shelf.earlier - planned.keys()),
    )


def _planned(wanted: PlannedCell, shelf: _Shelf, retry_failed: bool) -> PlannedCell:
    """Return a cell with what is there of it."""
    keys = wanted.keys
    names = shelf.of(keys.cell)
    latest = next((name for name in names if name.startswith(keys.target)), None)
    if latest and (record := shelf.record(latest)) is not None:
        failures = failures_in(record)
        if not (retry_failed and failures):
            took = _took(record, shelf.folder.cells / latest)
            return replace(wanted, state="done", target=latest, failures=failures, took=took)
    if not retry_failed and (reason := shelf.failure(keys)) is not None:
        return replace(wanted, state="failed", failures={"": reason})
    donors: list[str] = []
    contained: list[str] = []
    missing = dict(keys.monitors)
    for name in names:
        if (held := shelf.record(name)) is None:
            continue
        failed_there = failures_in(held) if retry_failed else {}
        theirs = held["cell"]["keys"]
        gives = [
            monitor
            for monitor, key in theirs.items()
            if missing.get(monitor) == key and monitor not in failed_there
        ]
        if gives:
            donors.append(name)
            missing = {monitor: key for monitor, key in missing.items() if monitor not in gives}
        if theirs.items() <= keys.monitors.items():
            contained.append(name)
    return replace(
        wanted,
        state="partial" if donors else "missing",
        target=f"{keys.target}.{split_name(latest)[2] + 1}" if latest else keys.target,
        compute=tuple(missing),
        donors=tuple(donors),
        contained=tuple(contained),
    )


class _Shelf:
    """The cells' folders that are there; each is read and checked at most once, and only when asked for."""

    def __init__(self, folder: CampaignFolder) -> None:
        self.folder = folder
        self._names = folder.cell_folders()
        self._records: dict[str, dict[str, Any] | None] = {}
        self.damaged: dict[str, str] = {}
        self.earlier: set[str] = set()
        with suppress(DataError):  # a record that is not there, or damaged, is written anew
            self.earlier = {cell["id"] for cell in folder.record()["cells"]}

    def of(self, cell: str) -> list[str]:
        return self._names.get(cell, [])

    def record(self, name: str) -> dict[str, Any] | None:
        """Return a cell's record; None, and the reason in `damaged`, where it cannot be trusted."""
        if name not in self._records:
            self._records[name] = None
            path = self.folder.cells / name
            try:
                self._records[name] = checked_record(path, FinishedCellForm)
            except DataError as error:
                self.damaged[name] = str(error)
            except OSError as error:  # unreadable for now is not damaged
                raise StorageError(f"cannot read {path}: {error.strerror}") from error
        return self._records[name]

    def failure(self, keys: Keys) -> str | None:
        """Tell why a cell failed with just these monitors; what cannot be read keeps nobody from a try."""
        try:
            failed = self.folder.failure(keys.cell) or {}
        except DataError:
            return None
        return str(failed.get("reason")) if failed.get("target") == keys.target else None


def failures_in(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the monitors that failed in a run, by its record, and why."""
    return {monitor["name"]: monitor["failure"] for monitor in record["monitors"] if monitor["failure"]}


def _took(record: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Tell what a finished cell took, for estimates; a cell of several passes says little of one."""
    if len(record["passes"]) > 1:
        return {}
    seconds = record["passes"][0].get("cell_seconds")
    return {} if seconds is None else {"seconds": seconds, "nbytes": _nbytes(folder)}


def _nbytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


# What nobody asks for any more -------------------------------------------------------------------------


def orphans(folder: CampaignFolder, planned: Iterable[Mapping[str, Any]]) -> list[str]:
    """Name the folders that no run of the campaign would use: not as a cell, and not for rows of one.

    `planned` are the cells as campaign.json has them.
    """
    unwanted: list[str] = []
    cells = {cell["id"]: cell for cell in planned}
    for cell, names in folder.cell_folders().items():
        if (wanted := cells.get(cell)) is None:
            unwanted += names
            continue
        keys = split_name(wanted["target"])[1]
        whole = next((name for name in names if split_name(name)[1] == keys), None)
        others = [name for name in names if name != whole]
        # Until the cell itself is there, whatever has rows of its monitors will be taken over.
        unwanted += [one for one in others if whole or not _shares(folder.cells / one, wanted["monitors"])]
    return sorted(unwanted)


def _shares(path: Path, wanted: Mapping[str, str]) -> bool:
    try:
        held = read_record(path / "run.json", SCHEMA, FinishedCellForm)["cell"]["keys"]
    except DataError:
        return True  # whoever runs the campaign looks at it, and tells
    return bool(held.items() & wanted.items())


def prune_orphans(path: Path, dry_run: bool) -> dict[str, int]:
    """Remove the cells' folders that the campaign, as it was run last, does not ask for; return their sizes.

    Nobody may be at work there. With `dry_run` nothing is removed.
    """
    folder = CampaignFolder(path)
    record = folder.record()
    with folder.lock():
        sizes = {name: _nbytes(folder.cells / name) for name in orphans(folder, record["cells"])}
        if not dry_run:
            folder.sweep()
            for name in sizes:
                folder.discard(name)
    return sizes


# Mistakes that can be told before anything is computed --------------------------------------------------


def check_components(experiments: Iterable[Experiment], home: Path, *, whole: bool = True) -> list[str]:
    """Make each component that some of these experiments name; tell all mistakes at once.

    Where not all must be there, as in a dry run, what is lacking is returned, each in a line.
    """
    distinct = list(_distinct(experiments))
    if not distinct:
        return []
    from farm.run.builder import BuildMistakes, attempt  # not before: a finished campaign has no need of it
    from farm.run.loading import importable

    mistakes = BuildMistakes(places=False)
    with importable(home):
        for experiment in distinct:
            attempt(experiment, mistakes, Context(folder=home))
    return mistakes.tell(apart=() if whole else (DataError, RequirementError))


def _distinct(experiments: Iterable[Experiment]) -> Iterator[Experiment]:
    """Leave of each experiment the faults and monitors that none before it has with the same classifier.

    What has nothing new left, not even a workload, is left out.
    """
    known: set[str] = set()

    def new(of: ComponentSpec, *context: BaseModel) -> bool:
        before = len(known)
        known.add(" ".join(part.model_dump_json(by_alias=True) for part in (of, *context)))
        return len(known) > before

    for experiment in experiments:
        around = (experiment.classifier, experiment.calibration, experiment.policy, experiment.fallback)
        faults = [fault for fault in experiment.faultload if new(fault)]
        # Which monitors may watch is a matter of the stream's split.
        monitors = [one for one in experiment.monitors if new(one, *around, experiment.stream)]
        others = [new(part, *around) for part in (experiment.workload, experiment.stream.order)]
        if faults or monitors or any(others):
            yield experiment.model_copy(update={"faultload": faults, "monitors": monitors})
