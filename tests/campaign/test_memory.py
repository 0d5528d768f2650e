"""The memory of a process and of those that it started."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from farm.campaign import memory
from farm.campaign.memory import OwnMemory, descendants, memory_of, resident_bytes

LINUX = sys.platform.startswith("linux")
linux = pytest.mark.skipif(not LINUX, reason="needs what only Linux has")
MB = 1_000_000

HOLDING = """
import subprocess, sys
held = b"x" * (int(sys.argv[1]) * 1_000_000)
below = [subprocess.Popen([sys.executable, "-c", sys.argv[2], *sys.argv[i:i + 1], "", ""],
         stdin=subprocess.PIPE, stdout=subprocess.PIPE) for i in range(3, len(sys.argv)) if sys.argv[i]]
for one in below:
    one.stdout.readline()
print(*[one.pid for one in below], flush=True)
sys.stdin.read()
"""

FORKING = """
import os, sys
held = os.urandom(80_000_000)
for _ in range(3):
    if os.fork() == 0:
        os.write(1, b".")
        sys.stdin.read()
        os._exit(0)
sys.stdin.read()
"""


@pytest.fixture
def start():
    """Start processes, each in a group of its own, and end them."""
    started = []

    def start(*arguments):
        command = [sys.executable, "-c", *map(str, arguments)]
        started.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        )
        return started[-1]

    yield start
    for one in started:
        one.stdin.close()
        one.kill()
        one.wait()
        one.stdout.close()


@linux
def test_all_that_a_process_started_is_found_and_counted(start):
    top = start(HOLDING, 10, HOLDING, 40, 60)
    below = [int(word) for word in top.stdout.readline().split()]
    assert descendants(top.pid) == dict(zip(below, below, strict=True))
    for enough in (0, 1e12):
        found = memory_of(top.pid, enough)
        assert set(found.children) == set(below)
        amounts = [found.children[pid] for pid in below]
        assert 40 * MB < amounts[0] < 60 * MB < amounts[1] < 80 * MB
        assert found.own == pytest.approx(resident_bytes(top.pid), rel=0.1)
        assert 110 * MB < found.total <= found.own + sum(amounts)


@linux
def test_those_further_down_count_with_the_one_they_come_from(start):
    command = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
    top = start(command, command, HOLDING, 50, "")
    assert top.stdout.readline() == b"\n"
    (child,) = set(descendants(top.pid).values())
    assert len(descendants(top.pid)) == 2
    assert set(memory_of(top.pid, 0).children) == {child}
    assert memory_of(top.pid, 0).children[child] > 50 * MB
    assert memory_of(child, 0).children.keys().isdisjoint({child})


@linux
def test_what_they_share_counts_once_where_it_matters(start):
    top = start(FORKING)
    assert [top.stdout.read(1) for _ in range(3)] == [b"."] * 3
    rough, exact = memory_of(top.pid, 1e12), memory_of(top.pid, 200 * MB)
    assert rough.total > 4 * 80 * MB
    assert 80 * MB < exact.total < 160 * MB
    assert exact.own == rough.own > 80 * MB


def test_a_process_without_others_and_one_that_is_gone():
    alone = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    alone.stdin.close()
    alone.wait()
    assert (resident_bytes(alone.pid), descendants(alone.pid)) == (None, {})
    gone = memory_of(alone.pid, 0)
    assert (gone.own, gone.total, gone.children) == (0, 0, {})


@linux
def test_a_kernel_that_tells_no_shares_is_asked_for_what_is_resident(start, monkeypatch):
    top = start(HOLDING, 10, HOLDING, 40)
    (child,) = map(int, top.stdout.readline().split())

    def untold(path, *arguments, **more):
        if path.name == "smaps_rollup":
            raise FileNotFoundError(path)
        return read(path, *arguments, **more)

    read = memory.Path.read_text
    monkeypatch.setattr(memory.Path, "read_text", untold)
    assert memory_of(top.pid, 0).children[child] == resident_bytes(child)


@linux
def test_own_processes_are_seen_and_asking_costs_one_call_of_the_system(start, monkeypatch):
    own = OwnMemory()
    before = own.children().split()
    process = start(HOLDING, 1, "")
    asked, ask = [], os.pread
    monkeypatch.setattr(memory.os, "open", lambda *_: pytest.fail("it was opened once, at the beginning"))
    monkeypatch.setattr(memory.os, "pread", lambda *given: asked.append(given) or ask(*given))
    assert set(own.children().split()) - set(before) == {str(process.pid).encode()}
    assert own.resident() > 1_000_000
    monkeypatch.undo()
    own.close()
    assert len(asked) == 2


@linux
def test_of_many_processes_no_number_is_cut_in_two(monkeypatch):
    own = OwnMemory()
    monkeypatch.setattr(memory.os, "pread", lambda *_: b"1234 1235 12")
    assert own.children() == b"1234 1235"
    monkeypatch.setattr(memory.os, "pread", lambda *_: b"1234 1235 ")
    assert own.children() == b"1234 1235"


def test_where_nothing_is_told_the_most_stands_for_what_there_is(monkeypatch):
    monkeypatch.setattr(memory, "_opened", lambda path: None)
    own = OwnMemory()
    assert own.resident() > MB
    assert own.children() == b""
    own.close()
