"""Arrays that are dear to make, found again by the content of all that made them."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save

from farm.api import JSON, Component, NoCache, Progress, Silent, State
from farm.errors import DataError, StorageError
from farm.store.files import check_files, file_digest, json_digest, new_folder, write_json
from farm.store.lock import locked
from farm.store.plain_arrays import write_npy
from farm.store.records import Form, read_record
from farm.store.timing import timed

T = TypeVar("T")

SCHEMA = 1
RECORD = "entry.json"
ARRAYS, ARRAY = "arrays.safetensors", "array.npy"


class EntryForm(Form):
    """What an entry's record has to have."""

    files: dict[str, str]


def default_cache_folder() -> Path:
    """Return `$FARM_CACHE`, or `farm` in the user's cache folder."""
    if own := os.environ.get("FARM_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "farm"


class DiskCache:
    """A folder of entries; each is the arrays, the key that made them, and a checksum.

    A damaged entry is said, made anew and replaced; it never becomes a result. Of several processes that
    need the same entry, one makes it and the others wait for it. Its `entry.json` is as old as its last use.
    """

    def __init__(self, folder: Path | None = None, progress: Progress | None = None) -> None:
        self.folder = folder or default_cache_folder()
        self._progress = progress or Silent()

    def arrays(self, kind: str, key: Mapping[str, JSON], make: Callable[[], State]) -> State:
        """Return the arrays for this key, making them only where they are not kept yet."""
        entry = self._entry(kind, key)
        if (found := self._found(entry, ARRAYS, load_file)) is not None:
            return found
        with self._alone(entry):
            if (found := self._found(entry, ARRAYS, load_file, alone=True)) is not None:
                return found
            made: State = {name: np.asarray(array, order="C") for name, array in make().items()}
            self._keep(entry, key, ARRAYS, lambda path: path.write_bytes(save(dict(made))))
            return made

    def mapped(
        self,
        kind: str,
        key: Mapping[str, JSON],
        shape: Sequence[int],
        dtype: str,
        blocks: Callable[[], Iterable[NDArray[Any]]],
    ) -> NDArray[Any]:
        """Return one large array for this key, read-only and memory-mapped.

        It is written block by block, so that it need not fit into memory.
        """
        entry = self._entry(kind, key)
        if (found := self._found(entry, ARRAY, _map)) is not None:
            return found
        with self._alone(entry):
            if (found := self._found(entry, ARRAY, _map, alone=True)) is not None:
                return found
            self._keep(entry, key, ARRAY, lambda path: write_npy(path, shape, dtype, blocks()))
            kept = self._found(entry, ARRAY, _map)
        return NoCache().mapped(kind, key, shape, dtype, blocks) if kept is None else kept

    def for_model(self, model: Component) -> DiskCache:  # noqa: ARG002
        """Return itself: what a model keeps here directly, its keys alone tell apart."""
        return self

    def find(self, kind: str, key: Mapping[str, JSON]) -> State | None:
        """Return the arrays for this key where they are kept and whole."""
        return self._found(self._entry(kind, key), ARRAYS, load_file)

    def forget(self, kind: str, key: Mapping[str, JSON]) -> None:
        """Remove what is kept for this key, since whoever can read it has no use for it."""
        entry = self._entry(kind, key)
        with self._alone(entry), suppress(OSError):
            discard(entry)

    @timed("keys")
    def _entry(self, kind: str, key: Mapping[str, JSON]) -> Path:
        return self.folder / kind / json_digest({"schema": SCHEMA, "key": key})

    @timed("cache")
    def _found(self, entry: Path, name: str, read: Callable[[Path], T], *, alone: bool = False) -> T | None:
        """Return what an entry holds; None where there is none, or a damaged one.

        Who is alone with it says the damage and removes it; anybody else may only have come while somebody
        removed it.
        """
        if not entry.exists():
            return None
        try:
            record = read_record(entry / RECORD, SCHEMA, EntryForm)
            check_files(entry, record["files"], [name])
            held = read(entry / name)
        except (DataError, OSError) as error:
            if alone:
                self._progress.note(f"cache: {error}; making it again")
                with suppress(OSError):
                    discard(entry)
            return None
        with suppress(OSError):  # a cache that is only read knows no last use
            os.utime(entry / RECORD)
        return held

    def _keep(self, entry: Path, key: Mapping[str, JSON], name: str, write: Callable[[Path], object]) -> None:
        """Write an entry; where there are no locks, whoever made it meanwhile made the same."""
        try:
            with new_folder(entry) as folder:
                write(folder / name)
                digests = {name: file_digest(folder / name)}
                write_json(folder / RECORD, {"schema": SCHEMA, "key": key, "files": digests})
        except DataError:
            if not entry.exists():  # what was asked for cannot be made; else somebody else was faster
                raise
        except StorageError as error:
            self._progress.note(f"cache: {error}; going on without keeping it")

    @contextmanager
    def _alone(self, entry: Path) -> Iterator[None]:
        """Let nobody else make this entry, or remove it, meanwhile; where there are locks."""

        def wait() -> bool:
            self._progress.note(f"cache: waiting for {entry}, which another process is making")
            return True

        with suppress(OSError):
            entry.parent.mkdir(parents=True, exist_ok=True)
        with locked(lock_of(entry), wait):
            yield


def lock_of(entry: Path) -> Path:
    """Return the file that whoever makes or removes an entry holds."""
    return entry.with_name(f".{entry.name}.lock")


def discard(entry: Path) -> None:
    """Remove an entry: first from its place, so that no half of it is ever found there."""
    gone = entry.with_name(f".{entry.name}.unfinished-{secrets.token_hex(4)}")
    with suppress(FileNotFoundError):
        entry.rename(gone)
        shutil.rmtree(gone)


def _map(path: Path) -> NDArray[Any]:
    mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped
