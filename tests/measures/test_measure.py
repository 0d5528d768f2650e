import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from farm.errors import ParameterError
from farm.measures import Measure, ratio, undefined, wilson
from tests.wording import refused


def test_undefined_is_nan_with_its_reason():
    measure = undefined("no instances")
    assert math.isnan(measure.value)
    assert (measure.reason, measure.defined, measure.json) == ("no instances", False, None)


def test_defined_has_no_reason():
    assert (Measure(0.0).defined, Measure(0.0).json) == (True, 0.0)


@pytest.mark.parametrize(("value", "reason"), [(math.nan, None), (0.5, "why")])
def test_neither_nan_without_a_reason_nor_a_number_with_one(value, reason):
    with refused(ValueError):
        Measure(value, reason)


def test_ratio_of_nothing_is_undefined():
    assert ratio(0, 0, "no alarm").reason == "no alarm"
    assert ratio(1, 2, "no alarm") == Measure(0.5)


SEEN = st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LEVELS = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])


@given(SEEN, LEVELS)
def test_agrees_with_statsmodels_and_scipy(seen, level):
    k, n = seen
    low, high = (bound.value for bound in wilson(k, n, level))
    assert (low, high) == pytest.approx(proportion_confint(k, n, 1 - level, method="wilson"), abs=1e-10)
    reference = binomtest(k, n).proportion_ci(level, method="wilson")
    assert (low, high) == pytest.approx((reference.low, reference.high), abs=1e-10)


@given(SEEN, LEVELS)
def test_holds_the_share_and_stays_in_bounds(seen, level):
    k, n = seen
    low, high = (bound.value for bound in wilson(k, n, level))
    assert 0 <= low <= k / n <= high <= 1
    assert low < high


@given(SEEN)
def test_mirrors_when_successes_and_failures_swap(seen):
    k, n = seen
    low, high = wilson(k, n)
    low_mirrored, high_mirrored = wilson(n - k, n)
    assert (low.value, high.value) == pytest.approx(
        (1 - high_mirrored.value, 1 - low_mirrored.value), abs=1e-12
    )


def test_ends_are_exact():
    assert wilson(0, 50)[0].value == 0.0
    assert wilson(50, 50)[1].value == 1.0


def test_is_not_walds():
    assert wilson(0, 50)[1].value > 0.05


def test_of_nothing_is_undefined():
    for bound in wilson(0, 0):
        assert math.isnan(bound.value)
        assert bound.reason == "no instances"


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (0, -1)])
def test_refuses_impossible_counts(k, n):
    with refused(ParameterError):
        wilson(k, n)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_refuses_impossible_levels(level):
    with refused(ParameterError):
        wilson(1, 2, level)
