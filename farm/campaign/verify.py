"""Is everything that a campaign or a run has kept whole, in its place, and made alike?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from farm.campaign.folder import CampaignFolder, split_name
from farm.campaign.housekeeping import orphans
from farm.campaign.whole_run import damages
from farm.errors import DataError
from farm.files import read_json
from farm.identity.undeclared import Since
from farm.run_folders import planned_cells

Kind = Literal["damaged", "missing", "failed", "remark"]
"""`failed` is a result: it is told, and nothing is wrong with it. A `remark` is for whoever compares."""


@dataclass(frozen=True)
class Finding:
    """One thing that was found."""

    kind: Kind
    where: str
    what: str

    @property
    def bad(self) -> bool:
        """Whether something is not as it must be."""
        return self.kind in ("damaged", "missing")


def verify(folder: Path | str) -> list[Finding]:
    """Check every cell of a campaign, or one run: its files, its rows, its record, and the plan.

    Nothing is changed. What is damaged or missing is computed (again) by `farm run`.
    """
    path = Path(folder)
    if not path.is_dir():
        raise DataError(f"{path} is no folder; expected a campaign's or a run's, which `farm run` wrote")
    if CampaignFolder.is_campaign(path):
        return list(_campaign(CampaignFolder(path)))
    found = list(_run(path, path.name))
    if not any(finding.bad for finding in found):
        found += _stale(path.name, [read_json(path / "run.json")])
    return found


def _campaign(folder: CampaignFolder) -> Iterator[Finding]:
    planned = planned_cells(folder)
    if folder.holder() is not None:
        yield Finding(
            "remark", str(folder.path), "a `farm run` is at work here: what it has yet to do is missing"
        )
    records: list[Mapping[str, Any]] = []
    for cell, path in planned:
        if path is None:
            yield _absent(folder, cell)
            continue
        found = list(_run(path, cell["title"], cell))
        yield from found
        if not any(finding.bad for finding in found):
            records.append(read_json(path / "run.json"))
    yield from _left_over(folder, [cell for cell, _ in planned])
    yield from _mixtures(folder.path.name, records)
    yield from _data_apart(folder.path.name, records)
    yield from _stale(folder.path.name, records)


def _absent(folder: CampaignFolder, cell: Mapping[str, Any]) -> Finding:
    try:
        failure = folder.failure(cell["id"])
    except DataError as error:
        return Finding("damaged", cell["title"], str(error))
    if failure is None:
        return Finding("missing", cell["title"], f"there is no {folder.cells / cell['target']}")
    return Finding("failed", cell["title"], f"the cell failed: {failure.get('reason')}")


def _run(path: Path, where: str, planned: Mapping[str, Any] | None = None) -> Iterator[Finding]:
    """Check one run, and that it is the cell that was planned."""
    damaged = False
    for what in damages(path):
        damaged = True
        yield Finding("damaged", where, what)
    if damaged:
        return
    record = read_json(path / "run.json")
    if "cell" in record or planned is not None:
        for what in _misplaced(path, record, planned):
            yield Finding("damaged", where, what)
    for monitor in record["monitors"]:
        if monitor["failure"]:
            yield Finding("failed", where, str(monitor["failure"]))
    listed = {*record["files"], "run.json"}
    if strange := sorted(file.name for file in path.iterdir() if file.name not in listed):
        yield Finding("remark", where, f"{path} holds what its record does not list: {', '.join(strange)}")


def _misplaced(path: Path, record: Mapping[str, Any], planned: Mapping[str, Any] | None) -> Iterator[str]:
    """Say where a cell's name, its record and the plan contradict each other."""
    from farm.campaign.keys import Keys  # not before: it brings all of an experiment's parts along

    cell = record.get("cell")
    if not isinstance(cell, Mapping) or not isinstance(cell.get("keys"), Mapping) or "id" not in cell:
        yield f"{path}: its record does not say which cell it is"
        return
    names = [monitor["name"] for monitor in record["monitors"]]
    if names != list(cell["keys"]):
        yield f"{path}: its record has keys of {_listed(cell['keys'])} and monitors {_listed(names)}"
    try:
        split_name(path.name)
    except DataError:
        if planned is None:
            return  # a cell's folder may be copied elsewhere, under a name of its own
    if path.name.partition(".")[0] != (target := Keys(cell["id"], dict(cell["keys"])).target):
        yield f"{path}: by its record it is {target}; was it renamed, or its record edited?"
    if planned is not None and (cell["id"], dict(cell["keys"])) != (planned["id"], dict(planned["monitors"])):
        yield f"{path}: its record is not that of the cell that campaign.json says is here"


