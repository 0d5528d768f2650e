"""Data that code opens by a path of its own: a cell knows its content, and is not found once that changed."""

from __future__ import annotations

import json
import linecache
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farm.campaign import executor
from farm.campaign.folder import CampaignFolder
from farm.campaign.plan import make_plan
from farm.campaign.spec import load
from farm.campaign.supervisor import Supervisor
from farm.cli import main
from farm.files import file_digest
from farm.identity import reads
from farm.identity import undeclared as declaring
from tests.campaign import inside as inside_module
from tests.campaign.small import campaign, cells, monitors_of, written
from tests.wording import same_text

MODULE = '''
from functools import lru_cache
from importlib import import_module
from pathlib import Path
import numpy as np
from farm.api import Monitor

HERE = Path(__file__).parent

class Plain(Monitor):
    """A monitor that weighs its score."""
    def __init__(self, *, n: int = 3) -> None: self._n = n
    def _fit(self, data): return {"weight": self._weight()}
    def _load(self, state): self._by = state["weight"]
    def _score(self, observation): return -observation.confidence * self._by
    def _weight(self): return np.array(1.0)

class Weighted(Plain):
    def _weight(self): return weights(self._n)

class Early(Plain):
    def __init__(self, *, n: int = 3) -> None:
        super().__init__(n=n)
        self._read = weights(n)
    def _weight(self): return self._read

class Dynamic(Plain):
    def _weight(self): return np.array(import_module("part_" + str(self._n)).WEIGHT)

@lru_cache
def weights(n):
    return np.load(HERE / f"weights_{n}.npy")
'''


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: None) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    Path("mine.py").write_text(MODULE, encoding="utf-8")
    Path("part_3.py").write_text("WEIGHT = 2.0\n", encoding="utf-8")
    weigh(2.0)
    old = time.time() - 24 * 3600  # code that is younger than a process is not trusted to be what it runs
    for name in ("mine.py", "part_3.py"):
        os.utime(name, (old, old))
    linecache.getlines(inside_module.__file__)  # where torch looks whose code imports it: once, before all


def weigh(weight: float) -> None:
    np.save("weights_3.npy", np.array(weight))


def small(*monitors: str, **changes: object) -> str:
    values = {"faultloads": ["gaussian-noise"], "severities": [1, 3], "seeds": [0], "monitors": monitors}
    return str(written(Path(), campaign(**{**values, "monitors": list(monitors), **changes})))


def run(file: str, *more: str) -> None:
    assert ended(file, *more) == 0


def ended(file: str, *more: str) -> int:
    """Run a campaign as a process that begins now, in which nothing was read or written before."""
    for remembered in (reads._opened, reads._written):
        remembered.clear()
    return main(["run", file, "--out", "out", *more])


def passes() -> list[list[tuple[list[str], dict[str, Any] | None]]]:
    """Give, of each cell, the monitors of its passes and what they read."""
    found = cells(Path("out")).values()
    assert not any("undeclared" in one.run for one in found)
    return [[(each["monitors"], each.get("undeclared")) for each in one.run["passes"]] for one in found]


def stamps() -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in Path("out/cells").rglob("*")}


def scores(monitor: str) -> np.ndarray:
    found = [one.alarms for one in cells(Path("out")).values()]
    return np.concatenate([one.loc[one["monitor"] == monitor, "score"] for one in found])


