import re
from pathlib import Path

import pytest

from farm.check.criteria_file import CriteriaFile, load_criteria, parse_criteria
from farm.errors import ExperimentError
from farm.statistics.bootstrap import REPLICATES

WHOLE = """
level: 0.99
monitors: [oob, odin]
undecided: fail
undefined: error
replicates: 500
seed: 7
criteria:
  - overall.mcc ≥ 0.4 on category:noise
  - specific.fpr <= 5 % on id at 90 % for oob     # the false alarms
  - residual_hazard <= 0.01 on faultload:"my fog" severity<=3
  - "classifier_time_us.p99 <= 500"
"""


def write(folder, text):
    path = folder / "gate.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(values, told):
    with pytest.raises(ExperimentError) as raised:
        parse_criteria(values, "ci/gate.yaml")
    assert str(raised.value).startswith(f"ci/gate.yaml{told}")
    assert "\n" not in str(raised.value)


def test_a_file_with_everything(tmp_path):
    path = write(tmp_path, WHOLE)
    file = load_criteria(str(path))
    assert list(map(str, file.criteria)) == [
        "overall.mcc >= 0.4 on category:noise for oob, odin at 99 %",
        "specific.fpr <= 0.05 on id for oob at 90 %",
        'residual_hazard <= 0.01 on faultload:"my fog" severity<=3 for oob, odin at 99 %',
        "classifier_time_us.p99 <= 500 at 99 %",
    ]
    assert file.criteria[1].text == "specific.fpr <= 5 % on id at 90 % for oob"
    assert [one.place for one in file.criteria] == [f"{path}: criterion {n}" for n in (1, 2, 3, 4)]
    assert (file.path, file.level, file.monitors) == (path, 0.99, ("oob", "odin"))
    assert (file.undecided, file.undefined, file.replicates, file.seed) == ("fail", "error", 500, 7)


def test_a_file_with_next_to_nothing(tmp_path):
    file = load_criteria(write(tmp_path, "criteria: ['overall.mcc >= 0.4']"))
    assert file == CriteriaFile(file.criteria, tmp_path / "gate.yaml")
    assert (file.level, file.monitors, file.undecided, file.undefined) == (0.95, None, "report", "fail")
    assert (file.replicates, file.seed) == (REPLICATES, 0)
    assert (file.criteria[0].level, file.criteria[0].monitors) == (0.95, None)


def test_baselines_lie_relative_to_the_file(tmp_path):
    values = {"criteria": ["overall.mcc not worse than baseline:../runs/main by 0.02"]}
    (found,) = parse_criteria(values, "ci/gate.yaml").criteria
    assert Path(found.baseline) == Path("ci/../runs/main")
    assert found.text == values["criteria"][0]
    values = {"criteria": [f'coverage not worse than baseline:"{tmp_path}/a b" by 1 %']}
    (found,) = parse_criteria(values, "ci/gate.yaml").criteria
    assert Path(found.baseline) == tmp_path / "a b"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (None, " is empty; expected keys and values, 'criteria' among them"),
        ([], " holds a list; expected keys and values, 'criteria' among them"),
        ({}, ": 'criteria' is missing"),
        ({"criteria": []}, ": criteria is empty; expected at least one"),
        ({"criteria": None}, ": criteria is None; expected a list"),
        ({"criteria": "overall.mcc >= 0.4"}, ": criteria is 'overall.mcc >= 0.4'; expected a list"),
        (
            {"criterions": ["overall.mcc >= 0.4"]},
            ": 'criteria' is missing; unknown key 'criterions'; did you",
        ),
    ],
)
def test_a_file_without_criteria_never_passes(values, told):
    refused(values, told)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("levl", 0.9, "unknown key 'levl'; did you mean 'level'?"),
        ("level", "95 %", "level is '95 %'; expected a number"),
        ("level", 95, "the level is 95; expected at least 50 % and less than 100 %"),
        ("level", 1.0, "the level is 1; expected at least 50 %"),
        ("level", float("nan"), "the level is nan; expected at least 50 %"),
        ("monitors", "oob", "monitors is 'oob'; expected a list"),
        ("monitors", [3], "monitors.0 is 3; expected text"),
        ("monitors", [], "monitors: no monitor is named; expected at least one"),
        ("monitors", ["oob", "oob"], "monitors: monitor 'oob' is named twice; expected it once"),
        ("undecided", "ignore", "undecided is 'ignore'; expected 'report', 'pass' or 'fail'"),
        ("undefined", "pass", "undefined is 'pass'; expected 'fail' or 'error'"),
        ("replicates", 0, "replicates is 0; expected at least 1"),
        ("replicates", 1.5, "replicates is 1.5; expected a whole number"),
        ("seed", -1, "seed is -1; expected at least 0"),
    ],
)
def test_options_are_checked(option, value, told):
    refused({"criteria": ["overall.mcc >= 0.4"], option: value}, f": {told}")


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("overall.mc >= 0.4", " 'overall.mc >= 0.4': measure 'overall.mc' is not known; did you mean"),
        ("", " '': it is empty; expected a measure first"),
        (3, " is 3; expected text"),
        (None, " is None; expected text"),
        (
            {"overall.mcc not worse than baseline": "runs/main by 0.02"},
            " is {'overall.mcc not worse than baseline': 'runs/main by 0.02'}; expected text; put it in",
        ),
    ],
)
def test_errors_say_which_criterion(second, told):
    refused({"criteria": ["specific.fpr <= 0.05", second]}, f": criterion 2{told}")


