"""Ctrl-C stops everything; a component that raises the same by itself costs itself alone."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest
import yaml

from farm.cli import main
from farm.errors import noting_ctrl_c, pass_on_ctrl_c
from farm.store.readouts import Readouts
from tests.wording import same_text

MODULE = '''
import signal
from farm.api import Monitor, Policy

class Mine(Monitor):
    """A monitor at work when something happens."""
    def __init__(self, *, way=""):
        self._way = way

    def _fit(self, data): return {}
    def _load(self, state): pass

    def _score(self, observation):
        if self._calibration is not None:
            self.happens()
        return -observation.confidence

    def happens(self):
        if self._way == "raises":
            raise KeyboardInterrupt("broken sensor")
        if self._way == "exits":
            raise GeneratorExit
        if self._way == "ctrl-c":
            signal.raise_signal(signal.SIGINT)
        if self._way == "ctrl-c, and fails":
            try:
                signal.raise_signal(signal.SIGINT)
            except BaseException:
                raise ValueError("what was that?") from None

class Stops(Policy):
    """A policy that does."""
    def _cancels(self, alarm, margin, track): raise KeyboardInterrupt
    def reset(self): pass
'''


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MODULE, encoding="utf-8")
    return str(tmp_path / "mine.yaml")


def run(file: str, *monitors: object) -> int:
    """Run an experiment by the command line; give its exit code."""
    values = {
        "workload": "farm.testing.fakes:TinySource",
        "classifier": "farm.testing.fakes:TinyModel",
        "monitors": [*monitors, "max-softmax"],
    }
    Path(file).write_text(yaml.safe_dump(values), encoding="utf-8")
    return main(["run", file, "--out", "out", "--quiet"])


def mine(way: str) -> dict[str, str]:
    return {"name": "mine:Mine", "as": way, "way": way}


def test_who_raises_it_by_itself_is_named_and_left_out(write: str) -> None:
    stops = {"name": "never", "as": "stopped", "policy": "mine:Stops"}
    assert run(write, mine("raises"), mine("exits"), stops) == 1
    readouts = Readouts.load(Path("out"))
    told = {entry["name"]: entry["failure"] for entry in readouts.run["monitors"]}
    assert [name for name, why in told.items() if why] == ["raises", "exits", "stopped"]
    same_text(str(why) for why in told.values())
    assert set(readouts.alarms["monitor"]) == {"max-softmax"}


@pytest.mark.parametrize("way", ["ctrl-c", "ctrl-c, and fails"])
def test_ctrl_c_while_a_monitor_is_at_work_stops_everything(
    write: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(write, mine(way)) == 130
    same_text(capsys.readouterr().err)
    assert not Path("out").exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # An earlier Ctrl-C is no reason to stop another command.
    assert run(write, mine("raises")) == 1


def test_somebody_elses_handler_stays_and_what_it_means_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        own = signal.getsignal(signal.SIGINT)
        with noting_ctrl_c():
            assert signal.getsignal(signal.SIGINT) is own
            pass_on_ctrl_c(ValueError("its own"))
            with pytest.raises(KeyboardInterrupt):
                pass_on_ctrl_c(KeyboardInterrupt())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        pass_on_ctrl_c(KeyboardInterrupt())
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_it_is_nobodys_ctrl_c() -> None:
    raised: list[BaseException] = []

    def work() -> None:
        try:
            with noting_ctrl_c():
                pass_on_ctrl_c(KeyboardInterrupt())
        except BaseException as error:  # noqa: BLE001 - shown by the test
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert raised == []
