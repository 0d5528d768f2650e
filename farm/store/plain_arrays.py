"""Arrays of numbers and text as plain bytes, with a record beside them or block by block in one file."""

from __future__ import annotations

import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import JSON, State, check_regular
from farm.errors import DataError

RECORD = "record"
UNREADABLE = (
    *(OSError, ValueError, EOFError, TypeError, KeyError, OverflowError, MemoryError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, SyntaxError),
    TokenError,
)
"""What NumPy and Python's archives raise on a damaged file; memory is short where it claims too much."""
PLAIN = "biufcUS"
"""Kinds of arrays that are kept: numbers, truth values, text."""


def pack(arrays: State, record: Mapping[str, JSON]) -> State:
    """Return arrays as bytes, with their names, order, types and memory layout, and a record of more.

    The layout too: sums of the same numbers in another order of memory differ in their last bits.
    Raise a `TypeError` or `ValueError` where something cannot be written down plainly.

    Examples
    --------
    >>> kept = pack({"names": np.array(["é", "b"])}, {"seed": 1})
    >>> arrays, record = unpack(kept)
    >>> arrays["names"].tolist(), dict(record)
    (['é', 'b'], {'seed': 1})
    """
    forms = [_form(name, array) for name, array in arrays.items()]
    text = json.dumps({"arrays": forms, "record": dict(record)}, allow_nan=False)
    return {
        RECORD: np.frombuffer(text.encode(), np.uint8),
        **{str(i): _bytes_of(array) for i, array in enumerate(arrays.values())},
    }


def unpack(kept: State) -> tuple[State, Mapping[str, Any]]:
    """Return arrays and record as they were packed."""
    said = json.loads(kept[RECORD].tobytes())
    arrays = {form["name"]: _array_of(kept[str(i)], form) for i, form in enumerate(said["arrays"])}
    return arrays, said["record"]


def _form(name: str, array: NDArray[Any]) -> dict[str, JSON]:
    if array.dtype.kind not in PLAIN:
        raise TypeError(f"its '{name}' is of type {array.dtype}")
    turned = array.flags.f_contiguous and not array.flags.c_contiguous
    return {"name": name, "type": array.dtype.str, "shape": array.shape, "turned": turned}


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    inside = array.T if array.flags.f_contiguous else np.ascontiguousarray(array)
    return inside.reshape(-1).view(np.uint8)


def _array_of(kept: NDArray[Any], form: Mapping[str, Any]) -> NDArray[Any]:
    # An array of its own, since in a file it may lie where its type should not.
    array: NDArray[Any] = np.empty(form["shape"], form["type"], order="F" if form["turned"] else "C")
    _bytes_of(array)[:] = kept
    return array


def mapped_npy(path: Path) -> NDArray[Any]:
    """Return the array in a file, read-only and left on disk, where the file is as long as it says."""
    try:
        check_regular(path)
        with np.errstate(over="ignore"):  # a header may claim more than any number counts
            mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read as an array ({error}); is it truncated?") from error
    if not isinstance(mapped, np.ndarray):
        raise DataError(f"{path} holds several arrays; expected one")
    return mapped


def read_npz(path: Path | str) -> dict[str, NDArray[Any]]:
    """Return the arrays in a file that `numpy.savez` or `write_arrays` wrote, in its order."""
    try:
        check_regular(path)
        with Path(path).open("rb") as file:
            if file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX:
                raise DataError(f"{path} holds a single array; expected several by name, as np.savez writes")
        with zipfile.ZipFile(path) as archive:
            found = {}
            for entry in archive.namelist():
                with archive.open(entry) as file:
                    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
                found[entry.removesuffix(".npy")] = array
            return found
    except UNREADABLE as error:
        if "allow_pickle" in str(error):
            raise DataError(
                f"{path} holds Python objects; expected arrays of numbers or text: save them as such, "
                "as by array.astype(str)"
            ) from error
        raise DataError(
            f"{path} cannot be read as .npz ({error}); is it truncated, or no .npz file?"
        ) from error


def write_npy(path: Path, shape: Sequence[int], dtype: str, blocks: Iterable[NDArray[Any]]) -> None:
    """Write one large array block by block: on a full disk an error, where a memory map would crash."""
    with path.open("wb") as file:
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=dtype).data)
