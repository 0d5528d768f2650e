"""What a classifier's probabilities are worth, in parts and as a whole, against NumPy and scikit-learn."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from farm.measures.accumulate import ScoreHistogram
from farm.measures.certainty import BRIER_MEAN, BRIER_SUM, BrierSums, CertaintySums, why_not_told_apart

SCORES = st.lists(st.tuples(st.floats(0, 2), st.booleans()), min_size=1, max_size=40)


def arrays(case):
    return np.array([answered for _, answered in case]), np.array([score for score, _ in case])


@given(SCORES, st.lists(st.integers(0, 40), max_size=4), st.randoms(use_true_random=False))
def test_parts_in_any_order_come_to_the_same_to_the_last_bit(case, cuts, random):
    answered, brier = arrays(case)
    order = np.array(random.sample(range(len(brier)), len(brier)))
    parts = zip(np.split(answered[order], sorted(cuts)), np.split(brier[order], sorted(cuts)), strict=True)
    whole = BrierSums.of(answered, brier)
    assert reduce(add, (BrierSums.of(*part) for part in parts)) == whole
    found = whole.measures(4)
    if answered.any():
        assert found[BRIER_SUM].value == pytest.approx(brier[answered].mean(), abs=1e-14)
        assert found[BRIER_MEAN].value == found[BRIER_SUM].value / 4
    else:
        assert found[BRIER_SUM].reason == f"none of the {len(brier)} instances has a right answer"


def test_a_great_many_do_not_pass_what_whole_numbers_hold():
    n = 3_000_000
    found = BrierSums.of(np.ones(n, dtype=bool), np.full(n, 1.9))
    assert found.measures(None)[BRIER_SUM].value == pytest.approx(1.9, abs=1e-15)


@given(SCORES, st.randoms(use_true_random=False))
def test_the_auroc_of_confidence_agrees_with_scikit_learn(case, random):
    answered, confidence = arrays(case)
    wrong = np.array([random.random() < 0.5 for _ in confidence]) | ~answered
    sums = CertaintySums.of(answered, wrong, confidence.round(1), None)
    if (why := sums.why_not_parted) is None:
        value, error = ScoreHistogram(sums.wrong, sums.right).auroc()
        assert error.value == 0
        assert value.value == pytest.approx(roc_auc_score(~wrong[answered], confidence.round(1)[answered]))
    else:
        assert len(set(wrong[answered].tolist())) < 2, why


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ((0, 0, 0, 0), "no instances"),
        ((1200, 0, 0, 0), "none of the 1,200 instances has a right answer"),
        ((9, 3, 4, 7), "no confidence was given"),
        ((9, 3, 4, 1), "the confidence is missing for 1 of 7 instances"),
        ((9, 7, 0, 0), "each of the 7 predictions is right"),
        ((9, 0, 7, 0), "none of the 7 predictions is right"),
        ((9, 3, 4, 0), None),
    ],
)
def test_why_right_and_wrong_predictions_cannot_be_told_apart(counts, reason):
    assert why_not_told_apart(*counts) == reason
