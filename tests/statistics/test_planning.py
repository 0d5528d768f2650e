"""Plans are the smallest that do; what they promise is checked with the intervals and tests themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from farm.errors import ParameterError
from farm.measures import wilson
from farm.measures.delays import Delays
from farm.statistics.planning import (
    instances_for_half_width,
    instances_of_each_kind,
    onsets_for_delay_bound,
    sets_for_rank_difference,
    wilson_half_width,
)
from farm.statistics.ranks import critical_difference, sets_needed
from tests.wording import refused

RATES = st.floats(0, 1)
LEVELS = st.sampled_from([0.8, 0.9, 0.95, 0.99])
HALF_WIDTHS = st.floats(0.001, 0.49)

# Demsar 2006, table 5(a): q of the two-tailed Nemenyi test for 2 to 10 classifiers.
DEMSAR = {
    0.05: (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164),
    0.10: (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920),
}


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), LEVELS)
def test_the_half_width_is_that_of_the_interval(seen, level):
    k, n = seen
    low, high = proportion_confint(k, n, 1 - level, method="wilson")
    assert wilson_half_width(k / n, n, level) == pytest.approx((high - low) / 2, abs=1e-10)
    low, high = (bound.value for bound in wilson(k, n, level))
    assert wilson_half_width(k / n, n, level) == pytest.approx((high - low) / 2, abs=1e-10)


@given(HALF_WIDTHS, RATES, LEVELS)
def test_so_many_instances_do_and_one_less_does_not(half_width, rate, level):
    n = instances_for_half_width(half_width, rate, level)
    assert wilson_half_width(rate, n, level) <= half_width
    assert n == 1 or wilson_half_width(rate, n - 1, level) > half_width
    # No greater number undoes it.
    assert all(wilson_half_width(rate, n + more, level) <= half_width for more in (1, 2, 10, 1000))


@given(HALF_WIDTHS, RATES, LEVELS)
def test_without_a_rate_it_suffices_for_every_rate(half_width, rate, level):
    worst = instances_for_half_width(half_width, level=level)
    assert instances_for_half_width(half_width, rate, level) <= worst
    assert wilson_half_width(rate, worst, level) <= half_width
    assert instances_for_half_width(half_width, 0.5, level) == worst


@given(HALF_WIDTHS, st.floats(0, 0.5), LEVELS)
def test_a_rate_and_what_is_left_of_it_need_as_many(half_width, rate, level):
    mirrored = instances_for_half_width(half_width, 1 - rate, level)
    assert abs(mirrored - instances_for_half_width(half_width, rate, level)) <= 1  # 1 - rate rounds


@given(st.floats(0.01, 0.4), st.floats(0.01, 0.4), RATES)
def test_a_narrower_interval_needs_no_fewer(one, two, rate):
    narrow, wide = sorted((one, two))
    assert instances_for_half_width(narrow, rate) >= instances_for_half_width(wide, rate)
    assert instances_for_half_width(one, rate, 0.99) >= instances_for_half_width(one, rate, 0.9)


def test_wilson_needs_a_little_else_than_the_textbook_formula():
    # z^2 p q / w^2 gives 865 and 2401; Wilson's interval is narrower at one half, wider near the ends.
    z = 1.959964
    assert math.ceil(z**2 * 0.09 / 0.02**2) == 865
    assert instances_for_half_width(0.02, 0.1) == 868
    assert math.ceil(z**2 * 0.25 / 0.02**2) == 2401
    assert instances_for_half_width(0.02) == 2398


@given(HALF_WIDTHS, RATES, RATES, st.floats(0.01, 0.99))
def test_a_stream_has_enough_of_both_kinds(half_width, fpr, fnr, ood_share):
    kinds = instances_of_each_kind(half_width, fpr, fnr, ood_share=ood_share)
    assert kinds.n_id == instances_for_half_width(half_width, fpr)
    assert kinds.n_ood == instances_for_half_width(half_width, fnr)

    def enough(n):
        return n * (1 - ood_share) >= kinds.n_id - 1e-6 and n * ood_share >= kinds.n_ood - 1e-6

    assert enough(kinds.n_stream)
    assert not enough(kinds.n_stream - 1)


def test_kinds_without_a_share_stand_side_by_side():
    kinds = instances_of_each_kind(0.05)
    assert (kinds.n_id, kinds.n_ood, kinds.n_stream) == (381, 381, 762)
    assert instances_of_each_kind(0.05, ood_share=0.5).n_stream == 762


@pytest.mark.parametrize("alpha", [0.05, 0.1])
@pytest.mark.parametrize("monitors", range(2, 11))
def test_sets_by_demsars_table(alpha, monitors):
    q = DEMSAR[alpha][monitors - 2]
    for difference in (0.31, 0.77, 1.0):
        by_hand = q**2 * monitors * (monitors + 1) / (6 * difference**2)
        # The table's three digits leave a set in doubt where the number is nearly whole.
        got = sets_for_rank_difference(difference, monitors, alpha)
        low, high = math.ceil(by_hand * 0.999), math.ceil(by_hand * 1.001)
        fewest = sets_needed(monitors * (monitors - 1) // 2, alpha)
        assert max(low, fewest) <= got <= max(high, fewest)


@settings(max_examples=25)
@given(st.integers(2, 30), st.floats(0.01, 1), st.sampled_from([0.01, 0.05, 0.1]))
def test_so_many_sets_do_and_one_less_does_not(monitors, share, alpha):
    difference = share * (monitors - 1)
    n = sets_for_rank_difference(difference, monitors, alpha)
    assert critical_difference(monitors, n, alpha) < difference
    fewest = sets_needed(monitors * (monitors - 1) // 2, alpha)
    assert n == fewest or (n > fewest and critical_difference(monitors, n - 1, alpha) >= difference)


@pytest.mark.parametrize("missed", [0, 1, 2, 5])
def test_so_many_onsets_have_a_bound_and_one_less_has_none(missed):
    n = onsets_for_delay_bound(missed)
    delays = np.arange(float(n))
    delays[:missed] = np.inf
    assert Delays.of(delays).bound_of_p95().defined
    assert not Delays.of(delays[:-1]).bound_of_p95().defined


@given(st.integers(0, 20), st.floats(0.5, 0.99), LEVELS)
def test_onsets_by_the_binomial_distribution(missed, quantile, level):
    n = onsets_for_delay_bound(missed, quantile, level)
    assert binom.sf(missed, n, 1 - quantile) >= level - 1e-9
    assert n == missed + 1 or binom.sf(missed, n - 1, 1 - quantile) < level + 1e-9


def test_onsets_known_by_heart():
    assert onsets_for_delay_bound() == 59
    assert onsets_for_delay_bound(quantile=0.99) == 299
    assert onsets_for_delay_bound(quantile=0.5) == 5


@pytest.mark.parametrize(
    "call",
    [
        lambda: instances_for_half_width(0.0),
        lambda: instances_for_half_width(2),
        lambda: instances_for_half_width(math.nan),
        lambda: instances_for_half_width(0.1, 10),
        lambda: instances_for_half_width(0.1, level=95),
        lambda: instances_of_each_kind(0.1, ood_share=1.0),
        lambda: sets_for_rank_difference(1, 1),
        lambda: sets_for_rank_difference(3, 3),
        lambda: sets_for_rank_difference(math.nan, 3),
        lambda: sets_for_rank_difference(1, 3, 5),
        lambda: onsets_for_delay_bound(-1),
        lambda: onsets_for_delay_bound(quantile=95),
        lambda: onsets_for_delay_bound(level=0.0),
    ],
)
def test_what_cannot_be_planned_is_refused(call):
    with refused(ParameterError):
        call()
