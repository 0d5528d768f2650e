"""Which monitor of a cell is at work, since when, and what each took, in case the process has to be ended.

It is a few numbers in memory that two processes share, in a file without a name, whose descriptor the worker
inherits: they are there whatever becomes of the worker, and nothing is left behind. Each is stored at once,
so what is read while somebody writes is at worst one call of a monitor old.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from farm.campaign.processes import TreeMemory, resident_bytes

# time.monotonic() is one clock for all processes of a machine on Linux (CLOCK_MONOTONIC) and on macOS.
_BEGAN, _RESIDENT_BEFORE, _SINCE, _RESIDENT_THEN, _AT_WORK, _HEAD = range(6)
"""The cell's beginning and the memory then; the call's, and the row of its monitor, 0 for nobody."""
_SECONDS, _BYTES, _DOING, _ROW = range(4)
"""A monitor's row: what all of its calls took, and what it did last."""
_DOINGS = ("working", "fitting", "scoring", "explaining")

BETWEEN_LOOKS = 0.05
"""Seconds between two looks at the memory that a monitor takes, where its calls are short."""
FILES_CLOSED = 74
"""The exit code of a process in which a monitor closed files that it needs."""
SHORT = 0.002
"""Seconds that a short call takes at most: to look would take a good part of it."""


@dataclass(frozen=True)
class Share:
    """What a monitor took of a cell: seconds, or bytes of memory."""

    monitor: str
    doing: str
    amount: float
    at_work: bool
    """It is at work now, and this call alone took the greater part."""


class WorkRecorder:
    """Writes down which of a cell's monitors is at work, as a `farm.run.shared.CallObserver`.

    The cell begins with it. Time is taken of every call. To look at the memory takes longer than a small
    monitor to score: that is done now and then, and after every call that was not short. The growth in a call
    that was looked at stands for the monitor's calls since the one before.

    Where a monitor closed files that this process needs, nobody can be told by them, and what is written next
    may get into a file that was opened since: the process ends at once, and the record has who was at work.

    Parameters
    ----------
    descriptor
        The record's.
    monitors
        The names of the cell's monitors.
    started
        Called with the numbers of processes that were not there before, and the monitor that started them, or
        nobody: whatever they take later, it takes.
    channel
        Further descriptors that the process needs, beside the record's and those for what is printed.
    """

    def __init__(
        self,
        descriptor: int,
        monitors: Sequence[str],
        started: Callable[[list[int], str], None],
        channel: Sequence[int] = (),
    ) -> None:
        self._needed = (descriptor, *channel)
        self._files = _files(self._needed)
        self._map = mmap.mmap(descriptor, _size(len(monitors)))
        self._record = memoryview(self._map).cast("d")
        self._rows = {name: _HEAD + i * _ROW for i, name in enumerate(monitors)}
        self._process, self._started = psutil.Process(), started
        self._monitor, self._since, self._looked, self._resident = "", 0.0, False, 0
        self._due, self._calls = dict.fromkeys(monitors, 0.0), Counter[str]()
        self._doing: dict[str, str] = {}
        self._children = set[int]()
        self._see_started("")
        self._see_memory()
        self._record[_RESIDENT_BEFORE] = self._resident
        self._record[_BEGAN] = time.monotonic()

    def begin(self, monitor: str, doing: str) -> None:
        """Note that a monitor begins to do something."""
        if (row := self._rows.get(monitor)) is None:
            return
        self._monitor, self._since = monitor, time.monotonic()
        if anew := self._doing.get(monitor) != doing:
            self._doing[monitor] = doing
            self._record[row + _DOING] = _DOINGS.index(doing) if doing in _DOINGS else 0
        self._looked = anew or self._since >= self._due[monitor]
        if self._looked:
            self._due[monitor] = self._since + BETWEEN_LOOKS
            self._see_memory()
            self._see_started("")
        self._record[_SINCE] = self._since
        self._record[_AT_WORK] = row

    def end(self) -> None:
        """Note that it came back; end the process where it closed what this needs."""
        if _files(self._needed) != self._files:
            os._exit(FILES_CLOSED)
        # First nobody is at work, then what was taken is added: a call may be lost, and never counts twice.
        record, monitor = self._record, self._monitor
        record[_AT_WORK], self._monitor = 0, ""
        if not monitor:
            return
        row, took = self._rows[monitor], time.monotonic() - self._since
        record[row + _SECONDS] += took
        self._calls[monitor] += 1
        if self._looked or took > SHORT:
            stands_for = self._calls[monitor] if self._looked and took <= SHORT else 1
            record[row + _BYTES] += self._see_memory() * stands_for
            self._calls[monitor] = 0
            self._see_started(monitor)

    def close(self) -> None:
        """Give the memory back."""
        self._record.release()
        self._map.close()

    def _see_memory(self) -> int:
        """Note the memory of now; return what it grew by since it was noted before."""
        before = self._resident
        self._resident = resident_bytes(self._process)
        self._record[_RESIDENT_THEN] = self._resident
        return self._resident - before

    def _see_started(self, monitor: str) -> None:
        children = _own_children()
        if new := sorted(children - self._children):
            self._started(new, monitor)
        self._children = children


