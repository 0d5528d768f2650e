"""The content of files and folders as a digest, remembered by the state that the file system tells."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from farm.errors import DataError
from farm.files import file_digest
from farm.identity.memory import default_memory, recall, remember
from farm.identity.state import FileState, settled

SCHEMA = 1
_AT_ONCE = 1 << 20
"""Files up to this many bytes are read in one go: a buffer for parts would cost more than they do."""


class Member(NamedTuple):
    """Something in a folder: its name from there, what it is if it is no file, and a file's state."""

    name: str
    what: str
    path: str
    state: FileState | None


def content_digest(path: Path, memory: Path | None = None, *, only: Collection[str] | None = None) -> str:
    """Give the digest of a file's bytes, or of all files in a folder and below it, with their names.

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
    return remembered(
        where,
        lambda: _listed(where, only),
        lambda members: _digest(where, members),
        memory,
    )


def remembered(
    where: str,
    look: Callable[[], list[Member]],
    make: Callable[[list[Member]], str],
    memory: Path | None,
    about: str = "content",
) -> str:
    """Give what `make` makes of files, or recall it where they are in the same state as then.

    What files that are just being written give is not remembered.
    """
    folder = memory or default_memory()
    before = look()
    key = _key(about, where, before)
    text = recall(folder, key)
    if text is None:
        text = make(before)
        if settled(member.state for member in before) and look() == before:
            remember(folder, key, text)
    return text


def _key(about: str, where: str, members: Iterable[Member]) -> str:
    seen = hashlib.blake2b(repr((SCHEMA, about, where)).encode(), digest_size=16)
    for name, what, _, state in members:
        seen.update(repr((name, what, state and tuple(state))).encode())
    return seen.hexdigest()


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
        raise unreadable(path, error) from error
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _listed(where: str, only: Collection[str] | None) -> list[Member]:
    """List a file, or all that is in a folder, in an order that depends on names alone."""
    try:
        info = os.stat(where)  # noqa: PTH116
    except OSError as error:
        raise unreadable(where, error) from error
    if stat.S_ISREG(info.st_mode):
        return [Member("", "", where, FileState.of(info))]
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
            raise unreadable(path, error) from error
        if stat.S_ISREG(info.st_mode):
            found.append(Member(name, "", path, FileState.of(info)))
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
    """Give names and paths in a folder, the last by name first."""
    try:
        names = sorted(os.listdir(folder), reverse=True)  # noqa: PTH208
    except OSError as error:
        raise unreadable(folder, error) from error
    if above and any(result <= set(names) for result in _RESULTS):
        return []
    return [(above + name, f"{folder}/{name}") for name in names if only is None or name in only]


def unreadable(path: str, error: OSError) -> DataError:
    """Say that data cannot be read, so that nobody can know whether they change."""
    return DataError(
        f"{path} cannot be read: {error.strerror}; expected data that can be, to know if they change"
    )
