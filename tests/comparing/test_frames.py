"""A comparison as frames: the same numbers as in JSON, one name a column."""

import json

import pandas as pd
import pytest

import farm
from farm.comparing import compare_runs
from farm.comparing.frames import TEXTS
from farm.report.comparison_records import to_records
from tests.comparing.made_runs import FOG, RATES, make_run

FAULTS = [("noise", f"noise-{i}", 3.0) for i in range(9)] + [FOG]


@pytest.fixture(scope="module", params=[None, "middling"])
def found(request):
    run = make_run(rates={**RATES, "never": (0.0, 0.0)}, faults=FAULTS, failed=["poor"])
    return compare_runs([run], by="category", replicates=300, control=request.param)


def test_values_are_those_of_the_sections(found):
    frame = found.values.set_index(["section", "monitor"])
    for one in to_records(found)["sections"]:
        for each in one["monitors"]:
            row = frame.loc[one["name"], each["monitor"]]
            for name in ("value", "low", "high", "p", "like_best", "like_control"):
                assert each[name] is None if pd.isna(row[name]) else row[name] == each[name]
            assert each["gap"] is None if pd.isna(row["gap"]) else row["gap"] == each["gap"]
            assert (row["n"], row["sets"]) == (one["n"], len(one["sets"]))
    assert frame.loc["noise", "poor"]["gap"] == "failed"
    assert (found.values["value"].dtype, found.values["like_best"].dtype) == ("float64", "boolean")


def test_ranks_and_tests_are_those_of_the_conclusions(found):
    ranked = [one for one in to_records(found)["conclusions"] if one["ranks"]]
    assert [one["category"] for one in ranked] == ["noise", "all sets"]
    for one in ranked:
        own = found.ranks[found.ranks["category"] == one["category"]]
        assert dict(zip(own["monitor"], own["mean_rank"], strict=True)) == one["ranks"]
        (row,) = found.tests[found.tests["category"] == one["category"]].to_dict("records")
        assert row["critical_difference"] == one["critical_difference"]
        for name, value in one["friedman"].items():
            assert pd.isna(row[name]) if value is None else row[name] == value


def test_pairs_are_those_of_sections_and_conclusions(found):
    told = to_records(found)
    expected = [("instances", one["name"], pair) for one in told["sections"] for pair in one["pairs"]]
    expected += [
        ("sets", one["category"], pair)
        for one in told["conclusions"]
        if one["ranks"]
        for pair in one["pairs"]
    ]
    assert len(found.pairs) == len(expected)
    for row, (over, name, pair) in zip(found.pairs.to_dict("records"), expected, strict=True):
        assert (row["over"], row["name"], row["first"], row["second"]) == (
            over,
            name,
            pair["first"],
            pair["second"],
        )
        for column in ("p", "floor", "p_alone", "p_holm", "p_shaffer", "p_nemenyi"):
            value = pair.get(column)
            assert pd.isna(row[column]) if value is None else row[column] == value
        needed = None if pd.isna(row["needed"]) else {row["needed_of"]: row["needed"]}
        assert needed == pair["needed"]
    of_sets = found.pairs[found.pairs["over"] == "sets"]
    assert (of_sets["p"] == of_sets["p_holm"]).all()
    assert of_sets["p_shaffer"].isna().all() == (found.control is not None)


def test_frames_keep_their_columns_where_nothing_is_ranked(tmp_path):
    make_run(faults=[FOG]).save(tmp_path / "run")
    found = farm.compare(tmp_path / "run", replicates=100)
    assert found.ranks.empty
    assert list(found.ranks) == ["category", "sets", "monitor", "mean_rank"]
    assert {"p_nemenyi", "p_shaffer", "p_holm"} <= set(found.pairs)
    assert "critical_difference" in found.tests
    ranked = farm.compare(make_run(faults=FAULTS), by="category", replicates=100)
    for name in ("values", "ranks", "tests", "pairs"):
        texts, kept = list(TEXTS), getattr(found, name)
        pd.testing.assert_series_equal(
            kept.drop(columns=texts, errors="ignore").dtypes,
            getattr(ranked, name).drop(columns=texts, errors="ignore").dtypes,
        )
    assert json.loads(found.values.to_json(orient="records"))[0]["section"] == "fog"
