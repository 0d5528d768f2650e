"""One table of a run's instances, and what each monitor said of them."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from farm.judging import VerdictTable
from farm.judging.table import made_truth
from farm.judging.verdicts import Verdicts
from farm.testing import make_readouts
from tests.comparing.made_runs import FOG, NOISE, make_run

ROWS = {"mask": np.arange(660) % 7 == 0, "numbers": np.array([5, 3, 600])}


def table_of(run):
    return VerdictTable.of(run.instances, run.alarms, run.run)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_some_instances_are_those_of_the_readouts(rows):
    run = make_run(faults=[NOISE, FOG, ("shift", "snow", 1.0)], shuffled=True)
    some = table_of(run).take(rows)
    given = run.instances.iloc[some.row]
    assert some.row.tolist() == np.arange(660)[rows].tolist()
    for column in ("position", "is_ood", "track"):
        assert list(getattr(some, column)) == given[column].tolist()
    assert some.number(some.label).tolist() == given["label"].tolist()
    assert some.number(some.predicted).tolist() == given["predicted"].tolist()
    assert some.partition.parts == ()
    for name, judged in some.said.items():
        own = run.alarms[run.alarms["monitor"] == name].set_index("position").loc[some.position]
        wrong = (given["label"] != given["predicted"]).to_numpy()
        assert judged.alarm.tolist() == own["alarm"].tolist()
        assert judged.score.tolist() == judged.scores.tolist() == own["score"].tolist()
        assert judged.right.tolist() == (~wrong & ~own["alarm"].to_numpy()).tolist()
        assert judged.specific.tolist() == (2 * some.is_ood + judged.alarm).tolist()
        assert judged.overall.tolist() == (2 * wrong + judged.cancelled).tolist()


def test_outcomes_are_computed_once():
    judged = table_of(make_run()).said["good"]
    assert judged.specific is judged.specific
    assert judged.overall is judged.overall


def test_what_became_of_each_decision_is_told_by_one_number():
    alarm, wrong = np.array([False, True, False, True]), np.array([False, False, True, True])
    known = made_truth(wrong=wrong, is_ood=wrong)
    judged = VerdictTable.from_arrays(known, [Verdicts("m", alarm, alarm)]).said["m"]
    assert judged.consequences.tolist() == [2, 0, 4, 3]


def test_a_score_that_is_missing_anywhere_leaves_a_part_without_scores_too():
    run = make_run()
    gap = run.alarms.assign(score=run.alarms["score"].where(run.alarms["position"] > 0))
    table = VerdictTable.of(run.instances, gap, run.run)
    assert table.take(np.arange(5, 9)).said["good"].scores is None
    assert not np.isnan(table.take(np.arange(5, 9)).said["good"].score).any()


def test_a_table_stays_as_it_is():
    table = table_of(make_run())
    with pytest.raises(FrozenInstanceError):
        table.run = 3


@pytest.mark.parametrize("track", [["b", "a", None, "b", None, "a"], [7, 11, None, 7, None, 11], None])
def test_tracks_are_numbered_whatever_the_order_of_rows(track):
    made = make_readouts({"m": [False] * 6}, is_ood=False, track=track)
    table = VerdictTable.of(made.instances, made.alarms, made.run)
    names = table.track
    code = table.track_code
    assert len(set(zip(code.tolist(), names.tolist(), strict=True))) == len(set(names.tolist()))
    assert sorted(set(code.tolist())) == list(range(len(set(names.tolist()))))
    order = np.array([3, 1, 5, 0, 2, 4])
    shuffled = VerdictTable.of(made.instances.iloc[order], made.alarms, made.run)
    assert shuffled.track_code.tolist() == code[order].tolist()
