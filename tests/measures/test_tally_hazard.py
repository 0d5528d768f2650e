"""Hazard, gain and cost are of what was acted upon: a fallback's decisions are not outside of the account."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farm.measures import availability_cost, residual_hazard, safety_gain
from farm.measures.tally import Tally

N = 24
codes = arrays(np.int64, N, elements=st.integers(-1, 2))
predictions = arrays(np.int64, N, elements=st.integers(0, 2))
flags = arrays(np.bool_, N)


@given(codes, predictions, flags)
def test_without_a_fallback_they_are_the_published_ones(label, predicted, cancelled):
    tally = Tally.of(label, predicted, label < 0, cancelled, cancelled)
    found = tally.classification()
    assert found["residual_hazard"] == residual_hazard(tally.overall)
    assert found["safety_gain"] == safety_gain(tally.overall)
    assert found["availability_cost"] == availability_cost(tally.overall)


@given(codes, predictions, flags, predictions)
def test_with_a_fallback_gain_and_hazard_still_sum_to_the_error_rate(label, predicted, cancelled, instead):
    decision = np.where(cancelled, instead, predicted)
    found = Tally.of(label, predicted, label < 0, cancelled, cancelled, decision).classification()
    assert np.isclose(found["residual_hazard"].value, (decision != label).mean())
    error = (predicted != label).mean()
    assert np.isclose(found["safety_gain"].value + found["residual_hazard"].value, error)
    assert np.isclose(
        found["availability_cost"].value, (predicted == label).mean() - (decision == label).mean()
    )
