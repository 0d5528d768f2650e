"""What lies in a cache, and the removal of it: least recently used first, and never what is in use."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from farm.errors import DataError
from farm.store.cache import RECORD, SCHEMA, discard, lock_of
from farm.store.files import read_json
from farm.store.lock import is_held, locked

Sort = Literal["entry", "outdated", "unfinished", "lock"]
Fate = Literal["removed", "in use", "not removed"]
FATES: tuple[Fate, ...] = ("removed", "in use", "not removed")

DAY = 24 * 3600.0
"""What is unfinished may be in the making; after a day, nobody comes back to it."""
_ENTRY = re.compile(r"[0-9a-f]{32}")
_UNFINISHED = re.compile(r"\.(?:([0-9a-f]{32})\.)?unfinished-\w+")
_LOCK = re.compile(r"\.([0-9a-f]{32})\.lock")


@dataclass(frozen=True)
class Item:
    """Something in a cache.

    An entry is `outdated` where another version of the testbed made it, or its record cannot be read:
    nobody will use it. What killed processes leave is `unfinished`, or a `lock`.
    """

    kind: str
    path: Path
    sort: Sort
    nbytes: int
    used: float
    """When it was last used, in seconds since 1970."""

    @property
    def entry(self) -> Path:
        """The entry that it belongs to."""
        match = _UNFINISHED.fullmatch(self.path.name) or _LOCK.fullmatch(self.path.name)
        return self.path.with_name(match[1]) if match and match[1] else self.path


def contents(folder: Path) -> list[Item]:
    """List all that a cache made; what others put into its folder is not looked at.

    Examples
    --------
    >>> import tempfile
    >>> from farm.store.cache import DiskCache
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = DiskCache(Path(folder)).arrays("weights", {"seed": 0}, dict)
    ...     [(item.kind, item.sort) for item in contents(Path(folder))]
    [('weights', 'entry')]
    """
    found = []
    for path in [path for kind in _within(folder) if kind.is_dir() for path in _within(kind)]:
        with suppress(FileNotFoundError):  # somebody has just removed it
            if item := _item(path.parent.name, path):
                found.append(item)
    return found


def leftovers(items: Iterable[Item], now: float | None = None) -> list[Item]:
    """Choose what nobody will ever use."""
    before = (time.time() if now is None else now) - DAY
    return [
        item
        for item in items
        if item.sort in ("outdated", "lock") or (item.sort == "unfinished" and item.used < before)
    ]


def least_recently_used(
    items: Iterable[Item], *, before: float | None = None, total: int | None = None
) -> list[Item]:
    """Choose entries that were not used since a time, and more until the rest is at most `total` bytes."""
    entries = sorted((item for item in items if item.sort == "entry"), key=lambda item: item.used)
    left = sum(item.nbytes for item in entries)
    chosen = []
    for item in entries:
        if (before is not None and item.used < before) or (total is not None and left > total):
            chosen.append(item)
            left -= item.nbytes
    return chosen


def remove(items: Iterable[Item], *, dry_run: bool = False) -> Iterator[tuple[Item, Fate]]:
    """Remove these, and tell of each what became of it, or would; who just reads one reads on."""
    for item in items:
        if dry_run:
            yield item, "in use" if is_held(lock_of(item.entry)) else "removed"
            continue
        with locked(lock_of(item.entry), lambda: False) as free:
            fate: Fate = "in use"
            if free:
                try:
                    fate = "removed" if _remove(item) else "in use"
                except OSError:
                    fate = "not removed"
        yield item, fate


def _remove(item: Item) -> bool:
    if item.sort == "lock":
        return True  # whoever holds it removes it when he gives it back
    with suppress(FileNotFoundError):
        now = _item(item.kind, item.path)
        if now is not None and now.used > item.used:
            return False  # used since it was chosen
        if not item.path.is_dir():
            item.path.unlink()
        elif item.sort == "unfinished":
            shutil.rmtree(item.path)
        else:
            discard(item.path)
    return True


def _item(kind: str, path: Path) -> Item | None:
    """Say what something is; None where it is none of a cache's. Raises where it is not there any more."""
    if path.is_symlink():
        return None
    info = path.stat()
    item = Item(kind, path, "entry", info.st_size, info.st_mtime)
    name, is_folder = path.name, path.is_dir()
    if _LOCK.fullmatch(name):
        return None if is_folder else replace(item, sort="lock")
    unfinished = _UNFINISHED.fullmatch(name) is not None
    if not unfinished and not _ENTRY.fullmatch(name):
        return None
    if is_folder:
        files = list(_files_in(path))
        item = replace(item, nbytes=sum(file.st_size for file in files))
        item = replace(item, used=max((file.st_mtime for file in files), default=info.st_mtime))
        if not unfinished:
            return _of_record(item)
    return replace(item, sort="unfinished") if unfinished else item


def _of_record(entry: Item) -> Item:
    """Add to an entry whether it can be used, and when it was."""
    try:
        used = (entry.path / RECORD).stat().st_mtime
        schema = read_json(entry.path / RECORD).get("schema")
    except (DataError, FileNotFoundError):
        entry.path.stat()  # raises where it was removed meanwhile
        return replace(entry, sort="outdated")
    return replace(entry, sort="entry" if schema == SCHEMA else "outdated", used=used)


def _files_in(folder: Path) -> Iterator[os.stat_result]:
    for place, _, files in os.walk(folder):
        for file in files:
            with suppress(FileNotFoundError):
                yield os.stat(Path(place) / file, follow_symlinks=False)  # noqa: PTH116


def _within(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
