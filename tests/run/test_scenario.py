"""Scenarios: what their files say, what is a mistake, and what comes of one, worked by hand."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import yaml

from farm.cli import main
from farm.comparing.loading import load
from farm.config.files import with_scenario
from farm.errors import UserError
from farm.run.builder import make_order, planned_fault
from farm.run.scenario import Scenario
from farm.run.schedules import Bursts, Onset, Ramp, Recurring
from farm.store.readouts import Readouts
from tests.wording import refused, same_text

FILE = {
    "description": "fog, then a dead column",
    "frame_rate": 5,
    "length": 40,
    "intervals": [
        {"faults": {"name": "fog", "severity": 4}, "begin": 4, "end": 12, "rise": 2, "fall": 4},
        {"faults": ["black-frame", {"name": "dead-columns", "severity": 1}], "begin": 10, "lasting": 5},
    ],
}
FOG = {"name": "fog", "severity": 3}
FROZEN = {"name": "frozen-frame", "both": True}
NOVEL = {"name": "novelty", "workload": {"name": "digits", "size": 8, "channels": 3}}
MINE = {
    "workload": {"name": "farm.testing.fakes:TinySource"},
    "classifier": {"name": "farm.testing.fakes:TinyModel"},
    "stream": {"order": {"name": "scenario", "file": "drive.yaml"}},
    "monitors": ["max-softmax"],
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drive.yaml").write_text(yaml.safe_dump(FILE))
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(MINE))
    return tmp_path


def first(schedule, n):
    stretches = list(islice(schedule.stretches(seed=0), -(-n // 1024)))
    names = ("share", "intensity", "coming", "episode")
    return {name: np.concatenate([getattr(one, name) for one in stretches])[:n] for name in names}


SHORT = {
    "onset": (Onset(at=30, share=0.5), {"begin": 30, "share": 0.5}),
    "ramp": (Ramp(begin=20, end=70, of="severity"), {"begin": 20, "rise": 50}),
    "ramp of the share": (Ramp(begin=20, end=70), {"begin": 20, "rise": 50, "of": "share"}),
    "recurring": (Recurring(period=50, burst=20), {"begin": 30, "lasting": 20, "every": 50}),
    "bursts": (Bursts(gap=30, burst=9), {"gap": 30, "lasting": 9}),
}


@pytest.mark.parametrize("name", SHORT)
def test_schedules_are_short_forms(name):
    schedule, interval = SHORT[name]
    mine, theirs = first(Scenario(intervals=[interval]), 3000), first(schedule, 3000)
    for column, values in mine.items():
        np.testing.assert_array_equal(values, theirs[column], err_msg=column)


def test_intervals_overlap_grow_and_fade_as_worked_by_hand():
    plan = first(Scenario(intervals=FILE["intervals"]), 17)
    # It begins at 4, is whole at 5, and of its last four instances, 8 to 11, each has a quarter less.
    fog = [0, 0, 0, 0, 0.5, 1, 1, 1, 1, 0.75, 0.5, 0.25, 0, 0, 0, 0, 0]
    acts = (plan["share"] * plan["intensity"]).T
    assert acts[0].tolist() == fog
    assert acts[1].tolist() == [0] * 10 + [1] * 5 + [0] * 2
    assert plan["episode"].tolist() == [-1] * 4 + [0] * 6 + [1] * 5 + [-1] * 2
    assert plan["coming"][:, 0].tolist() == [-1] * 4 + [0] * 8 + [-1] * 5


def test_two_that_begin_together_are_one_episode():
    plan = first(Scenario(intervals=[{"begin": 3, "end": 5}, {"begin": 3, "end": 9}, {"begin": 9}]), 12)
    assert plan["episode"].tolist() == [-1] * 3 + [0] * 6 + [1] * 3


def test_a_file_is_put_into_the_experiment(files):
    stream = with_scenario(MINE["stream"], files)
    assert stream["frame_rate"] == 5
    assert stream["order"] == {"name": "scenario", "length": 40, "intervals": FILE["intervals"]}
    assert with_scenario({**MINE["stream"], "frame_rate": 30}, files)["frame_rate"] == 30
    schedule = make_order(stream["order"])
    assert (schedule.length, [len(one.faults) for one in schedule.intervals]) == (40, [1, 2])


def test_a_run_has_what_the_file_says_and_is_repeated_without_it(files, capsys):
    assert main(["run", "mine.yaml", "--out", "run", "--quiet"]) == 0
    readouts = Readouts.load("run")
    seen = readouts.instances
    assert len(seen) == 40
    assert seen["episode"].tolist() == [-1] * 4 + [0] * 6 + [1] * 5 + [-1] * 25
    names = ["fog"] * 6 + ["fog+black-frame+dead-columns"] * 2 + ["black-frame+dead-columns"] * 3
    assert seen["faultload"][4:15].tolist() == names
    np.testing.assert_allclose(seen["severity"][4:10], [2, 4, 4, 4, 4, 3])
    assert seen["severity"][10:15].isna().all()
    assert readouts.run["stream"]["frame_rate"] == 5
    (files / "drive.yaml").unlink()
    assert main(["run", "run/run.json", "--out", "again", "--quiet"]) == 0
    again = Readouts.load("again").instances
    assert again["id"].tolist() == seen["id"].tolist()


def test_a_campaign_takes_a_scenario(files, capsys):
    (files / "many.yaml").write_text(yaml.safe_dump({**MINE, "seeds": [0, 1]}))
    assert main(["run", "many.yaml", "--out", "many", "--quiet"]) == 0
    assert [len(one.instances) for one in load("many")] == [40, 40]


def test_one_fault_in_two_intervals_is_one_however_it_is_written(files, capsys):
    intervals = [{"faults": {"name": "fog", "severity": 3}, "end": 3}]
    intervals.append({"faults": {"severity": 3, "name": "fog"}, "begin": 9, "end": 12})
    stream = {"order": {"name": "scenario", "intervals": intervals}, "length": 20}
    (files / "mine.yaml").write_text(yaml.safe_dump(MINE | {"stream": stream}))
    assert main(["run", "mine.yaml", "--out", "run", "--quiet"]) == 0
    seen = Readouts.load("run").instances
    assert seen["episode"].tolist() == [0] * 3 + [-1] * 6 + [1] * 3 + [-1] * 8


@pytest.mark.parametrize(
    "changed",
    [
        {"frame_rate": "abc"},
        {"frame_rate": 0},
        {"intervals": [{"faults": "frozen-frame", "begin": 3, "end": 9, "rise": 5}]},
        {"intervals": [{"faults": "stuck-frame"}]},
        {"intervals": [{"faults": "fogg"}]},
        {"intervals": [{"faults": 5}]},
    ],
    ids=str,
)
def test_what_cannot_be_run_is_not_described(files, capsys, changed):
    (files / "drive.yaml").write_text(yaml.safe_dump(FILE | changed))
    assert main(["describe", "scenario", "drive.yaml"]) == 2
    same_text(capsys.readouterr().err)


@pytest.mark.parametrize("out", ["drive.gif", "nowhere/drive.png", "drive.yaml"])
def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_told(files, capsys, out):
    assert main(["describe", "scenario", "drive.yaml", "--images", out]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    same_text(told.err)


def test_what_never_comes_and_what_chance_says_are_told(files, capsys):
    intervals = [{"faults": FOG, "begin": 70, "share": None}, {"faults": FOG, "gap": 9, "lasting": 4}]
    (files / "drive.yaml").write_text(yaml.safe_dump(FILE | {"intervals": intervals}))
    assert main(["describe", "scenario", "drive.yaml"]) == 0
    same_text(capsys.readouterr().out)


@pytest.mark.parametrize("images", [False, True])
def test_it_is_described_before_it_runs(files, capsys, images):
    asked = ["--images", "drive.png"] if images else []
    assert main(["describe", "scenario", "drive.yaml", *asked]) == 0
    same_text(capsys.readouterr().out)
    assert (files / "drive.png").exists() == images


@pytest.mark.parametrize("name", ["drive"])
def test_shipped_ones_are_whole(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["describe", "scenario", name, "--format", "json"]) == 0
    stream = with_scenario({"order": {"name": "scenario", "file": name}}, tmp_path)
    assert planned_fault(stream["order"]["intervals"][0]["faults"]).coherence == "drifting"


@pytest.mark.parametrize(
    "intervals",
    [
        [],
        [{"beginn": 3}],
        [{"begin": -1}],
        [{"begin": 5, "end": 5}],
        [{"end": 9, "lasting": 3}],
        [{"every": 10}],
        [{"every": 10, "lasting": 10}],
        [{"every": 10, "gap": 3, "lasting": 2}],
        [{"end": 50, "gap": 3}],
        [{"end": 50, "every": 100}],
        [{"faults": []}],
        [{"begin": None, "end": 50, "lasting": 3}],
        [{"fall": 5}],
        [{"rise": 4, "fall": 4, "lasting": 7}],
        [{"gap": 5, "lasting": 3, "rise": 2}],
        [{"of": "strength"}],
        [{"share": 0}],
        ["fog"],
    ],
    ids=str,
)
def test_mistakes_are_told_with_their_place(intervals):
    with refused(UserError):
        Scenario(intervals=intervals)


@pytest.mark.parametrize(
    "changed",
    [
        {"faultload": {"name": "fog", "severity": 2}},
        {"stream": {"order": {"name": "scenario", "file": "nowhere.yaml"}}},
        {"stream": {"order": {"name": "scenario", "file": "drive.yaml", "views": 3}}},
        {"stream": {"order": {"name": "scenario", "intervals": [{"begin": 3}]}}},
        {"stream": {"order": {"name": "scenario", "intervals": [{"faults": "black-frame", "rise": 3}]}}},
        {"stream": {"order": {"name": "scenario", "intervals": [{"faults": "fogg"}]}}},
        {"stream": {"order": {"name": "scenario", "intervals": [{"faults": 5}]}}},
        {"stream": {"order": {"name": "scenario", "intervals": [{"faults": {"severity": 3}}]}}},
        {"stream": {"order": {"name": "scenario", "intervals": [{"faults": {**FOG, "both": True}}]}}},
        {"stream": {"order": {"name": "scenario", "intervals": [{"faults": {**FOG, "share": 2}}]}}},
        {"stream": {"order": {"name": "scenario", "intervals": [{"faults": [NOVEL, {**NOVEL, "as": "b"}]}]}}},
        {
            "stream": {"order": {"name": "onset", "at": 3}},
            "faultload": [FOG, {"name": "frozen-frame", "both": True}],
        },
        {"stream": {"frame_rate": 3}, "faultload": {"name": "black-frame"}},
        {"stream": {}, "faultload": {"name": "black-frame", "coherence": "episode"}},
        {"stream": {}, "faultload": {"name": "black-frame", "drift": 3}},
        {"stream": {}, "faultload": "frozen-frame"},
    ],
    ids=str,
)
def test_what_cannot_be_run_is_told(files, capsys, changed):
    (files / "mine.yaml").write_text(yaml.safe_dump(MINE | changed))
    assert main(["run", "mine.yaml", "--quiet"]) == 2
    same_text(capsys.readouterr().err)
