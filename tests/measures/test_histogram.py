import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from farm.errors import ParameterError
from farm.measures.histogram import BINS, Histogram, _in_order
from tests.wording import refused

VALUES = st.one_of(
    st.floats(allow_nan=True),
    st.integers(-3, 3).map(float),
    st.floats(0.9, 1.1),
    st.floats(-1.1, -0.4),
    st.sampled_from([0.0, -0.0, 5e-324, math.inf, -math.inf, 1.0, math.nan]),
)
FINITE = st.one_of(st.floats(-1e9, 1e9), st.integers(-3, 3).map(float), st.floats(0.9, 1.1))
MOST = st.sampled_from([1, 2, 3, 8, BINS])
PARTED = st.lists(st.lists(VALUES, max_size=20), min_size=1, max_size=6)


def state(histogram):
    return (
        histogram.low.tobytes(),
        histogram.high.tobytes(),
        histogram.count.tolist(),
        histogram.missing,
        histogram.shift,
    )


@given(PARTED, MOST, st.randoms(use_true_random=False))
@example([[0.0, 1.0], [], [-1.0, 2.0, 1.0]], 1, None)
def test_parts_are_the_whole_bit_for_bit_in_whatever_order(parts, most, random):
    whole = Histogram.of(np.array([value for part in parts for value in part]), most)
    if random:
        random.shuffle(parts)
    found = [Histogram.of(np.array(part), most) for part in parts]
    while len(found) > 1:  # any two, not only the first with the next
        at = random.randrange(len(found) - 1) if random else 0
        found[at : at + 2] = [found[at] + found[at + 1]]
    assert state(found[0]) == state(whole)


@given(PARTED, MOST)
@example([[0.0, 1.0, 2.0, 3.0], [-1.0, -1.5]], 1)
def test_a_shift_known_before_changes_nothing(parts, most):
    so_far = Histogram.of(np.empty(0), most)
    for part in parts:
        so_far = so_far + Histogram.of(np.array(part), most, so_far.shift)
    assert state(so_far) == state(Histogram.of(np.array([v for part in parts for v in part]), most))


@given(st.lists(VALUES, max_size=60), MOST)
def test_bins_are_in_order_and_hold_what_they_say(values, most):
    histogram = Histogram.of(np.array(values), most)
    known = np.array([value for value in values if not math.isnan(value)])
    assert (histogram.n, histogram.missing) == (len(known), len(values) - len(known))
    assert (histogram.low <= histogram.high).all()
    assert (histogram.high[:-1] < histogram.low[1:]).all()
    assert len(histogram.low) <= most + 2
    for low, high, count in zip(histogram.low, histogram.high, histogram.count, strict=True):
        assert ((known >= low) & (known <= high)).sum() == count
    ends = set(histogram.low.tolist()) | set(histogram.high.tolist())
    assert ends <= set(known.tolist())


@given(st.lists(VALUES, min_size=1, max_size=60))
def test_few_values_are_kept_as_they_are(values):
    histogram = Histogram.of(np.array(values))
    expected, counts = np.unique([v + 0.0 for v in values if not math.isnan(v)], return_counts=True)
    assert histogram.low.tolist() == histogram.high.tolist() == expected.tolist()
    assert histogram.count.tolist() == counts.tolist()


@given(st.lists(FINITE, min_size=1, max_size=60), MOST, st.sampled_from([0.0, 0.01, 0.5, 0.95, 1.0]))
def test_quantiles_are_within_their_error(values, most, share):
    value, error = Histogram.of(np.array(values), most).quantile(share)
    true = np.quantile(values, share)
    assert abs(value.value - true) <= error.value + 1e-12 * max(abs(true), 1)
    if len(set(values)) <= most:
        assert error.value == 0


@pytest.mark.parametrize("seed", range(3))
def test_times_are_known_to_a_thousandth(seed):
    times = np.random.default_rng(seed).lognormal(4, 0.5, 200_000)
    for share in (0.5, 0.95, 0.99):
        value, error = Histogram.of(times, 2**12).quantile(share)
        assert abs(value.value - np.quantile(times, share)) <= error.value <= 1e-3 * value.value


def test_as_many_bins_as_may_be():
    """One leading bit more, and there would be too many."""
    values = np.random.default_rng(0).normal(size=10_000)
    histogram = Histogram.of(values, 500)
    assert 250 < len(histogram.low) <= 502


def test_saturated_scores_stay_apart_from_what_is_near():
    rng = np.random.default_rng(0)
    scores = np.clip(rng.normal(0.5, 0.3, 10_000), 0.123, 0.789)
    histogram = Histogram.of(scores, 100)
    for end, at in ((0.123, 0), (0.789, -1)):
        assert histogram.low[at] == histogram.high[at] == end
        assert histogram.count[at] == (scores == end).sum()


def test_nothing_has_no_quantile():
    for measure in Histogram.of(np.array([math.nan])).quantile(0.5):
        assert measure.reason == "no values"


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_refuses_an_impossible_share(share):
    with refused(ParameterError):
        Histogram.of(np.ones(3)).quantile(share)


def test_refuses_no_bins_and_unequal_ones():
    with refused(ParameterError):
        Histogram.of(np.ones(3), 0)
    with refused(ParameterError):
        Histogram.of(np.ones(3), 8) + Histogram.of(np.ones(3), 9)


@given(st.lists(st.one_of(st.floats(allow_nan=False), st.floats(-1, 1)), min_size=2, max_size=50))
@example([-math.inf, -2.0, -1.0 - 2**-52, -1.0, -1.0 + 2**-53, -0.5, -0.25, -5e-324, 0.0])
@example([0.5 - 2**-54, 0.5, 0.75, 1.0 - 2**-53, 1.0, 1.0 + 2**-52, 4e292, 1e300, math.inf])
def test_places_rise_with_values(values):
    values = np.unique(np.array(values) + 0.0)
    place = _in_order(values)
    assert (place[1:] >= place[:-1]).all()
    usual = np.abs(values) < 1e292
    assert (place[usual][1:] > place[usual][:-1]).all()


def test_what_is_close_to_one_is_told_apart():
    """As finely as what is close to 0: one minus a probability must not say less than the probability."""
    near_zero = np.exp(-np.random.default_rng(0).uniform(1, 30, 10_000))
    for values in (1 - near_zero, near_zero - 1):
        assert Histogram.of(values, 200).count.max() < 2 * Histogram.of(near_zero, 200).count.max()
