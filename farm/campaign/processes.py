"""A process that lines are exchanged with; it counts and ends together with all that it started."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

_CHUNK = 1 << 20  # more than a pipe holds, so one read empties it
_ENDING = 0.5
"""Seconds to wait for one that closed its output, in case it is about to end."""
_REAPING = 30.0
"""Seconds to wait for a killed process: only one that waits for a broken disk takes any."""


class LineProcess:
    """A process in a session of its own, which Ctrl-C in the terminal does not reach.

    What `lines` gives is each whole line that the process wrote to its standard output. Its standard error
    goes where `errors` says, a descriptor.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        errors: int,
        inherited: Sequence[int] = (),
    ) -> None:
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            pass_fds=inherited,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._rest = b""
        self._silent = self._reaped = self._hung_up = False

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def send(self, line: bytes) -> None:
        """Write a line; one that does not get there is no error, since `gone` will tell."""
        left = memoryview(line)
        with suppress(BrokenPipeError):
            while left:
                left = left[self._stdin.write(left) :]

    def lines(self, timeout: float) -> list[bytes]:
        """Return what lines arrive; wait for the first of them so many seconds at most."""
        if self._silent or not self._selector.select(timeout):
            return []
        read = os.read(self._stdout.fileno(), _CHUNK)
        self._silent = not read
        *whole, self._rest = (self._rest + read).split(b"\n")
        return whole

    def gone(self) -> bool:
        """Say whether it ended, or closed its output and will never be heard of again; it is ended then."""
        if not self._reaped and (self._silent or self._process.poll() is not None):
            # One that ends by itself closes its output first, and its exit code stands then.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDING)
            self._hung_up = self._process.returncode is None
            self._end()
        return self._reaped

    def how_it_ended(self) -> str:
        """Say by which signal or with which exit code it ended, or why it was ended."""
        if self._hung_up:
            return "by closing its output"
        code = self._process.poll()
        if code is None:
            return "not at all"
        signals = {-one.value: one.name for one in signal.Signals}
        return f"with exit code {code}" if code >= 0 else f"by {signals.get(code, f'signal {-code}')}"

    def tell_where(self) -> None:
        """Let it write where it is to its standard error, if it listens to SIGUSR1."""
        self._process.send_signal(signal.SIGUSR1)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)

    def kill(self) -> None:
        """End it and all that it started, now; it must not be gone."""
        alive = self._process.returncode is None  # else the number may be another's by now
        with suppress(psutil.Error):
            # Some may have left its group; the others end with it.
            for started in psutil.Process(self._process.pid).children(recursive=True) if alive else ():
                with suppress(psutil.Error):
                    started.kill()
        with suppress(ProcessLookupError, PermissionError):  # a group of the dead alone is refused on macOS
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End it, wait until it has, and close the pipes."""
        if not self._reaped:
            self._end()
        self._selector.close()
        self._stdin.close()
        self._stdout.close()

    def _end(self) -> None:
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAPING)
        self._reaped = True


@dataclass(frozen=True)
class TreeMemory:
    """The memory of a process, and of all together with those that it started, in bytes."""

    own: int
    total: int
    children: Mapping[int, int] = field(default_factory=dict)
    """Of each process that it started itself, by its number, with all that this one started."""


def memory_of(pid: int, enough: float) -> TreeMemory:
    """Return the memory of a process and of those that it started; nothing of one that is gone.

    Only where they have more than `enough`, counted for each of them, is what they share counted once: that
    takes longer.

    Examples
    --------
    >>> alone = memory_of(os.getpid(), enough=1e12)
    >>> alone.own > 1_000_000, alone.total >= alone.own
    (True, True)
    """
    try:
        process = psutil.Process(pid)
        own, started = process.memory_info().rss, process.children(recursive=True)
    except psutil.Error:
        return TreeMemory(0, 0)
    eldest: dict[int, int] = {}
    for one in started:  # parents come first
        eldest[one.pid] = eldest.get(_told(one.ppid), one.pid)

    def added(amount: Callable[[psutil.Process], int]) -> Counter[int]:
        sums = Counter(dict.fromkeys(eldest.values(), 0))
        for one in started:
            sums[eldest[one.pid]] += amount(one)
        return sums

    children = added(resident_bytes)
    total = own + children.total()
    if started and total > enough:
        children = added(_part)
        total = max(own, _part(process) + children.total())
    return TreeMemory(own, total, children)


def resident_bytes(process: psutil.Process) -> int:
    """Return a process's resident memory; 0 where it is gone."""
    return _told(lambda: process.memory_info().rss)


def _part(process: psutil.Process) -> int:
    """Return a process's memory, of what it shares with others its part alone, where the system tells."""
    try:
        full = process.memory_full_info()
        return int(getattr(full, "pss", full.uss))
    except psutil.Error:
        return resident_bytes(process)


def _told(ask: Callable[[], int]) -> int:
    """Return what the system tells of a process; 0 where that is gone."""
    try:
        return int(ask())
    except psutil.Error:
        return 0