@pytest.mark.parametrize("monitor", ["mine:Weighted", pytest.param("mine:Early", marks=pytest.mark.slow)])
def test_a_cell_knows_what_its_code_read_and_is_computed_again_when_that_changed(
    monitor: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file = small("max-softmax", monitor)
    run(file)
    told = capfd.readouterr().err
    line = f"code read {Path('weights_3.npy').resolve()}, which is in no parameter: name it in one"
    assert told.count(line) == 1 + told.count("is not kept: its " + line), "once, not for each cell"
    assert told.count("is not kept: its " + line) <= 1
    for severity in (1, 3):
        title = f"tiny, means, gaussian-noise severity {severity}, seed 0"
        assert any(f"{title}: {line}" in log.read_text() for log in Path("out/logs").iterdir())
    read = {"weights_3.npy": file_digest(Path("weights_3.npy"))}
    assert passes() == [[(["max-softmax", monitor], read)]] * 2
    first, before = stamps(), scores(monitor)

    run(file)
    assert stamps() == first, "as long as nothing changed, nothing is computed"
    assert "stale" not in capfd.readouterr().err

    weigh(5.0)
    run(file, "--dry-run")
    told = capfd.readouterr().out
    assert "2 cells: 2 to compute" in told
    same_text(told)
    names = [path.name for path in Path("out/cells").iterdir()]
    assert all(f"  stale    {name}: weights_3.npy was changed" in told for name in names)
    run(file, "--dry-run", "--format", "json")
    plan = json.loads(capfd.readouterr().out)
    assert plan["stale"] == dict.fromkeys(names, "weights_3.npy was changed")
    assert stamps() == first
    assert main(["verify", "out"]) == 0, "what is there is whole"
    told = capfd.readouterr().out
    same_text(told)
    cell = f"out/cells/{names[0]}"
    main(["verify", cell])
    assert "1 stale cell, made with" in capfd.readouterr().out, "of one cell alone, too"
    assert main(["run", f"{cell}/run.json", "--out", "again"]) == 1
    told = capfd.readouterr().out
    first_reason = told[told.index("it may be since: ") :].splitlines()[0]
    same_text(first_reason)

    run(file)
    assert "2 stale cells" in capfd.readouterr().err
    np.testing.assert_allclose(scores(monitor), 2.5 * before)
    assert not set(stamps()) & set(first), "what was stale is gone"
    now = stamps()
    run(file)
    assert stamps() == now
    capfd.readouterr()
    assert main(["verify", "out"]) == 0
    assert "stale" not in capfd.readouterr().out


@pytest.mark.slow
def test_what_a_process_remembers_since_an_earlier_cell_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "Supervisor", Supervisor)
    run(small("mine:Weighted", "mine:Early"), "--quiet")
    read = {"weights_3.npy": file_digest(Path("weights_3.npy"))}
    assert passes() == [[(["mine:Weighted", "mine:Early"], read)]] * 2


def test_what_reads_nothing_of_the_kind_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    weights = {"name": "mine:Weighted", "n": 3, "as": "named", "calibration": {"accept": 0.9}}
    module = MODULE.replace('np.load(HERE / f"weights_{n}.npy")', 'np.load(HERE / "weights_3.npy")')
    Path("mine.py").write_text(module, encoding="utf-8")
    run(small("max-softmax", weights))  # type: ignore[arg-type]
    assert passes() == [[(["max-softmax", "named"], None)]] * 2
    assert "in no parameter" not in capfd.readouterr().err


@pytest.mark.slow
def test_code_that_is_imported_by_a_name_put_together_counts() -> None:
    file = small("mine:Dynamic", severities=[1])
    run(file, "--quiet")
    before = scores("mine:Dynamic")
    assert passes() == [[(["mine:Dynamic"], {"part_3.py": file_digest(Path("part_3.py"))})]]
    Path("part_3.py").write_text("WEIGHT = 3.0\n", encoding="utf-8")
    run(file, "--quiet")
    np.testing.assert_allclose(scores("mine:Dynamic"), 1.5 * before)


@pytest.mark.slow
def test_what_is_gone_makes_a_cell_stale_too(capfd: pytest.CaptureFixture[str]) -> None:
    file = small("max-softmax", "mine:Weighted", severities=[1])
    run(file, "--quiet")
    Path("weights_3.npy").unlink()
    assert ended(file) == 1
    told = capfd.readouterr().err
    same_text(told)
    (one,) = cells(Path("out")).values()
    assert monitors_of(one) == ["max-softmax"]
    assert passes() == [[(["max-softmax", "mine:Weighted"], None)]], "what is not there is not read"


