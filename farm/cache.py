"""Arrays that are dear to make, found again by the content of all that made them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from farm.api import JSON, Progress, Silent, State
from farm.errors import DataError, StorageError
from farm.files import check_files, file_digest, json_digest, new_folder, read_record, write_json

SCHEMA = 1


def default_cache_folder() -> Path:
    """Give `$FARM_CACHE`, or `farm` in the user's cache folder."""
    if own := os.environ.get("FARM_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "farm"


class DiskCache:
    """A folder of entries; each is the arrays, the key that made them, and a checksum.

    A damaged entry is said, made anew and replaced; it never becomes a result.
    """

    def __init__(self, folder: Path | None = None, progress: Progress | None = None) -> None:
        self.folder = folder or default_cache_folder()
        self._progress = progress or Silent()

    def arrays(self, kind: str, key: Mapping[str, JSON], make: Callable[[], State]) -> State:
        """Give the arrays for this key, making them only where they are not kept yet."""
        entry = self.folder / kind / json_digest({"schema": SCHEMA, "key": key})
        if entry.exists():
            try:
                record = read_record(entry / "entry.json", SCHEMA, ["files"])
                check_files(entry, record["files"], ["arrays.safetensors"])
                found: dict[str, np.ndarray] = load_file(entry / "arrays.safetensors")
                return found
            except DataError as error:
                self._progress.note(f"cache: {error}; making it again")
                _discard(entry)
        made = {name: np.asarray(array, order="C") for name, array in make().items()}
        try:
            # Whoever else made the same entry meanwhile made the same arrays.
            with suppress(DataError), new_folder(entry) as folder:
                (folder / "arrays.safetensors").write_bytes(save(made))
                digests = {"arrays.safetensors": file_digest(folder / "arrays.safetensors")}
                write_json(folder / "entry.json", {"schema": SCHEMA, "key": key, "files": digests})
        except StorageError as error:
            self._progress.note(f"cache: {error}; going on without keeping it")
        return made


def _discard(entry: Path) -> None:
    for file in entry.iterdir():
        file.unlink()
    entry.rmdir()
