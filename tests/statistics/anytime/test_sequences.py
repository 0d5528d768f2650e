"""Bounds at all times: by simulation under the worst stopping rule, and by capital counted by hand."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from farm.errors import DataError, ParameterError
from farm.statistics.anytime import BernsteinSequence, BettingSequence, path
from farm.statistics.anytime.betting import MOST, STAKES
from farm.statistics.anytime.sequence import Bets
from tests.statistics.anytime.streams import STREAMS, ever_wrong
from tests.wording import refused

LEVEL, N_STREAMS, LENGTH = 0.9, 150, 300
BOTH = pytest.mark.parametrize("sequence", [BettingSequence, BernsteinSequence])


def most(chance, n=N_STREAMS):
    """How many streams may be wrong, so that a sequence that keeps its promise fails once in 10,000."""
    return int(binom.ppf(0.9999, n, chance))


def wrong(make, name):
    mean, draw = STREAMS[name]
    random = np.random.default_rng(sorted(STREAMS).index(name))
    return np.array([ever_wrong(make(), draw(random, LENGTH), mean) for _ in range(N_STREAMS)])


@BOTH
@pytest.mark.parametrize("name", STREAMS)
def test_who_stops_when_a_bound_is_wrong_seldom_stops(sequence, name):
    found = wrong(lambda: sequence(LEVEL), name)
    assert found.any(axis=1).sum() <= most(1 - LEVEL)
    # Each end holds by itself with half of what both may fail by.
    assert found.sum(axis=0).max() <= most((1 - LEVEL) / 2)


class _KnowsTheNext(Bets):
    """Bets that have seen the value that they are about."""

    def follow(self, unit):
        _, bets = super().follow(unit)
        means, _ = Bets.follow(self, unit)
        return means, np.where(unit > 0.5, bets, bets / 20)


def test_bets_that_know_the_value_break_the_promise():
    def broken():
        sequence = BettingSequence(LEVEL)
        sequence._plan = _KnowsTheNext(LEVEL)
        return sequence

    assert wrong(broken, "bernoulli 0.3").any(axis=1).sum() > most(1 - LEVEL)


def test_a_mean_that_moves_breaks_it_too_and_is_told():
    sequence = BettingSequence()
    sequence.add(np.tile([0.0, 0.2], 200))
    assert not sequence.moved
    sequence.add(np.tile([0.8, 1.0], 200))
    assert sequence.moved
    # Each bound still is on its side of some mean that there was.
    assert sequence.low < 0.9
    assert sequence.high > 0.1


def stakes_by_hand(values, level):
    """The stakes, from formulas (15) and (26) of the source, one value at a time."""
    total = squares = 0.0
    for t, value in enumerate(values, start=1):
        mean, variance = (0.5 + total) / t, (0.25 + squares) / t
        bet = math.sqrt(2 * math.log(2 / (1 - level)) / (variance * t * math.log(t + 1)))
        part = min(bet * mean, MOST)
        yield STAKES[np.argmin(np.abs(np.log(STAKES) - math.log(part / (1 - part) / mean)))]
        total += value
        squares += (value - (0.5 + total) / (t + 1)) ** 2


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)), min_size=1, max_size=60),
    st.sampled_from([0.5, 0.9, 0.99]),
)
def test_the_lower_bound_is_where_capital_against_each_mean_of_a_grid_says(values, level):
    grid = np.linspace(0.0, 1.0, 2001)
    capital, by_hand = np.ones(len(grid)), []
    ruled_out = np.zeros(len(grid), dtype=bool)
    for value, stake in zip(values, stakes_by_hand(values, level), strict=True):
        capital *= (1 + stake * value) / (1 + stake * grid)
        ruled_out |= capital >= 2 / (1 - level) * (1 + 1e-9)
        by_hand.append(grid[ruled_out].max(initial=0.0))
    low, _ = BettingSequence(level).follow(np.array(values))
    gaps = low - np.array(by_hand)
    assert gaps.min() >= -1e-7
    assert gaps.max() <= 1 / 2000 + 1e-7


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=300))
@BOTH
def test_bounds_mirror_each_other(sequence, values):
    low, high = sequence().follow(np.array(values))
    other_low, other_high = sequence().follow(1 - np.array(values))
    assert high == pytest.approx(1 - other_low, abs=1e-7)
    assert low == pytest.approx(1 - other_high, abs=1e-7)


def test_bernsteins_bounds_are_those_of_the_formula():
    values, level = np.random.default_rng(0).beta(2, 3, 600), 0.95
    bets = won = 0.0
    spread = math.log(2 / (1 - level))
    total = squares = lowest = 0.0
    highest = 1.0
    for t, value in enumerate(values, start=1):
        mean, variance = (0.5 + total) / t, (0.25 + squares) / t
        bet = min(math.sqrt(2 * math.log(2 / (1 - level)) / (variance * t * math.log(t + 1))), 0.75)
        bets, won = bets + bet, won + bet * value
        spread += 4 * (value - mean) ** 2 * (-math.log(1 - bet) - bet) / 4
        total += value
        squares += (value - (0.5 + total) / (t + 1)) ** 2
        lowest, highest = max(lowest, (won - spread) / bets), min(highest, (won + spread) / bets)
    found = BernsteinSequence(level)
    found.add(values)
    assert (found.low, found.high) == pytest.approx((lowest, highest), abs=1e-9)


def test_of_ones_alone_the_bound_is_what_the_first_stakes_gain():
    # At first a half is expected, and as much is at risk as may be: a stake of 3 / 0.5 = 6, of which the
    # nearest size is s = 2 ** 2.5. The capital against m is (1 + s) / (1 + s m); 4 rules a mean out.
    found = BettingSequence(level=0.5)
    found.add(np.ones(1))
    assert found.low == pytest.approx(((1 + 2**2.5) / 4 - 1) / 2**2.5)
    assert found.high == 1.0


@BOTH
def test_it_does_not_matter_how_values_are_handed_in(sequence):
    values = np.random.default_rng(1).random(700)
    at_once, one_by_one = sequence(), sequence()
    at_once.add(values)
    for part in np.split(values, [1, 2, 3, 300, 300, 556]):
        one_by_one.add(part)
    told = [(each.n, each.mean, each.low, each.high) for each in (at_once, one_by_one)]
    assert told[0] == pytest.approx(told[1], abs=1e-9)


@BOTH
def test_values_of_another_range_are_bounded_in_theirs(sequence):
    values = np.random.default_rng(2).random(500)
    unit, wide = sequence(), sequence(low=-3.0, high=5.0)
    unit.add(values)
    wide.add(8 * values - 3)
    assert [wide.low, wide.mean, wide.high] == pytest.approx(
        [8 * each - 3 for each in (unit.low, unit.mean, unit.high)], abs=1e-6
    )


@BOTH
def test_before_the_first_value_nothing_is_known(sequence):
    empty = sequence()
    empty.add(np.array([]))
    assert (empty.n, empty.low, empty.high, empty.moved) == (0, 0.0, 1.0, False)
    assert math.isnan(empty.mean)


@pytest.mark.parametrize("name", STREAMS)
def test_betting_is_no_wider_than_bernstein(name):
    widths = []
    for seed in range(3):
        values = STREAMS[name][1](np.random.default_rng(seed), 3000)
        for method in ("betting", "bernstein"):
            low, high = path(values, method=method)
            widths.append((high - low)[[99, 999, 2999]])
    betting, bernstein = np.mean(widths[::2], axis=0), np.mean(widths[1::2], axis=0)
    assert (betting <= bernstein).all()


@BOTH
def test_memory_stays_the_same(sequence):
    found, values = sequence(), np.random.default_rng(4).random(1000) < 0.05
    found.add(values)
    tracemalloc.start()
    for _ in range(100):
        found.add(values)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.n == 101_000
    assert kept < 20_000
    assert peak < 3_000_000


@BOTH
@pytest.mark.parametrize("value", [-0.001, 1.001, math.nan, math.inf])
def test_what_cannot_be_is_refused_and_leaves_no_trace(sequence, value):
    found = sequence()
    found.add(np.array([0.5]))
    with refused(DataError):
        found.add(np.array([0.5, value]))
    assert found.n == 1


@BOTH
@pytest.mark.parametrize("wish", [{"level": 1}, {"level": 0.0}, {"low": 1.0}, {"high": math.inf}])
def test_what_cannot_be_promised_is_refused(sequence, wish):
    with refused(ParameterError):
        sequence(**wish)


def test_an_unknown_method_is_refused():
    with refused(ParameterError):
        path(np.ones(3), method="hoeffding")
