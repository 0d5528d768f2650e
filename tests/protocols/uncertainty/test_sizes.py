"""What an evaluation of uncertainty tells before it runs: trainings counted by hand, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from farm.campaign.spec import parse_campaign
from farm.protocols import protocol
from farm.run.costs import Costs

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
    assert set(told["not_there"]) == {"elsewhere"}
    assert told["seconds"] is not None
    nothing = sizes_of({**few, "workload": {**lost, "title": "mine"}}, tmp_path)
    assert nothing["seconds"] is None
    assert "hours and gigabytes: not known" in "\n".join(size_lines(nothing, workers=2))
