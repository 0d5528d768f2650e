"""`farm.load`: a run, a comparison or a campaign from its folder, by what the folder is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import farm
from farm.comparing import compare_runs
from farm.comparing.comparison import Comparison
from farm.errors import DataError
from farm.report.comparison import render_comparison
from farm.report.comparison_records import to_records
from farm.report.figures import critical_difference
from farm.store.campaign_runs import CampaignRuns
from farm.store.files import signed
from tests.campaign.made_campaigns import make_campaign
from tests.comparing.made_runs import FOG, RATES, make_run
from tests.wording import refused

FAULTS = [("noise", f"noise-{i}", 3.0) for i in range(9)] + [FOG]


@pytest.fixture(scope="module", params=[None, "middling"])
def comparison(request) -> Comparison:
    """With everything there may be: ranks and none, a monitor without a value, one that failed."""
    run = make_run(rates={**RATES, "never": (0.0, 0.0)}, faults=FAULTS, failed=["poor"])
    return compare_runs([run], by="category", replicates=300, rope=0.01, control=request.param)


def test_a_run_and_a_log_are_readouts(tmp_path: Path) -> None:
    run = make_run()
    log = tmp_path / "drive.csv"
    run.alarms.merge(run.instances, on="position").drop(columns="position").to_csv(log, index=False)
    for place in (run.save(tmp_path / "run"), str(log)):
        loaded = farm.load(place)
        assert isinstance(loaded, farm.Readouts)
        assert len(loaded.alarms) == len(run.alarms)


def test_a_comparison_comes_back_with_all_that_was_found(comparison: Comparison, tmp_path: Path) -> None:
    loaded = farm.load(comparison.save(tmp_path / "kept"))
    assert isinstance(loaded, Comparison)
    assert to_records(loaded) == to_records(comparison)
    assert repr(loaded.sections) == repr(comparison.sections)
    assert repr(loaded.conclusions) == repr(comparison.conclusions)
    for style in ("table", "markdown", "csv"):
        assert render_comparison(loaded, style) == render_comparison(comparison, style)
    for name in ("values", "ranks", "tests", "pairs"):
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(comparison, name))
    assert critical_difference(loaded.conclusions[-1].ranks).axes
    again = farm.load(loaded.save(tmp_path / "again"))
    assert to_records(again) == to_records(comparison)


def test_a_campaign_is_its_runs_each_read_when_asked_for(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "campaign", n=3, missing=1).path
    runs = farm.load(folder)
    cells = sorted((folder / "cells").iterdir())
    assert isinstance(runs, CampaignRuns)
    assert sorted(runs.folders) == cells
    assert len(runs) == len(cells) == 2
    seeds = [each.run["seed"] for each in runs]
    assert seeds == [0, 1]
    assert [each.run["seed"] for each in runs[1:]] == [1]
    assert list(runs.missing.values()) == ["it was not computed yet; `farm run` the campaign"]
    assert repr(runs) == f"CampaignRuns(name={runs.name!r}, runs=2, missing=1)"
    shutil.rmtree(runs.folders[1])
    assert len(runs[0].alarms)
    with pytest.raises(DataError, match="does not exist"):
        runs[1]


def test_other_folders_are_refused_by_what_they_are(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("guard", "nothing", "above/run"):
        Path(name).mkdir(parents=True)
    Path("guard/guard.json").write_text("{}")
    Path("above/run/run.json").write_text("{}")
    for place in ("guard", "nothing", "above", "not-there"):
        with refused(DataError):
            farm.load(place)
    with refused(DataError):
        Comparison.load("nothing")


def test_a_comparison_that_was_changed_is_refused(
    comparison: Comparison, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    comparison.save("kept")
    path = Path("kept/comparison.json")
    record = json.loads(path.read_text())
    path.write_text(path.read_text().replace('"alpha": 0.05', '"alpha": 0.01', 1))
    with refused(DataError):
        farm.load("kept")
    for changed in (
        {"alpha": "0.05"},
        {"found": {"sections": [{"name": "fog"}], "conclusions": []}},
        {"sets": [{"workload": "signs"}]},
        {"schema": 2},
    ):
        path.write_text(json.dumps(signed(record | changed)))
        with refused(DataError):
            farm.load("kept")


def test_the_command_keeps_what_python_loads(tmp_path: Path, capsys) -> None:
    from farm.cli import main

    run = str(make_run().save(tmp_path / "run"))
    ask = ["compare", run, "--replicates", "100"]
    assert main([*ask, "--out", str(tmp_path / "kept")]) == 0
    shown = capsys.readouterr().out
    assert main(ask) == 0
    assert capsys.readouterr().out == shown
    loaded = farm.load(tmp_path / "kept")
    assert to_records(loaded) == to_records(farm.compare(run, replicates=100))
    assert main([*ask, "--out", str(tmp_path / "kept")]) == 2
    assert "exists already" in capsys.readouterr().err
