"""The memory of a process and of those that it started."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from farm.campaign.processes import TreeMemory, memory_of

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


def resident(pid):
    return psutil.Process(pid).memory_info().rss


def test_all_that_a_process_started_is_found_and_counted(start):
    top = start(HOLDING, 10, HOLDING, 40, 60)
    below = [int(word) for word in top.stdout.readline().split()]
    for enough in (0, 1e12):
        found = memory_of(top.pid, enough)
        assert set(found.children) == set(below)
        amounts = [found.children[pid] for pid in below]
        assert 40 * MB < amounts[0] < 60 * MB < amounts[1] < 80 * MB
        assert found.own == pytest.approx(resident(top.pid), rel=0.1)
        assert 110 * MB < found.total <= found.own + sum(amounts)


def test_those_further_down_count_with_the_one_they_come_from(start):
    command = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]])"
    top = start(command, command, HOLDING, 50, "")
    assert top.stdout.readline() == b"\n"
    (child,) = psutil.Process(top.pid).children()
    assert len(psutil.Process(top.pid).children(recursive=True)) == 2
    assert set(memory_of(top.pid, 0).children) == {child.pid}
    assert memory_of(top.pid, 0).children[child.pid] > 50 * MB
    assert memory_of(child.pid, 0).children.keys().isdisjoint({child.pid})


@linux
def test_what_they_share_counts_once_where_it_matters(start):
    top = start(FORKING)
    assert [top.stdout.read(1) for _ in range(3)] == [b"."] * 3
    rough, exact = memory_of(top.pid, 1e12), memory_of(top.pid, 200 * MB)
    assert rough.total > 4 * 80 * MB
    assert 80 * MB < exact.total < 160 * MB
    # Asked for one after the other: a page may come in between.
    assert exact.own == pytest.approx(rough.own, abs=MB)
    assert rough.own > 80 * MB


def test_a_process_that_is_gone_has_none():
    alone = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    alone.stdin.close()
    alone.wait()
    assert memory_of(alone.pid, 0) == TreeMemory(0, 0, {})


def test_a_process_that_tells_no_shares_is_asked_for_what_is_resident(start, monkeypatch):
    top = start(HOLDING, 10, HOLDING, 40)
    (child,) = map(int, top.stdout.readline().split())

    def denied(self):
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "memory_full_info", denied)
    assert memory_of(top.pid, 0).children[child] == resident(child)
