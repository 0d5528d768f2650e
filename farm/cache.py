"""Arrays that are dear to make, found again by the content of all that made them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save

from farm.api import JSON, NoCache, Progress, Silent, State
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
        entry = self._entry(kind, key)
        if self._is_whole(entry, "arrays.safetensors"):
            found: dict[str, np.ndarray] = load_file(entry / "arrays.safetensors")
            return found
        made = {name: np.asarray(array, order="C") for name, array in make().items()}
        try:
            # Whoever else made the same entry meanwhile made the same arrays.
            with suppress(DataError), new_folder(entry) as folder:
                (folder / "arrays.safetensors").write_bytes(save(made))
                _sign(folder, key, "arrays.safetensors")
        except StorageError as error:
            self._progress.note(f"cache: {error}; going on without keeping it")
        return made

    def mapped(
        self,
        kind: str,
        key: Mapping[str, JSON],
        shape: Sequence[int],
        dtype: str,
        blocks: Callable[[], Iterable[NDArray[Any]]],
    ) -> NDArray[Any]:
        """Give one large array for this key, read-only and memory-mapped.

        It is written block by block, so that it need not fit into memory.
        """
        entry = self._entry(kind, key)
        if not self._is_whole(entry, "array.npy"):
            try:
                with new_folder(entry) as folder:
                    _write_npy(folder / "array.npy", shape, dtype, blocks())
                    _sign(folder, key, "array.npy")
            except DataError:
                if not entry.exists():  # what was asked for cannot be made; else somebody else was faster
                    raise
            except StorageError as error:
                self._progress.note(f"cache: {error}; going on without keeping it")
                return NoCache().mapped(kind, key, shape, dtype, blocks)
        mapped: NDArray[Any] = np.load(entry / "array.npy", mmap_mode="r", allow_pickle=False)
        return mapped

    def _entry(self, kind: str, key: Mapping[str, JSON]) -> Path:
        return self.folder / kind / json_digest({"schema": SCHEMA, "key": key})

    def _is_whole(self, entry: Path, name: str) -> bool:
        """Say whether an entry is there and undamaged; a damaged one is said and removed."""
        if not entry.exists():
            return False
        try:
            record = read_record(entry / "entry.json", SCHEMA, ["files"])
            check_files(entry, record["files"], [name])
        except DataError as error:
            self._progress.note(f"cache: {error}; making it again")
            _discard(entry)
            return False
        return True


def _write_npy(path: Path, shape: Sequence[int], dtype: str, blocks: Iterable[NDArray[Any]]) -> None:
    # A plain .npy that is appended to: on a full disk that is an error, where a memory-map would crash.
    with path.open("wb") as file:
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=dtype).data)


def _sign(folder: Path, key: Mapping[str, JSON], name: str) -> None:
    digests = {name: file_digest(folder / name)}
    write_json(folder / "entry.json", {"schema": SCHEMA, "key": key, "files": digests})


def _discard(entry: Path) -> None:
    for file in entry.iterdir():
        file.unlink()
    entry.rmdir()
