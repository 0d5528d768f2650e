"""Delays counted: quantiles, the bound by the binomial distribution, and shares found in time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from farm.measures.delays import Delays, Outcome
from tests.wording import same_text


def test_a_missed_onset_is_censored_and_not_dropped():
    found = Delays.of(np.array([1.0, 2.0, np.inf]))
    assert (found.n, found.missed) == (3, 1)
    assert found.quantile(0.5).value == 2
    same_text(found.quantile(0.95).reason)
    same_text(Delays.of(np.empty(0)).quantile(0.5).reason)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=80), st.floats(0.01, 1))
def test_a_quantile_is_the_least_delay_that_so_many_do_not_exceed(values, q):
    got = Delays.of(np.array(values, dtype=float)).quantile(q).value
    array = np.array(values)
    assert (array <= got).mean() >= q - 1e-9
    assert (array < got).mean() < q


def test_the_bound_needs_59_onsets():
    same_text(Delays.of(np.arange(58.0)).bound_of_p95().reason)
    assert Delays.of(np.arange(59.0)).bound_of_p95().value == 58  # the longest


@pytest.mark.parametrize("n", [59, 92, 93, 124, 500, 2000])
def test_the_bound_is_the_order_statistic_of_the_binomial_distribution(n):
    rank = next(r for r in range(1, n + 1) if binom.cdf(r - 1, n, 0.95) >= 0.95)
    assert Delays.of(np.arange(1.0, n + 1)).bound_of_p95().value == rank


def test_the_bound_holds_as_often_as_it_says():
    rng = np.random.default_rng(0)
    true = 1000 * np.log(1 / 0.05)  # the 95th percentile of the exponential distribution
    held = [
        Delays.of(np.ceil(rng.exponential(1000, size=100))).bound_of_p95().value >= true for _ in range(2000)
    ]
    assert np.mean(held) >= 0.94


def test_what_is_found_in_time_by_hand():
    # Found at 0, 4 and 4; 2 missed, 1 standing, 1 on ID; open after 3 and after 9 instances.
    counts = {(Outcome.FOUND, 0): 1, (Outcome.FOUND, 4): 2, (Outcome.MISSED, 0): 1, (Outcome.AFTER, 0): 1}
    counts |= {(Outcome.STANDING, 0): 1, (Outcome.ON_ID, 0): 1, (Outcome.OPEN, 3): 1, (Outcome.OPEN, 9): 1}
    delays = Delays(Counter(counts))
    assert (delays.onsets, delays.n, delays.missed, delays.without) == (9, 5, 2, 2)
    # Of the open ones a deadline counts those that have outlasted it.
    shares = {0: 1 / 9, 3: 1 / 8, 4: 3 / 8, 9: 3 / 7}
    assert {deadline: delays.in_time(deadline).value for deadline in shares} == shares
    assert delays.quantile(0.6).value == 4
    assert delays.missed_share.value == 2 / 5
    assert delays.by_outcome == {"found": 3, "standing": 1, "on_id": 1, "after": 1, "missed": 2, "open": 2}


def test_where_no_onset_has_a_delay_it_says_what_came_of_them():
    aside = Delays(Counter({(Outcome.STANDING, 0): 2, (Outcome.ON_ID, 0): 1, (Outcome.OPEN, 7): 1}))
    assert aside.quantile(0.5).reason == "no onset has a delay: 2 standing, 1 on ID, 1 open"
    assert aside.in_time(3).value == 0
    assert Delays().in_time(3).reason == "the stream has no onset"


@given(st.lists(st.lists(st.integers(0, 9), max_size=9), min_size=1, max_size=5))
def test_streams_taken_together_are_one_table(streams):
    together = Delays.together(Delays.of(np.array(own, dtype=float)) for own in streams)
    assert together.values.tolist() == sorted(delay for own in streams for delay in own)
