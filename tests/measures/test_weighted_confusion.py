"""Weighted confusions: the published table by hand, and by counting one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import DataError
from farm.measures.weighted_confusion import SeverityMatrix, WeightedConfusion
from tests.wording import refused

TABLE = SeverityMatrix(
    ("pedestrian", "vehicle", "background"), np.array([[0.0, 2.0, 4.0], [1.0, 0.0, 3.0], [1.0, 1.0, 0.0]])
)


def test_by_hand():
    label, predicted = np.array([0, 0, 0, 1, 2, 2, -1, 2]), np.array([0, 2, 2, 2, 0, 1, 1, 2])
    found = WeightedConfusion.of(TABLE, label, predicted)
    assert found.mean.value == pytest.approx((4 + 4 + 3 + 1 + 1) / 7)
    assert (found.n, found.unanswered) == (7, 1)
    assert [(c.label, c.predicted, c.n, c.weight) for c in found.costliest] == [
        (0, 2, 2, 4.0),
        (1, 2, 1, 3.0),
        (2, 0, 1, 1.0),
        (2, 1, 1, 1.0),
    ]
    assert [c.share for c in found.costliest] == pytest.approx([8 / 13, 3 / 13, 1 / 13, 1 / 13])


def test_of_what_weighs_as_much_in_all_the_heavier_comes_first():
    label, predicted = np.array([2, 2, 2, 2, 0]), np.array([0, 0, 0, 0, 2])
    found = WeightedConfusion.of(TABLE, label, predicted)
    assert [(c.label, c.n) for c in found.costliest] == [(0, 1), (2, 4)]


def test_a_confusion_without_weight_costs_nothing():
    matrix = SeverityMatrix(("a", "b"), np.array([[0.0, 0.0], [1.0, 0.0]]))
    found = WeightedConfusion.of(matrix, np.array([0, 0]), np.array([1, 0]))
    assert (found.mean.value, found.costliest) == (0.0, ())


@pytest.mark.parametrize("label", [[], [-1, -1]])
def test_without_right_answers_there_is_no_mean(label):
    found = WeightedConfusion.of(TABLE, np.array(label, dtype=int), np.zeros(len(label), dtype=int))
    assert found.mean.reason == ("none of the 2 instances has a right answer" if label else "no instances")
    assert (found.n, found.unanswered, found.costliest) == (0, len(label), ())


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_one_by_one(pairs):
    label, predicted = np.array(pairs).T
    found = WeightedConfusion.of(TABLE, label, predicted)
    weights = [TABLE.weights[true, said] for true, said in pairs if true >= 0]
    assert found.weights.tolist() == weights
    assert label[found.answered].tolist() == [true for true, _ in pairs if true >= 0]
    assert found.mean.defined == bool(weights)
    if weights:
        assert found.mean.value == pytest.approx(sum(weights) / len(weights))
    in_all = [c.n * c.weight for c in found.costliest]
    assert in_all == sorted(in_all, reverse=True)
    assert sum(in_all) == pytest.approx(sum(weights))
    if any(weights):
        assert sum(c.share for c in found.costliest) == pytest.approx(1)


def test_what_does_not_fit_is_refused():
    for label, predicted in (([0, 1], [0]), ([3], [0]), ([0], [-1])):
        with refused(DataError):
            WeightedConfusion.of(TABLE, np.array(label), np.array(predicted))
