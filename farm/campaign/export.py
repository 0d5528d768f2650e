"""All readouts of a campaign, or of one run, in one tidy file: a row an instance and monitor.

Each row has the columns of its instance, and before them those of its cell. An instance's own workload is
`image_workload` here: an OOD image may be from another one than `workload`, which the cell is about. The
conditions, boxes and probabilities of classes of any cell are columns of all.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from farm.api import FAULT_MEASURES
from farm.api.boxes import OF_BOXES
from farm.errors import DataError, ParameterError, StorageError, suggestion
from farm.report.cells import FORMULA
from farm.store.campaign_folder import CampaignFolder, planned_cells, run_folders

Format = Literal["parquet", "csv"]
ROWS_AT_ONCE = 2**17
"""About as many rows are put together before they are written: small cells make no small pieces."""

CELL = pa.schema(
    {
        "cell": pa.string(),
        "title": pa.string(),
        "workload": pa.string(),
        "classifier": pa.string(),
        "seed": pa.int64(),
        "batch_size": pa.int64(),
    }
)
INSTANCE = pa.schema(
    {
        "position": pa.int64(),
        "id": pa.string(),
        "image_workload": pa.string(),
        "track": pa.string(),
        "label": pa.int64(),
        "predicted": pa.int64(),
        "confidence": pa.float64(),
        "label_probability": pa.float64(),
        "brier": pa.float64(),
        "is_ood": pa.bool_(),
        "category": pa.string(),
        "faultload": pa.string(),
        "severity": pa.float64(),
        "episode": pa.int64(),
        **{f"fault_{name}": pa.float64() for name in FAULT_MEASURES},
        "classifier_time_us": pa.float64(),
    }
)
ALARM = pa.schema(
    {
        "monitor": pa.string(),
        "score": pa.float64(),
        "alarm": pa.bool_(),
        "cancelled": pa.bool_(),
        "decision": pa.int64(),
        "monitor_time_us": pa.float64(),
    }
)
SCHEMA = pa.schema([*CELL, *INSTANCE, *ALARM])
"""The columns; conditions, boxes and probabilities of classes, where there are any, are the last ones of the
instance."""
_RENAMED = {"workload": "image_workload"}


@dataclass(frozen=True)
class Exported:
    """What was written, and what is not in it."""

    path: Path
    rows: int
    cells: int
    unfinished: int = 0
    """Cells that the campaign asks for and that are not there."""
    failed: Mapping[str, int] | None = None
    """Monitors that failed, and in how many cells: they have no rows there."""


def export(folder: Path | str, format: str, out: Path | str | None = None) -> Exported:
    """Write all rows of a campaign or a run, cell by cell; the file is there whole or not at all.

    Parameters
    ----------
    folder
        A campaign's, or a run's.
    format
        `parquet` or `csv`.
    out
        The new file; by default named after the folder, in the current one.
    """
    folder = Path(folder)
    if format not in get_args(Format):
        raise ParameterError(f"format '{format}' is unknown; {suggestion(format, get_args(Format))}")
    out = Path(out) if out else Path(f"{folder.resolve().name}.{format}")
    _check_free(out)
    is_campaign = CampaignFolder.is_campaign(folder)
    planned = len(planned_cells(CampaignFolder(folder))) if is_campaign else 1
    cells = run_folders([folder])
    failed: Counter[str] = Counter()
    rows = 0
    temporary = out.with_name(f".{out.name}.unfinished-{os.getpid()}")
    try:
        instance = pa.schema([*INSTANCE, *_more(cells)])
        with closing(_WRITERS[format](temporary, pa.schema([*CELL, *instance, *ALARM]))) as writer:
            for table in _pieces(_rows(cells, instance, failed)):
                writer.write_table(_without_formulas(table) if format == "csv" else table)
                rows += len(table)
        _flush(temporary)
        _check_free(out)
        temporary.rename(out)
    except OSError as error:
        what = error.strerror or str(error)
        raise StorageError(f"cannot write {out}: {what}; choose another place with --out") from error
    finally:
        temporary.unlink(missing_ok=True)
    return Exported(out, rows, len(cells), planned - len(cells), dict(failed))


_WRITERS: Mapping[str, Callable[[Path, pa.Schema], Any]] = {
    "parquet": pq.ParquetWriter,
    "csv": pa_csv.CSVWriter,
}


def _more(cells: Sequence[Path]) -> Iterator[pa.Field]:
    """Return the columns that only some cells have: of numbers, or of words where any has some."""
    # Not before: they bring pandas along.
    from farm.store.class_probabilities import is_probability
    from farm.store.logs import condition_columns
    from farm.store.run_tables import INSTANCES, read_schema

    kinds: dict[str, set[pa.DataType]] = {}
    for path in cells:
        if not (path / INSTANCES).exists():
            continue  # which is told where the cell is read
        schema = read_schema(path / INSTANCES)
        boxes = [name for name in OF_BOXES if name in schema.names]
        probabilities = filter(is_probability, schema.names)
        for column in (*condition_columns(schema.names).values(), *boxes, *probabilities):
            kinds.setdefault(column, set()).add(schema.field(column).type)
    for column, found in kinds.items():
        (kind, *others) = found - {pa.null()} or {pa.string()}
        yield pa.field(column, kind if not others and pa.types.is_floating(kind) else pa.string())


def _rows(cells: Sequence[Path], instance: pa.Schema, failed: Counter[str]) -> Iterator[pa.Table]:
    """Return the rows of each cell, monitor after monitor, and count the monitors that have none."""
    # Not before: they bring pandas along.
    from farm.store.readouts import checked_record
    from farm.store.run_tables import ALARMS, INSTANCES, read_columns

    for path in cells:
        run = checked_record(path)
        failed.update(one["name"] for one in run.get("monitors") or () if one.get("failure"))
        table = read_columns(path / INSTANCES)
        positions = table["position"]
        instances = _columns(table.rename_columns([_RENAMED.get(n, n) for n in table.column_names]), instance)
        alarms = read_columns(path / ALARMS)
        about = _about(path, run)
        for monitor in pc.unique(alarms["monitor"]).to_pylist():
            said = alarms.filter(pc.equal(alarms["monitor"], monitor))
            places = pc.index_in(said["position"], positions)
            if places.null_count:
                raise DataError(f"{path}: alarms on no instance; `farm verify {path}` tells which")
            same = [pa.repeat(pa.scalar(about[field.name], field.type), len(said)) for field in CELL]
            columns = [column.take(places) for column in instances]
            schema = pa.schema([*CELL, *instance, *ALARM])
            yield pa.table([*same, *columns, *_columns(said, ALARM)], schema=schema)


def _about(path: Path, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the rows of one cell share, in a campaign's words where it is part of one."""
    cell = run.get("cell") or {"id": path.resolve().name, "title": run.get("name"), "label": {}}
    names = {what: (run.get(what) or {}).get("name") for what in ("workload", "classifier")}
    return {
        "cell": cell["id"],
        "title": cell["title"],
        **{what: cell["label"].get(what, name) for what, name in names.items()},
        "seed": run.get("seed"),
        "batch_size": run.get("batch_size"),
    }


def _columns(table: pa.Table, schema: pa.Schema) -> list[pa.ChunkedArray]:
    """Take the columns of a schema, in its types and order; empty where one is not there."""
    return [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.chunked_array([pa.nulls(len(table), field.type)])
        for field in schema
    ]


def _pieces(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Put tables together until they are large enough to be written."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(map(len, held)) >= ROWS_AT_ONCE:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def _without_formulas(table: pa.Table) -> pa.Table:
    """Write text as `csv_cell` does."""
    columns = [
        pc.replace_substring_regex(column, FORMULA, r"'\1") if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)


def _check_free(out: Path) -> None:
    if out.exists():
        raise DataError(f"{out} exists already; expected a new file: remove it or choose another with --out")
    if not out.absolute().parent.is_dir():
        raise DataError(f"{out}: {out.parent} is no folder; expected one, for the new file")


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
