"""`farm scenarios` as a person meets it: tables, JSON, and one line where a file is not as it must be."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest
import yaml

from farm.cli import main
from farm.config.scenario_domain import canonical, parse_domain
from farm.errors import FarmError
from tests.wording import refused, same_text

DOMAIN = {
    "conditions": {
        "weather": ["sunny", "cloudy", "rainy"],
        "road": ["stone", "mud", "tarmac"],
        "course": ["straight", "curvy"],
    }
}
ROWS = [("sunny", "stone", "straight"), ("rainy", "tarmac", "curvy")]
LANES = {
    "conditions": {"lanes": [2, 4], "current_lane": [1, 2, 3], "speed": [0.5, 1.0]},
    "restrictions": [{"at_most": 1, "of": ["lanes=2", "current_lane=3"]}],
}


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(DOMAIN, ROWS)
    return tmp_path


def put(domain, rows) -> None:
    Path("d.yaml").write_text(domain if isinstance(domain, str) else yaml.safe_dump(domain, sort_keys=False))
    names = (
        list(DOMAIN["conditions"]) if len(rows[0]) == 3 and domain == DOMAIN else list(LANES["conditions"])
    )
    table = pd.DataFrame(rows, columns=names).assign(ignored="x")
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet", index=False)


def asked(capsys, *arguments: str, table: str = "t.csv") -> str:
    code = main(["scenarios", "d.yaml", table, *arguments])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out


def answer(capsys, *arguments: str, table: str = "t.csv") -> dict:
    return json.loads(asked(capsys, *arguments, "--format", "json", table=table))


def fails(capsys, *arguments: str, table: str = "t.csv") -> None:
    assert main(["scenarios", "d.yaml", table, *arguments]) == 2
    same_text(capsys.readouterr().err)


@pytest.mark.parametrize("style", ["table", "json", "csv", "markdown", "latex"])
def test_every_format(here, capsys, style):
    same_text(asked(capsys, "--next", "1", "--format", style))


def test_the_keys_of_json(here, capsys):
    found = answer(capsys, "--k", "2", "--next", "3")
    assert {name: found[name] for name in ("k", "covered", "total")} == {"k": 2, "covered": 6, "total": 21}
    assert found["share"] == 6 / 21
    assert [set(each) for each in found["next"]] == [{"gain", "scenario", "gap"}] * 3
    assert [(each["gain"], each["gap"]) for each in found["next"]] == [(3, 0)] * 3
    assert len(found["uncovered"]) == 15
    assert {"weather": "cloudy", "road": "mud"} in found["uncovered"]


def test_one_more_row_of_the_source(here, capsys):
    put(DOMAIN, [*ROWS, ("cloudy", "mud", "curvy"), ROWS[0]])
    found = answer(capsys)
    assert (found["covered"], found["total"], found["rows"], found["scenarios"]) == (9, 21, 4, 3)
    assert found["curve"] == [[1, 3], [2, 6], [3, 9]]


@pytest.mark.parametrize("k", ["1", "2", "3"])
def test_csv_and_parquet_agree_also_on_numbers(here, capsys, k):
    put(LANES, [(2, 1, 0.5), (4, 3, 1.0)])
    found = answer(capsys, "--k", k)
    assert found == answer(capsys, "--k", k, table="t.parquet")
    assert found["impossible"] == {"1": 0, "2": 1, "3": 2}[k]
    assert found["covered"] == {"1": 6, "2": 6, "3": 2}[k]


def test_csv_has_all_cells_and_a_table_the_first(here, capsys):
    put(DOMAIN, ROWS)
    domain = {"conditions": {"lanes": list(range(9)), "current_lane": list(range(9)), "speed": [1]}}
    put(domain, [(0, 0, 1)])
    table = asked(capsys, "--next", "0")
    assert "more; --format json and csv have all" in table
    assert "Record next" not in table
    rows = list(csv.reader(io.StringIO(asked(capsys, "--next", "0", "--format", "csv"))))
    assert sum(row[:1] == ["Never recorded"] for row in rows) == 81 + 9 + 9 - 3


def test_a_plan_ends_where_all_is_covered(here, capsys):
    assert sum(each["gain"] for each in answer(capsys, "--next", "50")["next"]) == 15
    assert "with these, all possible cells are covered" in asked(capsys, "--next", "50")
    full = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    put({"conditions": {name: [0, 1] for name in LANES["conditions"]}}, full)
    assert answer(capsys)["next"] == []
    assert "all possible cells are covered" in asked(capsys)


@pytest.mark.parametrize(
    "arguments", [["--k", "4"], ["--k", "0"], ["--next", "-1"], ["--seconds", "0"], ["--seconds", "nan"]]
)
def test_options_out_of_range(here, capsys, arguments):
    fails(capsys, *arguments)


@pytest.mark.parametrize("table", ["t.csv", "t.parquet"])
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([(2, 1, 0.5), (2, 2, 0.5), (3, 9, 0.5)], id="a value outside of its domain"),
        pytest.param([(2, 1, 0.5), (4, 2, None)], id="a missing value"),
        pytest.param([(2, 1, 0.5), (4, 3, 1), (2, 3, 1)], id="a broken restriction"),
    ],
)
def test_rows_that_are_none(here, capsys, rows, table):
    put(LANES, rows)
    fails(capsys, table=table)


def test_rows_are_counted_as_a_spreadsheet_does(here, capsys):
    Path("t.csv").write_text('weather,road,course,note\n\nsunny,mud,curvy,"two\nlines"\nhail,mud,curvy,x\n')
    fails(capsys)


def test_tables_that_lack_a_condition_or_are_not_there(here, capsys):
    Path("t.csv").write_text("weather,raod,course\nsunny,mud,curvy\n")
    fails(capsys)
    fails(capsys, table="none.csv")


WRONG = {
    "nothing": "",
    "a list": "[1]",
    "no conditions": "conditions: {}",
    "conditions missing": "restrictions: []",
    "an unknown key": "conditions: {a: [1]}\nrestriction: []",
    "an empty condition": "conditions: {a: [1], b: []}",
    "a condition without a list": "conditions: {a: 1}",
    "a value twice": "conditions: {a: [1, 1.0]}",
    "a value that is true": "conditions: {a: [yes, 'no']}",
    "a value without text": "conditions: {a: ['', b]}",
    "a value with too many digits": f"conditions: {{a: [0x{'f' * 5000}]}}",
    "a nested value": "conditions: {a: [[1]]}",
    "a name with a sign": "conditions: {a=b: [1]}",
    "names that differ in case": "conditions: {a: [1], A: [2]}",
    "ranges beside a word": "conditions: {a: [0..5, fast]}",
    "a range without numbers": "conditions: {a: [5..5]}",
    "ranges that overlap": "conditions: {a: [..5, 10.., 4.5..8]}",
}
RULES = {
    "no bound": "{of: [a=1]}",
    "a bound that is no whole number": "{at_least: 0.5, of: [a=1]}",
    "nothing of it": "{at_least: 1, of: []}",
    "an unknown key in it": "{at_lest: 1, of: [a=1]}",
    "an unknown condition": "{at_least: 1, of: [c=1]}",
    "an unknown value": "{at_least: 1, of: [a=3]}",
    "no choice": "{at_least: 1, of: [a]}",
    "a choice that is no text": "{at_least: 1, of: [1]}",
    "a choice twice": "{at_least: 1, of: [a=1, 2*a=1.0]}",
    "too heavy a weight": "{at_least: 1, of: [10001*a=1]}",
    "a weight of many digits": f"{{at_least: 1, of: [{'9' * 5000}*a=1]}}",
    "one that none meets": "{at_least: 2, of: [a=1, a=2]}",
    "two that contradict": "{at_least: 1, of: [a=1]}, {at_least: 1, of: [b=1]}, {at_least: 1, of: [a=2]}",
}


@pytest.mark.parametrize("name", [*WRONG, *RULES])
def test_domains_that_are_none(here, capsys, name):
    rules = RULES.get(name)
    text = WRONG[name] if rules is None else f"conditions: {{a: [1, 2], b: [1, 2]}}\nrestrictions: [{rules}]"
    Path("d.yaml").write_text(text)
    fails(capsys)


def test_a_domain_that_is_not_there(here, capsys):
    Path("d.yaml").unlink()
    fails(capsys)


def test_weights_and_both_bounds():
    rule = {"at_least": 2, "at_most": 3, "of": ["2*a=1", " 3 * b = 2 ", "-1*b=1"]}
    domain = parse_domain({"conditions": {"a": [1, 2], "b": [1, 2]}, "restrictions": [rule]}, "d.yaml")
    (made,) = domain.restrictions
    assert (made.low, made.high) == (2, 3)
    assert made.choices == ((0, 0, 2), (1, 1, 3), (1, 0, -1))


def test_ranges_of_numbers(here, capsys):
    domain = {"conditions": {"speed": ["..50", "50..80", "80.."], "lanes": [2, 4]}}
    Path("d.yaml").write_text(yaml.safe_dump(domain, sort_keys=False))
    pd.DataFrame({"speed": ["-1", "49.999", "50", "1e2"], "lanes": [2, 4, 2, 4]}).to_csv("t.csv", index=False)
    found = answer(capsys)
    assert (found["covered"], found["total"]) == (4, 6)
    assert found["uncovered"] == [{"speed": "50..80", "lanes": "4"}, {"speed": "80..", "lanes": "2"}]


def test_a_number_in_none_of_the_ranges(here, capsys):
    Path("d.yaml").write_text("conditions: {speed: [0..50, 60..80]}")
    pd.DataFrame({"speed": [10, 55]}).to_csv("t.csv", index=False)
    fails(capsys, "--k", "1")


def test_a_domain_in_python_is_refused_alike():
    with refused(FarmError):
        parse_domain({"conditions": {"a": [None]}}, "d.yaml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1_000", "1_000"),
        ("1.", "1"),
        ("+2", "2"),
        ("-0.0", "0"),
        ("1e2", "100"),
        ("nan", "nan"),
        ("FALSE", "false"),
    ],
)
def test_how_values_are_compared(text, expected):
    assert canonical(text) == expected
