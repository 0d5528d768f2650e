"""A campaign that is killed again and again ends with the readouts of one that nobody disturbed.

Ten kills of all its processes in the slow test; FARM_KILLS=50 asks for more.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.campaign.small import (
    FARM,
    SOON,
    campaign,
    cells,
    check_same,
    check_whole,
    environment,
    farm,
    wait_until,
    written,
)

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("FARM_KILLS", "10"))
SLOW = '''
import time
from farm.api import Monitor

class Slow(Monitor):
    """Takes its time, so that kills find it at work."""
    def _fit(self, data):
        time.sleep(0.1)
        return {}
    def _load(self, state): pass
    def _score(self, observation):
        with open("beats", "a") as file:
            file.write(".")
        time.sleep(0.02)
        return -observation.confidence
'''
FORKING = """
import os
import sys
import torch
import farm.campaign.cell
from farm.campaign import running
from farm.cli import main
from tests.campaign.inside import Inside

running.Supervisor = Inside
tell = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
run = ["run", sys.argv[1], "--quiet"]
main([*run, "--dry-run"])
for line in sys.stdin:
    if (pid := os.fork()) == 0:
        os._exit(main([*run, "--out", line.strip()]))
    print(pid, file=tell)
    print(os.waitpid(pid, 0)[1], file=tell)
"""
"""Has all loaded, and runs a campaign into one folder a line, each in a copy of itself, soon at work."""


class Forking:
    """Runs a campaign in processes that compute cells themselves, and can be killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def begin(self, folder: str) -> int:
        """Begin a run, and give its process."""
        assert self._process.stdin is not None
        print(folder, file=self._process.stdin, flush=True)
        return self._told()

    def end(self) -> int:
        """Wait until the run is over, and say how it ended, as the system does."""
        return self._told()

    def _told(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@pytest.fixture
def forking(tmp_path: Path) -> Iterator[Forking]:
    """Have a process that runs a campaign in copies of itself."""
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    faults = ["gaussian-noise", "brightness", "contrast"]
    file = written(tmp_path, campaign(monitors=["max-softmax", "slow:Slow"], faultloads=faults, seeds=[0]))
    env = {**environment(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", FORKING, str(file)],
        cwd=tmp_path,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield Forking(process)
        os.killpg(process.pid, signal.SIGKILL)


def test_killed_at_random_moments_it_ends_as_if_nobody_had(tmp_path: Path, forking: Forking) -> None:
    """The process that writes everything is killed, mostly while it computes cells."""
    moments = random.Random(20)
    beats, disturbed = tmp_path / "beats", tmp_path / "disturbed"
    killed_at: list[int] = []
    for least in (0, *(moments.randint(8, 24) for _ in range(4))):  # the first falls into the start
        beats.write_text("")
        process = forking.begin("disturbed")
        wait_until(partial(_has_come_to, beats, least))
        time.sleep(moments.uniform(0, 0.1))
        os.kill(process, signal.SIGKILL)
        assert forking.end() == signal.SIGKILL, "it was over before"
        if (disturbed / "cells").is_dir():
            killed_at.append(check_whole(disturbed))
    assert 0 < killed_at[-1] < 6, "it was at work"
    for folder in ("disturbed", "whole"):
        forking.begin(folder)
        assert forking.end() == 0
    check_ended(tmp_path / "whole", disturbed, killed_at, 6)


def _has_come_to(beats: Path, least: int) -> bool:
    return len(beats.read_text()) >= least


@pytest.mark.slow
def test_all_its_processes_killed_at_random_moments_it_ends_as_if_nobody_had(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    file = written(tmp_path, campaign(monitors=["max-softmax", "slow:Slow"], seeds=[0, 1, 2]))
    cache = tmp_path / "cache"
    whole = farm("run", file, "--out", "whole", "--workers", "2", cwd=tmp_path, cache=cache)
    assert whole.returncode == 0, whole.stderr
    moments = random.Random(20)
    disturbed = tmp_path / "disturbed"
    killed_at: list[int] = []
    for _ in range(KILLS):
        process = subprocess.Popen(
            [*FARM, "run", str(file), "--out", str(disturbed), "--workers", "2", "--quiet"],
            cwd=tmp_path,
            env=environment(cache),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            # The first kills fall into the start; later ones find cells at work.
            process.wait(timeout=moments.uniform(0.2, 7))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        if (disturbed / "cells").is_dir():
            killed_at.append(check_whole(disturbed))
    last = farm("run", file, "--out", disturbed, "--workers", "2", cwd=tmp_path, cache=cache)
    assert last.returncode == 0, last.stderr
    check_ended(tmp_path / "whole", disturbed, killed_at, 24)


def check_ended(whole: Path, disturbed: Path, killed_at: list[int], n: int) -> None:
    """Check that a campaign has all its cells as if nobody had killed it, and nothing else."""
    assert killed_at == sorted(killed_at), "a finished cell was lost"
    check_same(cells(whole), cells(disturbed))
    assert len(cells(disturbed)) == n
    assert not list((disturbed / "cells").glob(".*")), "something unfinished was left behind"


def test_a_killed_coordinator_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW.replace("0.02", "30"), encoding="utf-8")
    file = written(tmp_path, campaign(monitors=["slow:Slow"]))
    process = subprocess.Popen(
        [*FARM, "run", str(file), "--out", "out", "--quiet"], cwd=tmp_path, env=environment()
    )
    try:
        workers = wait_until(lambda: _children(process.pid))
    finally:
        process.kill()
        process.wait(SOON)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def _children(pid: int) -> list[int]:
    told = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in told.stdout.split()]
