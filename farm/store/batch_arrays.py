"""Arrays that come batch by batch: in memory, or in files that have no name and so are never left behind."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from farm.api import read_only
from farm.errors import StorageError
from farm.store.amounts import in_bytes

REMEDY = "set FARM_CACHE to a folder with more room, or watch fewer layers"


class BatchArrays:
    """Columns of arrays, each a batch's.

    Those of one column lie one after the other in a file, which a memory map reads: its pages are the
    system's to drop, and no part of this process's own memory. The file is removed from its folder as soon
    as it is there. So its room on the disk is free again when the last array is gone, or the process is,
    however it ends.

    Parameters
    ----------
    folder
        Where the files are; None keeps everything in memory.

    Examples
    --------
    >>> kept = BatchArrays()
    >>> kept.add("logits", np.zeros((2, 3)))
    >>> [batch.shape for batch in kept.batches("logits")]
    [(2, 3)]
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._in_memory: dict[str, list[NDArray[Any]]] = {}
        self._files: dict[str, IO[bytes]] = {}
        self._forms: dict[str, list[tuple[np.dtype[Any], tuple[int, ...]]]] = {}

    @property
    def nbytes(self) -> int:
        """What is held in memory."""
        return sum(array.nbytes for arrays in self._in_memory.values() for array in arrays)

    def add(self, column: str, array: NDArray[Any]) -> None:
        """Take the next batch of a column; its memory layout becomes the plain one, in memory too."""
        array = np.ascontiguousarray(array)
        if self._folder is None:
            self._in_memory.setdefault(column, []).append(array)
            return
        # A file is written, not a map: on a full disk that is an error, and no crash.
        try:
            if column not in self._files:
                self._files[column] = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
            self._files[column].write(array.reshape(-1).view(np.uint8).data)
        except OSError as error:
            raise self._full(error) from error
        self._forms.setdefault(column, []).append((array.dtype, array.shape))

    def batches(self, column: str) -> list[NDArray[Any]]:
        """Return the arrays of a column, read-only, once all are there."""
        if self._folder is None:
            return [read_only(array) for array in self._in_memory.get(column, [])]
        forms, file = self._forms.get(column, []), self._files.get(column)
        sizes = [dtype.itemsize * math.prod(shape) for dtype, shape in forms]
        if file is None or not sum(sizes):
            return [read_only(np.empty(shape, dtype)) for dtype, shape in forms]
        try:
            file.flush()
            whole = np.asarray(np.memmap(file, np.uint8, "r"))
        except OSError as error:
            raise self._full(error) from error
        ends = np.cumsum(sizes).tolist()
        return [
            whole[end - size : end].view(dtype).reshape(shape)
            for (dtype, shape), size, end in zip(forms, sizes, ends, strict=True)
        ]

    def close(self) -> None:
        """Let go of the files; arrays that were given back stay."""
        while self._files:
            with suppress(OSError):  # of a full disk, which was told
                self._files.popitem()[1].close()

    def _full(self, error: OSError) -> StorageError:
        return StorageError(f"cannot keep layers in {self._folder} ({error.strerror}): {REMEDY}")


def place_for(nbytes: int, folders: Sequence[Path], what: str) -> Path:
    """Return the first folder that can be written to; raise where it has no room for so much."""
    for folder in folders:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            free = shutil.disk_usage(folder).free
            break
    else:
        raise StorageError(
            f"{what} take {in_bytes(nbytes)}, and no file can be written in {folders[0]}: {REMEDY}"
        )
    if free < nbytes:
        raise StorageError(
            f"{what} take {in_bytes(nbytes)} on disk, and {folder} has {in_bytes(free)} free: {REMEDY}"
        )
    return folder