@pytest.mark.parametrize(
    "second",
    [
        "specific.fpr <= 0.05 on id category:noise severity>2 for oob, odin",
        "specific.fpr ≤ 5 % for odin, oob at 95 % on severity > 2 category:noise id",
    ],
)
def test_the_same_twice(second):
    first = "specific.fpr <= 0.05 on id category:noise severity>2 for oob, odin"
    told = f": criterion 3 '{second}': it says the same as criterion 1; leave one of them out"
    refused({"criteria": [first, "overall.mcc >= 0.4", second]}, told)


def test_two_bounds_of_one_thing():
    for second in ("specific.fpr <= 0.1 on id", "specific.fpr < 0.05 on id"):
        told = f": criterion 2 '{second}': it differs from criterion 1 in its bound alone, so that only the"
        refused({"criteria": ["specific.fpr <= 0.05 on id", second]}, told)
    margins = [f"coverage not worse than baseline:a by {margin}" for margin in (0.1, 0.2)]
    refused({"criteria": margins}, f": criterion 2 '{margins[1]}': it differs from criterion 1 in its bound")


def test_what_differs_in_more_than_its_bound_is_fine():
    texts = [
        "specific.fpr <= 0.05 on id",
        "specific.fpr <= 0.1",
        "specific.fpr <= 0.1 on id at 99 %",
        "specific.fpr <= 0.02 on id for oob",
        "specific.fpr <= 0.1 on id category:noise",
        "specific.fpr not worse than baseline:a by 0.1 on id",
        "specific.fpr not worse than baseline:b by 0.2 on id",
        "monitor_time_us.p50 <= 100",
        "monitor_time_us.p99 <= 500",
    ]
    assert len(parse_criteria({"criteria": texts}, "gate.yaml").criteria) == len(texts)


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(ExperimentError, match=re.escape(f"{tmp_path / 'no.yaml'} cannot be read: ")):
        load_criteria(tmp_path / "no.yaml")
    with pytest.raises(ExperimentError, match=re.escape(f"{tmp_path} cannot be read: ")):
        load_criteria(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"criteria: [\xff]")
    with pytest.raises(ExperimentError, match=r"latin\.yaml cannot be read: "):
        load_criteria(tmp_path / "latin.yaml")
    with pytest.raises(ExperimentError, match=r"gate\.yaml: malformed YAML: "):
        load_criteria(write(tmp_path, "criteria: ["))
    with pytest.raises(ExperimentError, match=r"gate\.yaml: malformed YAML: .*'level' stands twice"):
        load_criteria(write(tmp_path, "level: 0.9\nlevel: 0.8\ncriteria: [a]"))
