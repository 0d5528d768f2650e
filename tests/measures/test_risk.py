"""Risk against coverage: by hand, by brute force over orders, and against the published approximation."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import DataError
from farm.measures.risk import RiskCoverage, aurc, excess_aurc
from tests.wording import refused

CASES = st.lists(st.tuples(st.integers(0, 4).map(float), st.booleans()), min_size=1, max_size=60)


def arrays(case):
    return np.array([score for score, _ in case]), np.array([wrong for _, wrong in case])


def plain_area(wrong):
    """The definition, for instances without ties, most trusted first."""
    risks = [sum(wrong[:k]) / k for k in range(1, len(wrong) + 1)]
    return sum(risks) / len(risks)


def test_by_hand():
    scores = np.array([0.4, 0.1, 0.3, 0.3])
    curve = RiskCoverage.of(scores, np.array([True, False, True, False]))
    assert curve.accepted.tolist() == [1, 3, 4]
    assert curve.coverage.tolist() == [0.25, 0.75, 1.0]
    assert curve.risk.tolist() == [0, 1 / 3, 0.5]
    # The pair in the middle is half wrong: 0, then 0.5 of 2, 1 of 3, 2 of 4.
    assert curve.area().value == pytest.approx((0 + 0.25 + 1 / 3 + 0.5) / 4)
    assert curve.best_area().value == pytest.approx((0 + 0 + 1 / 3 + 0.5) / 4)
    assert curve.excess_area().value == pytest.approx(0.25 / 4)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_without_ties_it_is_the_mean_risk(wrong):
    assert aurc(np.arange(len(wrong), dtype=float), np.array(wrong)).value == pytest.approx(plain_area(wrong))


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_ties_give_the_mean_over_all_orders(case):
    allowed = [
        plain_area([wrong for _, wrong in order])
        for order in permutations(case)
        if [score for score, _ in order] == sorted(score for score, _ in case)
    ]
    scores, wrong = arrays(case)
    assert aurc(scores, wrong).value == pytest.approx(np.mean(allowed))


@given(st.lists(st.booleans(), min_size=1, max_size=7))
def test_no_order_beats_the_best(wrong):
    least = min(plain_area(order) for order in permutations(wrong))
    curve = RiskCoverage.of(np.arange(len(wrong), dtype=float), np.array(wrong))
    assert curve.best_area().value == pytest.approx(least)


@given(CASES, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_bounds_hold(case, random):
    scores, wrong = arrays(case)
    shuffled = list(range(len(case)))
    random.shuffle(shuffled)
    one, other = RiskCoverage.of(scores, wrong), RiskCoverage.of(scores[shuffled], wrong[shuffled])
    assert one.accepted.tolist() == other.accepted.tolist()
    assert one.wrong.tolist() == other.wrong.tolist()
    assert one.area() == other.area()
    assert 0 <= one.best_area().value <= one.area().value + 1e-12
    assert 0 <= one.excess_area().value <= one.area().value <= 1
    assert one.risk[-1] == wrong.mean()
    assert one.coverage[-1] == 1


@given(CASES)
def test_only_the_order_of_scores_matters(case):
    scores, wrong = arrays(case)
    assert aurc(np.exp(scores) - 7, wrong) == aurc(scores, wrong)


@given(CASES)
def test_blind_trust_has_the_error_rate(case):
    _, wrong = arrays(case)
    assert aurc(np.zeros(len(wrong)), wrong).value == pytest.approx(wrong.mean())


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.7])
def test_the_best_area_nears_the_published_approximation(rate):
    """Geifman, Uziel and El-Yaniv 2019: r + (1 - r) ln(1 - r), as n grows."""
    n = 200_000
    wrong = np.arange(n) >= n * (1 - rate)
    best = RiskCoverage.of(np.arange(n, dtype=float), wrong)
    assert best.area().value == pytest.approx(rate + (1 - rate) * math.log(1 - rate), abs=2e-5)
    assert best.excess_area().value == 0.0


@pytest.mark.parametrize(
    ("wrong", "area"), [([False] * 5, 0.0), ([True] * 5, 1.0), ([True], 1.0), ([False], 0.0)]
)
def test_where_all_are_right_or_wrong_no_order_is_better(wrong, area):
    curve = RiskCoverage.of(np.arange(len(wrong), dtype=float), np.array(wrong))
    assert (curve.area().value, curve.excess_area().value) == (area, 0.0)


def test_infinite_scores_tie_with_each_other():
    curve = RiskCoverage.of(np.array([np.inf, -np.inf, np.inf]), np.array([True, False, False]))
    assert curve.accepted.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("scores", "reason"),
    [([], "no instances"), ([0.1, math.nan], "the score is missing for 1 of 2 instances")],
)
def test_undefined_with_a_reason(scores, reason):
    given_scores, wrong = np.array(scores, dtype=float), np.zeros(len(scores), dtype=bool)
    curve = RiskCoverage.of(given_scores, wrong)
    assert curve.n == 0
    assert curve.risk.size == curve.coverage.size == 0
    for measure in (curve.area(), curve.best_area(), curve.excess_area(), excess_aurc(given_scores, wrong)):
        assert measure.reason == reason


def test_refuses_arrays_that_do_not_match():
    with refused(DataError):
        aurc(np.zeros(2), np.zeros(1, dtype=bool))
