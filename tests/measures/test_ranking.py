"""What scores are worth: against scikit-learn, by hand, by brute force over orders, and as published."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from farm.errors import DataError, ParameterError
from farm.measures import Separation, auroc
from farm.measures.ranking import RiskCoverage
from tests.wording import refused

# Few distinct values, so that most scores tie.
TIED = st.integers(-3, 3).map(float)
FREE = st.floats(-1e6, 1e6)
CASES = st.sampled_from([TIED, FREE]).flatmap(
    lambda scores: st.tuples(
        st.lists(scores, min_size=1, max_size=50), st.lists(scores, min_size=1, max_size=50)
    )
)


def arrays(case):
    id_scores, ood_scores = case
    is_ood = np.repeat([False, True], [len(id_scores), len(ood_scores)])
    return np.array(id_scores + ood_scores), is_ood


@given(CASES)
def test_auroc_agrees_with_scikit_learn(case):
    scores, is_ood = arrays(case)
    assert auroc(scores, is_ood).value == pytest.approx(roc_auc_score(is_ood, scores), abs=1e-12)


@given(CASES)
def test_aupr_agrees_with_scikit_learn(case):
    scores, is_ood = arrays(case)
    assert Separation.of(scores, is_ood).aupr().value == pytest.approx(
        average_precision_score(is_ood, scores), abs=1e-12
    )


@given(CASES)
def test_aupr_of_id_agrees_with_scikit_learn(case):
    scores, is_ood = arrays(case)
    expected = average_precision_score(~is_ood, -scores)
    assert Separation.of(scores, is_ood).aupr_id().value == pytest.approx(expected, abs=1e-12)
    assert Separation.of(-scores, ~is_ood).aupr_id().value == pytest.approx(
        Separation.of(scores, is_ood).aupr().value
    )


@given(CASES)
def test_the_roc_agrees_with_scikit_learn_at_every_threshold(case):
    scores, is_ood = arrays(case)
    curve = Separation.of(scores, is_ood).roc()
    fprs, tprs, _ = roc_curve(is_ood, scores, drop_intermediate=False)
    assert curve.why_not is None
    assert np.allclose(curve.x, fprs, atol=1e-12)
    assert np.allclose(curve.y, tprs, atol=1e-12)
    assert np.trapezoid(curve.y, curve.x) == pytest.approx(auroc(scores, is_ood).value)


@given(CASES)
def test_precision_and_recall_agree_with_scikit_learn_at_every_threshold(case):
    scores, is_ood = arrays(case)
    curve = Separation.of(scores, is_ood).precision_recall()
    precision, recall, _ = precision_recall_curve(is_ood, scores)
    assert np.allclose(curve.x, recall[::-1], atol=1e-12)
    assert np.allclose(curve.y, precision[::-1], atol=1e-12)
    steps = np.diff(curve.x) * curve.y[1:]
    assert steps.sum() == pytest.approx(Separation.of(scores, is_ood).aupr().value)


@given(CASES, st.sampled_from([None, 0.01, 0.3, 0.5, 0.9]))
def test_least_error_agrees_with_scikit_learns_curve(case, ood_share):
    scores, is_ood = arrays(case)
    fprs, tprs, _ = roc_curve(is_ood, scores, drop_intermediate=False)
    share = is_ood.mean() if ood_share is None else ood_share
    expected = ((1 - share) * fprs + share * (1 - tprs)).min()
    found = Separation.of(scores, is_ood).least_error(ood_share).value
    assert found == pytest.approx(expected, abs=1e-12)
    assert 0 <= found <= min(share, 1 - share) + 1e-12


@given(CASES)
def test_detection_error_counts_both_sides_the_same(case):
    scores, is_ood = arrays(case)
    error = Separation.of(scores, is_ood).detection_error().value
    fprs, tprs, _ = roc_curve(is_ood, scores, drop_intermediate=False)
    assert error == pytest.approx((fprs + 1 - tprs).min() / 2, abs=1e-12)
    assert Separation.of(-scores, ~is_ood).detection_error().value == pytest.approx(error)
    twice = Separation(scores[~is_ood], np.repeat(scores[is_ood], 2))
    assert twice.detection_error().value == pytest.approx(error)


@given(CASES)
def test_least_error_is_the_share_of_mistakes_at_the_best_threshold(case):
    scores, is_ood = arrays(case)
    never = is_ood.mean()
    least = min(never, *(np.mean((scores >= threshold) != is_ood) for threshold in scores))
    assert Separation.of(scores, is_ood).least_error().value == pytest.approx(least)


@given(CASES, st.sampled_from([0.5, 0.9, 0.95, 1.0]))
def test_fpr_at_tpr_agrees_with_scikit_learns_curve(case, tpr):
    scores, is_ood = arrays(case)
    fprs, tprs, _ = roc_curve(is_ood, scores, drop_intermediate=False)
    assert Separation.of(scores, is_ood).fpr_at_tpr(tpr).value == pytest.approx(
        fprs[tprs >= tpr].min(), abs=1e-12
    )


@given(CASES, st.randoms(use_true_random=False))
def test_order_does_not_matter(case, random):
    scores, is_ood = arrays(case)
    shuffled = list(range(len(scores)))
    random.shuffle(shuffled)
    one, other = Separation.of(scores, is_ood), Separation.of(scores[shuffled], is_ood[shuffled])
    assert one.measures() == other.measures()
    assert one.aupr_id() == other.aupr_id()
    assert one.detection_error() == other.detection_error()
    assert one.least_error() == other.least_error()


@given(CASES)
def test_auroc_mirrors_when_id_and_ood_swap(case):
    scores, is_ood = arrays(case)
    assert auroc(scores, ~is_ood).value == pytest.approx(1 - auroc(scores, is_ood).value)
    assert auroc(-scores, is_ood).value == pytest.approx(1 - auroc(scores, is_ood).value)


def test_higher_is_more_anomalous():
    scores, is_ood = np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True])
    assert (
        auroc(scores, is_ood).value,
        Separation.of(scores, is_ood).aupr().value,
        Separation.of(scores, is_ood).fpr_at_tpr().value,
    ) == (
        1,
        1,
        0,
    )
    assert (auroc(-scores, is_ood).value, Separation.of(-scores, is_ood).fpr_at_tpr().value) == (0, 1)


def test_constant_scores_are_chance():
    scores, is_ood = np.zeros(10), np.arange(10) < 3
    assert auroc(scores, is_ood).value == 0.5
    assert Separation.of(scores, is_ood).aupr().value == pytest.approx(0.3)
    assert Separation.of(scores, is_ood).fpr_at_tpr().value == 1.0
    assert Separation.of(scores, is_ood).aupr_id().value == pytest.approx(0.7)
    assert Separation.of(scores, is_ood).detection_error().value == 0.5
    assert Separation.of(scores, is_ood).least_error().value == pytest.approx(0.3)


def test_infinite_scores_rank():
    assert auroc(np.array([-np.inf, 0.0, np.inf]), np.array([False, False, True])).value == 1.0


@pytest.mark.parametrize("n", [20, 40, 100, 1000])
def test_nineteen_in_twenty_is_enough(n):
    """With distinct scores the threshold lies at exactly 95 % of the OOD instances, not one further."""
    ood = np.arange(n, dtype=float)
    id_scores = np.array([n / 20 - 0.5])
    assert Separation(id_scores, ood).fpr_at_tpr(0.95).value == 0.0


@pytest.mark.parametrize(
    ("id_scores", "ood_scores", "reason"),
    [
        ([], [], "no instances"),
        ([0.1, 0.2], [], "none of the 2 instances is OOD"),
        ([], [0.1], "each of the 1 instances is OOD"),
        ([0.1, math.nan], [0.3, math.nan], "the score is missing for 2 of 4 instances"),
    ],
)
def test_undefined_with_a_reason(id_scores, ood_scores, reason):
    measures = Separation(np.array(id_scores), np.array(ood_scores)).measures()
    assert list(measures) == ["auroc", "aupr", "fpr_at_95_tpr"]
    separation = Separation(np.array(id_scores), np.array(ood_scores))
    others = separation.aupr_id(), separation.detection_error(), separation.least_error()
    for measure in (*measures.values(), *others):
        assert math.isnan(measure.value)
        assert measure.reason == reason
    for curve in (separation.roc(), separation.precision_recall()):
        assert curve.why_not == reason
        assert len(curve.x) == len(curve.y) == 0


@pytest.mark.parametrize("tpr", [0.0, -1.0, 1.5, 95, math.nan])
def test_refuses_an_impossible_rate(tpr):
    with refused(ParameterError):
        Separation(np.array([0.0]), np.array([1.0])).fpr_at_tpr(tpr)


@pytest.mark.parametrize("ood_share", [0.0, 1.0, -1.0, 50, math.nan])
def test_refuses_an_impossible_share(ood_share):
    with refused(ParameterError):
        Separation(np.array([0.0]), np.array([1.0])).least_error(ood_share)


DECISIONS = st.lists(st.tuples(st.integers(0, 4).map(float), st.booleans()), min_size=1, max_size=60)


def decided(case):
    return np.array([score for score, _ in case]), np.array([wrong for _, wrong in case])


def plain_area(wrong):
    """The definition, for instances without ties, most trusted first."""
    risks = [sum(wrong[:k]) / k for k in range(1, len(wrong) + 1)]
    return sum(risks) / len(risks)


def test_risk_by_hand():
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
    assert RiskCoverage.of(np.arange(len(wrong), dtype=float), np.array(wrong)).area().value == pytest.approx(
        plain_area(wrong)
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_ties_give_the_mean_over_all_orders(case):
    allowed = [
        plain_area([wrong for _, wrong in order])
        for order in permutations(case)
        if [score for score, _ in order] == sorted(score for score, _ in case)
    ]
    scores, wrong = decided(case)
    assert RiskCoverage.of(scores, wrong).area().value == pytest.approx(np.mean(allowed))


@given(st.lists(st.booleans(), min_size=1, max_size=7))
def test_no_order_beats_the_best(wrong):
    least = min(plain_area(order) for order in permutations(wrong))
    curve = RiskCoverage.of(np.arange(len(wrong), dtype=float), np.array(wrong))
    assert curve.best_area().value == pytest.approx(least)


@given(DECISIONS, st.randoms(use_true_random=False))
def test_risk_does_not_depend_on_order_and_has_bounds(case, random):
    scores, wrong = decided(case)
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


@given(DECISIONS)
def test_only_the_order_of_scores_matters_to_risk(case):
    scores, wrong = decided(case)
    assert RiskCoverage.of(np.exp(scores) - 7, wrong).area() == RiskCoverage.of(scores, wrong).area()


@given(DECISIONS)
def test_blind_trust_has_the_error_rate(case):
    _, wrong = decided(case)
    assert RiskCoverage.of(np.zeros(len(wrong)), wrong).area().value == pytest.approx(wrong.mean())


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
def test_risk_undefined_with_a_reason(scores, reason):
    given_scores, wrong = np.array(scores, dtype=float), np.zeros(len(scores), dtype=bool)
    curve = RiskCoverage.of(given_scores, wrong)
    assert curve.n == 0
    assert curve.risk.size == curve.coverage.size == 0
    for measure in (curve.area(), curve.best_area(), curve.excess_area()):
        assert measure.reason == reason


def test_refuses_arrays_that_do_not_match():
    with refused(DataError):
        RiskCoverage.of(np.zeros(2), np.zeros(1, dtype=bool))
