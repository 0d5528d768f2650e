"""Bounds of shares of independent trials, against scipy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from farm.errors import ParameterError
from farm.statistics.clopper_pearson import high_of_share, low_of_share
from tests.wording import refused

LEVELS = (0.5, 0.8, 0.95, 0.999)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 59), (1, 20), (7, 13), (20, 20), (300, 4000)])
def test_bounds_are_scipys(k, n, level):
    less = binomtest(k, n, alternative="less").proportion_ci(level, method="exact")
    greater = binomtest(k, n, alternative="greater").proportion_ci(level, method="exact")
    assert low_of_share(k, n, level) == pytest.approx(greater.low, abs=1e-10)
    assert high_of_share(k, n, level) == pytest.approx(less.high, abs=1e-10)


def test_one_more_seen_than_the_bound_allows_has_the_chance_that_is_left():
    high = high_of_share(3, 50, 0.95)
    assert binom.cdf(3, 50, high) == pytest.approx(0.05, abs=1e-9)


@given(st.integers(1, 400), st.data())
def test_more_trials_of_the_same_share_never_widen(n, data):
    k = data.draw(st.integers(0, n))
    assert low_of_share(2 * k, 2 * n, 0.95) >= low_of_share(k, n, 0.95) - 1e-12
    assert high_of_share(2 * k, 2 * n, 0.95) <= high_of_share(k, n, 0.95) + 1e-12


@pytest.mark.parametrize("bad", [(-1, 5, 0.95), (6, 5, 0.95), (0, 0, 0.95), (1, 5, 0.0), (1, 5, 1.0)])
def test_what_is_no_share_is_refused(bad):
    for bound in (low_of_share, high_of_share):
        with refused(ParameterError):
            bound(*bad)
