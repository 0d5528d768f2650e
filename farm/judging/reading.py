"""Read a run's tables side by side, a stretch of instances at a time.

The alarms lie monitor after monitor, so each monitor's are read from a place of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from farm.errors import DataError

ROWS = 2**19
"""How many rows of alarms are read at a time by default."""
_BUFFER = 2**16
"""How many bytes of a column are read at a time; were files mapped, all of them would count as held."""
INSTANCES = (
    "position",
    "label",
    "predicted",
    "confidence",
    "label_probability",
    "brier",
    "is_ood",
    "category",
    "faultload",
    "severity",
    "episode",
    "classifier_time_us",
)
ALARMS = ("position", "score", "alarm", "cancelled", "decision", "monitor_time_us")


def parts_of(
    folder: Path | str, rows: int | None = None, *, but: Collection[str] = ()
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return the instances of a run and the alarms on them, so many at a time, but for some monitors."""
    instances, alarms = Path(folder) / "instances.parquet", Path(folder) / "alarms.parquet"
    n = pq.read_metadata(instances).num_rows
    blocks = {name: at for name, at in _blocks(alarms).items() if name not in but}
    for name, at in blocks.items():
        if len(at) != n:
            raise DataError(
                f"alarms of monitor '{name}': {len(at):,} for {n:,} instances; expected one for each instance"
            )
    rows = rows or ROWS // max(len(blocks), 1)
    nothing = pq.ParquetFile(alarms).schema_arrow.empty_table().to_pandas(ignore_metadata=True)
    said = {name: _stretches(alarms, ALARMS, at, rows) for name, at in blocks.items()}
    for stretch in _stretches(instances, INSTANCES, range(n), rows):
        frames = [next(stretches).assign(monitor=name) for name, stretches in said.items()]
        yield stretch, pd.concat(frames, ignore_index=True) if frames else nothing


def has_values(path: Path, column: str) -> bool:
    """Whether a file has the column, and a value in it."""
    with pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        if column not in file.schema_arrow.names:
            return False
        batches = file.iter_batches(columns=[column], use_threads=False)
        return any(batch.column(0).null_count < len(batch) for batch in batches)


def _blocks(path: Path) -> dict[str, range]:
    """Find out which rows are whose."""
    blocks: dict[str, range] = {}
    at, last = 0, None
    with pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False, read_dictionary=["monitor"]) as file:
        for batch in file.iter_batches(columns=["monitor"], use_threads=False):
            column = batch.column(0)
            if not pa.types.is_dictionary(column.type):
                column = column.dictionary_encode()
            codes, names = column.indices.to_numpy(), column.dictionary.to_pylist()
            starts = np.flatnonzero(np.diff(codes, prepend=-1)).tolist()
            for start, stop in zip(starts, [*starts[1:], len(codes)], strict=True):
                name = names[codes[start]]
                if name in blocks and name != last:
                    raise DataError(
                        f"{path}: rows of monitor '{name}' have others in between; expected monitor after "
                        "monitor, as a run leaves them: else judge all of it at once"
                    )
                first = blocks[name].start if name in blocks else at + start
                blocks[name], last = range(first, at + stop), name
            at += len(codes)
    return blocks


def _stretches(path: Path, columns: Collection[str], at: range, rows: int) -> Iterator[pd.DataFrame]:
    """Read some rows of a file, so many at a time, and of its columns those that are there."""
    with pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
        ends = np.cumsum(sizes)
        needed = np.flatnonzero((ends > at.start) & (ends - sizes < at.stop)).tolist()
        skip = at.start - int(ends[needed[0]] - sizes[needed[0]]) if needed else 0
        left = len(at)
        held: list[pa.Table] = []
        present = [name for name in columns if name in file.schema_arrow.names]
        for batch in file.iter_batches(rows, needed, present, use_threads=False):
            table = pa.Table.from_batches([batch])[skip : skip + left]
            skip = max(skip - len(batch), 0)
            left -= len(table)
            held.append(table)
            while (waiting := sum(map(len, held))) >= rows or (waiting and not left):
                together = pa.concat_tables(held)
                held = [together[rows:]]
                yield together[:rows].to_pandas(ignore_metadata=True)
            if not left:
                return
