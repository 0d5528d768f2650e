"""What was found out about files, remembered on disk, and the state by which a file is known again unread."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from farm.store.cache import default_cache_folder

P = TypeVar("P", Path, str)

State = tuple[int, int, int, int]
"""Size, when it was modified and when changed (in ns), and inode: one differs when a file or listing does."""
state_in = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")
"""Takes a state from what the system tells."""
UNSETTLED_SECONDS = 2.0
"""Within a tick of the file system's clock a file can change twice and keep its times; the longest is 2 s."""


def states_of(paths: Iterable[P]) -> dict[P, State | None]:
    """Return the states of files and folders, links followed; None for what is not there."""
    found: dict[P, State | None] = {}
    for path in paths:
        try:
            found[path] = state_in(os.stat(path))  # noqa: PTH116 - a thousand times a plan
        except (OSError, ValueError):
            found[path] = None
    return found


def newest(states: Iterable[State | None]) -> int:
    """Return when one was last touched: copying with times or moving into place shows in one of its times."""
    return max([max(state[1], state[2]) for state in states if state is not None], default=0)


def settled(states: Iterable[State | None]) -> bool:
    """Say whether all of them are so old that whatever changes now will show."""
    return newest(states) < time.time_ns() - int(UNSETTLED_SECONDS * 1e9)


def default_memory() -> Path:
    """Return the folder in the testbed's cache."""
    return default_cache_folder() / "digests"


def recall(folder: Path, key: str) -> str | None:
    """Return what is remembered under a key; None where that is nothing, or damaged."""
    try:
        check, _, text = (folder / key).read_text("utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    return text if check == _check(key, text) else None


def remember(folder: Path, key: str, text: str) -> None:
    """Remember a text, whole or not at all; where nothing can be written, it is not remembered."""
    temporary = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".unfinished-", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{_check(key, text)}\n{text}")
        os.replace(temporary, folder / key)  # noqa: PTH105 - atomic, and over what is there
    except OSError:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink()


def _check(key: str, text: str) -> str:
    return hashlib.blake2b(f"{key}\n{text}".encode(), digest_size=16).hexdigest()
