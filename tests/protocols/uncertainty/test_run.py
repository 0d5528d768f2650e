"""An evaluation of uncertainty from its file to its page, with networks that are really trained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from farm.cli import main
from farm.config.specs import NO_FAULT
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.streams import JudgedNetwork
from tests.wording import same_text

EVALUATION: dict[str, Any] = {
    "name": "toy",
    "protocol": "uncertainty",
    "seed": 3,
    "workload": {"name": "signs", "train_groups": 2, "validation_groups": 1, "test_groups": 1, "views": 2},
    "network": {"epochs": 1, "neurons": 8, "batch_size": 32},
    "rates": {"cnn": {"last-layer": {"dropout": 0.3, "box_dropout": 0.2}}},
    "variants": ["vanilla", "last-layer", "ensemble"],
    "passes": 3,
    "members": 2,
    "shifts": [
        {"name": "fog", "as": "heavy fog", "severity": 4},
        {"name": "novelty", "as": "another setup", "workload": "signs-abroad"},
    ],
}


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of a run of two workers; beside it a cache in which nothing else was trained."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy.yaml").write_text(yaml.safe_dump(EVALUATION), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FARM_CACHE", str(folder / "cache"))
        command = ["run", str(folder / "toy.yaml"), "--out", str(folder / "out"), "--quiet", "--workers", "2"]
        assert main(command) == 0
        yield folder / "out"


@pytest.fixture(scope="module")
def results(toy: Path) -> Results:
    return Results.of(toy)


def test_all_cells_are_there_and_the_files_hold_what_they_say(toy: Path, results: Results) -> None:
    assert not results.streams.failures
    assert results.streams.missing == 0
    assert results.problems == []
    assert set(results.streams.of) == {JudgedNetwork("cnn", variant, 3) for variant in EVALUATION["variants"]}
    assert set(results.streams.members["cnn", 3]) == {1, 2}
    frame = pd.read_csv(toy / "results.csv", keep_default_na=False, na_values=[""])
    pd.testing.assert_frame_equal(frame, results.frame[list(frame.columns)], check_dtype=False)
    monitors = pd.read_csv(toy / "monitors.csv")
    assert set(monitors.loc[monitors["variant"] == "vanilla", "monitor"]) == {"entropy"}
    assert set(monitors["monitor"]) == {"entropy", "mutual-information", "box-spread"}


def test_each_network_is_trained_once_whoever_asks_for_it(toy: Path) -> None:
    """Two members, which the ensemble finds, vanilla, and one with dropout: each in an entry of its own."""
    trained = list((toy.parent / "cache" / "what-and-where").iterdir())
    assert len(trained) == 4


def test_the_ensemble_is_the_mean_of_its_members(results: Results) -> None:
    ensemble = results.streams.of[JudgedNetwork("cnn", "ensemble", 3)][NO_FAULT]
    ordered = ensemble.instances.sort_values("id")["id"].tolist()
    members = [
        one.instances.set_index("id").loc[ordered] for one in results.streams.members["cnn", 3].values()
    ]
    whole = ensemble.instances.set_index("id").loc[ordered]
    names = [name for name in whole if str(name).startswith(("probability ", "predicted_box_"))]
    mean = np.mean([one[names].to_numpy(np.float64) for one in members], axis=0)
    np.testing.assert_allclose(whole[names].to_numpy(np.float64), mean, rtol=1e-4, atol=1e-5)


def test_networks_see_the_same_images_and_simulated_shifts_are_of_the_test_data(results: Results) -> None:
    for stream in (NO_FAULT, "heavy fog", "another setup"):
        seen = {frozenset(own[stream].instances["id"]) for own in results.streams.of.values()}
        assert len(seen) == 1
    own = results.streams.of[JudgedNetwork("cnn", "vanilla", 3)]
    tracks = {stream: set(one.instances["track"]) for stream, one in own.items()}
    assert tracks["heavy fog"] == tracks[NO_FAULT]
    assert not tracks["another setup"] & tracks[NO_FAULT]


def test_tables_and_the_page_are_told(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(toy), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (rates,) = (one for one in found if one["title"].startswith("Rates as used"))
    assert "0.3" in str(rates)
    assert main(["report", str(toy), "--out", str(toy / "page.html")]) == 0
    assert "Which findings of the source hold here" in (toy / "page.html").read_text(encoding="utf-8")


def test_a_folder_without_results_says_so(
    tmp_path: Path, toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "campaign.json").write_bytes((toy / "campaign.json").read_bytes())
    assert main(["compare", str(tmp_path)]) == 2
    same_text(capsys.readouterr().err.replace(str(tmp_path), "HERE"))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"backbones": ["cmn"]}, id="unknown backbone"),
        pytest.param({"network": {"epochs": 1, "neurns": 8}}, id="misspelt parameter"),
        pytest.param({"monitors": ["entrpy"]}, id="unknown monitor"),
        pytest.param({"shifts": ["heavy-rain"]}, id="unknown shift"),
    ],
)
def test_what_no_component_can_is_told_before_anything_runs(
    changes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "toy.yaml"
    file.write_text(
        yaml.safe_dump({**EVALUATION, "variants": ["vanilla"], "rates": {}, **changes}), encoding="utf-8"
    )
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    same_text(capsys.readouterr().err.replace(str(tmp_path), "HERE"))
    assert not list((tmp_path / "out").rglob("*"))


@pytest.mark.slow
def test_the_small_evaluation_that_is_shipped_runs_with_fewer_images_and_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FARM_CACHE", str(tmp_path / "cache"))
    few = ["workload={name: scenes, train: 20, validation: 20, test: 20}", "network.epochs=1"]
    fewer = [part for one in (*few, "passes=2", "members=2") for part in ("--set", one)]
    assert main(["run", "uncertainty-small", "--out", str(tmp_path / "out"), "--quiet", *fewer]) == 0
    results = Results.of(tmp_path / "out")
    assert not results.streams.failures
    assert results.problems == []
    assert set(results.frame["shift"]) == {NO_FAULT, "none, merged", *results.spec.shift_names}
    assert set(results.frame["variant"]) == set(results.spec.variants)
    unknown = results.frame[results.frame["shift"] == "unknown objects"]
    assert set(unknown["task"]) == {"localization"}
