"""A process that lines are exchanged with, and that is ended together with all that it started."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from farm.campaign.memory import descendants

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_CHUNK = 1 << 20  # more than a pipe holds, so one read empties it
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
        self._silent = self._reaped = False

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
        """Give what lines arrive; wait for the first of them so many seconds at most."""
        if self._silent or not self._selector.select(timeout):
            return []
        read = os.read(self._stdout.fileno(), _CHUNK)
        self._silent = not read
        *whole, self._rest = (self._rest + read).split(b"\n")
        return whole

    def gone(self) -> bool:
        """Say whether it ended, or closed its output and will never be heard of again; it is ended then."""
        if not self._reaped and (self._silent or self._process.poll() is not None):
            self._end()  # one that ends by itself closes its output first, and its exit code stands then
        return self._reaped

    def how_it_ended(self) -> str:
        """Say by which signal or with which exit code it ended."""
        code = self._process.poll()
        if code is None:
            return "not at all"
        return f"with exit code {code}" if code >= 0 else f"by {_signal_name(-code)}"

    def tell_where(self) -> None:
        """Let it write where it is to its standard error, if it listens to SIGUSR1."""
        self._process.send_signal(signal.SIGUSR1)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)

    def kill(self) -> None:
        """End it and all that it started, now; it must not be gone."""
        alive = self._process.returncode is None  # else the number may be another's by now
        for started in descendants(self._process.pid) if alive else ():
            with suppress(OSError):
                # Those that left its group; the others end with it.
                if os.getpgid(started) != self._process.pid:
                    os.kill(started, signal.SIGKILL)
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


def thread_environment(threads: int) -> dict[str, str]:
    """Give this process's environment, with so many threads for numerical libraries.

    They read it when they are loaded, so it must be there before the process starts.

    Examples
    --------
    >>> thread_environment(2)["OMP_NUM_THREADS"]
    '2'
    """
    return {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, str(threads))}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
