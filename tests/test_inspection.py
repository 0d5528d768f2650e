"""Closer looks at a run: the same numbers as the functions give, in tables that say what is undefined."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score

from farm.cli import main
from farm.errors import DataError, ExperimentError
from farm.inspection import Run, along_time, at_share, confidence, costs, pair, per_class, ranking
from farm.readouts import Readouts
from farm.report.looks import render_looks
from farm.testing import make_readouts
from tests.wording import refused, same_text

LABEL = np.array([0, 0, 1, 1, -1, -1])
PREDICTED = np.array([0, 1, 1, 1, 0, 1])
ALARM = np.array([False, True, False, True, True, False])


def readouts(**more) -> Readouts:
    said = {"alarm": ALARM, "cancelled": ALARM, "score": [0.1, 0.9, 0.2, 0.8, 0.7, 0.3]}
    return make_readouts(
        {"mine": said},
        label=LABEL,
        predicted=PREDICTED,
        confidence=[0.9, 0.6, 0.8, 0.7, 0.9, 0.5],
        is_ood=LABEL < 0,
        faultload=None,
        category=None,
        severity=None,
        run={"classes": ["stop", "yield"], **more},
    )


@pytest.fixture
def run() -> Run:
    return Run.of(readouts())


def test_each_class_is_named_and_counted(run) -> None:
    (look,) = per_class(run)
    assert [row[:2] for row in look.rows] == [("no right answer", 2), ("stop", 2), ("yield", 2)]
    novel, stop, give_way = look.rows
    assert novel[5].value.value == 0.5  # one of two wrong decisions was kept
    assert stop[2].value.value == 0.5
    assert give_way[4].value.value == 0.5  # a right one was cancelled


def test_another_share_of_ood_changes_precision_as_bayes_says(run) -> None:
    (look,) = at_share(run, [0.01])
    fpr, fnr = 2 / 4, 1 / 2
    precision = 0.01 * (1 - fnr) / (0.01 * (1 - fnr) + 0.99 * fpr)
    assert look.rows[0][2].value.value == pytest.approx(precision)
    assert "33.33% were OOD" in look.notes[0]


def test_costs_are_those_of_what_was_acted_upon(run) -> None:
    (look,) = costs(run, {"wrong": 10, "cancelled_right": 1, "by_label": {"stop": 100}})
    # Acted upon and wrong: the last instance (no right answer, 10). Cancelled though right: the fourth (1).
    assert look.rows[0][1].value == pytest.approx((10 + 1) / 6)
    # Without the monitor: a stop sign taken for another (100) and both that have no answer (10 each).
    assert look.rows[0][2].value == pytest.approx((100 + 10 + 10) / 6)
    assert look.rows[0][3].value == 0


def test_confidence_is_looked_at_on_id_instances_alone(run) -> None:
    table, ranked = confidence(run)
    assert sum(row[1] for row in table.rows) == 4
    assert ranked.rows[0][0] == "mine"


def test_false_alarms_are_counted_along_the_stream(run) -> None:
    (look,) = along_time(run)
    assert look.rows[0][:3] == ("mine", 4, 2)
    assert look.rows[0][3].value == 2.0


def test_scores_and_alarms_are_measured_as_scikit_learn_does(run) -> None:
    (look,) = ranking(run)
    name, balanced, trimmed, auroc, aupr, aupr_id, *_ = look.rows[0]
    score = np.array([0.1, 0.9, 0.2, 0.8, 0.7, 0.3])
    assert name == "mine"
    assert balanced.value == balanced_accuracy_score(LABEL < 0, ALARM)
    assert 0 <= trimmed.value <= 1
    assert auroc.value == roc_auc_score(LABEL < 0, score)
    assert aupr.value == pytest.approx(average_precision_score(LABEL < 0, score))
    assert aupr_id.value == pytest.approx(average_precision_score(LABEL >= 0, -score))


def test_two_monitors_are_compared_on_the_same_instances() -> None:
    given = readouts()
    other = given.alarms.assign(monitor="other", alarm=LABEL < 0, cancelled=LABEL < 0)
    both = Run.of(Readouts(given.instances, pd.concat([given.alarms, other]), {}))
    (look,) = pair(both, "mine", "other")
    assert [row[:5] for row in look.rows] == [("specific", 3, 0, 3, 0), ("overall", 3, 1, 2, 0)]
    assert look.rows[0][5].value == 2 * 0.5**3
    with refused(ExperimentError):
        list(pair(both, "mine", "othr"))


def test_monitors_that_failed_are_left_out() -> None:
    failed = {"monitors": [{"name": "mine", "failure": "it broke"}]}
    assert Run.of(readouts(**failed)).said == []


def test_without_labels_there_is_no_closer_look() -> None:
    given = readouts()
    given.instances["label"] = given.instances["label"].astype("Int64")
    given.instances.loc[0, "label"] = pd.NA
    with refused(DataError):
        Run.of(given)


def test_json_has_null_and_a_reason_where_nothing_is_defined(run) -> None:
    found = json.loads(render_looks(list(per_class(run)), "json"))
    novel = found[0]["rows"][0]
    assert novel["cancelled though right"]["value"] is None
    same_text(novel["cancelled though right"]["undefined"])


def test_the_command_prints_what_is_asked_for(tmp_path, capsys) -> None:
    readouts().save(tmp_path / "run")
    (tmp_path / "costs.yaml").write_text("wrong: 10\ncancelled_right: 1\n")
    asked = ["--look", "classes", "--ood-share", "0.01", "--costs", str(tmp_path / "costs.yaml")]
    assert main(["inspect", str(tmp_path / "run"), *asked]) == 0
    out = capsys.readouterr().out
    for title in ("mine, class by class", "if 0.01 of the instances were OOD", "Expected cost"):
        assert title in out
    assert main(["inspect", str(tmp_path / "run"), *asked, "--format", "csv"]) == 0
    assert "Expected cost,mine," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to look at; give --look classes"),
        (["--costs", "nowhere.yaml"], "--costs nowhere.yaml cannot be read"),
        (["--ood-share", "2"], "prevalence = 2.0; expected a share from 0 to 1"),
    ],
)
def test_mistakes_are_told(tmp_path, capsys, arguments, message) -> None:
    readouts().save(tmp_path / "run")
    assert main(["inspect", str(tmp_path / "run"), *arguments]) == 2
    assert re.search(re.escape(message), capsys.readouterr().err)
