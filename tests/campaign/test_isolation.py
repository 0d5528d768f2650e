"""Whose fault it is: what one monitor costs, what a cell, and what nobody."""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path

import pytest

from farm.campaign import running
from farm.campaign.supervisor import Supervisor
from farm.cli import main
from tests.campaign.small import campaign, cells, monitors_of, written
from tests.wording import same_text

MODULE = '''
import errno
from pathlib import Path
from farm.api import Monitor

class Plain(Monitor):
    """A monitor of somebody's own."""
    def _fit(self, data): return {}
    def _load(self, state): pass
    def _score(self, observation): return -observation.confidence

class Spills(Plain):
    """Writes what it sees to a disk of which its quota is used up."""
    def __init__(self, *, where="score", number=errno.EDQUOT):
        self._where, self._number = where, number

    def _fit(self, data):
        self._spill("fit")
        return {}

    def _score(self, observation):
        self._spill("score" if self._calibration is None else "stream")
        return super()._score(observation)

    def _spill(self, where):
        if where == self._where and not Path("space").exists():
            raise OSError(self._number, "nothing can be written")
'''


LEAKS = (
    MODULE
    + '''
import os
import time
from multiprocessing import get_context

def leak():
    held = []
    while True:
        held.append(b"x" * 10_000_000)
        time.sleep(0.005)

class Leaks(Plain):
    """Starts a process that leaks as soon as the stream begins, and comes back at once."""
    def __init__(self):
        self._started = False

    def _score(self, observation):
        if not self._started:
            get_context("fork").Process(target=leak, daemon=True).start()
            Path("leaking").write_text(str(os.getpid()))
            self._started = True
        return super()._score(observation)

class Slow(Plain):
    """Is at work as long as its process has another that leaks."""
    def _score(self, observation):
        while Path("leaking").exists() and Path("leaking").read_text() == str(os.getpid()):
            time.sleep(0.01)
        return super()._score(observation)
'''
)


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: None) -> None:
    monkeypatch.chdir(tmp_path)


def small(folder: Path, module: str = MODULE, **changes: object) -> Path:
    """Write a campaign of one cell, and a module beside it."""
    own = folder / "mine.py"
    own.write_text(module, encoding="utf-8")
    old = time.time() - 60  # code that is younger than a process is not trusted to be what it runs
    os.utime(own, (old, old))
    values = {"faultloads": ["gaussian-noise"], "severities": [1], "seeds": [0], **changes}
    return written(folder, campaign(**values))


def failures(folder: Path) -> dict[str, str]:
    """Give why monitors of the only cell failed."""
    (one,) = cells(folder).values()
    return {entry["name"]: entry["failure"] for entry in one.run["monitors"] if entry["failure"]}


@pytest.mark.parametrize("where", ["fit", "score", "stream"])
def test_a_full_disk_that_a_monitor_meets_is_not_its_fault(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], where: str
) -> None:
    spills = {"name": "mine:Spills", "as": "spills", "where": where}
    file = small(tmp_path, monitors=["max-softmax", spills])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    told = capfd.readouterr().err
    same_text(told)
    assert not cells(tmp_path / "out")
    assert not list((tmp_path / "out/failed").iterdir())
    (tmp_path / "space").touch()
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 0, capfd.readouterr().err
    (one,) = cells(tmp_path / "out").values()
    assert monitors_of(one) == ["max-softmax", "spills"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_any_other_error_of_the_system_is_the_monitors_own(tmp_path: Path, number: int) -> None:
    """So is one that only looks like a full disk: all that is written to has room."""
    spills = {"name": "mine:Spills", "as": "spills", "number": number}
    file = small(tmp_path, monitors=["max-softmax", spills])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    assert list(failures(tmp_path / "out")) == ["spills"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs what only Linux tells")
def test_a_monitor_whose_process_leaks_costs_its_cell_no_more_than_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "Supervisor", Supervisor)
    file = small(
        tmp_path,
        LEAKS,
        monitors=["mine:Slow", "mine:Leaks", "max-softmax"],
        limits={"memory_gb": 1.2},
    )
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    told = failures(tmp_path / "out")
    assert list(told) == ["mine:Leaks"], "whoever else is at work meanwhile is not to blame"
    same_text(told["mine:Leaks"])
    (one,) = cells(tmp_path / "out").values()
    assert monitors_of(one) == ["mine:Slow", "max-softmax"]


ENDS = (
    MODULE
    + '''
import os

class Ends(Plain):
    """Does what ends a process that does not look out."""
    def __init__(self, *, way, where="stream"):
        self._way, self._where = way, where

    def _fit(self, data):
        self._end("fit")
        return {}

    def _score(self, observation):
        self._end("score" if self._calibration is None else "stream")
        return super()._score(observation)

    def _end(self, where):
        if where != self._where:
            return
        if self._way == "interrupts":
            raise KeyboardInterrupt
        if self._way == "odd":
            raise BaseException("of no kind")
        os.closerange(0 if self._way == "closes" else 3, 256)
        if self._way == "closes and fails":
            raise ValueError("no file")
'''
)


@pytest.mark.parametrize("where", ["fit", "score", "stream"])
def test_a_monitor_that_raises_as_ctrl_c_does_costs_its_cell_no_more_than_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(running, "Supervisor", Supervisor)
    ends = [{"name": "mine:Ends", "as": way, "way": way, "where": where} for way in ("interrupts", "odd")]
    file = small(tmp_path, ENDS, monitors=["max-softmax", *ends, "mine:Plain"])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    told = failures(tmp_path / "out")
    assert list(told) == ["interrupts", "odd"]
    same_text(told.values())
    (one,) = cells(tmp_path / "out").values()
    assert monitors_of(one) == ["max-softmax", "mine:Plain"]


def test_a_monitor_that_closes_all_files_costs_its_cell_no_more_than_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "Supervisor", Supervisor)
    ways = {"in the stream": ("closes and fails", "stream"), "in the fit": ("closes", "fit")}
    ends = [{"name": "mine:Ends", "as": n, "way": way, "where": at} for n, (way, at) in ways.items()]
    file = small(tmp_path, ENDS, monitors=["max-softmax", *ends, "mine:Plain"])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    told = failures(tmp_path / "out")
    assert list(told) == list(ways)
    same_text(told.values())
    (one,) = cells(tmp_path / "out").values()
    assert monitors_of(one) == ["max-softmax", "mine:Plain"]
    assert main(["verify", "out"]) == 0


