"""What a dependability evaluation tells before it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from farm.campaign.spec import parse_campaign
from farm.cli import main
from farm.protocols import protocol
from farm.run.costs import Costs
from tests.protocols.dependability.toys import HERE, dependability, written

size_lines = protocol("dependability").size_lines
size_record = protocol("dependability").size_record

TRAINED: dict[str, Any] = {
    "workload": {"name": "digits", "size": 32},
    "classifier": {"name": "vgg-small", "width": 2, "epochs": 100},
}


def sizes_of(home: Path = Path(), **changes: Any) -> dict[str, Any]:
    cells = parse_campaign(dependability(severities=..., **changes), "toy").cells()
    return size_record([(cell.label, cell.experiment) for cell in cells], Costs(home))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FARM_DATA", raising=False)
    return tmp_path


def test_streams_images_and_trainings_are_counted() -> None:
    told = sizes_of()
    assert (told["cells"], told["trainings"]) == (4, 0)
    # The test data as they are and twice transformed, and the training data.
    assert told["nbytes"] == 4 * 18_000 + 70 * (3 * 120 + 80)
    assert told["not_there"] == {}
    assert sizes_of(**TRAINED)["trainings"] == 1
    assert sizes_of(**TRAINED)["seconds"]["training"] > 0


def test_only_metrics_that_are_asked_for_count() -> None:
    told = sizes_of(metrics=["weighted_confusion", "scenario"])
    assert told["cells"] == 1
    assert told["seconds"]["heat maps"] == 0
    assert sizes_of(loss={"images": 30})["nbytes"] < sizes_of(loss={})["nbytes"]


def test_heat_maps_cost_a_pass_for_each_place() -> None:
    """A patch as wide as the image has one place, one of two pixels 31 x 31."""
    one, many = (
        sizes_of(**TRAINED, occlusion={"window": width, "stride": 1, "images": 100})["seconds"]["heat maps"]
        for width in (32, 2)
    )
    assert 0 <= one < many / 50


def test_what_is_not_there_is_named(elsewhere: Path) -> None:
    gone = {"name": "npz", "path": "no-such.npz", "title": "mine"}
    told = sizes_of(elsewhere, faults=[{"name": "novelty", "workload": gone}])
    assert set(told["not_there"]) == {"mine"}
    assert told["seconds"] is not None, "what can be measured is"
    nothing = sizes_of(elsewhere, workload=gone)
    assert set(nothing["not_there"]) == {"mine"}
    assert (nothing["seconds"], nothing["nbytes"], nothing["cells"]) == (None, None, 4)
    lines = "\n".join(size_lines(nothing, workers=2))
    assert "not there: mine: " in lines
    assert "hours and gigabytes: not known" in lines


def test_two_workers_take_half_the_time() -> None:
    told = {**sizes_of(), "seconds": {"training": 0.0, "streams": 600.0, "heat maps": 600.0}}
    one, two = ("\n".join(size_lines(told, workers)) for workers in (1, 2))
    assert "time from the beginning: about 20 min (50 % streams, 50 % heat maps)" in one
    assert "time from the beginning: about 10 min with 2 workers" in two


def test_a_dry_run_tells_in_lines_and_as_json(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(elsewhere, dependability(classifier=f"{HERE}:Given"))
    assert main(["run", str(file), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "dependability: 4 streams" in told
    assert "trainings: none: it brings its weights along" in told
    assert "time from the beginning: " in told
    assert not (elsewhere / "runs").exists()
    assert main(["run", str(file), "--dry-run", "--format", "json"]) == 0
    sizes = json.loads(capsys.readouterr().out)["sizes"]
    assert (sizes["cells"], sizes["lacking"]) == (4, [])
