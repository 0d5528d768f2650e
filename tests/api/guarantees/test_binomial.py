"""Counts of trials: in exact fractions, and the first number that is enough."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from hypothesis import given
from hypothesis import strategies as st

from farm.api.guarantees.binomial import is_small, larger_sample, lowest_rank, smallest

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


def test_how_many_more_would_do():
    assert larger_sample(0, 10, 0.1, 0.1) == 22
    assert larger_sample(1, 10, 0.1, 0.1) is None
    assert larger_sample(0, 0, 0.1, 0.1) is None


@given(st.integers(0, 4), st.integers(20, 60))
def test_what_would_do_does_where_the_share_stays(k, n):
    would = larger_sample(k, n, 0.3, 0.1)
    assert is_small(-(-k * would // n), would, 0.3, 0.1)


def test_a_share_that_is_just_below_takes_more_than_anybody_has():
    assert larger_sample(9, 200, 0.045 + 1e-12, 0.05) is None
