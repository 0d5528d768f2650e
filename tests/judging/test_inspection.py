"""Closer looks at a run: the same numbers as the functions give, in tables that say what is undefined."""

from __future__ import annotations

import json
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import binomtest
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score

from farm.cli import main
from farm.errors import DataError, ExperimentError
from farm.judging.inspection import (
    InspectedRun,
    along_time,
    at_share,
    confidence,
    costs,
    pair,
    per_class,
    ranking,
)
from farm.measures.cost import EXAMPLE, Costs
from farm.report.looks import render_looks
from farm.store.readouts import Readouts
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
def run() -> InspectedRun:
    return InspectedRun.of(readouts())


@pytest.mark.parametrize(
    ("said", "shown"), [(["never", "mine", "random"], ["mine"]), (["never", "random"], ["never", "random"])]
)
def test_yardsticks_have_no_table_of_classes_unless_there_is_nothing_else(said, shown) -> None:
    run = InspectedRun.of(make_readouts(dict.fromkeys(said, ALARM), label=LABEL, predicted=PREDICTED))
    assert [look.title for look in per_class(run)] == [f"{name}, class by class" for name in shown]


def test_each_class_is_named_and_counted(run) -> None:
    (look,) = per_class(run)
    assert [row[:2] for row in look.rows] == [("no right answer", 2), ("stop", 2), ("yield", 2)]
    novel, stop, give_way = look.rows
    assert novel[5].value.value == 0.5  # one of two wrong decisions was kept
    assert stop[2].value.value == 0.5
    assert give_way[4].value.value == 0.5  # a right one was cancelled


def test_a_class_of_a_high_number_costs_no_more_than_another() -> None:
    made = make_readouts({"mine": ALARM}, label=0, predicted=PREDICTED * 300_000, is_ood=LABEL < 0)
    run = InspectedRun.of(made)
    assert [run.class_name(code) for code in range(2)] == ["0", "300000"]
    tracemalloc.start()
    InspectedRun.of(made)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2e6  # bytes; a name for each class below it takes ten times as much


def test_another_share_of_ood_changes_precision_as_bayes_says(run) -> None:
    (look,) = at_share(run, [0.01])
    fpr, fnr = 2 / 4, 1 / 2
    precision = 0.01 * (1 - fnr) / (0.01 * (1 - fnr) + 0.99 * fpr)
    assert look.rows[0][2].value.value == pytest.approx(precision)
    assert "33.33% were OOD" in look.notes[0]


def test_a_missing_price_list_is_told_with_the_help_s_example(capsys, tmp_path) -> None:
    readouts().save(tmp_path / "run")
    (tmp_path / "list.yaml").write_text("[1]")
    (tmp_path / "empty.yaml").write_text("")
    for name in ("none.yaml", "list.yaml", "empty.yaml"):
        assert main(["inspect", str(tmp_path / "run"), "--costs", str(tmp_path / name)]) == 2
        same_text(capsys.readouterr().err)
    with pytest.raises(SystemExit):
        main(["inspect", "--help"])
    assert EXAMPLE in " ".join(capsys.readouterr().out.split())
    assert Costs.of(yaml.safe_load(EXAMPLE)).by_label == {"pedestrian": 1000}


def test_costs_are_those_of_what_was_acted_upon(run) -> None:
    (look,) = costs(run, {"wrong": 10, "cancelled_right": 1, "by_label": {"stop": 100}})
    # Acted upon and wrong: the last instance (no right answer, 10). Cancelled though right: the fourth (1).
    assert look.rows[0][1].value == pytest.approx((10 + 1) / 6)
    # Without the monitor: a stop sign taken for another (100) and both that have no answer (10 each).
    assert look.rows[0][2].value == pytest.approx((100 + 10 + 10) / 6)
    assert look.rows[0][3].value == 0


@pytest.mark.parametrize("stop", ["stop", 2])
def test_prices_are_of_classes_by_name_or_number_whichever_occur(stop) -> None:
    made = make_readouts(
        {"mine": {"alarm": [False] * 4, "decision": [0, 2, 2, 0]}},
        label=[2, 0, 0, 0],
        predicted=[0, 2, 2, 0],
        run={"classes": ["yield", "way", "stop", "curve"]},
    )
    prices = {"wrong": 1, "cancelled_right": 1, "by_label": {stop: 100}, "by_pair": {"curve": {1: 7}}}
    (look,) = costs(InspectedRun.of(made), prices)
    assert [cell.value for cell in look.rows[0][1:3]] == [pytest.approx(102 / 4)] * 2


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
    both = InspectedRun.of(Readouts(given.instances, pd.concat([given.alarms, other]), {}))
    (look,) = pair(both, "mine", "other")
    assert [row[:5] for row in look.rows] == [("specific", 3, 0, 3, 0), ("overall", 3, 1, 2, 0)]
    assert look.rows[0][5].value == 2 * 0.5**3
    with refused(ExperimentError):
        list(pair(both, "mine", "othr"))


