"""Every scenario of the oracle, by name: what arrives, what the monitor does, what the classifier said."""

import numpy as np
import pytest

from farm.api.arrays import NO_ANSWER
from farm.measures import oracle

CLASS, OTHER = 7, 3


def verdict(*, is_ood, alarm, label=CLASS, predicted=CLASS, cancelled=None):
    """Judge one instance: the specific outcome, the overall one."""
    cancelled = alarm if cancelled is None else cancelled
    specific = oracle.specific(np.array([alarm]), np.array([is_ood]))
    overall = oracle.overall(np.array([cancelled]), np.array([label]), np.array([predicted]))
    return oracle.named(specific)[0], oracle.named(overall)[0]


def test_id_alarm_prediction_right():
    assert verdict(is_ood=False, alarm=True) == ("fp", "fp")


def test_id_alarm_prediction_wrong():
    assert verdict(is_ood=False, alarm=True, predicted=OTHER) == ("fp", "tp")


def test_id_no_alarm_prediction_right():
    assert verdict(is_ood=False, alarm=False) == ("tn", "tn")


def test_id_no_alarm_prediction_wrong():
    assert verdict(is_ood=False, alarm=False, predicted=OTHER) == ("tn", "fn")


def test_ood_alarm_prediction_right():
    assert verdict(is_ood=True, alarm=True) == ("tp", "fp")


def test_ood_alarm_prediction_wrong():
    assert verdict(is_ood=True, alarm=True, predicted=OTHER) == ("tp", "tp")


def test_ood_no_alarm_prediction_right():
    assert verdict(is_ood=True, alarm=False) == ("fn", "tn")


def test_ood_no_alarm_prediction_wrong():
    assert verdict(is_ood=True, alarm=False, predicted=OTHER) == ("fn", "fn")


@pytest.mark.parametrize("predicted", [0, OTHER, CLASS])
def test_novel_class_alarm_is_always_right(predicted):
    assert verdict(is_ood=True, alarm=True, label=NO_ANSWER, predicted=predicted) == ("tp", "tp")


@pytest.mark.parametrize("predicted", [0, OTHER, CLASS])
def test_novel_class_no_alarm_is_always_a_miss(predicted):
    assert verdict(is_ood=True, alarm=False, label=NO_ANSWER, predicted=predicted) == ("fn", "fn")


def test_novel_class_is_wrong_even_if_minus_one_was_predicted():
    assert verdict(is_ood=True, alarm=False, label=NO_ANSWER, predicted=NO_ANSWER) == ("fn", "fn")


def test_alarm_that_the_policy_does_not_follow():
    assert verdict(is_ood=True, alarm=True, predicted=OTHER, cancelled=False) == ("tp", "fn")


def test_cancelled_without_an_alarm():
    assert verdict(is_ood=False, alarm=False, predicted=OTHER, cancelled=True) == ("tn", "tp")


def test_many_instances_are_judged_as_each_alone():
    rng = np.random.default_rng(3)
    is_ood, alarm = rng.random(200) < 0.3, rng.random(200) < 0.4
    label, predicted = rng.integers(-1, 3, 200), rng.integers(0, 3, 200)
    specific = oracle.named(oracle.specific(alarm, is_ood))
    overall = oracle.named(oracle.overall(alarm, label, predicted))
    for i in range(200):
        alone = verdict(is_ood=is_ood[i], alarm=alarm[i], label=label[i], predicted=predicted[i])
        assert (specific[i], overall[i]) == alone


def test_tally_counts_each_outcome():
    codes = oracle.outcomes(
        np.array([True, True, False, False, False]), np.array([True, False, True, False, False])
    )
    assert oracle.tally(codes) == {"tp": 1, "fn": 1, "fp": 1, "tn": 2}
    assert oracle.tally(codes[:0]) == {"tp": 0, "fn": 0, "fp": 0, "tn": 0}
