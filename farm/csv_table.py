"""A CSV file whose every mistake is reported with its line, column and value, and what was expected."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd

from farm.api.arrays import FloatArray, IntArray
from farm.errors import DataError, suggestion

_DELIMITERS = ",;\t"


class CsvTable:
    """The text of a CSV file, column by column; columns know how to become numbers.

    Comma, semicolon or tab, whichever the header has most of. Names of columns are stripped and in lower
    case, and so are values stripped; an empty value is a missing one.

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

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._text = self._read()
        header = self._text.partition("\n")[0]
        self._delimiter = max(_DELIMITERS, key=header.count)
        self.columns = self._header()
        self._frame = self._parse()

    def __len__(self) -> int:
        return len(self._frame)

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def text(self, column: str) -> pd.Series:
        """Give a column as text."""
        return self._frame[column]

    def codes(
        self, column: str, meanings: Mapping[str, int], expected: str, *, missing: int | None = None
    ) -> IntArray:
        """Give a column by what its values mean, whatever their case."""
        codes, values = pd.factorize(self.text(column).str.lower())
        known = dict(meanings) | ({} if missing is None else {"": missing})
        for code, value in enumerate(values):
            if value not in known:
                self.fail(int(np.argmax(codes == code)), column, expected)
        return np.array([known[value] for value in values], dtype=np.int64)[codes]

    def numbers(self, column: str, *, low: float = -np.inf) -> FloatArray:
        """Give a column of finite numbers, NaN where one is missing."""
        text = self.text(column)
        # Where semicolons part the columns the comma is likely to be a decimal one.
        plain = text.str.replace(",", ".") if self._delimiter == ";" else text
        values = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        bad = ~np.isfinite(values) & (text != "").to_numpy()
        bad |= values < low
        if bad.any():
            rule = "a finite number" if low == -np.inf else f"a finite number, at least {low:g}"
            self.fail(int(np.argmax(bad)), column, rule)
        return values

    def line(self, row: int) -> int:
        """Give the line on which a row begins; rows may span lines, and empty lines are no rows."""
        reader = csv.reader(io.StringIO(self._text), delimiter=self._delimiter)
        seen, begins = -1, 1
        for fields in reader:
            blank = not fields or (len(fields) == 1 and not fields[0].strip())
            if not blank and (seen := seen + 1) > row:
                return begins
            begins = reader.line_num + 1
        raise IndexError(row)

    def fail(self, row: int, column: str, expected: str) -> NoReturn:
        """Refuse a value."""
        value = self._frame[column].iloc[row]
        raise DataError(
            f"{self.path}, line {self.line(row)}, column '{column}': {value!r}; expected {expected}"
        )

    def check_columns(self, required: Sequence[str], optional: Sequence[str]) -> list[str]:
        """Check that the required columns are there; give those that nobody knows.

        An unknown column whose name is nearly that of a known one that is missing is an error: it would
        silently have no effect.
        """
        known = (*required, *optional)
        unknown = [column for column in self.columns if column not in known]
        for column in unknown:
            meant = suggestion(column, [name for name in known if name not in self])
            if meant.startswith("did you mean"):
                raise DataError(f"{self.path}, line 1: unknown column '{column}'; {meant}")
        for column in required:
            if column not in self:
                raise DataError(
                    f"{self.path}, line 1: column '{column}' is missing; found: {', '.join(self.columns)}; "
                    f"expected {', '.join(required)}, and as far as known {', '.join(optional)}"
                )
        return unknown

    def _read(self) -> str:
        if self.path.is_dir():
            raise DataError(f"{self.path} is a folder; expected a CSV file")
        try:
            # An UTF-8 file that a spreadsheet wrote begins with a mark.
            raw = self.path.read_bytes().removeprefix(b"\xef\xbb\xbf")
            text = raw.decode("utf-8")
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
        return text

    def _header(self) -> list[str]:
        names = next(csv.reader(io.StringIO(self._text), delimiter=self._delimiter), [])
        columns = [name.strip().lower() for name in names]
        for column in columns:
            if not column or columns.count(column) > 1:
                rule = "has no name" if not column else f"'{column}' occurs twice"
                raise DataError(f"{self.path}, line 1: a column {rule}; expected distinct names")
        return columns

    def _parse(self) -> pd.DataFrame:
        try:
            with warnings.catch_warnings():
                # With a first row that is too long pandas warns and drops its end.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                frame = pd.read_csv(
                    io.StringIO(self._text),
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
