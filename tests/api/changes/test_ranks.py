"""P-values of a stream are independent and uniform, exactly, and take no memory of it."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, kstest

from farm.api.changes import ConformalRanks, MixtureBet
from farm.errors import DataError
from tests.wording import refused


def below(at, ranks, score):
    """Return the chance, over ties broken at random, that the next p-value is below a number."""
    low, high = ranks.p(score, 0.0), None
    ranks._counts[ranks._bins(np.array([score]))] -= 1
    high = ranks.p(score, 1.0)
    return np.clip((at - low) / (high - low), 0.0, 1.0)


def joint(values, at, *, remember):
    """Return the chance that two p-values in a row are below two numbers, over all orders of the values."""
    total, orders = 0.0, list(itertools.permutations(values))
    for order in orders:
        ranks = ConformalRanks(np.array(order[:4], dtype=float))
        first = below(at[0], ranks, float(order[4]))
        if not remember:
            ranks.forget()
        total += first * below(at[1], ranks, float(order[5]))
    return total / len(orders)


@pytest.mark.parametrize("values", [(1, 2, 3, 4, 5, 6), (1, 1, 2, 2, 2, 7), (3, 3, 3, 3, 3, 3)])
@pytest.mark.parametrize("at", [(0.5, 0.5), (0.1, 0.3), (0.8, 0.15), (1.0, 0.4)])
def test_two_in_a_row_are_uniform_and_independent_over_all_orders(values, at):
    assert joint(values, at, remember=True) == pytest.approx(at[0] * at[1], abs=1e-12)


def test_ranked_among_a_fixed_reference_they_depend_on_each_other():
    assert joint((1, 2, 3, 4, 5, 6), (0.5, 0.5), remember=False) > 0.27


def ever(n_streams, alpha, *, remember):
    """Count the streams in which bets on p-values ever gain 1 / alpha times the stake."""
    count = 0
    for seed in range(n_streams):
        random = np.random.default_rng(seed)
        ranks, bet = ConformalRanks(random.normal(size=30)), MixtureBet()
        scores, ties = random.normal(size=200), random.random(200)
        if remember:
            p = ranks.add(scores, ties)
        else:
            p = np.empty(200)
            for at in range(200):
                ranks.forget()
                p[at] = ranks.p(scores[at], ties[at])
        count += np.cumsum(bet.add(p)).max() >= -np.log(alpha)
    return count


def test_bets_gain_seldom_and_often_where_scores_before_are_left_out():
    most = binom.ppf(0.9999, 80, 0.2)
    assert ever(80, 0.2, remember=True) <= most < ever(80, 0.2, remember=False)


@pytest.mark.parametrize("bins", [2, 8, 1024])
@pytest.mark.parametrize(
    "draw", [np.random.Generator.standard_normal, lambda random, n: random.integers(0, 3, n) / 1.0]
)
def test_many_are_uniform_whatever_the_bins(draw, bins):
    random = np.random.default_rng(bins)
    p = ConformalRanks(draw(random, 500), bins).add(draw(random, 2000), random.random(2000))
    assert kstest(p, "uniform").pvalue > 0.001
    assert abs(np.corrcoef(p[1:], p[:-1])[0, 1]) < 4 / np.sqrt(2000)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-3, 3).map(float), min_size=4, max_size=30),
    st.lists(st.tuples(st.integers(-4, 4).map(float), st.floats(0, 1)), min_size=1, max_size=20),
)
def test_with_a_bin_for_each_value_it_is_the_rank_among_all_before(reference, stream):
    ranks = ConformalRanks(np.array(reference))
    # What was counted of the reference, by its bin; the stream's scores are compared by theirs.
    before = list(np.repeat(np.arange(len(ranks._counts)), ranks._counts))
    expected = []
    for score, tie in stream:
        (own,) = ranks._bins(np.array([score]))
        higher, same = sum(b > own for b in before), sum(b == own for b in before)
        expected.append((higher + tie * (same + 1)) / (len(before) + 1))
        before.append(own)
    scores, ties = (np.array(each) for each in zip(*stream, strict=True))
    assert ranks.add(scores, ties) == pytest.approx(np.array(expected))
    assert ranks.n == len(before)


def test_one_at_a_time_is_the_same_as_many_at_once():
    random = np.random.default_rng(0)
    reference, scores, ties = random.normal(size=100), random.normal(size=600), random.random(600)
    at_once, single = ConformalRanks(reference), ConformalRanks(reference)
    assert at_once.add(scores, ties).tolist() == [single.p(*each) for each in zip(scores, ties, strict=True)]


def test_the_order_of_the_reference_does_not_matter_to_the_law():
    """Sorted scores, too, are cut in halves of the same kind."""
    random = np.random.default_rng(1)
    ranks = ConformalRanks(np.sort(random.normal(size=1000)))
    assert kstest(ranks.add(random.normal(size=500), random.random(500)), "uniform").pvalue > 0.001


def test_forgetting_ranks_among_the_reference_again():
    ranks = ConformalRanks(np.arange(20.0))
    first = ranks.p(30.0, 0.5), ranks.n
    ranks.add(np.full(50, 30.0), np.full(50, 0.5))
    ranks.forget()
    assert (ranks.p(30.0, 0.5), ranks.n) == first


def test_infinite_scores_are_the_highest_and_the_lowest():
    ranks = ConformalRanks(np.arange(20.0))
    high, low = ranks.add(np.array([np.inf, -np.inf]), np.array([1.0, 0.0]))
    assert high <= 2 / 11
    assert low >= 10 / 12


def test_memory_stays_the_same():
    random = np.random.default_rng(2)
    ranks = ConformalRanks(random.normal(size=5000))
    ranks.add(random.normal(size=1000), random.random(1000))
    tracemalloc.start()
    for _ in range(100):
        ranks.add(random.normal(size=1000), random.random(1000))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 20_000
    assert len(ranks._counts) <= 1024


@pytest.mark.parametrize("reference", [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0, np.nan]])
def test_a_reference_that_tells_too_little_is_refused(reference):
    with refused(DataError):
        ConformalRanks(np.array(reference))


def test_what_cannot_be_ranked_is_refused():
    ranks = ConformalRanks(np.arange(10.0))
    with refused(DataError):
        ranks.p(np.nan, 0.5)
    with refused(DataError):
        ranks.add(np.ones(2), np.ones(3))
    with refused(DataError):
        ConformalRanks(np.arange(10.0), bins=1)
