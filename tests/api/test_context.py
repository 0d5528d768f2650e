"""Files are found beside the experiment, here, or among the data."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api import Context, NoCache
from farm.errors import DataError
from tests.wording import refused


@pytest.fixture(autouse=True)
def three_places(tmp_path, monkeypatch):
    for place in ("beside", "here", "data"):
        (tmp_path / place).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("FARM_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.mark.parametrize("place", ["beside", "here", "data"])
def test_a_relative_path_is_found_in_each_place(three_places, place):
    (three_places / place / "x.npz").write_text(place)
    assert Context(folder=three_places / "beside").find("x.npz", "workload 'npz'").read_text() == place


def test_the_place_beside_the_experiment_comes_first(three_places):
    for place in ("data", "here", "beside"):
        (three_places / place / "x.npz").write_text(place)
    assert Context(folder=three_places / "beside").find("x.npz", "w").read_text() == "beside"


def test_an_absolute_path_is_taken_as_it_is(three_places):
    file = three_places / "x.npz"
    file.write_text("x")
    assert Context(folder=three_places / "beside").find(str(file), "w") == file


def test_a_missing_file_is_told_with_the_places_looked_in(three_places):
    ", ".join(str(three_places / place) for place in ("beside", "here", "data"))
    with refused(DataError):
        Context(folder=three_places / "beside").find("x.npz", "workload 'npz'")


def test_a_missing_absolute_path_is_told_alone(three_places):
    path = three_places / "x.npz"
    with refused(DataError):
        Context().find(str(path), "w")


def test_no_cache_makes_anew_each_time():
    made = []

    def make():
        made.append(1)
        return {"a": np.ones(1)}

    for _ in range(2):
        NoCache().arrays("kind", {}, make)
    assert len(made) == 2
