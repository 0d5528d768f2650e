import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix
from statsmodels.stats.proportion import proportion_confint

from farm.errors import DataError
from farm.measures.per_class import per_label, per_predicted
from tests.wording import refused, same_text

ROW = st.tuples(st.integers(-1, 3), st.integers(0, 3), st.booleans(), st.booleans(), st.booleans())
ROWS = st.lists(ROW, min_size=1, max_size=40)


def arrays(rows):
    label, predicted, alarm, cancelled, is_ood = (np.array(column) for column in zip(*rows, strict=True))
    return label, predicted, alarm, cancelled, is_ood


@given(ROWS)
def test_agrees_with_scikit_learn_and_statsmodels_class_by_class(rows):
    label, predicted, alarm, cancelled, is_ood = arrays(rows)
    found = per_label(label, predicted, alarm, cancelled, is_ood=is_ood)
    assert [result.number for result in found] == np.unique(label).tolist()
    for result in found:
        of = label == result.number
        wrong = predicted[of] != label[of]
        tn, fp, fn, tp = confusion_matrix(wrong, cancelled[of], labels=[False, True]).ravel().tolist()
        stn, sfp, sfn, stp = confusion_matrix(is_ood[of], alarm[of], labels=[False, True]).ravel().tolist()
        assert result.n == of.sum()
        for bounded, k, n in [
            (result.accuracy, tn + fp, result.n),
            (result.alarm_rate, int(alarm[of].sum()), result.n),
            (result.fpr, fp, fp + tn),
            (result.fnr, fn, fn + tp),
            (result.specific_fpr, sfp, sfp + stn),
            (result.specific_fnr, sfn, sfn + stp),
        ]:
            if n:
                ends = proportion_confint(k, n, 0.05, method="wilson")
                assert bounded.value.value == pytest.approx(k / n)
                assert (bounded.low.value, bounded.high.value) == pytest.approx(ends, abs=1e-10)
            else:
                assert math.isnan(bounded.value.value)
                assert bounded.low.reason == bounded.high.reason == bounded.value.reason


@given(ROWS, st.randoms(use_true_random=False))
def test_order_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    for function in (
        lambda a: per_label(*a[:4], is_ood=a[4]),
        lambda a: per_predicted(*a[1:4], label=a[0], is_ood=a[4]),
    ):
        assert function(arrays(rows)) == function(arrays(shuffled))


@given(ROWS)
def test_classes_make_up_the_whole(rows):
    label, predicted, alarm, cancelled, _ = arrays(rows)
    right = float(np.mean(label == predicted))
    for found in (
        per_label(label, predicted, alarm, cancelled),
        per_predicted(predicted, alarm, cancelled, label=label),
    ):
        assert sum(result.n for result in found) == len(rows)
        whole = sum(result.n * result.accuracy.value.value for result in found) / len(rows)
        assert whole == pytest.approx(right)
        alarms = sum(result.n * result.alarm_rate.value.value for result in found) / len(rows)
        assert alarms == pytest.approx(alarm.mean())


def test_what_has_no_right_answer_comes_first_and_is_always_to_be_cancelled():
    label, predicted = np.array([2, -1, -1, -1]), np.array([2, 2, 0, 1])
    cancelled = np.array([False, True, True, False])
    none, two = per_label(label, predicted, cancelled, cancelled)
    assert (none.name, none.by, none.number, none.n) == ("no right answer", "label", -1, 3)
    assert (none.accuracy.value.value, none.fnr.value.value) == (0.0, pytest.approx(1 / 3))
    same_text(none.fpr.value.reason)
    assert (two.name, two.accuracy.value.value, two.fpr.value.value) == ("2", 1.0, 0.0)
    same_text(two.fnr.value.reason)


def test_missing_labels_leave_undefined_only_what_needs_them():
    predicted, alarm = np.array([4, 4, 7]), np.array([True, False, False])
    unlabelled, is_ood = np.array([False, True, False]), np.array([False, True, False])
    four, seven = per_predicted(
        predicted, alarm, alarm, label=np.array([4, 99, 7]), unlabelled=unlabelled, is_ood=is_ood
    )
    for bounded in (four.accuracy, four.fpr, four.fnr):
        assert bounded.value.reason == bounded.low.reason == "the label is missing for 1 of 2 instances"
    assert (four.alarm_rate.value.value, four.specific_fpr.value.value) == (0.5, 1.0)
    assert four.specific_fnr.value.value == 1.0
    assert (seven.by, seven.accuracy.value.value, seven.fpr.value.value) == ("predicted", 1.0, 0.0)


def test_without_labels_and_without_is_ood_the_alarm_rate_remains():
    (found,) = per_predicted(np.array([5, 5]), np.array([True, False]), np.array([True, False]))
    assert found.alarm_rate.value.value == 0.5
    same_text(found.accuracy.value.reason)
    assert found.specific_fpr.value.reason == found.specific_fnr.value.reason == "is_ood was not given"


def test_level_is_that_of_every_interval():
    label, alarm = np.zeros(20, dtype=np.int64), np.arange(20) < 4
    (found,) = per_label(label, label, alarm, alarm, level=0.8)
    ends = proportion_confint(4, 20, 0.2, method="wilson")
    for bounded in (found.alarm_rate, found.fpr):
        assert (bounded.low.value, bounded.high.value) == pytest.approx(ends)


def test_nothing_gives_no_class():
    nothing, never = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    assert per_label(nothing, nothing, never, never) == []
    assert per_predicted(nothing, never, never) == []


def test_refuses_arrays_of_different_lengths():
    label, alarm = np.array([1, 2]), np.array([True])
    with refused(DataError):
        per_label(label, label, alarm, np.array([True, False]))
