"""Dry runs: what would fail is told before anything is trained, and what there is, is told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from farm.cli import main
from tests.wording import same_text

TINY = {
    "workload": {"name": "farm.testing.fakes:TinySource"},
    "classifier": {"name": "farm.testing.fakes:TinyModel"},
    "faultload": {"name": "novelty", "workload": {"name": "folder", "path": "novel"}},
    "monitors": ["max-softmax", "oob"],
    "layers": ["last-hidden"],
}
LENET = {
    "workload": {"name": "digits", "size": 16, "channels": 1},
    "classifier": "lenet",
    "faultload": {"name": "fgsm", "surrogate": {"name": "lenet", "hidden": 16}},
    "fallback": {"name": "lenet", "hidden": 32},
    "layers": [],
}
OWN = """
from farm.api import ModelSource

class Trains(ModelSource):
    def classifier(self, workload, context):
        raise AssertionError("it was trained")
"""


@pytest.fixture
def dry(tmp_path, monkeypatch, capsys):
    """Return a function that asks for a dry run, and gives the exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "novel").mkdir()
    for i in range(12):
        pixels = np.random.default_rng(i // 2).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "novel" / f"{i}.png")
    (tmp_path / "own.py").write_text(OWN)

    def dry(*options, **changed):
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(TINY | changed))
        code = main(["run", "mine.yaml", "--dry-run", "--quiet", *options])
        assert not (tmp_path / "runs").exists()
        return code, capsys.readouterr()

    return dry


@pytest.fixture
def untaught(monkeypatch):
    """Fail where anything is trained."""

    def train(*arguments, **more):
        raise AssertionError("something was trained")

    monkeypatch.setattr("models.training.train", train)


def test_what_there_is_is_told(dry):
    code, told = dry()
    assert code == 0
    same_text(told.out)


def test_a_condition_that_thresholds_cannot_go_by_is_told(dry, untaught):
    code, told = dry(calibration={"method": "conformal", "by": "weather"})
    assert code != 0
    assert "calibration.by is 'weather', which the workload does not tell" in told.out + told.err


def test_it_is_told_as_json_too(dry):
    code, told = dry("--format", "json")
    found = json.loads(told.out)
    assert code == 0
    assert found["workload"]["images"] == {"train": 128, "validation": 96, "test": 96}
    assert found["workload"]["classes"] == ["ash", "birch", "cedar", "dogwood"]
    assert [one["name"] for one in found["monitors"]] == ["max-softmax", "oob"]
    assert (found["stream"]["length"], found["stream"]["n_ood"]) == (102, 6)
    assert found["stream"]["faults"][0]["notes"]["copies_dropped"] == 6
    assert found["estimate"]["seconds"] > 0
    # Four probabilities (8 bytes), four logits and four values of the layer an image.
    assert found["estimate"]["nbytes"] >= 224 * 4 * 8


def test_nothing_is_trained_and_what_needs_no_training_is_checked(dry, untaught):
    code, told = dry("--format", "json", **LENET)
    found = json.loads(told.out)
    assert code == 0
    assert found["classifier"] == {"name": "lenet", "trained_here": True}
    assert found["stream"]["faults"][0]["notes"]["attacked_is_surrogate"]


def test_of_a_model_that_must_be_trained_first_is_said_what_cannot_be_told(dry):
    code, told = dry(classifier="own:Trains")
    assert code == 0
    same_text(told.out)
    code, told = dry("--format", "json", classifier="own:Trains", faultload="fgsm")
    found = json.loads(told.out)
    assert (code, found["stream"], found["estimate"]["seconds"]) == (0, None, None)


@pytest.mark.parametrize(
    "changed",
    [
        {"workload": {"name": "folder", "path": "novel"}},
        {"faultload": {"name": "novelty", "workload": {"name": "folder", "path": "nowhere"}}},
        {"faultload": {"name": "novelty", "workload": {"name": "folder", "path": "novel", "size": [4, 4]}}},
        {"monitors": [{"name": "oob", "layer": "conv9"}, "gradnorm"]},
        {"layers": ["conv9"]},
        {"stream": {"ood_share": 1.5}},
        {"stream": {"order": {"name": "onset", "at": 5}, "length": "endless"}},
        {"stream": {"benchmark": "nowhere"}, "faultload": []},
        {"classifier": {"name": "function", "function": "own:nothing"}},
    ],
    ids=lambda changed: "-".join(changed),
)
def test_what_would_fail_is_told_with_exit_code_2(dry, changed):
    code, told = dry(**changed)
    assert (code, told.out) == (2, "")
    same_text(told.err)


def test_a_monitor_that_lacks_something_is_left_out_as_in_the_run(dry):
    code, told = dry(monitors=["max-softmax", {"name": "oob", "layer": "conv9"}])
    assert code == 1
    same_text(told.out)
    code, told = dry("--format", "json", monitors=["max-softmax", {"name": "oob", "layer": "conv9"}])
    found = json.loads(told.out)
    assert [one["name"] for one in found["monitors"]] == ["max-softmax"]
    assert list(found["left_out"]) == ["oob"]


def test_layers_too_large_for_the_disk_are_found(dry, monkeypatch, tmp_path):
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("farm.run.fitting.IN_MEMORY", 0)
    code, told = dry()
    assert (code, f"in {tmp_path / 'cache'} while" in told.out) == (0, True)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 10}))
    code, told = dry()
    assert code == 1
    same_text(told.err)


def test_a_model_that_fails_as_it_is_loaded_is_a_mistake_too(dry, tmp_path):
    (tmp_path / "breaks.py").write_text("def predict(images):\n    raise ValueError('no weights')\n")
    code, told = dry(classifier={"name": "function", "function": "breaks:predict"})
    assert (code, "no weights" in told.err) == (2, True)


def test_damaged_pictures_are_found(dry, tmp_path: Path):
    (tmp_path / "novel" / "0.png").write_bytes(b"no picture")
    code, told = dry()
    assert code == 2
    assert "0.png" in told.err


def test_a_benchmark_set_is_opened(dry):
    dry()
    assert main(["faults", "write", "mine.yaml", "--out", "set"]) == 0
    code, told = dry(stream={"benchmark": "set"}, faultload=[])
    assert code == 0
    assert "102 instances" in told.out
