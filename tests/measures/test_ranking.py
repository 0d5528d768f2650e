import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from farm.errors import ParameterError
from farm.measures import Separation, aupr, auroc, fpr_at_tpr
from farm.measures.ranking import aupr_id, detection_error, least_error
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
    assert aupr(scores, is_ood).value == pytest.approx(average_precision_score(is_ood, scores), abs=1e-12)


@given(CASES)
def test_aupr_of_id_agrees_with_scikit_learn(case):
    scores, is_ood = arrays(case)
    expected = average_precision_score(~is_ood, -scores)
    assert aupr_id(scores, is_ood).value == pytest.approx(expected, abs=1e-12)
    assert aupr_id(-scores, ~is_ood).value == pytest.approx(aupr(scores, is_ood).value)


@given(CASES, st.sampled_from([None, 0.01, 0.3, 0.5, 0.9]))
def test_least_error_agrees_with_scikit_learns_curve(case, ood_share):
    scores, is_ood = arrays(case)
    fprs, tprs, _ = roc_curve(is_ood, scores, drop_intermediate=False)
    share = is_ood.mean() if ood_share is None else ood_share
    expected = ((1 - share) * fprs + share * (1 - tprs)).min()
    found = least_error(scores, is_ood, ood_share).value
    assert found == pytest.approx(expected, abs=1e-12)
    assert 0 <= found <= min(share, 1 - share) + 1e-12


@given(CASES)
def test_detection_error_counts_both_sides_the_same(case):
    scores, is_ood = arrays(case)
    error = detection_error(scores, is_ood).value
    fprs, tprs, _ = roc_curve(is_ood, scores, drop_intermediate=False)
    assert error == pytest.approx((fprs + 1 - tprs).min() / 2, abs=1e-12)
    assert detection_error(-scores, ~is_ood).value == pytest.approx(error)
    assert detection_error(np.append(scores, scores[is_ood]), np.append(is_ood, is_ood[is_ood])).value == (
        pytest.approx(error)
    )


@given(CASES)
def test_least_error_is_the_share_of_mistakes_at_the_best_threshold(case):
    scores, is_ood = arrays(case)
    never = is_ood.mean()
    least = min(never, *(np.mean((scores >= threshold) != is_ood) for threshold in scores))
    assert least_error(scores, is_ood).value == pytest.approx(least)


@given(CASES, st.sampled_from([0.5, 0.9, 0.95, 1.0]))
def test_fpr_at_tpr_agrees_with_scikit_learns_curve(case, tpr):
    scores, is_ood = arrays(case)
    fprs, tprs, _ = roc_curve(is_ood, scores, drop_intermediate=False)
    assert fpr_at_tpr(scores, is_ood, tpr).value == pytest.approx(fprs[tprs >= tpr].min(), abs=1e-12)


@given(CASES, st.randoms(use_true_random=False))
def test_order_does_not_matter(case, random):
    scores, is_ood = arrays(case)
    shuffled = list(range(len(scores)))
    random.shuffle(shuffled)
    for measure in (auroc, aupr, aupr_id, fpr_at_tpr, detection_error, least_error):
        assert measure(scores[shuffled], is_ood[shuffled]) == measure(scores, is_ood)


@given(CASES)
def test_auroc_mirrors_when_id_and_ood_swap(case):
    scores, is_ood = arrays(case)
    assert auroc(scores, ~is_ood).value == pytest.approx(1 - auroc(scores, is_ood).value)
    assert auroc(-scores, is_ood).value == pytest.approx(1 - auroc(scores, is_ood).value)


def test_higher_is_more_anomalous():
    scores, is_ood = np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True])
    assert (auroc(scores, is_ood).value, aupr(scores, is_ood).value, fpr_at_tpr(scores, is_ood).value) == (
        1,
        1,
        0,
    )
    assert (auroc(-scores, is_ood).value, fpr_at_tpr(-scores, is_ood).value) == (0, 1)


def test_constant_scores_are_chance():
    scores, is_ood = np.zeros(10), np.arange(10) < 3
    assert auroc(scores, is_ood).value == 0.5
    assert aupr(scores, is_ood).value == pytest.approx(0.3)
    assert fpr_at_tpr(scores, is_ood).value == 1.0
    assert aupr_id(scores, is_ood).value == pytest.approx(0.7)
    assert detection_error(scores, is_ood).value == 0.5
    assert least_error(scores, is_ood).value == pytest.approx(0.3)


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


@pytest.mark.parametrize("tpr", [0.0, -1.0, 1.5, 95, math.nan])
def test_refuses_an_impossible_rate(tpr):
    with refused(ParameterError):
        fpr_at_tpr(np.array([0.0, 1.0]), np.array([False, True]), tpr)


@pytest.mark.parametrize("ood_share", [0.0, 1.0, -1.0, 50, math.nan])
def test_refuses_an_impossible_share(ood_share):
    with refused(ParameterError):
        least_error(np.array([0.0, 1.0]), np.array([False, True]), ood_share)
