"""Campaigns as a person meets them: the plan, what is computed, what is not, and what went wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from farm.campaign import running
from farm.campaign.supervisor import Supervisor
from farm.cli import main
from farm.store.campaign_folder import CampaignFolder
from farm.store.readouts import Readouts
from tests.campaign.inside import Inside
from tests.campaign.small import (
    FARM,
    SOON,
    campaign,
    cells,
    check_same,
    environment,
    monitors_of,
    wait_until,
    written,
)
from tests.wording import same_text

MODULE = '''
import time
from pathlib import Path
import numpy as np
from farm.api import Monitor

class Plain(Monitor):
    """A monitor of somebody's own."""
    def _fit(self, data): return {}
    def _load(self, state): pass
    def _score(self, observation): return -observation.confidence

class Raises(Plain):
    def _score(self, observation): raise KeyError("nothing here")

class ReturnsNan(Plain):
    def _score(self, observation): return np.full(len(observation), np.nan)

class Hangs(Plain):
    def _score(self, observation):
        Path("hanging").touch()
        time.sleep(3600)
'''


def small(tmp_path: Path, **changes: object) -> Path:
    """Write a campaign of two cells, and a module of monitors beside it."""
    (tmp_path / "mine.py").write_text(MODULE, encoding="utf-8")
    old = time.time() - 60  # code that is younger than a process is not trusted to be what it runs
    os.utime(tmp_path / "mine.py", (old, old))
    values = {"faultloads": ["gaussian-noise"], "severities": [1, 3], "seeds": [0], **changes}
    return written(tmp_path, campaign(**values))


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: None) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the campaign of two cells, finished; nobody changes it."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "Supervisor", Inside)
        assert main(["run", str(small(folder)), "--out", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


@pytest.fixture
def done(tmp_path: Path, finished: Path) -> Path:
    """Give the campaign's file, and beside it a finished folder of the test's own, `out`."""
    shutil.copytree(finished, tmp_path / "out")
    return small(tmp_path)


@pytest.fixture
def processes(_there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have cells computed in processes of their own, as they are for people."""
    monkeypatch.setattr(running, "Supervisor", Supervisor)


def test_all_cells_are_computed_once_and_found_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = small(tmp_path)
    assert main(["run", str(file), "--out", "out"]) == 0
    first = cells(tmp_path / "out")
    same_text(list(first))
    assert all(monitors_of(one) == ["max-softmax", "second"] for one in first.values())
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/cells").rglob("*")}
    capsys.readouterr()
    assert main(["run", str(file), "--out", "out"]) == 0
    same_text(capsys.readouterr().out)
    assert stamps == {path: path.stat().st_mtime_ns for path in (tmp_path / "out/cells").rglob("*")}


def test_what_became_of_it_as_json_is_all_that_is_printed(
    done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(done), "--out", "out", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (answer,) = found.pop("answer")
    assert found == {"folder": "out", "cells": 2, "done": 2, "computed": 0, "failures": []}
    assert main(["compare", "out", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == [answer]


def test_a_campaign_that_is_too_large_to_be_read_at_once_says_what_answers(
    done: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farm.commands.run_report.IN_MEMORY", 10)
    assert main(["run", str(done), "--out", "out"]) == 0
    same_text(capsys.readouterr().out.partition("\n\n")[0])


LOOKED_AT = {"name": "none", "as": "training-data", "stream": {"split": "train"}}


def test_cells_of_training_data_stand_beside_others_and_judge_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = small(tmp_path, monitors=["max-softmax", "never"], severities=[3])
    assert main(["run", str(plain), "--out", "plain", "--quiet"]) == 0
    capsys.readouterr()
    both = small(
        tmp_path,
        monitors=["max-softmax", "never"],
        severities=[3],
        faultloads=["gaussian-noise", LOOKED_AT],
        exclude=[{"faultload": "training-data", "monitor": "max-softmax"}],
    )
    assert main(["run", str(both), "--out", "both", "--quiet"]) == 0
    capsys.readouterr()
    found = cells(tmp_path / "both")
    assert [one.run["stream"].get("split") for one in found.values()] == [None, "train"]
    (tmp_path / "criteria.yaml").write_text("criteria:\n  - specific.fpr <= 0.999 on id\n")
    for command in (
        ["compare", "PLACE", "--format", "json"],
        ["judge", "PLACE"],
        ["check", "PLACE", "--criteria", "criteria.yaml"],
    ):
        told = []
        for place in ("plain", "both"):
            code = main([place if part == "PLACE" else part for part in command])
            told.append((code, *(text.replace(place, "PLACE") for text in capsys.readouterr())))
        times = re.compile(r"[-\d.,]+ (µs|ms)|_time_us.*")
        first, second = (times.sub("", str(each)) for each in told)
        assert first == second
        assert told[0][1]


def test_a_monitor_that_learned_from_a_cells_stream_is_told_before_any_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = small(tmp_path, severities=[3], faultloads=["gaussian-noise", LOOKED_AT])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 2
    same_text(capsys.readouterr().err)
    values = campaign(monitors=["never"], faultloads=[LOOKED_AT], seeds=[0])
    alone = written(tmp_path, {key: value for key, value in values.items() if key != "severities"})
    assert main(["run", str(alone), "--out", "alone", "--quiet"]) == 0
    assert "Nobody is judged by these runs: its stream is training data" in capsys.readouterr().out
    assert main(["compare", "alone"]) == 2
    assert "its stream is training data" in capsys.readouterr().err


def test_a_monitor_that_is_added_is_computed_alone(tmp_path: Path, done: Path) -> None:
    before = cells(tmp_path / "out")
    file = small(tmp_path, monitors=["mine:Plain", "max-softmax", {"name": "energy", "as": "second"}])
    assert main(["run", str(file), "--out", "out"]) == 0
    after = cells(tmp_path / "out")
    for title, one in after.items():
        assert monitors_of(one) == ["mine:Plain", "max-softmax", "second"]
        passes = [each["monitors"] for each in one.run["passes"]]
        assert passes == [["max-softmax", "second"], ["mine:Plain"]]
        old, new = before[title].alarms, one.alarms
        kept = new[new["monitor"] != "mine:Plain"].reset_index(drop=True)
        assert kept.equals(old), "rows that were there are taken over, times and all"
    assert len(list((tmp_path / "out/cells").iterdir())) == 2, "what the new cells contain is gone"
    assert main(["run", str(file), "--out", "other"]) == 0
    check_same(after, cells(tmp_path / "other"))


def test_only_what_changed_is_computed_when_the_code_of_a_monitor_changes(tmp_path: Path) -> None:
    file = small(tmp_path, monitors=["max-softmax", "mine:Plain"])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 0
    before = cells(tmp_path / "out")
    changed = MODULE.replace("return -observation.confidence", "return -2 * observation.confidence", 1)
    (tmp_path / "mine.py").write_text(changed, encoding="utf-8")
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 0
    for title, one in cells(tmp_path / "out").items():
        assert [each["monitors"] for each in one.run["passes"]] == [["max-softmax"], ["mine:Plain"]]
        scores = one.alarms.groupby("monitor")["score"].apply(np.array)
        was = before[title].alarms.groupby("monitor")["score"].apply(np.array)
        np.testing.assert_array_equal(scores["max-softmax"], was["max-softmax"])
        np.testing.assert_array_equal(scores["mine:Plain"], 2 * was["mine:Plain"])


def test_a_dry_run_changes_nothing_and_tells_the_plan(
    tmp_path: Path, done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(done), "--out", "new", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "2 cells: 2 to compute" in told
    assert "gaussian-noise severity 3" in told
    assert not (tmp_path / "new").exists()
    file = small(tmp_path, severities=[1, 3, 5])
    assert main(["run", str(file), "--out", "out", "--dry-run"]) == 0
    told = capsys.readouterr().out
    same_text(told)
    assert "1 new" in told


def test_the_plan_as_json_names_every_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = small(tmp_path)
    assert main(["run", str(file), "--out", "out", "--dry-run", "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [cell["state"] for cell in plan["cells"]] == ["missing", "missing"]
    assert plan["cells"][0]["compute"] == ["max-softmax", "second"]
    assert plan["cells"][0]["label"]["faultload"] == "gaussian-noise"


def test_a_failing_monitor_fails_alone_and_is_tried_again_when_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = small(tmp_path, monitors=["max-softmax", "mine:Raises", "mine:ReturnsNan"])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    told = capfd.readouterr()
    assert "mine:Raises" in told.err
    assert "nothing here" in told.err
    assert "expected a finite number" in told.err
    assert all(monitors_of(one) == ["max-softmax"] for one in cells(tmp_path / "out").values())
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1, "a failure stays one"
    names = {path.name for path in (tmp_path / "out/cells").iterdir()}
    assert main(["run", str(file), "--out", "out", "--quiet", "--retry-failed"]) == 1
    again = {path.name for path in (tmp_path / "out/cells").iterdir()}
    assert len(again) == 2
    assert not names & again, "they were computed again"


def test_a_hanging_monitor_costs_its_cell_no_more_than_itself(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    processes: None,
    time_is_up: Callable[[Callable[[], object]], None],
) -> None:
    file = small(tmp_path, severities=[1], monitors=["max-softmax", "mine:Hangs"], limits={"seconds": 600})

    def hangs() -> bool:
        found = Path("hanging").exists()
        Path("hanging").unlink(missing_ok=True)
        return found

    time_is_up(hangs)
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    told = capfd.readouterr().err
    assert "mine:Hangs" in told
    (one,) = cells(tmp_path / "out").values()
    assert monitors_of(one) == ["max-softmax"]
    failures = {entry["name"]: entry["failure"] for entry in one.run["monitors"]}
    assert failures["max-softmax"] is None
    assert failures["mine:Hangs"] in told
    same_text(failures["mine:Hangs"])


@pytest.mark.parametrize("how", ["truncated", "flipped"])
def test_a_damaged_cell_is_found_said_and_computed_again(
    tmp_path: Path, done: Path, capfd: pytest.CaptureFixture[str], how: str
) -> None:
    whole = cells(tmp_path / "out")
    victim = sorted((tmp_path / "out/cells").glob("*/alarms.parquet"))[0]
    content = bytearray(victim.read_bytes())
    if how == "truncated":
        del content[-10:]
    else:
        content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    assert main(["run", str(done), "--out", "out"]) == 0
    assert "changed or truncated" in capfd.readouterr().err
    check_same(whole, cells(tmp_path / "out"))


def test_an_edited_campaign_tells_what_is_new_and_what_is_orphaned(
    tmp_path: Path, done: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(small(tmp_path, severities=[3, 5])), "--out", "out"]) == 0
    told = capfd.readouterr().err
    assert "1 new" in told
    assert "1 orphan" in told
    assert len(list((tmp_path / "out/cells").iterdir())) == 3, "nothing is removed unasked"
    assert main(["cache", "prune", "out"]) == 0
    assert len(list((tmp_path / "out/cells").iterdir())) == 2
    assert main(["verify", "out"]) == 0


def test_a_second_run_on_one_folder_is_told_of_the_first(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = small(tmp_path, monitors=["max-softmax", "mine:Hangs"])
    process = subprocess.Popen([*FARM, "run", str(file), "--out", "out", "--quiet"], env=environment())
    try:
        wait_until(lambda: CampaignFolder("out").holder())
        assert main(["run", str(file), "--out", "out"]) == 2
        told = capfd.readouterr().err
        same_text(told)
        assert str(process.pid) in told
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(SOON) == 130


@pytest.mark.skipif(os.geteuid() == 0, reason="whoever is root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert main(["run", str(small(tmp_path)), "--out", str(closed / "out")]) == 1
    same_text(capfd.readouterr().err)


def test_mistakes_are_told_before_anything_is_computed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = small(tmp_path, monitors=["max-softmax", {"name": "oob", "clusters": 0}])
    assert main(["run", str(file), "--out", "out"]) == 2
    told = capfd.readouterr().err
    assert "clusters is 0" in told
    assert not (tmp_path / "out/cells").exists()
    assert main(["run", "quickstart", "--workers", "2"]) == 2
    assert "is one experiment" in capfd.readouterr().err


def test_results_do_not_depend_on_the_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor on the process that computes them: two of their own do here, and one that has computed others."""
    file = written(tmp_path, campaign(faultloads=["gaussian-noise", "contrast"], severities=[3]))
    assert main(["run", str(file), "--out", "one", "--quiet"]) == 0
    monkeypatch.setattr(running, "Supervisor", Supervisor)
    assert main(["run", str(file), "--out", "two", "--quiet", "--workers", "2"]) == 0
    check_same(cells(tmp_path / "one"), cells(tmp_path / "two"))
    for folder, number in (("one", 1), ("two", 2)):
        passes = [each for one in cells(tmp_path / folder).values() for each in one.run["passes"]]
        assert {each["workers"] for each in passes} == {number}, "whose times can be compared with whose"
    names = [
        sorted(path.name for path in (tmp_path / folder / "cells").iterdir()) for folder in ("one", "two")
    ]
    assert names[0] == names[1], "it is in no key"


def test_no_more_workers_are_told_than_there_are_cells(tmp_path: Path) -> None:
    assert main(["run", str(small(tmp_path)), "--out", "out", "--quiet", "--workers", "3"]) == 0
    file = small(tmp_path, monitors=["max-softmax", {"name": "energy", "as": "second"}, "entropy"])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 0
    for one in cells(tmp_path / "out").values():
        assert [(each["monitors"], each["workers"]) for each in one.run["passes"]] == [
            (["max-softmax", "second"], 2),
            (["entropy"], 1),
        ]


def test_a_cell_is_repeated_by_its_record(
    tmp_path: Path, done: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cell = sorted((tmp_path / "out/cells").iterdir())[0]
    assert main(["run", str(cell / "run.json"), "--out", "again", "--quiet"]) == 0
    assert "bit for bit" in capfd.readouterr().out
    assert Readouts.load("again").instances.equals(Readouts.load(cell).instances) is False, "times differ"


def test_a_campaign_is_compared_judged_and_exported_as_a_whole(
    tmp_path: Path, done: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "out"]) == 0
    assert "2 sets" in capfd.readouterr().out
    assert main(["judge", "out", "--format", "csv"]) == 0
    assert "gaussian-noise" in capfd.readouterr().out
    assert main(["export", "out", "--format", "csv", "--out", "all.csv"]) == 0
    assert (tmp_path / "all.csv").read_text().count("\n") > 100
    assert main(["status", "out"]) == 0
    assert "2 of 2" in capfd.readouterr().out


def test_the_shipped_campaign_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["run", "benchmark-small", "--dry-run", "--out", str(tmp_path / "out"), "--format", "json"]) == 0
    )
    plan = json.loads(capsys.readouterr().out)
    assert len(plan["cells"]) >= 12
    assert yaml.safe_load(json.dumps(plan)) == plan


def test_pruning_keeps_what_an_interrupted_addition_will_take_over(done: Path) -> None:
    folder = CampaignFolder("out")
    record = folder.record()
    before = {path.name for path in folder.cells.iterdir()}
    # As if a monitor had been added, and the run interrupted before its first cell.
    for cell in record["cells"]:
        cell["monitors"] = {**cell["monitors"], "new": "0" * 16}
        cell["target"] = f"{cell['id']}-{'0' * 16}"
    folder.write_record(record)
    assert main(["cache", "prune", "out"]) == 0
    assert {path.name for path in folder.cells.iterdir()} == before


def test_a_failed_cell_is_tried_again_with_other_monitors(tmp_path: Path) -> None:
    file = small(tmp_path, severities=[1])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 0
    folder = CampaignFolder("out")
    (cell,) = folder.record()["cells"]
    folder.discard(cell["target"])
    folder.note_failure(cell["id"], cell["target"], cell["title"], "crashed", "it was killed")
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1, "as it was, it is not tried again"
    assert main(["run", str(small(tmp_path, severities=[1], monitors=["entropy"])), "--out", "out"]) == 0
    folder.failed.joinpath(f"{cell['id']}.json").write_text("{", encoding="utf-8")
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 0, "what cannot be read says nothing"


def test_a_monitor_that_lacks_what_it_needs_fails_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    module = MODULE + (
        "\nclass Leaves(Plain):\n    def _score(self, observation): raise SystemExit(3)\n"
        "\nclass Vague(Plain):\n    def notes(self): return {'mean': float('nan')}\n"
    )
    (tmp_path / "more.py").write_text(module, encoding="utf-8")
    file = small(tmp_path, severities=[1], monitors=["max-softmax", "odin", "more:Leaves", "more:Vague"])
    assert main(["run", str(file), "--out", "out", "--quiet"]) == 1
    (one,) = cells(tmp_path / "out").values()
    assert monitors_of(one) == ["max-softmax"]
    told = {entry["name"]: entry["failure"] for entry in one.run["monitors"]}
    assert "gradients" in told["odin"]
    assert "SystemExit" in told["more:Leaves"]
    assert "more:Vague" in told["more:Vague"]
    assert main(["verify", "out"]) == 0, capfd.readouterr().out


def test_a_damaged_list_of_cells_is_written_anew(done: Path) -> None:
    assert main(["run", str(done), "--out", "out", "--quiet"]) == 0
    record = Path("out/campaign.json")
    whole = record.read_text()
    record.write_text(whole[:100], encoding="utf-8")
    assert main(["run", str(done), "--out", "out", "--quiet"]) == 0
    assert json.loads(record.read_text()) == json.loads(whole)
    record.unlink()
    assert main(["run", str(done), "--out", "out", "--quiet"]) == 0
    assert json.loads(record.read_text()) == json.loads(whole)
