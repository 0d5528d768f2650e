"""The folder of a search: whose trials are in it, and what is said of any other."""

from __future__ import annotations

import sys
import threading
from copy import deepcopy
from pathlib import Path

import pytest

from farm.errors import DataError, RequirementError
from farm.store.lock import locked
from farm.tuning.history import JOURNAL
from tests.tuning.searching import EXPERIMENT, TUNING, searched, write
from tests.wording import refused


@pytest.mark.parametrize("change", ["trials of search", "set", "seed", "batch_size"])
def test_the_trials_of_another_search_are_none_of_this(tmp_path: Path, change: str) -> None:
    searched(write(tmp_path), tmp_path / "out", "trials=1")
    tuning, experiment = deepcopy(TUNING), deepcopy(EXPERIMENT)
    if change == "set":
        tuning["set"] = {"kind": "b"}
    elif change == "trials of search":
        tuning["steps"]["best"]["search"]["classifier_nll"]["scale"]["high"] = 3.0
    else:
        experiment[change] = 5
    with refused(DataError):
        searched(write(tmp_path, tuning, experiment), tmp_path / "out")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("all of it")
    with refused(DataError):
        searched(write(tmp_path), tmp_path / "out")
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["thesis.tex"]


def test_two_searches_do_not_share_a_folder(tmp_path: Path) -> None:
    place = write(tmp_path)
    searched(place, tmp_path / "out", "trials=1")
    told: list[DataError] = []

    def beside() -> None:
        try:
            searched(place, tmp_path / "out")
        except DataError as error:
            told.append(error)

    with locked(tmp_path / "out" / "lock"):
        other = threading.Thread(target=beside)
        other.start()
        other.join()
    with refused(DataError):
        raise told[0]


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff",
        b"[1]\n",
        b"{}\n",
        b'{"op_code":4,"study_id":0,"worker_id":"a","state":1,"value":null,"values":[1.0],"params":{},'
        b'"distributions":{},"user_attrs":{},"system_attrs":{},"intermediate_values":{},'
        b'"datetime_start":"2026-01-01T00:00:00","datetime_complete":"2026-01-01T00:00:00"}\n',
    ],
    ids=["bytes", "no entry", "no operation", "no parameters"],
)
def test_a_damaged_journal_is_told(tmp_path: Path, damage: bytes) -> None:
    place = write(tmp_path)
    searched(place, tmp_path / "out", "trials=1")
    journal = tmp_path / "out" / JOURNAL
    journal.write_bytes(journal.read_bytes() + damage)
    with refused(DataError):
        searched(place, tmp_path / "out")


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with refused(RequirementError):
        searched(write(tmp_path), tmp_path / "out")
    assert not (tmp_path / "out").exists()
