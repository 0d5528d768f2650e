"""A campaign that is killed again and again ends with the readouts of one that nobody disturbed.

Ten kills by default; FARM_KILLS=50 asks for more.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.campaign.small import FARM, campaign, cells, check_same, check_whole, environment, farm, written

T = TypeVar("T")
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
        time.sleep(0.02)
        return -observation.confidence
'''


def test_killed_at_random_moments_it_ends_as_if_nobody_had(tmp_path: Path) -> None:
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
    assert killed_at == sorted(killed_at), "a finished cell was lost"
    check_same(cells(tmp_path / "whole"), cells(disturbed))
    assert len(cells(disturbed)) == 24
    assert not list((disturbed / "cells").glob(".*")), "something unfinished was left behind"


def test_a_killed_coordinator_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW.replace("0.02", "30"), encoding="utf-8")
    file = written(tmp_path, campaign(monitors=["slow:Slow"]))
    process = subprocess.Popen(
        [*FARM, "run", str(file), "--out", "out", "--quiet"], cwd=tmp_path, env=environment()
    )
    workers = _wait_for(lambda: _children(process.pid))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert _wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def _children(pid: int) -> list[int]:
    told = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in told.stdout.split()]


def _wait_for(what: Callable[[], T]) -> T:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come about within a minute")
