"""A Parquet file whose every mistake is reported with its row, column and value, and what was expected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from farm.api.files import check_regular
from farm.errors import DataError, FarmError
from farm.store.csv_table import Codes, CsvTable, counts

SUFFIX = ".parquet"
_NEAR = 2**16
"""How far apart whole numbers may lie for each to have a place of its own in a table."""


class ParquetTable(CsvTable):
    """The columns of a Parquet file, as a CSV file would have them; rows are counted from 0.

    Columns have the types of the file, but for text that is not said to be of many different values.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.parquet"
    ...     pd.DataFrame({"Alarm": [True, False], "score": [0.5, None]}).to_parquet(path)
    ...     table = ParquetTable(path)
    >>> table.text("alarm").tolist(), table.numbers("score").tolist()
    (['True', 'False'], [0.5, nan])
    """

    def _header(self) -> list[str]:
        self._head = str(self.path)
        with told_parquet(self.path):
            check_regular(self.path)
            schema, rows = pq.read_schema(self.path), pq.read_metadata(self.path).num_rows
            # These are decoded only here. An index that pandas keeps for itself is no column.
            own, names = _index_columns(schema), schema.names
        self._names = {name.strip().lower(): name for name in names if name not in own}
        columns = [name.strip().lower() for name in names if name not in own]
        for name in columns:
            if columns.count(name) > 1:
                raise DataError(f"{self.path}: column '{name}' occurs twice; expected distinct names")
        if not rows or not columns:
            raise DataError(f"{self.path} has no row; expected at least one")
        return columns

    def _loaded(self, columns: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        few = [self._names[name] for name in columns if name not in self._types]
        names = [self._names[name] for name in columns]
        with told_parquet(self.path):
            table = pq.read_table(
                self.path, columns=names, read_dictionary=few, use_threads=False, pre_buffer=False
            )
            # Damaged pages may hold codes of values that are not there, and no text at all.
            table.validate(full=True)
        found = {name: table.column(self._names[name]) for name in columns}
        large = (name for name in columns if pa.types.is_large_string(found[name].type))
        return found | {name: found[name].cast(pa.string()) for name in large}

    def coded(self, column: str) -> tuple[Codes, pa.Array]:
        """Return the number of each row's text among the different texts of a column, and those."""
        values = self.values(column)
        kind = values.type
        if not pa.types.is_integer(kind) or pa.types.is_uint64(kind) or values.null_count:
            return super().coded(column)
        low, high = pc.min_max(values).values()
        if high.as_py() - low.as_py() > _NEAR:
            return super().coded(column)
        # Whole numbers near one another need no search.
        codes, first = np.empty(len(values), dtype=np.int32), 0
        for chunk in values.chunks:
            own = codes[first : first + len(chunk)]
            np.subtract(chunk.to_numpy(), low.as_py(), out=own, dtype=np.int64, casting="unsafe")
            first += len(chunk)
        there = counts(codes, high.as_py() - low.as_py() + 1) > 0
        if not there.all():
            codes = (np.cumsum(there) - 1).astype(np.int32)[codes]
        return codes, self._words(pa.array(np.flatnonzero(there) + low.as_py()))

    def codes(
        self, column: str, meanings: Mapping[str, int], expected: str, *, missing: int | None = None
    ) -> Codes:
        """Return a column by what its values mean, whatever their case."""
        values = self.values(column)
        if not pa.types.is_boolean(values.type) or values.null_count:
            return super().codes(column, meanings, expected, missing=missing)
        return np.where(values.to_numpy(), np.int8(meanings["true"]), np.int8(meanings["false"]))

    def _words(self, values: pa.Array) -> pa.Array:
        """Return values as text: nothing for what is missing, whole numbers without a point."""
        kind = values.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return super()._words(values.cast(pa.string()))
        if pa.types.is_integer(kind):
            return values.cast(pa.string()).fill_null("")
        frame = values.to_pandas()
        missing = frame.isna().to_numpy()
        if pa.types.is_floating(kind) and (frame.dropna() % 1 == 0).all():
            frame = frame.astype("Int64")
        text = ["" if gone else str(value) for gone, value in zip(missing, frame, strict=True)]
        return super()._words(pa.array(text, pa.string()))

    def _texts(self, column: str) -> pa.ChunkedArray:
        return self.values(column)

    def written(self, column: str) -> pd.Series:
        return self.text(column)

    def place(self, row: int) -> str:
        """Say where a row is."""
        return f"row {row}"

    def sheet_row(self, row: int) -> int:
        """Return the number that a spreadsheet would show beside a row, below one of columns' names."""
        return row + 2


def _index_columns(schema: pa.Schema) -> set[str]:
    """Return what pandas says are columns of its index; damaged, that may be of any form."""
    stated = schema.pandas_metadata
    found = stated.get("index_columns") if isinstance(stated, dict) else None
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


@contextmanager
def told_parquet(path: Path) -> Iterator[None]:
    """Tell what pyarrow and pandas raise on a damaged file by the file's name."""
    try:
        yield
    except FarmError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise DataError(f"{path} cannot be read as Parquet ({error}); is it truncated?") from error


def table_of(
    path: Path,
    *,
    types: Mapping[str, pa.DataType] | None = None,
    only: Collection[str] | None = None,
) -> CsvTable:
    """Read a table: Parquet by its suffix, and any other file as CSV."""
    kind = ParquetTable if path.suffix.lower() == SUFFIX else CsvTable
    return kind(path, types=types, only=only)
