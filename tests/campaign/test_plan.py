"""Mistakes that can be told before anything is computed are told then, all of them in one message."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from farm.campaign.plan import check_components
from farm.campaign.spec import load
from farm.cli import main
from farm.errors import DataError, UserError
from tests.campaign.small import campaign, written
from tests.wording import same_text

MODULE = """
from torch import nn
def make_net():
    open("made", "w").close()
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(4))
"""


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_nets.py").write_text(MODULE, encoding="utf-8")


def mistakes(folder: Path, **changes: object) -> UserError:
    """Give what is told of a campaign."""
    asked, home = load(str(written(folder, campaign(**changes))), [])
    with pytest.raises(UserError) as told:
        check_components([cell.experiment for cell in asked.cells(home)], home)
    return told.value


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"fallback": "farm.testing.fakes:TinyModel"},
            "fallback 'farm.testing.fakes:TinyModel' is the classifier itself: its decision would be the "
            "cancelled one; expected another classifier, or other parameters",
        ),
        (
            {"monitors": [{"name": "energy", "fallback": "farm.testing.fakes:TinyModel"}]},
            "fallback 'farm.testing.fakes:TinyModel' is the classifier itself: its decision would be the "
            "cancelled one; expected another classifier, or other parameters",
        ),
        ({"fallback": "lats"}, "fallback 'lats' is not known; did you mean 'last'?"),
        ({"fallback": {"name": "last", "tracks": 3}}, "fallback 'last' takes no parameters; got tracks"),
        (
            {"stream": {"order": {"name": "shuffled", "at": 3}}},
            "stream.order 'shuffled' takes no parameters; got {'at': 3}",
        ),
        (
            {"stream": {"order": "onsett"}},
            "stream.order 'onsett' is not known; did you mean 'onset'?",
        ),
        (
            {"classifier": {"name": "module", "factory": "own_nets:make_nett"}},
            "classifier.factory: module 'own_nets' has no 'make_nett'; did you mean 'make_net'?",
        ),
        (
            {"classifier": {"name": "module", "factory": "no_nets:make_net"}},
            "classifier.factory: cannot import 'no_nets': there is no such module; did you mean 'own_nets'?",
        ),
        (
            {"fallback": {"name": "function", "function": "own_nets:guess"}},
            "classifier.function: module 'own_nets' has no 'guess'; known: make_net, nn",
        ),
        (
            {"calibration": {"method": "fixed", "accept": 0.9}},
            "calibration.accept is 0.9, which method 'fixed' would not use; leave it out",
        ),
    ],
)
def test_a_mistake_is_told(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    assert str(mistakes(tmp_path, **changed)) == message


@pytest.mark.parametrize(
    "classifier",
    [
        {"name": "module", "factory": "own_nets:make_net", "weights": "gone.pt"},
        {"name": "exported", "path": "gone.pt"},
        {"name": "onnx", "path": "gone.pt"},
    ],
)
def test_a_file_that_is_not_there_is_told(tmp_path: Path, classifier: dict[str, str]) -> None:
    told = mistakes(tmp_path, classifier=classifier)
    assert isinstance(told, DataError)
    same_text(str(told))


def test_a_calibration_without_effect_is_told(tmp_path: Path) -> None:
    (tmp_path / "own_monitors.py").write_text(
        "from farm.testing.fakes import FakeMonitor\n"
        "class Fixed(FakeMonitor):\n    fixed_threshold = 1.0\n    def __init__(self): super().__init__()\n",
        encoding="utf-8",
    )
    told = mistakes(
        tmp_path, monitors=[{"name": "own_monitors:Fixed", "calibration": {"accept": 0.9}}, "energy"]
    )
    same_text(str(told))


def test_all_mistakes_are_told_once_and_nothing_is_computed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    classifier = {"name": "module", "factory": "own_nets:make_nett"}
    file = written(
        tmp_path,
        campaign(
            classifier=classifier,
            fallback=classifier,
            monitors=["max-softmax", {"name": "oob", "clusters": 0}],
            severities=[1],
        ),
    )
    assert main(["run", str(file), "--out", "out"]) == 2
    told = capfd.readouterr().err
    assert told.count("has no 'make_nett'") == 1
    assert told.count("is the classifier itself") == 1
    assert told.count("clusters is 0") == 1
    assert not (tmp_path / "out/cells").exists()


def test_what_is_right_is_told_nothing_of_and_no_network_is_made(tmp_path: Path) -> None:
    classifier = {"name": "module", "factory": "own_nets:make_net"}
    asked, home = load(str(written(tmp_path, campaign(classifier=classifier, fallback="last"))), [])
    check_components([cell.experiment for cell in asked.cells(home)], home)
    assert not Path("made").exists()


def test_a_single_experiment_is_told_before_its_data_are_loaded(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    values = campaign(
        workload={"name": "folder", "path": "no-such-images"},
        monitors=[{"name": "energy", "fallback": {"name": "exported", "path": "gone.pt"}}],
    )
    for key in ("faultloads", "severities", "seeds"):
        del values[key]
    assert main(["run", str(written(tmp_path, values))]) == 2
    same_text(capfd.readouterr().err)


def test_a_plan_of_attacks_needs_no_torch(tmp_path: Path) -> None:
    """It takes as long to load as all the rest of a plan to make."""
    values = campaign(faultloads=["fgsm", "pgd", "deepfool", "square-attack"], seeds=[0])
    del values["severities"]
    file = written(tmp_path, values)
    code = (
        "import sys\n"
        "from farm.cli import main\n"
        f"assert main(['run', {str(file)!r}, '--dry-run', '--out', 'out']) == 0\n"
        "print('torch' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "4 cells: 4 to compute" in told
    assert told.endswith("False\n")
