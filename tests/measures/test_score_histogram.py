import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from farm.errors import ParameterError
from farm.measures import Separation
from farm.measures.score_histogram import ScoreHistogram
from tests.wording import refused

SCORES = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e6, 1e6),
    st.floats(0.99, 1.01),
    st.floats(-1.1, -0.4),
    st.sampled_from([-math.inf, math.inf]),
)
SIDE = st.lists(SCORES, min_size=1, max_size=60).map(np.array)
SIDES = st.tuples(SIDE, SIDE)
MOST = st.sampled_from([1, 2, 4, 16, 1000])


def seen(sides, most):
    scores, is_ood = np.concatenate(sides), np.repeat([False, True], [len(side) for side in sides])
    return ScoreHistogram.of(scores, is_ood, most)


@given(SIDES, MOST)
def test_what_is_true_is_within_the_error(sides, most):
    found, true = seen(sides, most).measures(), Separation(*sides).measures()
    for name, measure in true.items():
        error = found[f"{name}_error"].value
        assert abs(found[name].value - measure.value) <= error + 1e-12
        if most == 1000:
            assert error <= 1e-15
            assert found[name].value == pytest.approx(measure.value, abs=1e-12)


@given(SIDES, SIDES, MOST)
def test_parts_measure_as_the_whole(first, second, most):
    whole = tuple(np.concatenate(pair) for pair in zip(first, second, strict=True))
    assert (seen(first, most) + seen(second, most)).measures() == seen(whole, most).measures()
    assert (seen(second, most) + seen(first, most)).measures() == seen(whole, most).measures()


@given(SIDES, MOST)
def test_auroc_mirrors_when_id_and_ood_swap(sides, most):
    (value, error), (mirrored, same) = seen(sides, most).auroc(), seen(sides[::-1], most).auroc()
    assert mirrored.value == pytest.approx(1 - value.value)
    assert same.value == pytest.approx(error.value)


@pytest.mark.parametrize(
    "shape",
    [
        lambda plain: plain,
        lambda plain: -20 + plain / 100,  # far from 0, beside their spread
        lambda plain: 1 / (1 + np.exp(-4 * plain)),
        lambda plain: -1 / (1 + np.exp(-4 * plain)),
        lambda plain: np.clip(plain, -0.5, 1.5),  # half of them saturated
        lambda plain: np.exp(8 * plain),
        lambda plain: plain.round(3),
    ],
)
def test_the_error_is_small_whatever_the_scale(shape):
    rng = np.random.default_rng(0)
    is_ood = rng.random(200_000) < 0.3
    scores = shape(rng.normal(size=len(is_ood)) + is_ood)
    found = ScoreHistogram.of(scores, is_ood).measures()
    for name, reference in (("auroc", roc_auc_score), ("aupr", average_precision_score)):
        error = found[f"{name}_error"].value
        assert abs(found[name].value - reference(is_ood, scores)) <= error + 1e-12 < 2e-4
    true = Separation(scores[~is_ood], scores[is_ood]).fpr_at_tpr().value
    assert abs(found["fpr_at_95_tpr"].value - true) <= found["fpr_at_95_tpr_error"].value + 1e-12 < 2e-4


@pytest.mark.parametrize(
    ("id_scores", "ood_scores"),
    [([], []), ([0.1, 0.2], []), ([], [0.1]), ([0.1, math.nan], [0.3, math.nan])],
)
def test_undefined_for_the_same_reasons_as_exactly(id_scores, ood_scores):
    sides = (np.array(id_scores), np.array(ood_scores))
    found, true = seen(sides, 100).measures(), Separation(*sides).measures()
    for name, measure in true.items():
        assert found[name].reason == found[f"{name}_error"].reason == measure.reason is not None


def test_single_instances_and_constant_scores():
    assert [m.value for m in seen((np.array([1.0]), np.array([2.0])), 1).auroc()] == [1.0, 0.0]
    assert [m.value for m in seen((np.zeros(3), np.zeros(2)), 1).auroc()] == [0.5, 0.0]


@pytest.mark.parametrize("tpr", [0.0, 1.5, math.nan])
def test_refuses_an_impossible_rate(tpr):
    with refused(ParameterError):
        seen((np.zeros(3), np.zeros(2)), 1).fpr_at_tpr(tpr)
