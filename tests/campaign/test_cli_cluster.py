"""The guide's cluster recipe as a person follows it: a scheduler, two workers, one of which dies."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="needs the extra `cluster`: pip install 'farm-testbed[cluster]'")

from farm.cli import main
from tests.campaign.small import SOON, campaign, cells, check_same, environment, wait_until, written

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "cluster.md"
SLOW = '''
import time
from farm.api import Monitor

class Slow(Monitor):
    """Takes its time, so that a worker can be ended while it computes."""
    def _fit(self, data): return {}
    def _load(self, state): pass
    def _score(self, observation):
        time.sleep(0.02)
        return -observation.confidence
'''


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Have a scheduler and two workers, as the guide starts them."""
    (scheduler, worker) = _commands(tmp_path)
    env = {**environment(tmp_path / "cache"), "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s"}
    with ExitStack() as stack:
        processes = []
        for command in (scheduler, worker, worker):
            process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=tmp_path,
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            stack.callback(_end, process)
            processes.append(process)
            deadline = time.monotonic() + 60
            while not (tmp_path / "scheduler.json").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
        yield processes


def test_a_campaign_survives_the_death_of_a_worker_and_gives_what_one_process_gives(
    tmp_path: Path,
    dask: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    inside: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    file = str(written(tmp_path, campaign(monitors=["max-softmax", "slow:Slow"], seeds=[0])))

    def kill() -> None:
        try:
            wait_until(lambda: [*(tmp_path / "cluster/cells").glob("[0-9a-f]*")])
        finally:
            os.killpg(dask[1].pid, signal.SIGKILL)

    with ThreadPoolExecutor() as pool:
        killed = pool.submit(kill)
        ended = main(["run", file, "--out", "cluster", "--cluster", "scheduler.json"])
        killed.result(SOON)
    assert ended == 0, capfd.readouterr().err
    assert main(["run", file, "--out", "alone", "--quiet"]) == 0
    assert len(cells(tmp_path / "cluster")) == 8
    check_same(cells(tmp_path / "alone"), cells(tmp_path / "cluster"))


def _commands(shared: Path) -> list[list[str]]:
    """Give the guide's commands that start a scheduler and a worker, each to be ended apart."""
    text = GUIDE.read_text(encoding="utf-8").replace("/shared", str(shared)).replace("--nworkers 4", "")
    lines = re.findall(r"^ +dask (scheduler|worker) (.*)$", text, re.M)
    found = {name: shlex.split(rest) for name, rest in lines}
    own = {"scheduler": ["--no-dashboard", "--port", "0"], "worker": ["--no-dashboard"]}
    return [[f"distributed.cli.dask_{name}", *found[name], *own[name]] for name in ("scheduler", "worker")]


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