def _left_over(folder: CampaignFolder, planned: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Tell of folders beside those of the campaign's cells."""
    where = str(folder.cells)
    names = sorted(entry.name for entry in folder.cells.iterdir()) if folder.cells.is_dir() else []
    unfinished = [name for name in names if name.startswith(".") and ".unfinished-" in name]
    known = {name for tries in folder.cell_folders().values() for name in tries}
    if unused := orphans(folder, planned):
        told = f"{_count(len(unused), 'orphan')} that no cell of the campaign needs: {_listed(unused)}"
        yield Finding("remark", where, told)
    if unfinished:
        told = f"{_count(len(unfinished), 'unfinished folder')} of processes that were ended"
        yield Finding("remark", where, f"{told}; the next `farm run` removes them")
    if strange := [name for name in names if name not in known and name not in unfinished]:
        yield Finding("remark", where, f"what is no cell: {_listed(strange)}")


def _mixtures(where: str, records: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Tell where the cells of a campaign were not all made with the same things."""
    counts: dict[str, Counter[str]] = {}
    for record in records:
        of_cell: dict[str, set[str]] = {"thread counts": {str(record.get("threads"))}}
        for one in record.get("passes") or [record]:
            for package, version in (one.get("versions") or {}).items():
                of_cell.setdefault(f"versions of {package}", set()).add(str(version))
            hardware = one.get("hardware") or {}
            of_cell.setdefault("processors", set()).add(str(hardware.get("processor")))
            of_cell.setdefault("commits of the testbed", set()).add(str(one.get("testbed_commit")))
        for what, values in of_cell.items():
            counts.setdefault(what, Counter()).update(values)
    for what, found in counts.items():
        if len(found) > 1:
            told = ", ".join(f"{value} ({_count(n, 'cell')})" for value, n in found.most_common())
            yield Finding("remark", where, f"different {what}: {told}")
    commits = counts.get("commits of the testbed", Counter())
    if changed := sum(n for commit, n in commits.items() if commit.endswith("+")):
        told = f"{_count(changed, 'cell')} made by a testbed whose code had changes that were not committed"
        yield Finding("remark", where, told)


def _data_apart(where: str, records: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Find cells of one workload, or one classifier, and one seed that were made with different content.

    Data that code opens by a name which it puts together itself are in no key, and may change unseen.
    """
    for what, digest in (("workload", "hash"), ("classifier", "digest")):
        found: dict[tuple[Any, ...], set[Any]] = {}
        for record in records:
            label = (record.get("cell") or {}).get("label") or {}
            shared = [str(label.get("workload")), str(label.get("seed"))]
            shared += [str(label.get("classifier"))] if what == "classifier" else []
            found.setdefault(tuple(shared), set()).add((record.get(what) or {}).get(digest))
        for of, digests in found.items():
            if len(digests) > 1:
                told = f"{len(digests)} different contents of {what} in the cells of {', seed '.join(of[:2])}"
                yield Finding("damaged", where, f"{told}; were data changed that no parameter names?")


def _stale(where: str, records: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Tell of cells made with data that are others now: whole, but `farm run` would not take them as done.

    Where the experiment's folder is not here, nobody can look.
    """
    homes = [Path(str(record.get("home"))) for record in records]
    since = {home: Since(home) for home in homes if home.is_dir()}
    pairs = zip(homes, records, strict=True)
    told = [changes for home, record in pairs if home in since and (changes := since[home].changes(record))]
    if told:
        why = _listed(dict.fromkeys(change for changes in told for change in changes))
        what = f"{_count(len(told), 'stale cell')}, made with data that no parameter names: {why}"
        yield Finding("remark", where, f"{what}; `farm run` of the campaign computes such cells again")


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _listed(names: Any, shown: int = 5) -> str:
    names = list(names)
    more = f", ... ({len(names)} in all)" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more if names else "none"
