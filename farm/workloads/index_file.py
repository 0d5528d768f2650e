"""Indices of images: CSV or Parquet, one file or all of a folder, whatever they call their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from farm.api import FloatArray, StrArray
from farm.csv_table import CsvTable
from farm.errors import DataError, suggestion
from farm.workloads.problems import Problems

SUFFIXES = (".csv", ".parquet")
BOX = ("left", "top", "right", "bottom")
SIZE = ("height", "width")
KNOWN = ("path", "label", "group", "split", "mask")
ALIASES = {
    "filename": "path",
    "classid": "label",
    "roi.x1": "left",
    "roi.y1": "top",
    "roi.x2": "right",
    "roi.y2": "bottom",
}
"""What the German traffic-sign benchmark calls them."""


@dataclass(frozen=True)
class Index:
    """Rows of one or more index files: text by column, and where each row stands.

    `folders` is, a row, the folder (relative to `root`) that its paths are relative to.
    """

    root: Path
    where: str
    columns: dict[str, list[str]]
    folders: list[str]
    place: Callable[[int], str]
    german: bool
    """Whether labels are called as in the German benchmark."""

    def __len__(self) -> int:
        return len(self.folders)

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def numbers(self, column: str, problems: Problems) -> FloatArray:
        """Give a column of numbers; whatever is none is noted."""
        text = self.columns[column]
        values = pd.to_numeric(pd.Series(text, dtype="str"), errors="coerce").to_numpy(
            np.float64, na_value=np.nan
        )
        bad = np.flatnonzero(~np.isfinite(values)).tolist()
        what = f"column '{column}' is no number"
        problems.add_rows(what, bad, lambda row: f"{text[row]!r} in {self.place(row)}")
        return values

    def condition(self, column: str) -> StrArray | FloatArray:
        """Give a column as numbers where all values are such (NaN where one is missing), or as text."""
        text = pd.Series(self.columns[column], dtype="str")
        values = pd.to_numeric(text, errors="coerce").to_numpy(np.float64, na_value=np.nan)
        if (np.isfinite(values) | (text == "").to_numpy()).all() and np.isfinite(values).any():
            return values
        return np.array(self.columns[column], dtype=np.str_)

    def check_columns(self) -> None:
        """Raise where a needed column is missing, or one is written nearly as a known one that is."""
        for column in self.columns:
            missing = [name for name in KNOWN if name not in self]
            hint = suggestion(column, missing)
            if column not in (*KNOWN, *BOX, *SIZE) and _nearly(column, missing) and hint.startswith("did"):
                raise DataError(
                    f"{self.where}: unknown column '{column}'; {hint} (rename it if it is its own)"
                )
        for column, alias in (("path", "filename"), ("label", "classid")):
            if column not in self:
                found = ", ".join(self.columns)
                raise DataError(f"{self.where}: column '{column}' (or '{alias}') is missing; found: {found}")
        for together in (BOX, SIZE):
            there = [name for name in together if name in self]
            if there and len(there) < len(together):
                raise DataError(
                    f"{self.where}: has {', '.join(there)}; expected all or none of {', '.join(together)}"
                )


def read_index(path: Path) -> Index:
    """Read one index file, or all that lie in a folder and below it."""
    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
        if not files:
            raise DataError(f"{path}: no index in this folder; expected a .csv or .parquet file")
    root = path if path.is_dir() else path.parent
    parts = [_read(file) for file in files]
    names = list(parts[0].columns)
    for file, part in zip(files, parts, strict=True):
        if list(part.columns) != names:
            raise DataError(
                f"{file} has the columns {', '.join(part.columns)}; "
                f"expected {', '.join(names)} as in {files[0]}"
            )
    starts = np.cumsum([0, *(len(part) for part in parts)])

    def place(row: int) -> str:
        number = int(np.searchsorted(starts, row, side="right")) - 1
        inside = row - int(starts[number])
        return f"{files[number].name}, {parts[number].place(inside)}"

    columns = {name: [v for part in parts for v in part.columns[name]] for name in names}
    renamed = {ALIASES.get(name, name): values for name, values in columns.items()}
    if len(renamed) < len(columns):
        twice = [name for name in names if name in ALIASES and ALIASES[name] in names]
        raise DataError(f"{path}: has both '{ALIASES[twice[0]]}' and '{twice[0]}'; expected one of them")
    relative = [file.parent.relative_to(root).as_posix() for file in files]
    folders = [
        "" if folder == "." else f"{folder}/"
        for folder, part in zip(relative, parts, strict=True)
        for _ in range(len(part))
    ]
    return Index(root, str(path), renamed, folders, place, "classid" in names)


@dataclass(frozen=True)
class _Part:
    """One file: its columns as text, and what a message calls a row."""

    columns: dict[str, list[str]]
    place: Callable[[int], str]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def _read(path: Path) -> _Part:
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path)
    table = CsvTable(path)
    columns = {name: table.text(name).tolist() for name in table.columns}
    return _Part(columns, lambda row: f"line {table.line(row)}")


def _read_parquet(path: Path) -> _Part:
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise DataError(f"{path} cannot be read as Parquet ({error}); is it truncated?") from error
    names = [str(name).strip().lower() for name in frame.columns]
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{path}: column '{name}' occurs twice; expected distinct names")
    if frame.empty:
        raise DataError(f"{path} has no row; expected one an image")
    columns = {name: _as_text(frame.iloc[:, i]) for i, name in enumerate(names)}
    return _Part(columns, lambda row: f"row {row}")


def _as_text(column: pd.Series) -> list[str]:
    """Write a column as a CSV file would: nothing for what is missing, whole numbers without a point."""
    missing = column.isna().to_numpy()
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")
    return ["" if gone else str(value) for gone, value in zip(missing, column, strict=True)]


def _nearly(column: str, names: Sequence[str]) -> bool:
    """Say whether a name is one of these with a slip of the pen, and not merely similar."""
    return any(sorted(column) == sorted(name) or column.rstrip("s") == name for name in names)