def test_instances_without_tracks_are_compared_one_by_one() -> None:
    given = readouts()
    other = given.alarms.assign(monitor="other", alarm=LABEL < 0, cancelled=LABEL < 0)
    runs = [
        Readouts(given.instances.assign(track=None), pd.concat([given.alarms, other])),
        Readouts(given.instances, pd.concat([given.alarms, other])),
    ]
    unnamed, without = (list(pair(InspectedRun.of(run), "mine", "other")) for run in runs)
    assert unnamed == without


def test_monitors_that_failed_are_left_out() -> None:
    failed = {"monitors": [{"name": "mine", "failure": "it broke"}]}
    assert InspectedRun.of(readouts(**failed)).table.said == {}


@pytest.mark.parametrize(
    ("column", "look"),
    [
        ("label", per_class),
        ("label", confidence),
        ("label", lambda run: costs(run, {"wrong": 1.0, "cancelled_right": 0.1})),
        ("is_ood", confidence),
        ("is_ood", ranking),
        ("is_ood", along_time),
        ("is_ood", lambda run: at_share(run, [0.1])),
    ],
)
def test_a_look_that_lacks_what_it_needs_says_so(column, look) -> None:
    given = readouts()
    given.instances[column] = given.instances[column].astype("Int64" if column == "label" else "boolean")
    given.instances.loc[0, column] = pd.NA
    with refused(DataError):
        list(look(InspectedRun.of(given)))


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


TRACK = np.arange(200) // 10


def in_tracks(alarm, **columns) -> Readouts:
    """Twenty tracks of ten: twelve of ID instances, eight of OOD ones; the classifier errs on the latter."""
    is_ood = TRACK >= 12
    said = {"alarm": alarm, "score": alarm.astype(float)}
    track = [f"t{number}" for number in TRACK]
    return make_readouts({"mine": said}, label=TRACK % 2, wrong=is_ood, is_ood=is_ood, track=track, **columns)


def ends_of(cell) -> tuple[float, float]:
    return cell.low.value, cell.high.value


def exact(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    found = binomtest(k, n).proportion_ci(level, "exact")
    return pytest.approx((found.low, found.high))


def test_shares_of_a_class_are_of_its_tracks() -> None:
    """Each track alarms wholly or not, so that tracks are trials."""
    alarm = np.isin(TRACK, (0, 2, 3, 12, 13, 14, 16))
    (look,) = per_class(InspectedRun.of(in_tracks(alarm)))
    even = look.rows[0]
    assert even[1] == 100
    assert ends_of(even[2]) == exact(6, 10)  # six tracks of ID, four of OOD instances
    assert ends_of(even[3]) == exact(5, 10)
    assert ends_of(even[4]) == exact(2, 6)
    assert even[5].value.value == 0.25
    assert even[5].low.reason == "the instances are of 4 tracks; an interval needs at least 5"
    assert look.notes == ("95 % interval: of whole tracks, whose instances resemble each other",)
    printed, kept = (render_looks([look], style) for style in ("table", "json"))
    for text in (printed, kept):
        assert "the instances are of 4 tracks; an interval needs at least 5" in text


def test_without_tracks_shares_have_wilsons_interval_and_say_so(run) -> None:
    (look,) = per_class(run)
    reference = binomtest(1, 2).proportion_ci(0.95, "wilson")
    assert ends_of(look.rows[1][2]) == pytest.approx((reference.low, reference.high))
    assert look.notes == ("95 % interval: each instance standing alone; of rates Wilson's",)


def test_at_another_share_of_ood_tracks_count() -> None:
    alarm = np.isin(TRACK, (0, 12, 13, 14, 16))
    (look,) = at_share(InspectedRun.of(in_tracks(alarm)), [1.0])
    # If all were OOD, the error would be FNR: four of eight tracks, at the root of the level.
    assert ends_of(look.rows[0][4]) == exact(4, 8, np.sqrt(0.95))
    few = in_tracks(alarm, id=[f"i{number}" for number in range(200)])
    few.instances.loc[TRACK >= 12, "track"] = "t12"
    (look,) = at_share(InspectedRun.of(few), [0.5])
    cell = look.rows[0][1]
    assert cell.value.defined
    assert cell.low.reason == "the instances are of 1 track; an interval needs at least 5"


def test_accuracy_of_like_confidence_is_of_tracks() -> None:
    right = TRACK < 9
    sure = np.where(TRACK % 3 == 0, 0.55, 0.95)
    made = make_readouts(
        {"mine": right}, wrong=~right, is_ood=False, track=[f"t{n}" for n in TRACK], confidence=sure
    )
    looks = list(confidence(InspectedRun.of(made)))
    by_bin = {row[0]: row for row in looks[0].rows if row[1]}
    assert ends_of(by_bin["0.5 to 0.6"][3]) == exact(3, 7)
    assert ends_of(by_bin["0.9 to 1.0"][3]) == exact(6, 13)
    assert "of whole tracks" in looks[0].notes[0]


def test_time_between_false_alarms_is_of_tracks() -> None:
    (look,) = along_time(InspectedRun.of(in_tracks(np.isin(TRACK, (1, 2, 3, 15)))))
    _, high = exact(3, 12, 0.9).expected
    assert look.rows[0][1:3] == (120, 30)
    assert look.rows[0][4].value == pytest.approx(1 / high)
    assert "of whole tracks" in look.notes[0]
