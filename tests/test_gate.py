"""The gate of this project's own monitors: its files agree, and a monitor that is made worse does not pass.

`.ci/run` runs the gate itself, in some 20 s; here a smaller one stands for it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from farm.cli import main
from farm.gate.baseline.baseline import load_baseline
from farm.gate.criteria_file import load_criteria
from farm.run.loading import load_experiment

GATE = Path(__file__).resolve().parent.parent / ".ci" / "gate"

EXPERIMENT = """\
name: small
workload: digits
classifier: {name: lenet, epochs: 4}
faultload: {name: gaussian-noise, severity: 5}
stream: {ood_share: 0.4}
monitors: [max-softmax, {name: "worse:Negated", as: worse}]
"""
WORSE = """\
from monitors.max_softmax import MaxSoftmax


class Negated(MaxSoftmax):
    def _score(self, observation):
        return -super()._score(observation)
"""


def test_criteria_and_baseline_are_of_monitors_that_are_run() -> None:
    experiment, _ = load_experiment(str(GATE / "experiment.yaml"))
    names = {spec.alias or spec.name for spec in experiment.monitors}
    file = load_criteria(GATE / "criteria.yaml")
    asked = {name for criterion in file.criteria for name in criterion.monitors or ()}
    assert asked <= names
    assert names - asked == {"random"}  # of which only the false alarms and the time are asked
    assert file.undecided == "fail"
    (criterion,) = (one for one in file.criteria if one.baseline is not None)
    kept = load_baseline(criterion.baseline)
    assert set(criterion.monitors) <= set(kept.monitors) == names


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a small experiment, one of whose monitors was broken on purpose."""
    place = tmp_path_factory.mktemp("gate")
    (place / "experiment.yaml").write_text(EXPERIMENT)
    (place / "worse.py").write_text(WORSE)
    arguments = ["--out", str(place / "run"), "--quiet", "--readouts-only"]
    assert main(["run", str(place / "experiment.yaml"), *arguments]) == 0
    return place


def check(folder: Path, criterion: str) -> int:
    (folder / "criteria.yaml").write_text(f"criteria:\n  - {criterion}\n")
    return main(["check", str(folder / "run"), "--criteria", str(folder / "criteria.yaml")])


def test_a_monitor_as_it_should_be_passes(folder, capsys) -> None:
    assert check(folder, "overall.mcc >= 0.3 on category:noise for max-softmax") == 0
    assert "1 passed" in capsys.readouterr().out


def test_a_monitor_that_was_made_worse_fails_for_a_reason(folder, capsys) -> None:
    assert check(folder, "overall.mcc >= 0.3 on category:noise") == 1
    out = capsys.readouterr().out
    assert re.search(r"^pass +max-softmax ", out, re.MULTILINE)
    assert re.search(r"^FAIL +worse +-?0\.\d+  <= ", out, re.MULTILINE)
    (why,) = (line for line in out.splitlines() if line.startswith("  worse: "))
    assert "0.3" in why
    assert "1 failed, 1 passed" in out
