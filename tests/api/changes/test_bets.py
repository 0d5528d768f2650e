"""Bets on p-values: fair while these are uniform, and quick to gain once they are not."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom

from farm.api.changes import MixtureBet, MovingCapital
from farm.api.changes.bets import MOVING


@pytest.mark.parametrize("before", [[], [0.001] * 5, [0.99, 0.01, 0.5]])
def test_each_bet_is_fair_whatever_came_before(before):
    def factor(p):
        bet = MixtureBet()
        bet.add(np.array(before))
        return math.exp(bet.log_bet(p))

    # Both ends go to infinity, as p^-0.8: the substitution p = u^5 takes that away.
    halves = [
        quad(lambda u, side=side: factor(side(u**5)) * 5 * u**4, 0, 0.5**0.2, limit=200)[0]
        for side in (lambda p: p, lambda p: 1 - p)
    ]
    # Below a p-value of 1e-12 no more is gained: that much is lost.
    assert 0.995 < sum(halves) <= 1.0 + 1e-6


def test_uniform_p_values_gain_seldom():
    random, alpha = np.random.default_rng(0), 0.2
    gained = sum(
        np.cumsum(MixtureBet().add(random.random(400))).max() >= -math.log(alpha) for _ in range(100)
    )
    assert gained <= binom.ppf(0.9999, 100, alpha)


@pytest.mark.parametrize("power", [0.3, 3.0])
@pytest.mark.parametrize("late", [0, 3000])
def test_small_and_large_ones_gain_soon_and_late(power, late):
    random = np.random.default_rng(1)
    bet = MixtureBet()
    so_far = bet.add(random.random(late)).sum()
    moved = so_far + np.cumsum(bet.add(random.random(200) ** (1 / power)))
    assert moved.max() > math.log(100)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.floats(0.05, 20), min_size=3, max_size=3), min_size=1, max_size=6))
def test_capital_is_the_sum_over_all_ways_to_move_it(rows):
    """By the definition: over all sequences of bets, each with its chance as a chain that is dealt anew."""
    total, factors = 0.0, np.array(rows)
    for rate in MOVING[:, 0]:
        # One chain: what is on each bet, undivided.
        on = np.full(3, 1 / 3)
        for row in factors:
            grown = on * row
            on = np.array([(1 - rate) * own + rate * grown.sum() / 3 for own in grown])
        total += on.sum() / len(MOVING)
    capital = MovingCapital(3)
    assert capital.add(factors).sum() == pytest.approx(math.log(total), abs=1e-9)
    assert capital.weights.sum() == pytest.approx(1.0)


def test_one_p_value_at_a_time_is_the_same_as_many_at_once():
    p = np.random.default_rng(2).random(50)
    bet = MixtureBet()
    assert [bet.log_bet(each) for each in p] == pytest.approx(MixtureBet().add(p).tolist())


def test_forgetting_begins_anew():
    bet = MixtureBet()
    first = bet.log_bet(0.01)
    bet.add(np.full(30, 0.9))
    assert bet.log_bet(0.01) != pytest.approx(first)
    bet.forget()
    assert bet.log_bet(0.01) == first


@pytest.mark.parametrize(("direction", "gains"), [("up", [True, False]), ("down", [False, True])])
def test_a_bet_on_one_side_gains_there_alone_and_more_than_one_on_both(direction, gains):
    for p, gain in zip((0.01, 0.99), gains, strict=True):
        one, both = (MixtureBet(direction=side).add(np.full(5, p)).sum() for side in (direction, "both"))
        assert (one > both) == gain == (one > 0)


def test_a_bet_on_small_p_values_is_not_expected_to_gain_on_larger_ones():
    """The factor falls from small to large, so that its mean is the less the larger they tend to be."""
    bet = MixtureBet(direction="up")
    bet.add(np.array([0.01, 0.2, 0.05]))
    ahead = [copy.deepcopy(bet).log_bet(p) for p in np.linspace(0.001, 1, 50)]
    assert (np.diff(ahead) < 0).all()


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_the_ends_are_numbers(p):
    assert math.isfinite(MixtureBet().add(np.full(500, p)).sum())
