"""Is everything that a campaign or a run has kept whole, in its place, and made alike?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from farm.campaign.keys import Keys
from farm.campaign.plan import orphans
from farm.errors import DataError
from farm.store.campaign_folder import CampaignFolder, planned_cells, split_name
from farm.store.files import check_files, check_signature, read_json
from farm.store.records import read_record
from farm.store.run_form import SCHEMA, WholeRunForm

TABLES = ("instances.parquet", "alarms.parquet")

Kind = Literal["damaged", "missing", "failed", "remark"]
"""`failed` is a result: it is told, and nothing is wrong with it. A `remark` is for whoever compares."""


@dataclass(frozen=True)
class VerifyFinding:
    """One thing that was found."""

    kind: Kind
    where: str
    what: str

    @property
    def bad(self) -> bool:
        """Whether something is not as it must be."""
        return self.kind in ("damaged", "missing")


def verify(folder: Path | str) -> list[VerifyFinding]:
    """Check every cell of a campaign, or one run: its files, its rows, its record, and the plan.

    Nothing is changed. What is damaged or missing is computed (again) by `farm run`.
    """
    path = Path(folder)
    if not path.is_dir():
        raise DataError(f"{path} is no folder; expected a campaign's or a run's, which `farm run` wrote")
    if CampaignFolder.is_campaign(path):
        return list(_campaign(CampaignFolder(path)))
    return list(_run(path, path.name))


def _campaign(folder: CampaignFolder) -> Iterator[VerifyFinding]:
    planned = planned_cells(folder)
    if folder.holder() is not None:
        yield VerifyFinding(
            "remark", str(folder.path), "a `farm run` is at work here: what it has yet to do is missing"
        )
    records: list[Mapping[str, Any]] = []
    for cell, path in planned:
        if path is None:
            yield _absent(folder, cell)
            continue
        findings = list(_run(path, cell["title"], cell))
        yield from findings
        if not any(finding.bad for finding in findings):
            records.append(read_json(path / "run.json"))
    yield from _left_over(folder, [cell for cell, _ in planned])
    yield from _mixtures(folder.path.name, records)
    yield from _data_apart(folder.path.name, records)


def _absent(folder: CampaignFolder, cell: Mapping[str, Any]) -> VerifyFinding:
    try:
        failure = folder.failure(cell["id"])
    except DataError as error:
        return VerifyFinding("damaged", cell["title"], str(error))
    if failure is None:
        return VerifyFinding("missing", cell["title"], f"there is no {folder.cells / cell['target']}")
    return VerifyFinding("failed", cell["title"], f"the cell failed: {failure.get('reason')}")


def _run(path: Path, where: str, planned: Mapping[str, Any] | None = None) -> Iterator[VerifyFinding]:
    """Check one run, and that it is the cell that was planned."""
    if damaged := damages(path):
        yield from (VerifyFinding("damaged", where, what) for what in damaged)
        return
    record = read_json(path / "run.json")
    if "cell" in record or planned is not None:
        yield from (VerifyFinding("damaged", where, what) for what in _misplaced(path, record, planned))
    for monitor in record["monitors"]:
        if monitor["failure"]:
            yield VerifyFinding("failed", where, str(monitor["failure"]))
    if strange := sorted({file.name for file in path.iterdir()} - {*record["files"], "run.json"}):
        what = f"{path} holds what its record does not list: {', '.join(strange)}"
        yield VerifyFinding("remark", where, what)


def _misplaced(path: Path, record: Mapping[str, Any], planned: Mapping[str, Any] | None) -> Iterator[str]:
    """Say where a cell's name, its record and the plan contradict each other."""
    cell = record.get("cell")
    if cell is None:
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


def _left_over(folder: CampaignFolder, planned: Sequence[Mapping[str, Any]]) -> Iterator[VerifyFinding]:
    """Tell of folders beside those of the campaign's cells."""
    where = str(folder.cells)
    names = sorted(entry.name for entry in folder.cells.iterdir()) if folder.cells.is_dir() else []
    unfinished = [name for name in names if name.startswith(".") and ".unfinished-" in name]
    known = {name for tries in folder.cell_folders().values() for name in tries}
    if unused := orphans(folder, planned):
        text = f"{_count(len(unused), 'orphan')} that no cell of the campaign needs: {_listed(unused)}"
        yield VerifyFinding("remark", where, text)
    if unfinished:
        text = f"{_count(len(unfinished), 'unfinished folder')} of processes that were ended"
        yield VerifyFinding("remark", where, f"{text}; the next `farm run` removes them")
    if strange := [name for name in names if name not in known and name not in unfinished]:
        yield VerifyFinding("remark", where, f"what is no cell: {_listed(strange)}")


