from pathlib import Path

import pytest

from farm.errors import ExperimentError
from farm.gate.criteria_file import CriteriaFile, load_criteria, parse_criteria
from farm.statistics.resolution import REPLICATES
from tests.wording import refused, same_text

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


def is_refused(values):
    with refused(ExperimentError) as raised:
        parse_criteria(values, "ci/gate.yaml")
    assert "\n" not in str(raised.value)


def test_a_file_with_everything(tmp_path):
    path = write(tmp_path, WHOLE)
    file = load_criteria(str(path))
    same_text(list(map(str, file.criteria)))
    same_text(file.criteria[1].text)
    assert [one.place for one in file.criteria] == [f"{path}: criterion {n}" for n in (1, 2, 3, 4)]
    assert file.path == path
    assert (file.undecided, file.undefined, file.replicates, file.seed) == ("fail", "error", 500, 7)


def test_a_file_with_next_to_nothing(tmp_path):
    file = load_criteria(write(tmp_path, "criteria: ['overall.mcc >= 0.4']"))
    assert file == CriteriaFile(file.criteria, tmp_path / "gate.yaml")
    assert (file.undecided, file.undefined) == ("report", "fail")
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
    "values",
    [
        None,
        [],
        {},
        {"criteria": []},
        {"criteria": None},
        {"criteria": "overall.mcc >= 0.4"},
        {"criterions": ["overall.mcc >= 0.4"]},
    ],
)
def test_a_file_without_criteria_never_passes(values):
    is_refused(values)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("levl", 0.9),
        ("level", "95 %"),
        ("level", 95),
        ("level", 1.0),
        ("level", float("nan")),
        ("monitors", "oob"),
        ("monitors", [3]),
        ("monitors", []),
        ("monitors", ["oob", "oob"]),
        ("undecided", "ignore"),
        ("undefined", "pass"),
        ("replicates", 0),
        ("replicates", 1.5),
        ("seed", -1),
    ],
)
def test_options_are_checked(option, value):
    is_refused({"criteria": ["overall.mcc >= 0.4"], option: value})


@pytest.mark.parametrize(
    "second",
    [
        "overall.mc >= 0.4",
        "",
        3,
        None,
        {"overall.mcc not worse than baseline": "runs/main by 0.02"},
    ],
)
def test_errors_say_which_criterion(second):
    is_refused({"criteria": ["specific.fpr <= 0.05", second]})


@pytest.mark.parametrize(
    "second",
    [
        "specific.fpr <= 0.05 on id category:noise severity>2 for oob, odin",
        "specific.fpr ≤ 5 % for odin, oob at 95 % on severity > 2 category:noise id",
    ],
)
def test_the_same_twice(second):
    first = "specific.fpr <= 0.05 on id category:noise severity>2 for oob, odin"
    is_refused({"criteria": [first, "overall.mcc >= 0.4", second]})


def test_two_bounds_of_one_thing():
    for second in ("specific.fpr <= 0.1 on id", "specific.fpr < 0.05 on id"):
        is_refused({"criteria": ["specific.fpr <= 0.05 on id", second]})
    margins = [f"coverage not worse than baseline:a by {margin}" for margin in (0.1, 0.2)]
    is_refused({"criteria": margins})


def test_what_differs_in_more_than_its_bound_is_fine():
    texts = [
        "specific.fpr <= 0.05 on id",
        "specific.fpr <= 0.1",
        "specific.fpr <= 0.1 on id at 99 %",
        "specific.fpr <= 0.02 on id for oob",
        "specific.fpr <= 0.02 anytime on id",
        "specific.fpr <= 0.1 on id category:noise",
        "specific.fpr not worse than baseline:a by 0.1 on id",
        "specific.fpr not worse than baseline:b by 0.2 on id",
        "monitor_time_us.p50 <= 100",
        "monitor_time_us.p99 <= 500",
    ]
    assert len(parse_criteria({"criteria": texts}, "gate.yaml").criteria) == len(texts)


def test_what_cannot_be_read(tmp_path):
    with refused(ExperimentError):
        load_criteria(tmp_path / "no.yaml")
    with refused(ExperimentError):
        load_criteria(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"criteria: [\xff]")
    with refused(ExperimentError):
        load_criteria(tmp_path / "latin.yaml")
    with refused(ExperimentError):
        load_criteria(write(tmp_path, "criteria: ["))
    with refused(ExperimentError):
        load_criteria(write(tmp_path, "level: 0.9\nlevel: 0.8\ncriteria: [a]"))
