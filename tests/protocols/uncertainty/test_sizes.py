"""What an evaluation of uncertainty tells before it runs: trainings counted by hand, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from farm.campaign.spec import parse_campaign
from farm.protocols import protocol
from farm.run.costs import Costs


def workload_classes(costs: Costs, cells: list[Any]) -> tuple[str, ...]:
    first = cells[0][1]
    found = costs.classes(first.workload, first)
    assert found is not None
    return found


size_lines = protocol("uncertainty").size_lines
OWN: dict[str, Any] = {
    "name": "own",
    "protocol": "uncertainty",
    "repetitions": 2,
    "workload": {"name": "signs", "train_groups": 2, "validation_groups": 1, "test_groups": 1, "views": 1},
    "network": {"epochs": 2, "neurons": 4},
    "variants": ["vanilla", "head", "ensemble"],
    "members": 3,
    "passes": 2,
    "shifts": [{"name": "rain", "severity": 1}, {"name": "novelty", "workload": "signs-abroad"}],
}


def sizes_of(values: dict[str, Any], home: Path = Path()) -> dict[str, Any]:
    cells = parse_campaign(values, "own").cells()
    return protocol("uncertainty").size_record([(cell.label, cell.experiment) for cell in cells], Costs(home))


def test_networks_are_counted_once_and_members_not_again_for_their_ensemble() -> None:
    told = sizes_of(OWN)
    assert told["trainings"] == {"all": 2 * 5, "cnn members": 6, "cnn vanilla": 2, "cnn head": 2}
    assert told["streams"] == 4
    assert told["cells"] == 2 * (3 * 4 + 3)
    assert told["not_there"] == {}
    assert all(value > 0 for value in told["seconds"].values())
    assert told["nbytes"] > 0
    lines = "\n".join(size_lines(told, workers=1))
    assert "uncertainty: 4 streams in 30 cells" in lines
    assert "trainings: 10 networks, each once for all streams: 6 of cnn members, 2 of cnn vanilla" in lines


def test_what_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FARM_DATA", raising=False)
    lost = {"name": "npz", "path": "no-such.npz", "title": "elsewhere"}
    shifts = [{"name": "novelty", "as": "another setup", "workload": lost}]
    few = {**OWN, "variants": ["vanilla"], "repetitions": 1}
    told = sizes_of({**few, "shifts": shifts}, tmp_path)
    assert set(told["not_there"]) == {"another setup"}
    assert told["seconds"] is not None
    nothing = sizes_of({**few, "workload": {**lost, "title": "mine"}}, tmp_path)
    assert nothing["seconds"] is None
    assert "hours and gigabytes: not known" in "\n".join(size_lines(nothing, workers=2))


def test_what_does_not_fit_the_data_is_told_before_anything_is_trained() -> None:
    abroad = {"name": "novelty", "workload": "signs-abroad"}
    shifts = [
        {**abroad, "as": "foggy", "where": {"wether": "fog"}},
        {**abroad, "as": "mapped", "same": [["school-zone", "sotp"]]},
    ]
    groups = {"speed": ["speed-30", "sped-50"], "stop": ["stop"]}
    own = {**OWN, "variants": ["vanilla"], "repetitions": 1, "shifts": shifts}
    own["merged"] = {"groups": groups, "shifts": ["foggy"]}
    campaign = parse_campaign(own, "own")
    cells = [(cell.label, cell.experiment) for cell in campaign.cells()]
    costs = Costs(Path())
    told = protocol("uncertainty").size_record(cells, costs)
    assert set(told["not_there"]) == {"foggy", "mapped"}
    assert "wether" in told["not_there"]["foggy"]
    assert "sotp" in told["not_there"]["mapped"]
    lacking = protocol("uncertainty").lacking(own, cells, costs)
    assert [line.split(";")[0] for line in lacking] == [
        f"merged.groups.speed: '{name}' is no class of 'signs'"
        for name in groups["speed"]
        if name not in workload_classes(costs, cells)
    ]
    assert lacking
