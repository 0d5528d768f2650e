"""What stands for a cell's computing where a supervisor is tested: monitors do as the experiment says.

It is loaded in the process that is watched, and so imports little.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from farm.campaign.jobs import Job, Outcome
from farm.errors import DataError, StorageError

LEAKED = []


def compute(job: Job, *, kept, progress, watch) -> Outcome:
    """Let each monitor do what it does; give the process's number, and what the cell says as its reason."""
    said = ""
    for name, does in job.experiment["monitors"].items():
        if name in job.excluded:
            continue
        if name != "nobody":
            watch.begin(name, "scoring")
        said = BEHAVIOURS[does](job, kept, progress) or said
        if name != "nobody":
            watch.end()
    return Outcome(job.cell, "done", said, {"own": "of the cell"}, 1.5, instances=os.getpid())


def hang(job, kept, progress):
    progress.note("hanging")
    time.sleep(600)


def hang_beside(job, kept, progress):
    """Hang as long as a monitor's process is there."""
    if Path(job.folder, "child").exists() and LEAKED:
        time.sleep(600)


def spin(job, kept, progress):
    """Be busy for much longer than anybody waits, and not for ever: a test may be ended before its time."""
    progress.note("spinning")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pass


def hold(job, kept, progress):
    """Hang in C code that keeps the interpreter's lock."""
    progress.note("holding")
    ctypes.PyDLL(None).sleep(600)


def hold_file(job, kept, progress):
    """Lock a file, together with a child, until both are gone."""
    file = Path(job.folder, "held").open("w")  # noqa: SIM115
    fcntl.flock(file, fcntl.LOCK_EX)
    os.set_inheritable(file.fileno(), True)
    LEAKED.extend([file, subprocess.Popen(["sleep", "600"], close_fds=False)])


def leak(job, kept, progress):
    while len(LEAKED) < 200:
        LEAKED.append(b"x" * 10_000_000)
        time.sleep(0.01)
    time.sleep(600)


CHILD = """
import sys, time
held = []
print("up", flush=True)
while len(held) < int(sys.argv[1]):
    held.append(b"x" * 10_000_000)
    time.sleep(0.01)
time.sleep(600)
"""


def leak_in_child(job, kept, progress, of_its_own=False, chunks=200):
    """Start a process that leaks, in a session of its own if wanted, and come back at once."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(chunks)], stdout=subprocess.PIPE, start_new_session=of_its_own
    )
    child.stdout.readline()
    Path(job.folder, "child").write_text(str(child.pid))
    LEAKED.append(child)


def leak_in_session(job, kept, progress):
    leak_in_child(job, kept, progress, of_its_own=True)


def leak_in_grandchild(job, kept, progress):
    """Start a process that starts one that leaks, and wait for it."""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}, '200'])"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def keep_child(job, kept, progress):
    """Start a process that takes 150 MB and keeps them."""
    leak_in_child(job, kept, progress, chunks=15)
    time.sleep(1)


def share(job, kept, progress):
    """Take 60 MB, and fork processes that have them as well, and no more."""
    LEAKED.append(os.urandom(60_000_000))
    for _ in range(4):
        if os.fork() == 0:
            time.sleep(600)
    time.sleep(0.5)


def take_60(job, kept, progress):
    LEAKED.append(b"x" * 60_000_000)
    time.sleep(0.5)


def kill(job, kept, progress):
    os.kill(os.getpid(), signal.SIGKILL)


def kill_once(job, kept, progress):
    marker = Path(job.folder, f"killed-{job.cell}")
    if not marker.exists():
        marker.touch()
        kill(job, kept, progress)


def kill_later(job, kept, progress):
    marker = Path(job.folder, f"survived-{job.cell}")
    if marker.exists():
        kill(job, kept, progress)
    marker.touch()


def segfault(job, kept, progress):
    ctypes.string_at(0)


def end(job, kept, progress):
    os._exit(0)


def leave_child(job, kept, progress):
    if os.fork() == 0:
        time.sleep(600)
    os._exit(3)


def close_all(job, kept, progress):
    os.closerange(3, 100)
    time.sleep(600)


def close_and_return(job, kept, progress):
    os.closerange(0, 100)


def close_printing(job, kept, progress):
    os.close(1)


def close_and_take(job, kept, progress):
    """Close all, and open files that get their numbers."""
    os.closerange(3, 100)
    LEAKED.extend(os.open(os.devnull, os.O_WRONLY) for _ in range(50))


def say(job, kept, progress):
    print("of Python")
    print("of its errors", file=sys.stderr)


def talk(job, kept, progress):
    say(job, kept, progress)
    os.write(1, b"of the system\n")
    ctypes.CDLL(None).printf(b"of C\n")
    subprocess.run(["echo", "of a child"], check=True)
    assert sys.stdin.read() == ""


def rubbish(job, kept, progress):
    os.write(progress._tell.__self__._out, b"no message\n")
    time.sleep(600)


def loop(job, kept, progress):
    started = time.monotonic()
    for _ in progress.track(range(300), "stepping"):
        time.sleep(0.002)
    for _ in progress.track(iter("ab"), "quick"):
        pass
    return str(time.monotonic() - started)


def keep(job, kept, progress):
    return str(kept.get("made", lambda: job.cell))


def pipes(job, kept, progress):
    own = Path("/proc/self/fd")
    return str(sum(str(fd.readlink()).startswith("pipe") for fd in own.iterdir() if fd.is_symlink()))


def threads(job, kept, progress):
    return ",".join(os.environ[f"{name}_NUM_THREADS"] for name in ("OMP", "OPENBLAS", "MKL"))


def fail(error):
    def failing(job, kept, progress):
        raise error

    return failing


BEHAVIOURS = {
    "nothing": lambda *_: None,
    **{
        f.__name__: f
        for f in (
            *(hang, hang_beside, spin, hold, hold_file, leak, leak_in_child, leak_in_session),
            *(leak_in_grandchild, keep_child, share, take_60, kill, kill_once, kill_later, segfault),
            *(close_and_return, close_printing, close_and_take),
            *(end, leave_child, close_all, say, talk, rubbish, loop, keep, pipes, threads),
        )
    },
    "storage": fail(StorageError("the disk is gone")),
    "full": fail(OSError(errno.ENOSPC, "No space left on device")),
    "data": fail(DataError("the labels are wrong")),
    "value": fail(ValueError("seven\nis bad")),
    "memory": fail(MemoryError("no more")),
    "exit": fail(SystemExit(0)),
}


def changed(job: Job, *, kept, progress, watch) -> Outcome:
    """Say that something changed while it ran."""
    return Outcome(job.cell, "changed", instances=os.getpid())