SECOND = (
    MODULE
    + '''
from farm.api import ModelSource
from farm.testing.fakes import TinyModel

class Second(ModelSource):
    """A classifier that may not be there, may count other classes, or be the first one."""
    def __init__(self, *, weights=None, way=""):
        self._weights, self._way = weights, way

    def classifier(self, workload, context):
        if self._weights:
            context.find(self._weights, "fallback.weights")
        if self._way == "raises":
            raise KeyError("no such layer")
        if self._way == "full" and not Path("space").exists():
            raise OSError(errno.EDQUOT, "Disk quota exceeded")
        made = TinyModel().classifier(workload, context)
        if self._way == "other":
            made.classes = made.classes[::-1]
        return made
'''
)


WAYS: dict[str, tuple[dict[str, str], str]] = {
    "raises": (
        {"way": "raises"},
        "its fallback 'mine:Second' cannot be made: model 'mine:Second' failed: KeyError: 'no such layer'",
    ),
    "gone": (
        {"weights": "gone.pt"},
        "its fallback 'mine:Second' cannot be made: fallback.weights: 'gone.pt' is not there in",
    ),
    "other": (
        {"way": "other"},
        "counts other classes than classifier 'means'; expected the same, in the same order",
    ),
}


def test_a_fallback_that_cannot_be_had_costs_only_those_that_fall_back_on_it(tmp_path: Path) -> None:
    monitors = [
        {"name": "mine:Plain", "as": f"{how} {i}", "fallback": {"name": "mine:Second", **way}}
        for how, (way, _) in WAYS.items()
        for i in range(2)
    ]
    last = {"name": "mine:Plain", "as": "last", "fallback": "last"}
    file = small(tmp_path, SECOND, monitors=["max-softmax", *monitors, last])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    told = failures(tmp_path / "out")
    assert list(told) == [one["as"] for one in monitors]
    for name, why in told.items():
        assert why.startswith(f"monitor '{name}': its fallback")
        assert WAYS[name.partition(" ")[0]][1] in why
    (one,) = cells(tmp_path / "out").values()
    assert monitors_of(one) == ["max-softmax", "last"]
    assert main(["verify", "out"]) == 0


def test_in_an_experiment_of_its_own_it_is_the_users_mistake(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    second = {"name": "mine:Second", "weights": "gone.pt"}
    small(tmp_path, SECOND)
    values = campaign(monitors=["max-softmax", {"name": "mine:Plain", "fallback": second}])
    for key in ("faultloads", "severities", "seeds"):
        del values[key]
    file = written(tmp_path, values, "experiment.yaml")
    assert main(["run", str(file), "--out", "one"]) == 2
    same_text(capfd.readouterr().err)
    assert not (tmp_path / "one").exists()


def test_a_full_disk_that_a_fallback_meets_is_nobodys_fault(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    second = {"name": "mine:Second", "way": "full"}
    file = small(tmp_path, SECOND, monitors=[{"name": "mine:Plain", "fallback": second}])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    same_text(capfd.readouterr().err)
    assert not cells(tmp_path / "out")
    (tmp_path / "space").touch()
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 0
    (one,) = cells(tmp_path / "out").values()
    assert monitors_of(one) == ["mine:Plain"]
