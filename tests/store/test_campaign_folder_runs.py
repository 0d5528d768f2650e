"""A campaign's folder stands for those of its cells; every other path for itself."""

from __future__ import annotations

from farm.errors import DataError
from farm.store.campaign_folder import CampaignFolder, planned_cells, run_folders
from tests.wording import refused

KEYS = "-00000000000000ff"
REST = {"label": {}, "monitors": {}}


def campaign(path, there=(), planned=("a", "b", "c")):
    folder = CampaignFolder(path)
    folder.prepare()
    cells = [{"id": letter * 16, "title": letter, "target": letter * 16 + KEYS, **REST} for letter in planned]
    folder.write_record({"name": "small", "home": ".", "campaign": {}, "cells": cells})
    for name in there:
        (folder.cells / name).mkdir()
    return folder


def names(paths):
    return [path.name for path in run_folders(paths)]


def test_what_is_no_campaign_stays_as_it_is(tmp_path):
    (tmp_path / "run").mkdir()
    given = [tmp_path / "run", tmp_path / "own.csv", tmp_path / "nowhere"]
    assert run_folders([*given, *map(str, given)]) == given * 2


def test_a_campaign_becomes_its_cells_in_the_order_of_its_plan(tmp_path):
    there = ["c" * 16 + KEYS, "a" * 16 + KEYS, "b" * 16 + KEYS]
    campaign(tmp_path / "all", there, planned=("b", "c", "a"))
    assert names([tmp_path / "before", tmp_path / "all", "after"]) == [
        "before",
        "b" * 16 + KEYS,
        "c" * 16 + KEYS,
        "a" * 16 + KEYS,
        "after",
    ]
    assert run_folders([str(tmp_path / "all")])[0] == tmp_path / "all" / "cells" / ("b" * 16 + KEYS)


def test_orphans_and_cells_with_other_monitors_are_left_out(tmp_path):
    there = ["a" * 16 + KEYS, "a" * 16 + "-ffffffffffffffff.2", "d" * 16 + KEYS]
    campaign(tmp_path / "all", there)
    assert names([tmp_path / "all"]) == ["a" * 16 + KEYS]


def test_of_several_tries_the_latest_counts(tmp_path):
    first = "a" * 16 + KEYS
    folder = campaign(tmp_path / "all", [first, f"{first}.2", f"{first}.10"])
    assert names([tmp_path / "all"]) == [f"{first}.10"]
    # The plan may name a try that did not come about.
    (folder.cells / f"{first}.10").rmdir()
    (folder.cells / f"{first}.2").rmdir()
    record = folder.record()
    record["cells"][0]["target"] = f"{first}.2"
    folder.write_record({key: value for key, value in record.items() if key != "schema"})
    assert names([tmp_path / "all"]) == [first]


def test_cells_that_are_not_there_are_planned_all_the_same(tmp_path):
    folder = campaign(tmp_path / "all", ["b" * 16 + KEYS])
    assert [(cell["title"], path and path.name) for cell, path in planned_cells(folder)] == [
        ("a", None),
        ("b", "b" * 16 + KEYS),
        ("c", None),
    ]


def test_a_campaign_without_a_finished_cell_says_what_to_do(tmp_path):
    campaign(tmp_path / "all", ["d" * 16 + KEYS])
    with refused(DataError):
        run_folders([tmp_path / "all"])


def test_a_campaign_that_cannot_be_read_says_so(tmp_path):
    folder = campaign(tmp_path / "all")
    (folder.path / "campaign.json").write_text('{"schema": 99}')
    with refused(DataError):
        run_folders([tmp_path / "all"])
