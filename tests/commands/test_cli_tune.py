"""`farm tune` as a person meets it."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import pytest
import yaml

from farm.cli import main
from tests.tuning.searching import SCALE, TUNING, write
from tests.wording import same_text

STEPS = {
    "sure": {"set": {"breaks": 1.0, "kind": "stopped early"}, "search": {"classifier_nll": {"scale": SCALE}}},
    "both": {"search": {"box_nll": {"spread": [0.5, 1.5]}}, "trials": 3},
}


def test_it_tells_what_is_best_and_what_that_is_worth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {**TUNING, "name": "mine", "trials": 5, "steps": STEPS})
    with chdir(tmp_path):
        assert main(["tune", "tuning.yaml"]) == 0
        out, err = capsys.readouterr()
        same_text(out)
        assert err.count("trial ") == 8
        assert main(["tune", "tuning.yaml", "--quiet", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    best = yaml.safe_load((tmp_path / "runs" / "mine-tuning" / "best.yaml").read_text())
    assert {step["name"]: step["parameters"] for step in told["steps"]} == best
    assert [len(step["trials"]) for step in told["steps"]] == [5, 3]
    assert told["folder"] == "runs/mine-tuning"


def test_a_mistake_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chdir(tmp_path):
        assert main(["tune", write(tmp_path), "--set", "trials=0"]) == 2
        assert not (tmp_path / "runs").exists()
    same_text(capsys.readouterr().err)
