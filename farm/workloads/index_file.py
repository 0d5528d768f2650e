"""Indices of images: CSV or Parquet, one file or all of a folder, whatever they call columns and classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from farm.api import NO_ANSWER, FloatArray, IntArray, StrArray
from farm.errors import DataError, ParameterError, suggestion
from farm.store.parquet_table import table_of
from farm.workloads.decoding import SUFFIXES as IMAGE_SUFFIXES
from farm.workloads.problems import Problems

SUFFIXES = (".csv", ".parquet")
BOX = ("left", "top", "right", "bottom")
SIZE = ("height", "width")
KNOWN = ("path", "label", "group", "split", "mask")
ALIASES = {
    "filename": "path",
    "classid": "label",
    "track": "group",
    "roi.x1": "left",
    "roi.y1": "top",
    "roi.x2": "right",
    "roi.y2": "bottom",
}
"""What the German traffic-sign benchmark calls them, and logs call a group."""


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

    @property
    def named(self) -> bool:
        """Whether its first line may be columns' names: no file is called so."""
        return not any(name.endswith(IMAGE_SUFFIXES) for name in self.columns)

    def numbers(self, column: str, problems: Problems) -> FloatArray:
        """Return a column of numbers; whatever is none is noted."""
        text = self.columns[column]
        values = pd.to_numeric(pd.Series(text, dtype="str"), errors="coerce").to_numpy(
            np.float64, na_value=np.nan
        )
        bad = np.flatnonzero(~np.isfinite(values)).tolist()
        what = f"column '{column}' is no number"
        problems.add_rows(what, bad, lambda row: f"{text[row]!r} in {self.place(row)}")
        return values

    def condition(self, column: str) -> StrArray | FloatArray:
        """Return a column as numbers where all values are such (NaN where one is missing), or as text."""
        text = pd.Series(self.columns[column], dtype="str")
        values = pd.to_numeric(text, errors="coerce").to_numpy(np.float64, na_value=np.nan)
        if (np.isfinite(values) | (text == "").to_numpy()).all() and np.isfinite(values).any():
            return values
        return np.array(self.columns[column], dtype=np.str_)

    def check_columns(self, *, labels: bool) -> None:
        """Raise where a needed column is missing, or one is written nearly as a known one that is."""
        for column in self.columns:
            missing = [name for name in KNOWN if name not in self]
            hint = suggestion(column, missing)
            if column not in (*KNOWN, *BOX, *SIZE) and _nearly(column, missing) and hint.startswith("did"):
                raise DataError(
                    f"{self.where}: unknown column '{column}'; {hint} (rename it if it is its own)"
                )
        for column, alias in (("path", "filename"), ("label", "classid")):
            if column not in self and (labels or column != "label"):
                found = ", ".join(self.columns)
                raise DataError(
                    f"{self.where}: column '{column}' (or '{alias}') is missing; found: {found}"
                    + (
                        ": rename one, or add it"
                        if self.named
                        else ": give it a first line with the columns' names"
                    )
                    + ("" if column == "path" else " (only OOD images need none)")
                )
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
            raise DataError(
                f"{path}: no index in this folder; expected a .csv or .parquet file (the workload "
                "'folder' needs none)"
            )
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
class _IndexFile:
    """One file: its columns as text, and what a message calls a row."""

    columns: dict[str, list[str]]
    place: Callable[[int], str]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def _read(path: Path) -> _IndexFile:
    table = table_of(path)
    return _IndexFile({name: table.text(name).tolist() for name in table.columns}, table.place)


def _nearly(column: str, names: Sequence[str]) -> bool:
    """Say whether a name is one of these with a slip of the pen, and not merely similar."""
    return any(sorted(column) == sorted(name) or column.rstrip("s") == name for name in names)


_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_WHOLE = re.compile(r"\d+(\.0+)?")


def number_labels(
    texts: Sequence[str],
    splits: StrArray,
    classes: Sequence[str] | None,
    title: str,
    problems: Problems,
    place: Callable[[int], str],
    *,
    ood: bool = False,
) -> tuple[IntArray, tuple[str, ...]]:
    """Return each label's number and all class names; note labels that are none.

    Without `classes`, what occurs in training is a class: in numerical order where all labels are whole
    numbers, else in alphabetical order. As OOD images whatever occurs is, and an empty label is -1.

    Examples
    --------
    >>> splits = np.array(["train", "train", "test"])
    >>> labels, classes = number_labels(["12", "3", "12"], splits, None, "signs", Problems(), str)
    >>> labels.tolist(), classes
    ([1, 0, 1], ('signs-03', 'signs-12'))
    """
    if not ood:
        problems.add_rows("empty label", [i for i, text in enumerate(texts) if not text], place)
    train = {text for text, split in zip(texts, splits, strict=True) if (ood or split == "train") and text}
    if classes is not None:
        if len(set(classes)) != len(classes):
            raise ParameterError("classes names one twice; expected each once")
        number = {name: i for i, name in enumerate(classes)}
        number |= {text: int(text) for text in set(texts) if text.isdecimal() and int(text) < len(classes)}
        number |= {name: i for i, name in enumerate(classes)}  # a name that looks like a number is a name
        names = tuple(classes)
    elif all(_NUMBER.fullmatch(text) for text in texts if text):
        whole = {text: int(float(text)) for text in set(texts) if _WHOLE.fullmatch(text)}
        values = sorted({whole[text] for text in train if text in whole})
        rank = {value: i for i, value in enumerate(values)}
        number = {text: rank[value] for text, value in whole.items() if value in rank}
        names = tuple(f"{title}-{value:02d}" for value in values)
        wrong = [i for i, text in enumerate(texts) if text and text not in whole]
        problems.add_rows(
            "label that is no class, expected a whole number from 0", wrong, _quoted(texts, place)
        )
        texts = [text if text in whole else "" for text in texts]
    else:
        number = {text: i for i, text in enumerate(sorted(train))}
        names = tuple(number)
    _note_unknown(texts, splits, number, classes is not None, problems, _quoted(texts, place))
    number |= {"": NO_ANSWER}
    return np.array([number.get(text, 0) for text in texts], dtype=np.int64), names


def _note_unknown(
    texts: Sequence[str],
    splits: StrArray,
    number: dict[str, int],
    named: bool,
    problems: Problems,
    place: Callable[[int], str],
) -> None:
    unknown = [i for i, text in enumerate(texts) if text and text not in number]
    if named:
        problems.add_rows("label that is no class", unknown, place)
        return
    for split in ("validation", "test"):
        first = {texts[i]: i for i in reversed(unknown) if splits[i] == split}
        rows = [first[name] for name in sorted(first)]
        problems.add_rows(f"classes in {split} but not in train", rows, place)


def _quoted(texts: Sequence[str], place: Callable[[int], str]) -> Callable[[int], str]:
    return lambda i: f"{texts[i]!r} in {place(i)}"
