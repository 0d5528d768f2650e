"""The memory of a process and of all processes that it started: what they share counts once."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024
_LIST = 4096


@dataclass(frozen=True)
class Memory:
    """What memory a process has, and those that it started, in bytes."""

    own: int
    total: int
    """Of all together."""
    children: Mapping[int, int] = field(default_factory=dict)
    """Of each process that it started itself, by its number, with all that this one started."""


def memory_of(pid: int, enough: float) -> Memory:
    """Give the memory of a process and of those that it started; nothing of one that is gone.

    To count once what they share takes milliseconds. So that is done only where they have more than
    `enough` when it is counted for each of them.

    Examples
    --------
    >>> alone = memory_of(os.getpid(), enough=1e12)
    >>> alone.own > 1_000_000, alone.total >= alone.own
    (True, True)
    """
    own, started = resident_bytes(pid) or 0, descendants(pid)
    if not started:
        return Memory(own, own)
    children = _summed(started, {each: resident_bytes(each) or 0 for each in started})
    total = own + sum(children.values())
    if total > enough:
        children = _summed(started, {each: _share(each) for each in started})
        total = max(own, _share(pid) + sum(children.values()))
    return Memory(own, total, children)


def resident_bytes(pid: int) -> int | None:
    """Give a process's resident memory; None where there is no such process.

    Examples
    --------
    >>> resident_bytes(os.getpid()) > 1_000_000
    True
    """
    if Path("/proc/self/statm").exists():
        try:
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_SIZE
        except (FileNotFoundError, ProcessLookupError):
            return None
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return int(told.stdout) * 1024 if told.stdout.strip() else None


def descendants(pid: int) -> dict[int, int]:
    """Give the processes that a process started, and those that these did; where the system tells.

    Each with the one of the first kind that it comes from.
    """
    found: dict[int, int] = {}
    waiting = [(child, child) for child in _children(pid)]
    while waiting:
        each, child = waiting.pop()
        found[each] = child
        waiting += [(one, child) for one in _children(each) if one not in found]
    return found


class OwnMemory:
    """The memory of this process, and which processes this thread started: each told in a microsecond.

    Where there is no /proc, it is the most that the process has had, and nobody was started.
    """

    def __init__(self) -> None:
        self._statm = _opened("/proc/self/statm")
        self._list = _opened(f"/proc/self/task/{threading.get_native_id()}/children")

    def resident(self) -> int:
        """Give this process's own."""
        if self._statm is None:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT
        return int(os.pread(self._statm, 64, 0).split(b" ", 2)[1]) * _PAGE_SIZE

    def children(self) -> bytes:
        """Give the numbers of the processes that this thread started, as the system writes them."""
        if self._list is None:
            return b""
        return os.pread(self._list, _LIST, 0).rpartition(b" ")[0]  # of very many, none is cut in two

    def close(self) -> None:
        """Ask no more."""
        for descriptor in (self._statm, self._list):
            if descriptor is not None:
                os.close(descriptor)


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):  # it may end while it is looked at, and so may its threads
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_bytes().split())
    return found


def _share(pid: int) -> int:
    """Give a process's memory, of what it shares with others its part alone."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024
    return resident_bytes(pid) or 0


def _summed(started: Mapping[int, int], amounts: Mapping[int, int]) -> dict[int, int]:
    sums = dict.fromkeys(started.values(), 0)
    for each, child in started.items():
        sums[child] += amounts[each]
    return sums