def _mixtures(where: str, records: Iterable[Mapping[str, Any]]) -> Iterator[VerifyFinding]:
    """Tell where the cells of a campaign were not all made with the same things."""
    cells: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        made_with = [("thread counts", record.get("threads"))]
        for one in record.get("passes") or [record]:
            versions = (one.get("versions") or {}).items()
            made_with += [(f"versions of {package}", version) for package, version in versions]
            made_with += [("processors", (one.get("hardware") or {}).get("processor"))]
            made_with += [("commits of the testbed", one.get("testbed_commit"))]
        for what, value in dict.fromkeys((what, str(value)) for what, value in made_with):
            cells[what][value] += 1
    for what, counted in cells.items():
        if len(counted) > 1:
            text = ", ".join(f"{value} ({_count(n, 'cell')})" for value, n in counted.most_common())
            yield VerifyFinding("remark", where, f"different {what}: {text}")
    if changed := sum(n for commit, n in cells["commits of the testbed"].items() if commit.endswith("+")):
        text = f"{_count(changed, 'cell')} made by a testbed whose code had changes that were not committed"
        yield VerifyFinding("remark", where, text)


def _data_apart(where: str, records: Iterable[Mapping[str, Any]]) -> Iterator[VerifyFinding]:
    """Find cells of one workload, or one classifier, and one seed that were made with different content.

    Data that code opens by a name which it puts together itself are in no key, and may change unseen.
    """
    shared = ("workload", "seed")
    for what, digest, keys in (
        ("workload", "hash", shared),
        ("classifier", "digest", (*shared, "classifier")),
    ):
        contents: dict[tuple[str, ...], set[Any]] = defaultdict(set)
        for record in records:
            label = (record.get("cell") or {}).get("label") or {}
            contents[tuple(str(label.get(key)) for key in keys)].add((record.get(what) or {}).get(digest))
        for of, digests in contents.items():
            if len(digests) > 1:
                text = f"{len(digests)} different contents of {what} in the cells of {', seed '.join(of[:2])}"
                yield VerifyFinding("damaged", where, f"{text}; were data changed that no parameter names?")


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _listed(names: Any, shown: int = 5) -> str:
    names = list(names)
    more = f", ... ({len(names)} in all)" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more if names else "none"


# Is a run's folder whole: its record, its files, and its rows? ------------------------------------------


def damages(folder: Path) -> list[str]:
    """Say all that is wrong with a run's folder; nothing where it is whole."""
    path = folder / "run.json"
    try:
        record = read_record(path, SCHEMA, WholeRunForm)
        check_signature(path, record)
    except DataError as error:
        return [str(error)]
    return list(_files(folder, record)) or list(_rows(folder, record))


def _files(folder: Path, record: Mapping[str, Any]) -> Iterator[str]:
    """Check every file, and go on where one is damaged."""
    files = record["files"]
    for name in (*TABLES, *record["layers"].values()):
        if name not in files:
            yield f"{folder}: its record does not list '{name}'; was it edited?"
    for name, digest in files.items():
        try:
            check_files(folder, {name: digest})
        except (DataError, OSError) as error:
            yield str(error)


def _rows(folder: Path, record: Mapping[str, Any]) -> Iterator[str]:
    """Check that there is one row an instance, and one an instance and monitor."""
    try:
        instances = _columns(folder / TABLES[0], ["position", "id"])
        alarms = _columns(folder / TABLES[1], ["position", "id", "monitor"])
    except (pa.ArrowException, OSError, KeyError) as error:
        yield f"{folder}: its tables cannot be read ({' '.join(str(error).split())})"
        return
    n = len(instances)
    if not np.array_equal(instances["position"].to_numpy(), np.arange(n)):
        yield f"{folder}: the positions of its {n} instances are not 0, 1, ... {n - 1}"
        return
    if (distinct := pc.count_distinct(instances["id"]).as_py()) != n:
        yield f"{folder}: {n} instances have {distinct} ids; expected one each"
    failed = {monitor["name"]: bool(monitor["failure"]) for monitor in record["monitors"]}
    for name in pc.unique(alarms["monitor"]).to_pylist():
        if name not in failed:
            yield f"{folder}: rows of '{name}', of which its record knows nothing"
    for name, has_failed in failed.items():
        rows = alarms.filter(pc.equal(alarms["monitor"], name))
        if has_failed:
            if len(rows):
                yield f"{folder}: {len(rows)} rows of monitor '{name}', which failed; expected none"
        elif len(rows) != n:
            yield f"{folder}: {len(rows)} rows of monitor '{name}' for {n} instances; expected one each"
        elif not np.array_equal(np.sort(rows["position"].to_numpy()), np.arange(n)):
            yield f"{folder}: monitor '{name}' has several rows for one instance and none for another"
        elif n and not pc.all(pc.equal(rows["id"], instances["id"].take(rows["position"]))).as_py():
            yield f"{folder}: rows of monitor '{name}' have the id of another instance"


def _columns(path: Path, names: list[str]) -> pa.Table:
    # Columns that are not there are silently not read, and only then missed.
    return pq.read_table(path, columns=names).select(names)
