"""Where thresholds lie: what they accept, between which scores, and which tells two samples apart best."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.api.thresholds import best_threshold, quantile_threshold, threshold_at
from farm.errors import ComponentFailure
from tests.wording import refused

scores_of_any_kind = st.lists(
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(-3, 3).map(float), min_size=1, max_size=60
).map(np.array)
shares = st.floats(0.01, 1.0)


@given(scores_of_any_kind, shares)
def test_at_least_the_asked_share_is_accepted(scores, accept):
    threshold = quantile_threshold(scores, accept)
    assert (scores <= threshold).sum() >= accept * len(scores) - 1e-6


@given(scores_of_any_kind, shares)
def test_no_lower_score_would_accept_enough(scores, accept):
    threshold = quantile_threshold(scores, accept)
    highest_accepted = scores[scores <= threshold].max()
    assert (scores < highest_accepted).sum() < accept * len(scores)


@given(scores_of_any_kind, shares)
def test_the_threshold_lies_halfway_to_the_next_score_up(scores, accept):
    threshold = quantile_threshold(scores, accept)
    below, above = scores[scores <= threshold].max(), scores[scores > threshold]
    if not above.size:
        assert threshold == below
    else:
        with np.errstate(over="ignore"):
            halfway = below + (above.min() - below) / 2
        # Where doubles leave no room between the two, or their difference overflows, it is the lower one.
        assert threshold in (below, halfway)
        assert threshold == halfway or halfway >= above.min()


@given(scores_of_any_kind, shares)
def test_the_order_of_the_scores_does_not_matter(scores, accept):
    assert quantile_threshold(scores[::-1], accept) == quantile_threshold(scores, accept)


def test_tied_scores_are_accepted_together():
    assert quantile_threshold(np.array([1.0, 2.0, 2.0, 2.0, 6.0]), 0.4) == 4.0


def test_equal_scores_are_all_accepted():
    assert quantile_threshold(np.full(7, 3.0), 0.5) == 3.0


def test_floating_point_does_not_ask_for_one_more():
    assert 0.55 * 100 > 55  # in floating point
    assert quantile_threshold(np.arange(100.0), 0.55) == 54.5


@pytest.mark.parametrize("steps", [0, 1])
def test_between_neighbouring_doubles_the_threshold_is_the_lower(steps):
    low = 1.0 + steps * 2.0**-52
    high = math.nextafter(low, 2.0)
    assert quantile_threshold(np.array([low, high]), 0.5) == low


def balanced_accuracy(inliers, outliers, threshold):
    return ((inliers <= threshold).mean() + (outliers > threshold).mean()) / 2


@given(scores_of_any_kind, scores_of_any_kind)
def test_no_threshold_tells_two_samples_apart_better_than_the_best(inliers, outliers):
    threshold, told = best_threshold(inliers, outliers)
    everywhere = [-math.inf, *inliers, *outliers]
    accuracies = {each: balanced_accuracy(inliers, outliers, each) for each in everywhere}
    assert told == pytest.approx(max(accuracies.values()), rel=1e-12)
    assert balanced_accuracy(inliers, outliers, threshold) == pytest.approx(told, rel=1e-12)
    highest = max(each for each, accuracy in accuracies.items() if accuracy == pytest.approx(told, rel=1e-12))
    above = [each for each in everywhere if each > highest]
    assert highest <= threshold
    assert all(threshold < each for each in above)


@pytest.mark.parametrize(
    ("inliers", "outliers", "expected"),
    [
        ([1, 2], [4, 5], (3.0, 1.0)),
        ([1, 2, 3], [3, 5], (2.5, 5 / 6)),  # the score that both have is alarmed at
        ([1, 3, 3], [3, 5], (4.0, 3 / 4)),  # or accepted
        ([1, 1], [1], (1.0, 0.5)),  # nothing tells them apart
        ([4, 5], [1, 2], (5.0, 0.5)),  # the wrong way round
        ([0, 2], [1, 3], (2.5, 0.75)),  # as good as 0.5, and alarms less
        ([0] * 98 + [2, 2], [1], (0.5, 0.99)),  # the larger sample does not outvote the smaller
    ],
)
def test_the_best_threshold_by_hand(inliers, outliers, expected):
    found = best_threshold(np.array(inliers, np.float64), np.array(outliers, np.float64))
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_best_threshold_needs_both_samples():
    with refused(ComponentFailure):
        best_threshold(np.ones(2), np.empty(0))


@given(scores_of_any_kind, st.data())
def test_a_threshold_of_a_rank_accepts_so_many_scores_and_those_tied_with_the_last(scores, data):
    rank = data.draw(st.integers(1, len(scores)))
    last = sorted(scores)[rank - 1]
    assert (scores <= threshold_at(scores, rank)).sum() == (scores <= last).sum() >= rank
