"""A CSV file whose every mistake is reported with its line, column and value, and what was expected."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

from farm.api.arrays import FloatArray, IntArray
from farm.api.files import check_regular, read_bytes
from farm.errors import DataError, suggestion

NEAR = 0.7
"""How like a known name another is that counts as a slip of the pen: `canceled` is, `extra` is no `track`."""
_DELIMITERS = ",;\t"
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")
_PIECE = 2**18
_LONGEST = 2**20
"""Bytes of a line of names; what is longer is looked at with care."""

Codes: TypeAlias = NDArray[np.integer[Any]]
"""Whole numbers of as few bytes as will do."""
Rows: TypeAlias = slice | IntArray
"""Numbers of rows; a slice where they follow one another at one distance, so that nothing is copied."""


def taken(values: pa.ChunkedArray, rows: Rows) -> pa.ChunkedArray:
    """Return some rows of a column."""
    if isinstance(rows, slice):
        if rows.step == 1:
            return values.slice(rows.start, rows.stop - rows.start)
        rows = np.arange(rows.start, rows.stop, rows.step)
    return values.take(pa.array(rows))


def counts(codes: Codes, n: int) -> IntArray:
    """Return how often each code below `n` occurs; by pieces, since codes are made larger to be counted."""
    pieces = (codes[start : start + _PIECE] for start in range(0, len(codes), _PIECE))
    return np.asarray(np.sum([np.bincount(piece, minlength=n) for piece in pieces], axis=0), dtype=np.int64)


def _filled(codes: pa.Array, missing: int) -> Codes:
    """Return codes with another one where they are missing."""
    return np.asarray((codes.fill_null(missing) if codes.null_count else codes).to_numpy())


def _as_arrow(text: pd.Series) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(text.tolist(), pa.string())])


class CsvTable:
    """A CSV file, column by column; columns know how to become text, numbers or codes.

    Comma, semicolon or tab, whichever the header has most of. Names of columns are stripped and in lower
    case, and so are values stripped; an empty value is a missing one.

    A file is read once, by pyarrow, with columns of the types that are asked for. What it refuses is read
    again as text, row by row: that takes several times as long, forgives more, and finds the place of what is
    wrong.

    Parameters
    ----------
    path
        The file.
    types
        What columns hold that do not hold text of few different values.
    only
        The columns that will be asked for; None for all.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.csv"
    ...     _ = path.write_text("alarm;score\\n1;0,5\\nTRUE;\\n")
    ...     table = CsvTable(path)
    >>> table.codes("alarm", {"1": 1, "true": 1, "0": 0}, "0, 1, true or false").tolist()
    [1, 1]
    >>> table.numbers("score").tolist()
    [0.5, nan]
    """

    def __init__(
        self,
        path: Path | str,
        *,
        types: Mapping[str, pa.DataType] | None = None,
        only: Collection[str] | None = None,
    ) -> None:
        self.path, self._types = Path(path), types or {}
        self._head, self._delimiter, self._above = f"{path}, line 1", "", 0
        self.columns = self._header()
        wanted = [name for name in self.columns if only is None or name in only]
        self._read = self._loaded(wanted or self.columns[:1])

    def __len__(self) -> int:
        return len(next(iter(self._read.values())))

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def values(self, column: str) -> pa.ChunkedArray:
        """Return a column as it was read."""
        if column not in self._read:
            self._read |= self._loaded([column])
        values = self._read[column]
        return values.cast(pa.string()) if pa.types.is_null(values.type) else values

    def coded(self, column: str) -> tuple[Codes, pa.Array]:
        """Return the number of each row's text among the different texts of a column, and those."""
        values = self._texts(column)
        if pa.types.is_dictionary(values.type):
            values = values.unify_dictionaries().combine_chunks()
        else:
            values = values.combine_chunks().dictionary_encode()
        codes, words = _filled(values.indices, len(values.dictionary)), self._words(values.dictionary)
        # Values that read the same are one, and of those that no row has none is told.
        same = pa.concat_arrays([words, pa.array([""], words.type)]).dictionary_encode()
        number, used = same.indices.to_numpy(), np.flatnonzero(counts(codes, len(same)))
        there = np.zeros(len(same.dictionary), dtype=np.bool_)
        there[number[used]] = True
        number = (np.cumsum(there, dtype=np.int32) - 1)[number]
        if not np.array_equal(number[used], used):
            codes = number[codes]
        return codes, same.dictionary.filter(pa.array(there))

    def strings(self, column: str, rows: Rows | None = None) -> pa.Array:
        """Return a column, or some rows of it, as text, whatever the number of different ones."""
        values = self._texts(column)
        if pa.types.is_string(values.type) or pa.types.is_integer(values.type):
            return self._words((values if rows is None else taken(values, rows)).combine_chunks())
        codes, words = self.coded(column)
        return words.take(pa.array(codes if rows is None else codes[rows]))

    def _texts(self, column: str) -> pa.ChunkedArray:
        """Return a column of values that tell how they are written in the file."""
        values = self.values(column)
        if pa.types.is_string(values.type) or pa.types.is_dictionary(values.type):
            return values
        return _as_arrow(self.written(column))

    def text(self, column: str, rows: Rows | None = None) -> pd.Series:
        """Return a column, or some rows of it, as text."""
        return pd.Series(self.strings(column, rows).to_pandas(), dtype="str")

    def codes(
        self, column: str, meanings: Mapping[str, int], expected: str, *, missing: int | None = None
    ) -> Codes:
        """Return a column by what its values mean, whatever their case."""
        codes, words = self.coded(column)
        known = dict(meanings) | ({} if missing is None else {"": missing})
        found = [known.get(word.lower()) for word in words.to_pylist()]
        if None in found:
            unknown = np.array([meaning is None for meaning in found])
            self.fail(int(np.argmax(unknown[codes])), column, expected)
        return np.array(found, dtype=np.int8)[codes]

    def numbers(self, column: str, *, low: float = -np.inf, high: float = np.inf) -> FloatArray:
        """Return a column of finite numbers, NaN where one is missing."""
        values, missing = self._parsed(column)
        infinite = int(np.count_nonzero(~np.isfinite(values))) > missing
        beyond = (values < low) | (values > high)
        if infinite or beyond.any():
            text = self.written(column)
            wrong = (~np.isfinite(values) & (text != "").to_numpy()) | beyond
            if wrong.any():
                ends = (f"at least {low:g}", low > -np.inf), (f"at most {high:g}", high < np.inf)
                rule = ", ".join(["a finite number", *(end for end, is_set in ends if is_set)])
                self.fail(int(np.argmax(wrong)), column, rule)
        return values

    def _parsed(self, column: str) -> tuple[FloatArray, int]:
        """Return a column as numbers, NaN where it holds none, and how many values are missing."""
        values = self.values(column)
        if pa.types.is_floating(values.type) or pa.types.is_integer(values.type):
            return values.to_numpy().astype(np.float64, copy=False), values.null_count
        text = self.text(column)
        # Where semicolons part the columns the comma is likely to be a decimal one.
        plain = text.str.replace(",", ".") if self._delimiter == ";" else text
        numbers = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers, int((text == "").sum())

    def _words(self, values: pa.Array) -> pa.Array:
        """Return values as text, stripped, and nothing for what is missing."""
        words = values.fill_null("")
        if pc.any(pc.match_substring(words, "\r")).as_py():  # within quotes, as Windows ends lines
            words = pc.replace_substring(pc.replace_substring(words, "\r\n", "\n"), "\r", "\n")
        return pc.utf8_trim_whitespace(words)

    def place(self, row: int) -> str:
        """Say where a row is."""
        return f"line {self.line(row)}"

    def line(self, row: int) -> int:
        """Return the line on which a row begins; rows may span lines, and empty lines are no rows."""
        return self._begins(row)[0]

    def sheet_row(self, row: int) -> int:
        """Return the number that a spreadsheet shows beside a row: its first one has the columns' names."""
        return self._begins(row)[1]

    def _begins(self, row: int) -> tuple[int, int]:
        """Return the line on which a row begins, and its number where each row is one line."""
        reader = csv.reader(io.StringIO(self._content), delimiter=self._delimiter)
        seen, begins = -1, 1
        for number, fields in enumerate(reader, start=1):
            blank = not fields or (len(fields) == 1 and not fields[0].strip())
            if not blank and (seen := seen + 1) > row:
                return begins + self._above, number + self._above
            begins = reader.line_num + 1
        raise IndexError(row)

    def fail(self, row: int, column: str, expected: str) -> NoReturn:
        """Refuse a value."""
        value = self.written(column).iloc[row]
        raise DataError(f"{self.path}, {self.place(row)}, column '{column}': {value!r}; expected {expected}")

    def written(self, column: str) -> pd.Series:
        """Return a column as it stands in the file."""
        return self._frame[column]

    def check_columns(self, required: Sequence[str], optional: Sequence[str]) -> list[str]:
        """Check that the required columns are there; give those that nobody knows.

        An unknown column whose name is nearly that of a known one that is missing is an error: it would
        silently have no effect.
        """
        known = (*required, *optional)
        unknown = [column for column in self.columns if column not in known]
        for column in unknown:
            near = get_close_matches(column, [name for name in known if name not in self], 1, NEAR)
            if near:
                raise DataError(f"{self._head}: unknown column '{column}'; {suggestion(column, near)}")
        for column in required:
            if column not in self:
                raise DataError(
                    f"{self._head}: column '{column}' is missing; found: {', '.join(self.columns)}; "
                    f"expected {', '.join(required)}, and as far as known {', '.join(optional)}"
                )
        return unknown

    @cached_property
    def _content(self) -> str:
        """All of the file, from the line of names on."""
        if self.path.is_dir():
            raise DataError(f"{self.path} is a folder; expected a CSV file")
        try:
            # An UTF-8 file that a spreadsheet wrote begins with a mark.
            raw = read_bytes(self.path).removeprefix(b"\xef\xbb\xbf")
            text = raw.decode("utf-8")
            if "\r" in text:  # as Windows and old Macs end their lines
                text = text.replace("\r\n", "\n").replace("\r", "\n")
        except FileNotFoundError:
            raise DataError(f"{self.path} does not exist; expected a CSV file") from None
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror}; expected a CSV file") from None
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            byte = raw[error.start]
            raise DataError(
                f"{self.path}, line {line}: byte 0x{byte:02x} is not UTF-8; expected UTF-8"
            ) from None
        if not text.strip():
            raise DataError(
                f"{self.path} is empty; expected a line of column names, then one line a decision"
            )
        blank = _BLANK_LINES.match(text)
        start = blank.end() if blank else 0
        self._above = text.count("\n", 0, start)
        self._head = f"{self.path}, line {self._above + 1}"
        return text[start:]

    def _first_line(self) -> str:
        """Return the line of columns' names; all of the file where they are not all in its first line."""
        try:
            check_regular(self.path)
            with self.path.open("rb") as file:
                line = file.readline(_LONGEST).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return self._content
        plain = line.endswith("\n") and line.strip() and "\r" not in line[:-2] and line.count('"') % 2 == 0
        return line if plain else self._content

    def _header(self) -> list[str]:
        text = self._first_line()
        self._delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
        names = next(csv.reader(io.StringIO(text), delimiter=self._delimiter), [])
        columns = [name.strip().lower() for name in names]
        for column in columns:
            if not column or columns.count(column) > 1:
                rule = "has no name" if not column else f"'{column}' occurs twice"
                raise DataError(f"{self._head}: a column {rule}; expected distinct names")
        return columns

    def _loaded(self, columns: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """Read some columns."""
        if "_frame" not in vars(self) and "_content" not in vars(self):
            for point in (",", ".") if self._delimiter == ";" else (".",):
                with suppress(pa.ArrowException, OSError):
                    read = self._streamed(columns, point)
                    if self._quotes_are_closed():  # pyarrow does not ask
                        return read
        return {name: _as_arrow(self._frame[name]) for name in columns}

    def _streamed(self, columns: Sequence[str], point: str) -> dict[str, pa.ChunkedArray]:
        """Read some columns with pyarrow, block by block: what the others hold is never kept."""
        few = pa.dictionary(pa.int32(), pa.string())
        reader = open_csv(
            pa.OSFile(str(self.path)),
            ReadOptions(column_names=self.columns, skip_rows_after_names=1, use_threads=False),
            ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            ConvertOptions(
                include_columns=columns,
                column_types={name: self._types.get(name, few) for name in columns},
                null_values=[""],
                decimal_point=point,
            ),
        )
        table = reader.read_all()
        if not len(table):
            raise pa.ArrowInvalid("no rows")
        return dict(zip(columns, table.columns, strict=True))

    def _quotes_are_closed(self) -> bool:
        with self.path.open("rb") as file:
            return sum(block.count(b'"') for block in iter(partial(file.read, 2**20), b"")) % 2 == 0

    @cached_property
    def _frame(self) -> pd.DataFrame:
        """The text of all columns."""
        try:
            with warnings.catch_warnings():
                # With a first row that is too long pandas warns and drops its end.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                frame = pd.read_csv(
                    io.StringIO(self._content),
                    sep=self._delimiter,
                    names=self.columns,
                    header=0,
                    index_col=False,
                    dtype="str",
                    keep_default_na=False,
                )
        except pd.errors.ParserWarning:
            raise DataError(
                f"{self.path}: rows have more values than there are columns; expected {len(self.columns)}"
            ) from None
        except pd.errors.ParserError as error:
            what = str(error).strip().removeprefix("Error tokenizing data. C error: ")
            raise DataError(f"{self.path}: {what}; expected a CSV file") from None
        if frame.empty:
            raise DataError(f"{self.path} has no line below the column names; expected one a decision")
        return pd.DataFrame({name: frame[name].str.strip() for name in self.columns})
