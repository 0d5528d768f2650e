"""`farm report`: one HTML page of what runs found, and its figures as files."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from farm.errors import DataError, ExperimentError, StorageError
from farm.protocols import protocol_of
from farm.report.page import FigureBook, Findings, find, page
from farm.report.page.book import SUFFIXES as FIGURES
from farm.report.page.document import GENERATOR
from farm.store.files import write_text

SUFFIXES = (".html", ".htm")


def report(options: argparse.Namespace) -> int:
    """Write the page, and the figures in a folder beside it."""
    out = Path(options.out)
    figures = out.with_name(f"{out.stem}-figures")
    check_replaceable(out, figures)
    places = [Path(place) for place in options.runs]
    if len(places) == 1 and (of := protocol_of(places[0])) is not None:
        made = _written(lambda book: of.page(of.results(places[0]), book), out, figures)
    else:
        made = write_report(find(places), out, figures)
    print(f"farm: written to {made}, its figures to {figures}", file=sys.stderr)
    if options.open:
        webbrowser.open(made.resolve().as_uri())
    return 0


def write_report(found: Findings, out: Path, figures: Path) -> Path:
    """Write page and figures; the figures first, so that where the page is, they are too."""
    return _written(lambda book: page(found, book), out, figures)


def _written(made: Callable[[FigureBook], str], out: Path, figures: Path) -> Path:
    with replaced_folder(figures) as folder:
        text = made(FigureBook(folder, processes=os.cpu_count() or 1))
    write_text(out, text)
    return out


def check_replaceable(out: Path, figures: Path) -> None:
    """Raise where something is in the way that is no earlier report."""
    if out.suffix.lower() not in SUFFIXES:
        raise ExperimentError(f"--out {out}: suffix '{out.suffix}'; expected {' or '.join(SUFFIXES)}")
    if out.exists() and not _is_report(out):
        raise DataError(
            f"{out} is there and no report; expected a new file: remove it or choose another --out"
        )
    if not out.exists() and figures.is_dir() and any(figures.iterdir()):
        raise DataError(f"{figures} is there without its report; remove it or choose another --out")
    strange = (
        [path.name for path in figures.iterdir() if path.suffix not in FIGURES] if figures.is_dir() else []
    )
    if strange or (figures.exists() and not figures.is_dir()):
        what = f"holds '{strange[0]}'" if strange else "is a file"
        raise DataError(f"{figures} {what}, which no report wrote; remove it or choose another --out")


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        return GENERATOR.encode() in file.read(4096)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """Fill a new folder, and put it in an old one's place when all went well."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _swapped(path) as made:
            yield made
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}; choose another --out") from error


@contextmanager
def _swapped(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.unfinished-", dir=path.parent) as place:
        made = Path(place) / "made"
        made.mkdir()
        yield made
        if path.exists():
            path.rename(Path(place) / "before")
        made.rename(path)
