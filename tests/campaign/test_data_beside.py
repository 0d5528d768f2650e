"""Data beside a user's own module: a cell is not found once they changed, though nothing names them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from farm.campaign import cell
from farm.cli import main
from tests.campaign.small import campaign, cells, written
from tests.wording import same_text

MODULE = '''
from pathlib import Path
import numpy as np
from farm.api import Monitor

class Weighted(Monitor):
    """A monitor that weighs its score by what it finds under a path that it puts together."""
    def __init__(self, *, n: int = 3) -> None: self._n = n
    def _fit(self, data): return {"weight": np.load(Path(__file__).with_name(f"weights_{self._n}.npy"))}
    def _load(self, state): self._by = state["weight"]
    def _score(self, observation): return -observation.confidence * self._by
'''


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: None) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    Path("mine.py").write_text(MODULE, encoding="utf-8")
    weigh(2.0)
    old = time.time() - 24 * 3600  # code that is younger than a process is not trusted to be what it runs
    os.utime("mine.py", (old, old))


def weigh(weight: float) -> None:
    np.save("weights_3.npy", np.array(weight))


@pytest.fixture
def file() -> str:
    changes = {"faultloads": ["gaussian-noise"], "severities": [1, 3], "seeds": [0]}
    return str(written(Path(), campaign(**changes, monitors=["max-softmax", "mine:Weighted"])))


def run(file: str, *more: str) -> None:
    assert main(["run", file, "--out", "out", *more]) == 0


def stamps() -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in Path("out/cells").rglob("*")}


def scores(monitor: str) -> np.ndarray:
    found = [one.alarms for one in cells(Path("out")).values()]
    return np.concatenate([one.loc[one["monitor"] == monitor, "score"] for one in found])


def test_a_changed_file_makes_its_monitor_run_again_and_no_other(
    file: str, capfd: pytest.CaptureFixture[str]
) -> None:
    run(file, "--quiet")
    first, before, of_the_other = stamps(), scores("mine:Weighted"), scores("max-softmax")
    run(file, "--quiet")
    assert stamps() == first, "as long as nothing changed, nothing is computed"
    weigh(5.0)
    capfd.readouterr()
    run(file, "--dry-run", "--format", "json")
    plan = json.loads(capfd.readouterr().out)
    assert [cell["compute"] for cell in plan["cells"]] == [["mine:Weighted"]] * 2
    run(file, "--quiet")
    np.testing.assert_allclose(scores("mine:Weighted"), 2.5 * before)
    np.testing.assert_array_equal(scores("max-softmax"), of_the_other)


@pytest.mark.parametrize("when", ["compute", "_run"])
def test_what_changes_before_or_while_a_cell_is_computed_is_told(
    file: str, when: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    do = getattr(cell, when)

    def changed_first(*arguments: object, **named: object) -> object:
        weigh(5.0)
        return do(*arguments, **named)

    monkeypatch.setattr(cell, when, changed_first)
    assert main(["run", file, "--out", "out", "--quiet"]) == 1
    assert not list(Path("out/cells").iterdir())
    same_text(line for line in capfd.readouterr().err.splitlines() if "changed" in line)
