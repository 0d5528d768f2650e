"""Where a module lies, found as an import would, without importing anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES, PathFinder
from pathlib import Path
from typing import NamedTuple

_SUFFIXES = (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES, *BYTECODE_SUFFIXES)
"""In the order in which an import looks for them."""


class Found(NamedTuple):
    """A module: its file, and the folders where a package's own modules are."""

    file: Path | None
    """None for a package without `__init__.py`."""
    inside: tuple[Path, ...] = ()

    @property
    def beside(self) -> tuple[Path, ...]:
        """The folders that it was found in."""
        if self.inside:
            return tuple(folder.parent for folder in self.inside)
        return () if self.file is None else (self.file.parent,)


def find_among(places: Iterable[Path], name: str) -> Found | None:
    """Find one part of a module's name: the first package or module in these folders."""
    portions = []
    for place in places:
        base = place / name
        if base.is_dir():
            for suffix in _SUFFIXES:
                if (file := base / f"__init__{suffix}").is_file():
                    return Found(file, (base,))
            portions.append(base)
        for suffix in _SUFFIXES:
            if (file := place / f"{name}{suffix}").is_file():
                return Found(file)
    return Found(None, tuple(portions)) if portions else None


def find_top(name: str, folder: Path) -> Found | None:
    """Find a top-level module: what is installed comes before what lies beside the experiment."""
    found = find_among((*search_path(), folder), name)
    if found is not None and found.file is not None:
        return found
    return _by_other_finders(name) or found


def search_path() -> tuple[Path, ...]:
    """Give the folders in which imports look, as absolute paths."""
    return tuple(dict.fromkeys(Path(os.path.abspath(entry)) for entry in sys.path))  # noqa: PTH100 - '' too


def _by_other_finders(name: str) -> Found | None:
    """Ask what else imports ask: a package that is installed as a link to its source may have a finder."""
    for finder in sys.meta_path:
        if finder is PathFinder or (find := getattr(finder, "find_spec", None)) is None:
            continue
        spec = find(name, None)
        if spec is not None and (spec.has_location or spec.submodule_search_locations):
            inside = tuple(Path(place) for place in spec.submodule_search_locations or ())
            return Found(Path(spec.origin) if spec.origin else None, inside)
    return None
