"""The content of files and folders as a digest, and what files speak of beside them: images, weights.

Both are remembered by the state that the file system tells.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from farm.errors import DataError
from farm.store.files import file_digest
from farm.store.identity.memory import (
    State,
    default_memory,
    recall,
    remember,
    settled,
    state_in,
    states_of,
)

SCHEMA = 1
_BETWEEN = re.compile(rb"[\x00-\x20,;\"'/\\:|()\[\]{}<>=]+")
"""What parts names in a text, whether that is a table, JSON or a plain list."""
_HEAD = 4096
_WEIGHTS_IN = b"\x08location\x12"
"""What an ONNX graph writes before the name of a file that holds its weights."""
_AT_ONCE = 1 << 20
"""Files up to this many bytes are read in one go: a buffer for parts would cost more than they do."""


class Member(NamedTuple):
    """Something in a folder: its name from there, what it is if it is no file, and a file's state."""

    name: str
    what: str
    path: str
    state: State | None


def content_digest(path: Path, memory: Path | None = None, *, only: Collection[str] | None = None) -> str:
    """Return the digest of a file's bytes, or of all files in a folder and below it, with their names.

    It is the same wherever the file or folder lies. What was hashed once is not read again as long as the
    names, sizes, times and inodes of all its files are the same. Links are followed, each folder once.

    Parameters
    ----------
    path
        The file or folder.
    memory
        The folder to remember digests in; by default one in the testbed's cache.
    only
        Of a folder, only these of its entries.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     one, other = Path(folder) / "one.txt", Path(folder) / "other.txt"
    ...     _ = one.write_text("stop"), other.write_text("stop")
    ...     content_digest(one, Path(folder)) == content_digest(other, Path(folder))
    True
    """
    where = os.path.realpath(path)
    return _remembered(
        "content", where, lambda: _listed(where, only), lambda members: _digest(where, members), memory
    )


def _remembered(
    about: str,
    where: str,
    look: Callable[[], list[Member]],
    make: Callable[[list[Member]], str],
    memory: Path | None,
) -> str:
    """Return what `make` makes of files, or recall it where they are in the same state as then.

    What files that are just being written give is not remembered.
    """
    folder = memory or default_memory()
    before = look()
    seen = hashlib.blake2b(repr((SCHEMA, about, where)).encode(), digest_size=16)
    for name, what, _, state in before:
        seen.update(repr((name, what, state)).encode())
    key = seen.hexdigest()
    text = recall(folder, key)
    if text is None:
        text = make(before)
        if settled([member.state for member in before]) and look() == before:
            remember(folder, key, text)
    return text


def _digest(where: str, members: list[Member]) -> str:
    if len(members) == 1 and not members[0].name and members[0].state is not None:
        return _of_file(where)
    seen = hashlib.blake2b(digest_size=16)
    for name, what, path, state in members:
        content = "" if state is None else _of_file(path)
        seen.update(os.fsencode(name) + f"\0{what}\0{content}\n".encode())
    return seen.hexdigest()


def _of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - of 100,000 files
            data = file.read(_AT_ONCE + 1)
        if len(data) > _AT_ONCE:
            return file_digest(Path(path))
    except OSError as error:
        raise _unreadable(path, error) from error
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _listed(where: str, only: Collection[str] | None) -> list[Member]:
    """List a file, or all that is in a folder, in an order that depends on names alone."""
    try:
        info = os.stat(where)  # noqa: PTH116
    except OSError as error:
        raise _unreadable(where, error) from error
    if stat.S_ISREG(info.st_mode):
        return [Member("", "", where, state_in(info))]
    if not stat.S_ISDIR(info.st_mode):
        return [Member("", "no file", where, None)]
    found: list[Member] = []
    first: dict[tuple[int, int], str] = {(info.st_dev, info.st_ino): "."}
    waiting = _entries(where, "", only)
    while waiting:
        name, path = waiting.pop()
        try:
            info = os.stat(path)  # noqa: PTH116
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                found.append(Member(name, "a link to nothing", path, None))
                continue
            raise _unreadable(path, error) from error
        if stat.S_ISREG(info.st_mode):
            found.append(Member(name, "", path, state_in(info)))
        elif not stat.S_ISDIR(info.st_mode):
            found.append(Member(name, "no file", path, None))  # a pipe would be waited for
        elif (mark := (info.st_dev, info.st_ino)) in first:
            found.append(Member(name, f"the folder {first[mark]!a}", path, None))
        else:
            first[mark] = name
            found.append(Member(name, "folder", path, None))
            waiting += _entries(path, f"{name}/", None)
    return found


