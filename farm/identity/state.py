"""The state of a file, by which it is known again without being read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

UNSETTLED_SECONDS = 2.0
"""Within a tick of the file system's clock a file can change twice and keep its times; the longest is 2 s."""


class FileState(NamedTuple):
    """What changes when a file or a folder's listing does; times in ns."""

    size: int
    modified: int
    changed: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> FileState:
        """Take it from what the system tells."""
        return cls(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)

    @property
    def newest(self) -> int:
        """When it was last touched: copying with times or moving into place shows in `changed` alone."""
        return max(self.modified, self.changed)


def state_of(path: Path | str) -> FileState | None:
    """Give the state of a file or folder, links followed; None where it is not there."""
    try:
        return FileState.of(os.stat(path))  # noqa: PTH116 - a thousand times a plan
    except (OSError, ValueError):
        return None


def settled(states: Iterable[FileState | None]) -> bool:
    """Say whether all of them are so old that whatever changes now will show."""
    newest = max((state.newest for state in states if state is not None), default=0)
    return newest < time.time_ns() - int(UNSETTLED_SECONDS * 1e9)
