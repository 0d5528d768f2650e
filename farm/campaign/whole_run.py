"""Is a run's folder whole: its record, its files, and its rows?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from farm.errors import DataError
from farm.files import SIGNATURE, check_files, check_signature, read_record

TABLES = ("instances.parquet", "alarms.parquet")


def damages(folder: Path) -> list[str]:
    """Say all that is wrong with a run's folder; nothing where it is whole."""
    from farm.readouts import SCHEMA  # not before: it brings pandas along

    try:
        record = read_record(folder / "run.json", SCHEMA, ["files", "layers", "monitors", SIGNATURE])
        check_signature(folder / "run.json", record)
        _check_shape(folder, record)
    except DataError as error:
        return [str(error)]
    found = list(_files(folder, record))
    return found or list(_rows(folder, record))


def _check_shape(folder: Path, record: Mapping[str, Any]) -> None:
    """Check as much of a record as is needed to read on."""
    shapes = {"files": Mapping, "layers": Mapping, "monitors": list}
    wrong = [key for key, kind in shapes.items() if not isinstance(record[key], kind)]
    if not wrong and not all(_is_monitor(monitor) for monitor in record["monitors"]):
        wrong = ["monitors"]
    if wrong:
        raise DataError(f"{folder / 'run.json'}: '{wrong[0]}' is not what a run writes; was it edited?")


def _is_monitor(entry: Any) -> bool:
    return isinstance(entry, Mapping) and {"name", "failure"} <= set(entry)


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
        own = alarms.filter(pc.equal(alarms["monitor"], name))
        if has_failed:
            if len(own):
                yield f"{folder}: {len(own)} rows of monitor '{name}', which failed; expected none"
        elif len(own) != n:
            yield f"{folder}: {len(own)} rows of monitor '{name}' for {n} instances; expected one each"
        elif not np.array_equal(np.sort(own["position"].to_numpy()), np.arange(n)):
            yield f"{folder}: monitor '{name}' has several rows for one instance and none for another"
        elif n and not pc.all(pc.equal(own["id"], instances["id"].take(own["position"]))).as_py():
            yield f"{folder}: rows of monitor '{name}' have the id of another instance"


def _columns(path: Path, names: list[str]) -> pa.Table:
    # Columns that are not there are silently not read, and only then missed.
    return pq.read_table(path, columns=names).select(names)
