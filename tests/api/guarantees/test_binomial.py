"""Counts of trials: in exact fractions, and the first number that is enough."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from hypothesis import given
from hypothesis import strategies as st

from farm.api.guarantees.binomial import FURTHEST, feared, larger_sample, lowest_rank, smallest

PERCENTS = st.integers(1, 99)


def by_counting(n, accept, confidence):
    """The lowest rank whose uniform order statistic is high enough, in fractions."""
    p, chance = Fraction(accept, 100), Fraction(0)
    for rank in range(1, n + 1):
        chance += comb(n, rank - 1) * p ** (rank - 1) * (1 - p) ** (n - rank + 1)
        if chance >= Fraction(confidence, 100):
            return rank
    return None


@given(st.integers(1, 60), PERCENTS, PERCENTS)
def test_the_rank_is_that_of_exact_fractions(n, accept, confidence):
    assert lowest_rank(n, accept / 100, confidence / 100) == by_counting(n, accept, confidence)


@given(st.integers(1, 50), st.integers(0, 10**9))
def test_the_search_finds_the_first(at_least, first):
    calls = []

    def enough(n):
        calls.append(n)
        return n >= first

    assert smallest(enough, at_least) == max(first, at_least)
    assert min(calls) >= at_least
    assert len(calls) < 70


@given(st.integers(1, 5000), st.integers(1, 60_000))
def test_what_would_do_is_a_round_number_above_that_is_hardly_more_than_needed(n, first):
    told = larger_sample(n, lambda many: many >= first)
    if told is None:
        assert first > 0.9 * FURTHEST * n
        return
    assert max(first, n + 1) <= told <= max(first, n + 1) * 1.1
    assert str(told)[2:].strip("0") == ""


def test_what_is_feared_is_more_than_the_share_that_was_seen():
    assert [feared(k, 50, 100) for k in (0, 1, 4, 9)] == [2, 6, 13, 24]
