"""A process that has imported what is slow to import, and forks one child for every run of tests.

`python _mutation_zygote.py HOME MODULES...` reads one JSON request a line and answers each by a line. It
never imports the project itself: a child does, afresh, from HOME, and so sees what was just changed there.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
import traceback
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points, packages_distributions
from pathlib import Path
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LARGEST_FILE = 4 * 10**9
MOST_MEMORY = 8 * 10**9
"""What a child may write and hold: a mistake may make it go on for ever."""


class Outcomes:
    """A plugin of pytest that remembers which tests failed, and how many passed."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.passed = 0

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed += report.when == "call" and report.passed
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)


def import_all(modules: list[str]) -> None:
    """Import what there is of some modules, one thread each; pytest has its plugins to itself."""
    plugins = {entry.dist.name for entry in entry_points(group="pytest11") if entry.dist is not None}
    owners = packages_distributions()
    there = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    for name in modules:
        if not plugins & {*owners.get(name.partition(".")[0], ())}:
            with suppress(Exception):
                import_module(name)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    for name, value in there.items():
        del os.environ[name]
        if value is not None:
            os.environ[name] = value


def run_tests(arguments: list[str], told: Path, log: Path) -> None:
    """Run pytest in this process, which does not outlive it."""
    os.setsid()
    with log.open("wb", buffering=0) as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for of, most in ((resource.RLIMIT_FSIZE, LARGEST_FILE), (resource.RLIMIT_DATA, MOST_MEMORY)):
        resource.setrlimit(of, (most, resource.getrlimit(of)[1]))
    outcomes, code = Outcomes(), 3
    try:
        import pytest

        code = int(pytest.main(arguments, [outcomes]))
    except BaseException:  # noqa: BLE001 - whatever ends a child is told
        traceback.print_exc()
    finally:
        told.write_text(json.dumps({"failed": outcomes.failed, "passed": outcomes.passed}), encoding="utf-8")
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def waited(child: int, limit: float) -> int | None:
    """Return a child's exit code, negative for a signal; None where it had to be ended."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def end_all(child: int, alone: bool) -> None:
    """End what a child left running: all there is where nobody else is, else its process group."""
    with suppress(OSError):
        if alone:
            os.kill(-1, signal.SIGKILL)
        else:
            os.killpg(child, signal.SIGKILL)


def serve(alone: bool) -> None:
    """Answer requests until there are no more."""
    for line in sys.stdin:
        asked = json.loads(line)
        told = Path(asked["told"])
        told.unlink(missing_ok=True)
        started = time.perf_counter()
        child = os.fork()
        if child == 0:
            run_tests(asked["arguments"], told, Path(asked["log"]))
        code = waited(child, asked["limit"])
        seconds = time.perf_counter() - started
        end_all(child, alone)
        found = json.loads(told.read_text(encoding="utf-8")) if code is not None and told.exists() else {}
        print(json.dumps({"code": code, "seconds": seconds, "failed": [], "passed": 0, **found}), flush=True)


def main() -> None:
    """Import, say so, and serve; as the first process of a system of its own, reap what others leave."""
    alone = os.getpid() == 1
    if alone and (server := os.fork()):
        while os.wait()[0] != server:
            pass
        return
    home, *modules = sys.argv[1:]
    sys.path[0] = home
    import_all(modules)
    os.chdir(home)
    gc.freeze()
    print(json.dumps("ready"), flush=True)
    serve(alone)


if __name__ == "__main__":
    main()
