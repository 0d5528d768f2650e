import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from farm.measures import Counts, detection, ratio
from farm.measures.many import MANY, f1, flagged

COUNT = st.one_of(st.just(0), st.integers(0, 60), st.integers(0, 10**9))
COUNTS = st.builds(Counts, tp=COUNT, fp=COUNT, tn=COUNT, fn=COUNT)


def matrix(counts):
    return np.array([counts.tn, counts.fp, counts.fn, counts.tp], dtype=float)


@pytest.mark.parametrize("name", MANY)
@given(several=st.lists(COUNTS, min_size=1, max_size=5))
def test_equals_the_measure_of_one_matrix(name, several):
    found = MANY[name](np.array([matrix(counts) for counts in several]))
    for value, counts in zip(found, several, strict=True):
        assert value == pytest.approx(getattr(detection, name)(counts).value, abs=1e-12, nan_ok=True)


@given(COUNTS)
def test_share_of_flagged(counts):
    one = ratio(counts.flagged, counts.n, "no instances").value
    assert flagged(matrix(counts)) == pytest.approx(one, abs=1e-12, nan_ok=True)


@given(*[st.integers(0, 30)] * 4)
def test_f1_agrees_with_scikit_learn(tn, fp, fn, tp):
    truth, verdict = np.repeat([0, 0, 1, 1], [tn, fp, fn, tp]), np.repeat([0, 1, 0, 1], [tn, fp, fn, tp])
    found = f1(np.array([tn, fp, fn, tp], dtype=float))
    if tp + fp + fn:
        assert found == pytest.approx(f1_score(truth, verdict, zero_division=0), abs=1e-12)
    else:
        assert np.isnan(found)


@given(COUNTS, st.floats(1e-80, 1.0))
def test_shares_give_what_counts_give(counts, scale):
    if counts.n:
        for form in MANY.values():
            assert form(matrix(counts) * scale) == pytest.approx(form(matrix(counts)), abs=1e-9, nan_ok=True)


def test_keeps_the_leading_axes():
    assert MANY["mcc"](np.ones((3, 5, 4))).shape == (3, 5)
