"""Detection delay: by hand, censored where missed, and its bound against the binomial distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from farm.measures import Delays, false_alarms_per_1000
from farm.measures.delay import _binomial, begun
from tests.wording import same_text

EPISODE = np.array([-1, -1, 0, 0, 0, -1, 1, 1, -1, 2, 2])


def delays(*alarms: int) -> list[float]:
    alarm = np.isin(np.arange(len(EPISODE)), alarms)
    return Delays.of(EPISODE, EPISODE >= 0, alarm).values.tolist()


def test_by_hand():
    assert delays(2, 7, 10) == [0, 1, 1]
    assert delays(4, 6) == [2, 0, np.inf]
    assert delays() == [np.inf] * 3


def test_an_alarm_before_an_onset_is_not_a_detection():
    assert delays(1, 5, 8) == [np.inf] * 3


def test_only_the_first_alarm_counts():
    assert delays(3, 4, 6, 7, 9, 10) == [1, 0, 0]


def test_an_onset_is_the_first_ood_instance_of_an_episode():
    # Within an episode at a share below 1 not every instance is OOD; before the first, nothing is wrong yet.
    episode, is_ood = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 1, 0, 1, 0, 0]) > 0
    early, late = np.array([1, 0, 0, 0, 0, 0]) > 0, np.array([0, 0, 1, 0, 0, 0]) > 0
    assert Delays.of(episode, is_ood, early).values.tolist() == [np.inf]
    assert Delays.of(episode, is_ood, late).values.tolist() == [1]
    assert begun(episode, is_ood).tolist() == [-1, 0, 0, 0, -1, -1]
    assert false_alarms_per_1000(episode, is_ood, early).value == pytest.approx(1000 / 3)


@given(st.integers(0, 10**6), st.floats(0.05, 1))
def test_whoever_alarms_at_ood_alone_notices_every_onset_at_once(seed, share):
    rng = np.random.default_rng(seed)
    episode = np.repeat(np.where(np.arange(12) % 2, np.arange(12) // 2, -1), rng.integers(1, 9, 12))
    is_ood = (episode >= 0) & (rng.random(len(episode)) < share)
    found = Delays.of(episode, is_ood, is_ood)
    assert (found.values == 0).all()
    assert found.n == len(np.unique(episode[is_ood]))
    rate = false_alarms_per_1000(episode, is_ood, is_ood)
    assert rate.value == 0 or not rate.defined


def test_a_missed_onset_is_censored_and_not_dropped():
    found = Delays(np.array([1.0, 2.0, np.inf]))
    assert (found.n, found.missed) == (3, 1)
    assert found.quantile(0.5).value == 2
    same_text(found.quantile(0.95).reason)
    same_text(Delays(np.empty(0)).quantile(0.5).reason)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=80), st.floats(0.01, 1))
def test_a_quantile_is_the_least_delay_that_so_many_do_not_exceed(values, q):
    got = Delays(np.array(values, dtype=float)).quantile(q).value
    array = np.array(values)
    assert (array <= got).mean() >= q - 1e-9
    assert (array < got).mean() < q


def test_the_bound_needs_59_onsets():
    same_text(Delays(np.arange(58.0)).bound_of_p95().reason)
    assert Delays(np.arange(59.0)).bound_of_p95().value == 58  # the longest


@pytest.mark.parametrize("n", [59, 92, 93, 124, 500, 2000])
def test_the_bound_is_the_order_statistic_of_the_binomial_distribution(n):
    rank = next(r for r in range(1, n + 1) if binom.cdf(r - 1, n, 0.95) >= 0.95)
    assert Delays(np.arange(1.0, n + 1)).bound_of_p95().value == rank
    np.testing.assert_allclose(_binomial(n, 0.95), binom.pmf(np.arange(n), n, 0.95), atol=1e-12)


def test_the_bound_holds_as_often_as_it_says():
    rng = np.random.default_rng(0)
    true = np.log(1 / 0.05)  # the 95th percentile of the exponential distribution
    held = [Delays(rng.exponential(size=100)).bound_of_p95().value >= true for _ in range(2000)]
    assert np.mean(held) >= 0.94


def test_false_alarms_are_counted_outside_of_episodes():
    alarm = np.array([1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1]) > 0
    is_ood = EPISODE >= 0
    assert false_alarms_per_1000(EPISODE, is_ood, alarm).value == 250.0  # one of four
    none = false_alarms_per_1000(np.zeros(3, int), np.ones(3, bool), np.ones(3, bool))
    same_text(none.reason)


def test_an_alarm_on_an_ood_instance_outside_of_all_episodes_is_no_false_one():
    episode = np.array([-1, -1, 0, 0, -1, -1])
    is_ood = np.array([False, True, True, False, False, True])
    alarm = np.array([True, True, True, True, False, True])
    assert false_alarms_per_1000(episode, is_ood, alarm).value == 500.0  # of the first and the fifth


@given(st.lists(st.tuples(st.integers(-1, 3), st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_delays_and_false_alarms_are_those_of_a_plain_walk(rows):
    onsets, heard, quiet = {}, {}, []
    for place, (episode, is_ood, alarm) in enumerate(rows):
        if is_ood and episode != -1:
            onsets.setdefault(episode, place)
        if alarm and episode in onsets:
            heard.setdefault(episode, place)
        if not is_ood and episode not in onsets:
            quiet.append(alarm)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    expected = [heard.get(episode, np.inf) - onset for episode, onset in sorted(onsets.items())]
    assert Delays.of(*columns).values.tolist() == expected
    rate = false_alarms_per_1000(*columns)
    assert rate.defined == bool(quiet)
    assert not quiet or rate.value == pytest.approx(1000 * sum(quiet) / len(quiet))
