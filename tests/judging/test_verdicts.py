import numpy as np
import pandas as pd
import pytest

from farm.errors import DataError
from farm.judging.verdicts import truth, verdicts
from tests.wording import refused

ALARMS = pd.DataFrame(
    {
        "position": [2, 0, 1, 0, 1, 2],
        "monitor": ["a", "a", "a", "b", "b", "b"],
        "alarm": [True, False, False, True, True, False],
        "score": [0.2, 0.0, 0.1, np.nan, np.nan, np.nan],
    }
)


def test_each_monitors_rows_come_in_the_order_asked_for():
    first, second = verdicts(ALARMS, np.array([1, 2, 0]))
    assert (first.monitor, first.alarm.tolist(), first.score.tolist()) == (
        "a",
        [False, True, False],
        [0.1, 0.2, 0.0],
    )
    assert (second.monitor, second.alarm.tolist()) == ("b", [True, False, True])


def test_without_a_decision_every_alarm_cancels():
    first, _ = verdicts(ALARMS, np.arange(3))
    assert first.cancelled.tolist() == first.alarm.tolist()


@pytest.mark.parametrize(
    "alarms",
    [
        ALARMS.iloc[1:],
        ALARMS.assign(position=[0, 0, 1, 0, 1, 2]),
        ALARMS.assign(position=[9, 0, 1, 0, 1, 2]),
        pd.concat([ALARMS, ALARMS.iloc[:1]]),
    ],
)
def test_every_instance_needs_exactly_one_alarm(alarms):
    with refused(DataError):
        list(verdicts(alarms, np.arange(3)))


def test_class_numbers_may_be_any():
    table = pd.DataFrame({"position": [0, 1, 2], "label": [10**9, -1, 7], "predicted": [10**9, 7, 10**9]})
    known = truth(table)
    assert known.n_classes == 2
    assert known.label[1] == -1
    assert known.should_cancel.tolist() == [False, True, True]


def test_missing_labels_are_known_to_be_missing():
    table = pd.DataFrame({"position": [0, 1], "predicted": [0, 0]})
    assert truth(table).unlabelled.tolist() == [True, True]
    partly = table.assign(label=pd.array([0, None], dtype="Int64"))
    assert truth(partly).unlabelled.tolist() == [False, True]


@pytest.mark.parametrize(
    ("is_ood", "reason"),
    [
        ([None, None, None], "is_ood was not given"),
        ([True, None, False], "is_ood is missing for 1 of 3 instances"),
        ([True, False, False], None),
    ],
)
def test_is_ood_is_known_for_all_or_not_at_all(is_ood, reason):
    table = pd.DataFrame({"position": range(3), "predicted": [0, 0, 0]})
    known = truth(table.assign(is_ood=pd.array(is_ood, dtype="boolean")))
    assert known.why_no_ood == reason


@pytest.mark.parametrize(
    "table",
    [
        {"position": [], "predicted": []},
        {"position": [1, 1], "predicted": [0, 0]},
        {"position": [0, 1], "predicted": [0, None]},
    ],
)
def test_refuses_what_cannot_be_judged(table):
    with refused(DataError):
        truth(pd.DataFrame(table))
