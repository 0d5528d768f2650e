"""A user's own modules beside an experiment: found while it runs, forgotten afterwards."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from farm.run.execution import run_experiment
from farm.run.loading import importable, load_experiment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own_single.py").write_text("value = 1\n")
    parts = tmp_path / "own_package"
    parts.mkdir()
    for name in ("__init__", *(f"part{i}" for i in range(9))):
        (parts / f"{name}.py").write_text("value = 2\n")
    return tmp_path


def test_own_modules_are_found_and_forgotten_with_all_their_parts(folder: Path) -> None:
    names = ["own_single", "own_package", *(f"own_package.part{i}" for i in range(9))]
    with importable(folder):
        assert [importlib.import_module(name).value for name in names] == [1, *[2] * 10]
    assert not [name for name in sys.modules if name.startswith("own_")]
    assert str(folder) not in sys.path


def test_another_folders_module_of_the_same_name_is_another(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "own_single.py").write_text("value = 3\n")
    for place, value in ((folder, 1), (other, 3), (folder, 1)):
        with importable(place):
            assert importlib.import_module("own_single").value == value


def test_modules_that_were_there_before_or_lie_elsewhere_stay(folder: Path) -> None:
    with importable(folder):
        import colorsys  # nobody's own
    assert "colorsys" in sys.modules
    assert colorsys.__name__ == "colorsys"


def test_a_shipped_experiment_takes_modules_from_the_current_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "own_monitor.py").write_text("def distrust(observation): return 1.0 - observation.confidence\n")
    monkeypatch.chdir(folder)
    overrides = [
        'monitors=[{name: callable, function: "own_monitor:distrust"}]',
        "workload={name: farm.testing.fakes:TinySource}",
        "classifier={name: farm.testing.fakes:TinyModel}",
        "faultload=[]",
        "stream={order: sequential}",
    ]
    experiment, where = load_experiment("quickstart", overrides)
    readouts = run_experiment(experiment, where)
    assert readouts.run["monitors"][0]["failure"] is None
    expected = 1.0 - readouts.instances["confidence"]
    assert readouts.alarms["score"].tolist() == pytest.approx(expected.tolist())


def test_they_are_forgotten_after_a_failure_too(folder: Path) -> None:
    (folder / "own_failing.py").write_text("import own_single\n1 / 0\n")
    with pytest.raises(ZeroDivisionError), importable(folder):
        importlib.import_module("own_failing")
    assert "own_single" not in sys.modules