def test_a_stale_cell_gives_no_rows_to_another_and_a_good_one_does(
    capfd: pytest.CaptureFixture[str],
) -> None:
    run(small("max-softmax", severities=[1]), "--quiet")
    run(small("max-softmax", "mine:Weighted", severities=[1]), "--quiet")
    read = {"weights_3.npy": file_digest(Path("weights_3.npy"))}
    assert passes() == [[(["max-softmax"], None), (["mine:Weighted"], read)]]
    weigh(5.0)
    read = {"weights_3.npy": file_digest(Path("weights_3.npy"))}
    run(small("max-softmax", "mine:Weighted", "energy", severities=[1]), "--quiet")
    assert passes() == [[(["max-softmax", "mine:Weighted", "energy"], read)]]
    assert len(list(Path("out/cells").iterdir())) == 1
    capfd.readouterr()
    run(small("max-softmax", "mine:Weighted", "energy", "entropy", severities=[1]))
    assert "stale" not in capfd.readouterr().err
    assert passes() == [[(["max-softmax", "mine:Weighted", "energy"], read), (["entropy"], None)]]


def test_what_changes_while_a_cell_is_computed_is_computed_again(capfd: pytest.CaptureFixture[str]) -> None:
    module = MODULE + (
        "\nclass Meddling(Weighted):\n"
        "    def _score(self, observation):\n"
        "        import subprocess\n"
        "        subprocess.run(['touch', HERE / f'weights_{self._n}.npy'], check=True)\n"
        "        return super()._score(observation)\n"
    )
    Path("mine.py").write_text(module, encoding="utf-8")
    file = small("mine:Meddling", severities=[1])
    run(file, "--quiet")
    assert passes() == [[(["mine:Meddling"], {"weights_3.npy": None})]]
    run(file, "--dry-run")
    same_text(capfd.readouterr().out)


def test_a_plan_looks_at_each_file_once(monkeypatch: pytest.MonkeyPatch) -> None:
    file = small("mine:Weighted")
    run(file, "--quiet")
    asked: list[str] = []
    real = declaring.content_now

    def counted(name: str, *more: Any) -> str | None:
        asked.append(name)
        return real(name, *more)

    monkeypatch.setattr(declaring, "content_now", counted)
    planned, home = load(file, [])
    plan = make_plan(planned, home, CampaignFolder("out"))  # type: ignore[arg-type]
    assert [cell.state for cell in plan.cells] == ["done", "done"]
    assert plan.stale == {}
    assert asked == ["weights_3.npy"]


@pytest.mark.slow
def test_of_very_many_in_a_folder_those_count_that_were_read(capfd: pytest.CaptureFixture[str]) -> None:
    module = MODULE.replace(
        'np.load(HERE / f"weights_{n}.npy")',
        "np.array(float(sum(int((HERE / f'part_{i}.txt').read_text()) for i in range(n))))",
    )
    Path("mine.py").write_text(module, encoding="utf-8")
    for i in range(120):
        Path(f"part_{i}.txt").write_text(f"{i}")
    file = small({"name": "mine:Weighted", "n": 120}, severities=[1])  # type: ignore[arg-type]
    run(file, "--quiet")
    (((_, read),),) = passes()
    assert read is not None
    assert [*read] == ["."]
    assert len(read["."]["names"]) == 120
    first = stamps()
    Path("export.csv").write_text("readouts, say")
    run(file, "--quiet")
    assert stamps() == first, "what else comes into the folder changes nothing"
    Path("part_7.txt").write_text("8")
    capfd.readouterr()
    run(file, "--dry-run")
    told = capfd.readouterr().out
    same_text(told)


def test_a_campaign_whose_home_is_elsewhere_is_not_called_stale(capfd: pytest.CaptureFixture[str]) -> None:
    Path("there").mkdir()
    for name in ("mine.py", "weights_3.npy"):
        Path(name).rename(f"there/{name}")
    os.chdir("there")
    run(small("mine:Weighted", severities=[1]), "--quiet")
    os.chdir("..")
    Path("there/out").rename("out")
    Path("there").rename("gone")
    assert main(["verify", "out"]) == 0
    assert "stale" not in capfd.readouterr().out