_RESULTS = ({"campaign.json", "cells"}, {"run.json", "instances.parquet", "alarms.parquet"})
"""What a campaign's folder has, and a run's: results are no data, though they may lie among them."""


def _entries(folder: str, above: str, only: Collection[str] | None) -> list[tuple[str, str]]:
    """Return names and paths in a folder, the last by name first."""
    try:
        names = sorted(os.listdir(folder), reverse=True)  # noqa: PTH208
    except OSError as error:
        raise _unreadable(folder, error) from error
    if above and any(result <= set(names) for result in _RESULTS):
        return []
    return [(above + name, f"{folder}/{name}") for name in names if only is None or name in only]


def mentioned(file: Path, memory: Path | None = None) -> list[str]:
    """Return the names of those files and folders beside a file that its content speaks of.

    A path in an index counts by its first part, so `images/stop/01.png` means all of the folder `images`.
    Read are texts of any kind, Parquet, and ONNX graphs; other binary files have all they need inside.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     index = Path(folder) / "index.csv"
    ...     _ = index.write_text("path,label\\nimages/1.png,stop")
    ...     for name in ("images", "results"):
    ...         (Path(folder) / name).mkdir()
    ...     mentioned(index, Path(folder) / "memory")
    ['images']
    """
    where = os.path.abspath(file)  # noqa: PTH100 - a link's images lie beside the link
    folder, own = os.path.split(where)

    def look() -> list[Member]:
        beside = sorted(set(os.listdir(folder)) - {own})  # noqa: PTH208
        state = states_of([where])[where]
        return [Member("", "", where, state), *(Member(name, "beside", "", None) for name in beside)]

    def make(members: list[Member]) -> str:
        return json.dumps(_spoken_of(Path(where), [member.name for member in members[1:]]))

    found: list[str] = json.loads(_remembered("mentioned", where, look, make, memory))
    return found


def _spoken_of(file: Path, names: list[str]) -> list[str]:
    try:
        with file.open("rb") as handle:
            head = handle.read(_HEAD)
        if head.startswith(b"PAR1"):
            text = _parquet_text(file)
        elif b"\0" not in head or file.suffix == ".onnx":
            text = file.read_bytes()
        else:
            return []
    except OSError as error:
        raise _unreadable(str(file), error) from error
    encoded = {name: os.fsencode(name) for name in names}
    if file.suffix == ".onnx":
        return [name for name, raw in encoded.items() if raw in text and _WEIGHTS_IN in text]
    words = set(_BETWEEN.split(text))
    plain = text.replace(b'""', b'"')  # as a CSV file writes a quotation mark
    # A name with a space or a comma in it is no word; there are few such.
    return [n for n, raw in encoded.items() if raw in words or (_BETWEEN.search(raw) and raw in plain)]


def _parquet_text(file: Path) -> bytes:
    """Return all texts in a Parquet file; none where it is damaged, as whoever reads it will say."""
    import pyarrow.parquet

    try:
        columns = pyarrow.parquet.read_table(file).columns
        values = {value for column in columns for value in column.unique().to_pylist()}
    except (ValueError, NotImplementedError):
        return b""
    return "\n".join(sorted(value for value in values if isinstance(value, str))).encode()


def _unreadable(path: str, error: OSError) -> DataError:
    """Say that data cannot be read, so that nobody can know whether they change."""
    return DataError(
        f"{path} cannot be read: {error.strerror}; expected data that can be, to know if they change"
    )
