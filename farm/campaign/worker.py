"""The process that computes cells, one after the other: `python -m farm.campaign.worker`.

It reads a job a line from its standard input, and writes news and an outcome a job to its standard output:
`{"job": ...}`, `{"news": ...}`, `{"outcome": ...}`, and `{"started": ..., "by": ...}` of processes that a
monitor started. What monitors and libraries print goes to the cell's log.
It ends when its input does, at once, so that whoever started it leaves nobody behind.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import faulthandler
import fcntl
import io
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NoReturn, TypeVar

from farm.campaign.at_work import WorkRecorder
from farm.campaign.jobs import Job, News, Outcome, State, open_log
from farm.errors import one_line
from farm.run.shared import CallObserver, NoObserver, Recent
from farm.store.full_disk import is_full_disk

T = TypeVar("T")

KEPT = 8
"""How many classifiers, workloads and the like a process keeps from cell to cell."""
IDLE = 60.0
"""Seconds without a job after which a process ends, since the campaign may be over."""
BETWEEN_NEWS = 0.2
"""Seconds between two news of one loop."""


class Worker:
    """Computes the jobs that come in, and tells of them."""

    def __init__(self, compute: str, record: int | None) -> None:
        self._compute, self._record = compute, record
        self._kept = Recent(KEPT)
        self._channel = _Channel()

    def run(self) -> None:
        """Compute one job after the other; never returns, since the process ends with its input."""
        while True:
            job = Job.from_json(self._channel.receive()["job"])
            _print_to_log(job)
            outcome = self._outcome(job)
            print(f"--- {outcome.state} {outcome.reason}".rstrip(), flush=True)
            with suppress(OSError, AttributeError):
                ctypes.CDLL(None).fflush(None)  # what C code printed belongs to this cell's log
            self._channel.tell({"outcome": asdict(outcome)})

    def _outcome(self, job: Job) -> Outcome:
        started = time.monotonic()
        self._channel.end_with_input(True)
        try:
            compute: Callable[..., Outcome] = resolve_name(self._compute)
            with ExitStack() as stack:
                watch: CallObserver = NoObserver()
                if self._record is not None:
                    files = self._channel.descriptors
                    recorder = WorkRecorder(self._record, list(job.keys), self._tell_started, files)
                    watch = stack.enter_context(closing(recorder))
                progress = NewsProgress(job.cell, self._channel.tell)
                return compute(job, kept=self._kept, progress=progress, watch=watch)
        except BaseException as error:  # noqa: BLE001 - not even a monitor's sys.exit() may end the process
            traceback.print_exc()
            read_only = isinstance(error, OSError) and error.errno == errno.EROFS
            state: State = "storage" if read_only or is_full_disk(error) else "failed"
            return Outcome(job.cell, state, one_line(error), seconds=time.monotonic() - started)
        finally:
            self._channel.end_with_input(False)

    def _tell_started(self, processes: list[int], by: str) -> None:
        self._channel.tell({"started": processes, "by": by})


class NewsProgress:
    """Sends what a loop shows as news, not too often: a `farm.api.Progress`."""

    def __init__(self, cell: str, tell: Callable[[dict[str, Any]], None]) -> None:
        self._cell, self._tell = cell, tell

    def track(self, items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
        """Yield the items; tell of the first, of the last, and at times of those between."""
        if total is None and isinstance(items, Sized):
            total = len(items)
        at, reported = 0, 0
        self._news(doing=description, at=0, total=total)
        due = time.monotonic() + BETWEEN_NEWS
        for item in items:
            yield item
            at += 1
            if time.monotonic() >= due:
                self._news(doing=description, at=at, total=total)
                due, reported = time.monotonic() + BETWEEN_NEWS, at
        if reported != at:
            self._news(doing=description, at=at, total=total)

    def note(self, message: str) -> None:
        """Say one line that stays, in the log too."""
        print(message, flush=True)
        self._news(note=message)

    def _news(self, **values: Any) -> None:
        self._tell({"news": asdict(News(self._cell, **values))})


class _Channel:
    """The lines in and out, on descriptors that nothing else in the process knows."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        self._writing = threading.Lock()
        self._jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="input", daemon=True).start()

    @property
    def descriptors(self) -> tuple[int, int]:
        """The two."""
        return self._in, self._out

    def receive(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self._jobs.get(timeout=IDLE)))
        except queue.Empty:
            _leave()

    def tell(self, values: dict[str, Any]) -> None:
        left = memoryview(json.dumps(values).encode() + b"\n")
        with self._writing:
            try:
                while left:
                    left = left[os.write(self._out, left) :]
            except OSError:
                _leave()  # nobody listens any more

    def end_with_input(self, on: bool) -> None:
        """Have the system end this process when its input ends, where it can.

        The thread that listens needs the interpreter's lock, which a C function that hangs may hold forever.
        The signal comes with every line too, so this is for while a cell is computed and no line is sent.
        """
        if not sys.platform.startswith("linux"):
            return
        owner = -os.getpgrp() if os.getpgrp() == os.getpid() else os.getpid()
        with suppress(OSError):
            fcntl.fcntl(self._in, fcntl.F_SETOWN, owner)
            flags = fcntl.fcntl(self._in, fcntl.F_GETFL)
            fcntl.fcntl(self._in, fcntl.F_SETFL, flags | os.O_ASYNC if on else flags & ~os.O_ASYNC)

    def _listen(self) -> None:
        with open(self._in, "rb", closefd=False) as lines:
            for line in lines:
                self._jobs.put(line)
        _leave()


def _leave() -> NoReturn:
    """End this process at once, and what it started."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


class _Unfailing(io.FileIO):
    """Standard output that swallows what cannot be written: a full disk is no fault of whoever prints."""

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        with suppress(OSError):
            while left:
                left = left[super().write(left) or 0 :]
        return size


def _print_to_log(job: Job) -> None:
    """Send all that is printed from now on, by Python and by C code, to a cell's log."""
    sys.stdout.flush()
    sys.stderr.flush()
    log = open_log(job)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    print(f"--- {now} {job.title}: cell {job.cell} in process {os.getpid()}", flush=True)
    for monitor, reason in job.excluded.items():
        print(f"--- without '{monitor}': {reason}", flush=True)


def main() -> None:
    """Read the command line, and work."""
    parser = argparse.ArgumentParser(prog="python -m farm.campaign.worker")
    parser.add_argument("--compute", default="farm.campaign.cell:compute", metavar="MODULE:FUNCTION")
    parser.add_argument("--record", type=int, metavar="DESCRIPTOR", help="who is at work is written there")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable(2)
    faulthandler.register(signal.SIGUSR1, 2)
    if given.record is not None:
        os.set_inheritable(given.record, False)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        raw = _Unfailing(descriptor, "wb", closefd=False)
        setattr(sys, name, io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True))
    Worker(given.compute, given.record).run()


if __name__ == "__main__":
    main()
