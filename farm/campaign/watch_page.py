"""A page of shared memory where a process writes which monitor is at work, for whoever may have to end it.

The page has no name: it is a file without one, whose descriptor the process inherits, so that nothing is left
behind whoever is killed. It holds numbers of eight bytes alone, each stored at once, so what is read while
somebody writes, or after they were killed doing so, is at worst one call of a monitor old.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from farm.campaign.closable import Closable
from farm.campaign.memory import Memory, OwnMemory

# time.monotonic() is one clock for all processes of a machine on Linux (CLOCK_MONOTONIC) and on macOS.
_BEGAN = struct.Struct("@qd")  # resident memory when the cell began, and when that was
_AT_WORK = struct.Struct("@dqq")  # since when, resident memory then, the monitor's place from 1 (0: nobody)
_TAKEN = struct.Struct("@dq24s")  # a monitor's seconds, the growth of memory, and what it did last
_TAKEN_SO_FAR = struct.Struct("@dq")
_DOING = struct.Struct("@24s")
_PLACE = struct.Struct("@q")
_STARTED = struct.Struct("@128q")  # processes that were started: place << 32 | number, the place 0 nobody's
_STARTED_AT = _BEGAN.size + _AT_WORK.size
_FIRST = _STARTED_AT + _STARTED.size
_SLOTS = 128

BETWEEN_LOOKS = 0.005
"""Seconds between two looks at the memory, where calls are short."""
SHORT = 0.0002
"""Seconds that a short call takes at most; in so long nobody takes much memory."""


@dataclass(frozen=True)
class Taken:
    """What a monitor took of a cell: seconds, or bytes of memory."""

    monitor: str
    doing: str
    amount: float
    at_work: bool
    """It is at work now, and this call alone took the greater part."""


class PageWriter(Closable):
    """Writes down which of a cell's monitors is at work: a `farm.watch.Watch`. The cell begins with it.

    Time is taken of every call. Memory takes longer to ask for than a small monitor to score: it is asked for
    now and then, and after every call that was not short. The growth in a call that was looked at stands for
    the monitor's calls since the one before. A process that is there after a call, and was not before, is the
    monitor's: whatever it takes later, the monitor takes.
    """

    def __init__(self, descriptor: int, monitors: Sequence[str]) -> None:
        self._page = mmap.mmap(descriptor, _size(len(monitors)))
        self._places = {name: place for place, name in enumerate(monitors, 1)}
        self._doing = [""] * (len(monitors) + 1)
        self._seconds, self._growth = [0.0] * (len(monitors) + 1), [0] * (len(monitors) + 1)
        self._calls = [0] * (len(monitors) + 1)
        self._since, self._place = 0.0, 0
        self._memory = OwnMemory()
        self._children, self._starters = b"", dict[int, int]()
        self._resident = self._memory.resident()
        self._due, self._looked = 0.0, False
        self._see_started(0)
        _BEGAN.pack_into(self._page, 0, self._resident, time.monotonic())

    def begin(self, monitor: str, doing: str) -> None:
        """Say that a monitor begins to do something."""
        place = self._place = self._places.get(monitor, 0)
        anew = place and self._doing[place] != doing
        if anew:
            self._doing[place] = doing
            _DOING.pack_into(self._page, _taken_at(place) + 16, doing.encode())
        now = self._since = time.monotonic()
        self._looked = bool(anew) or now >= self._due
        if self._looked:
            self._due, self._resident = now + BETWEEN_LOOKS, self._memory.resident()
            self._see_started(0)
        _AT_WORK.pack_into(self._page, _BEGAN.size, now, self._resident, place)

    def end(self) -> None:
        """Say that it came back."""
        place, self._place = self._place, 0
        # First nobody is at work, then what was taken is added: a call may be lost, and never counts twice.
        _PLACE.pack_into(self._page, _BEGAN.size + _AT_WORK.size - _PLACE.size, 0)
        if not place:
            return
        took = time.monotonic() - self._since
        self._seconds[place] += took
        self._calls[place] += 1
        if self._looked or took > SHORT:
            resident = self._memory.resident()
            stands_for = self._calls[place] if self._looked and took <= SHORT else 1
            self._growth[place] += (resident - self._resident) * stands_for
            self._calls[place], self._resident = 0, resident
            _TAKEN_SO_FAR.pack_into(self._page, _taken_at(place), self._seconds[place], self._growth[place])
            self._see_started(place)

    def _see_started(self, place: int) -> None:
        """Take down that processes which nobody saw before were started by this monitor."""
        children = self._memory.children()
        if children == self._children:
            return
        self._children = children
        self._starters = {each: self._starters.get(each, place) for each in map(int, children.split())}
        slots = [starter << 32 | each for each, starter in self._starters.items()][:_SLOTS]
        _STARTED.pack_into(self._page, _STARTED_AT, *slots, *[0] * (_SLOTS - len(slots)))

    def close(self) -> None:
        """Give the page back."""
        self._page.close()
        self._memory.close()


class WatchPage(Closable):
    """The page, as it is read by whoever made it.

    Examples
    --------
    >>> with WatchPage() as page:
    ...     page.clear(["quick", "slow"])
    ...     with PageWriter(page.descriptor, ["quick", "slow"]) as watch:
    ...         watch.begin("slow", "scoring")
    ...     culprit = page.culprit_of_time(limit=60, now=time.monotonic() + 60)
    >>> culprit.monitor, culprit.doing
    ('slow', 'scoring')
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the page
        self._page: mmap.mmap | None = None
        self._monitors: tuple[str, ...] = ()

    @property
    def descriptor(self) -> int:
        """The descriptor that a process must inherit to write the page."""
        return self._file.fileno()

    def clear(self, monitors: Sequence[str]) -> None:
        """Make room for a cell with these monitors, and forget the one before; nobody may be writing."""
        size = _size(len(monitors))
        # Written and not only sized: on a full disk a page without blocks kills whoever touches it.
        os.pwrite(self.descriptor, bytes(size), 0)
        if self._page is not None:
            self._page.close()
        self._page = mmap.mmap(self.descriptor, size)
        self._monitors = tuple(monitors)

    @property
    def began(self) -> float | None:
        """When the cell began, by `time.monotonic`; None before."""
        return self._began()[1] or None

    @property
    def resident_before(self) -> int:
        """What resident memory the process had when the cell began."""
        return self._began()[0]

    def at_work(self) -> Taken | None:
        """Give who is at work now, and for how many seconds; None where no monitor is."""
        since, _, place = self._at_work()
        if place not in self._all():
            return None
        return self._named(place, time.monotonic() - since, at_work=True)

    def culprit_of_time(self, limit: float, now: float) -> Taken | None:
        """Give the monitor that took more than half of a cell's limit of seconds; None where none did."""
        since, _, place = self._at_work()
        return self._culprit([self._taken(i)[0] for i in self._all()], place, now - since, limit)

    def culprit_of_memory(self, memory: Memory) -> Taken | None:
        """Give the monitor that took more than half of what memory grew by since the cell began, or None."""
        _, before, place = self._at_work()
        taken: list[float] = [self._taken(i)[1] for i in self._all()]
        slots = _STARTED.unpack_from(self._mapped, _STARTED_AT)
        starters = {slot & 0xFFFFFFFF: slot >> 32 for slot in slots}
        for child, amount in memory.children.items():
            # One that is not on the page yet was started by whoever is at work.
            if (starter := starters.get(child, place)) in self._all():
                taken[starter - 1] += amount
        return self._culprit(taken, place, memory.own - before, memory.total - self.resident_before)

    def close(self) -> None:
        """Give the page back."""
        if self._page is not None:
            self._page.close()
            self._page = None
        self._file.close()

    def _culprit(self, amounts: list[float], running: int, this_call: float, whole: float) -> Taken | None:
        """Give who took more than half of the whole, if anybody did."""
        if running in self._all():
            amounts[running - 1] += this_call
        most, place = max(((amount, place) for place, amount in enumerate(amounts, 1)), default=(0.0, 0))
        if whole <= 0 or most <= whole / 2:
            return None
        return self._named(place, most, at_work=place == running and this_call > whole / 2)

    def _all(self) -> range:
        return range(1, len(self._monitors) + 1)

    def _named(self, place: int, amount: float, *, at_work: bool) -> Taken:
        doing = self._taken(place)[2].rstrip(b"\0").decode(errors="replace")
        return Taken(self._monitors[place - 1], doing, amount, at_work)

    def _began(self) -> tuple[int, float]:
        resident, when = _BEGAN.unpack_from(self._mapped, 0)
        return resident, when

    def _at_work(self) -> tuple[float, int, int]:
        since, resident, place = _AT_WORK.unpack_from(self._mapped, _BEGAN.size)
        return since, resident, place

    def _taken(self, place: int) -> tuple[float, int, bytes]:
        seconds, growth, doing = _TAKEN.unpack_from(self._mapped, _taken_at(place))
        return seconds, growth, doing

    @property
    def _mapped(self) -> mmap.mmap:
        if self._page is None:
            raise ValueError("the page is not there: it was closed, or `clear` not called")
        return self._page


def _size(monitors: int) -> int:
    return _FIRST + monitors * _TAKEN.size


def _taken_at(place: int) -> int:
    return _FIRST + (place - 1) * _TAKEN.size