class WorkRecord:
    """What a worker's `WorkRecorder` writes, as it is read by whoever started the worker.

    Examples
    --------
    >>> record = WorkRecord()
    >>> record.clear(["quick", "slow"])
    >>> recorder = WorkRecorder(record.descriptor, ["quick", "slow"], started=record.started)
    >>> recorder.begin("slow", "scoring")
    >>> culprit = record.most_time(limit=60, now=time.monotonic() + 60)
    >>> culprit.monitor, culprit.doing
    ('slow', 'scoring')
    >>> recorder.close()
    >>> record.close()
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the record
        self.clear(())

    @property
    def descriptor(self) -> int:
        """The descriptor that a process must inherit to write."""
        return self._file.fileno()

    def clear(self, monitors: Sequence[str]) -> None:
        """Make room for a cell with these monitors, and forget the one before; nobody may be writing."""
        self._rows = {name: _HEAD + i * _ROW for i, name in enumerate(monitors)}
        self._starters: dict[int, str] = {}
        # Written and not only sized: on a full disk a page without blocks kills whoever touches it.
        os.pwrite(self.descriptor, bytes(_size(len(monitors))), 0)

    def started(self, processes: Iterable[int], monitor: str) -> None:
        """Note which monitor started processes."""
        self._starters.update(dict.fromkeys(processes, monitor))

    @property
    def began(self) -> float | None:
        """When the cell began, by `time.monotonic`; None before."""
        return self._read()[_BEGAN] or None

    @property
    def resident_before(self) -> float:
        """What resident memory the process had when the cell began."""
        return self._read()[_RESIDENT_BEFORE]

    def at_work(self) -> Share | None:
        """Return who is at work now, and for how many seconds; None where no monitor is."""
        read = self._read()
        monitor = self._monitor_at_work(read)
        since = time.monotonic() - read[_SINCE]
        return self._share(read, monitor, since, at_work=True) if monitor else None

    def most_time(self, limit: float, now: float) -> Share | None:
        """Return the monitor that took more than half of a cell's limit of seconds; None where none did."""
        read = self._read()
        taken = {name: read[row + _SECONDS] for name, row in self._rows.items()}
        return self._culprit(read, taken, now - read[_SINCE], limit)

    def most_memory(self, memory: TreeMemory) -> Share | None:
        """Return the monitor that took more than half of what memory grew by since the cell began, if any."""
        read = self._read()
        taken = {name: read[row + _BYTES] for name, row in self._rows.items()}
        for child, amount in memory.children.items():
            # One that was not told of yet was started by whoever is at work.
            if (starter := self._starters.get(child, self._monitor_at_work(read))) in taken:
                taken[starter] += amount
        return self._culprit(
            read, taken, memory.own - read[_RESIDENT_THEN], memory.total - read[_RESIDENT_BEFORE]
        )

    def close(self) -> None:
        """Give the memory back."""
        self._file.close()

    def _culprit(
        self, read: Sequence[float], taken: dict[str, float], this_call: float, whole: float
    ) -> Share | None:
        """Return who took more than half of the whole, if anybody did."""
        if running := self._monitor_at_work(read):
            taken[running] += this_call
        most = max(taken, key=taken.__getitem__, default="")
        if not most or whole <= 0 or taken[most] <= whole / 2:
            return None
        return self._share(read, most, taken[most], at_work=most == running and this_call > whole / 2)

    def _share(self, read: Sequence[float], monitor: str, amount: float, *, at_work: bool) -> Share:
        return Share(monitor, _DOINGS[int(read[self._rows[monitor] + _DOING])], amount, at_work)

    def _monitor_at_work(self, read: Sequence[float]) -> str:
        return next((name for name, row in self._rows.items() if row == read[_AT_WORK]), "")

    def _read(self) -> Sequence[float]:
        return memoryview(os.pread(self.descriptor, _size(len(self._rows)), 0)).cast("d").tolist()


def _size(monitors: int) -> int:
    return (_HEAD + monitors * _ROW) * 8


def _files(descriptors: Iterable[int]) -> list[tuple[int, int]]:
    """Say which files these are; none where one of them, or of those for what is printed, is closed."""
    try:
        os.fstat(1), os.fstat(2)
        return [(file.st_dev, file.st_ino) for file in map(os.fstat, descriptors)]
    except OSError:
        return []


def _own_children() -> set[int]:
    """Return the processes that this thread started; where the system does not tell at once, none."""
    try:
        return set(map(int, Path("/proc/thread-self/children").read_bytes().split()))
    except OSError:
        return set()
