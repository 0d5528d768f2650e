"""False alarms and the time between them, by hand and by the Poisson distribution; the latest instances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, poisson

from farm.errors import ParameterError
from farm.measures import Counts
from farm.measures.along_time import FalseAlarms, Window
from farm.measures.detection import mcc
from farm.measures.episodes import Episodes
from farm.measures.oracle import overall, tally
from tests.wording import refused, same_text

EPISODE = np.array([-1, -1, 0, 0, 0, -1, 1, 1, -1, 2, 2])


def test_false_alarms_are_counted_outside_of_episodes():
    alarm = np.array([1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1]) > 0
    is_ood = EPISODE >= 0
    assert Episodes(EPISODE, is_ood).false_alarms(alarm).per_1000.value == 250.0  # one of four
    none = Episodes(np.zeros(3, int), np.ones(3, bool)).false_alarms(np.ones(3, bool)).per_1000
    same_text(none.reason)


def test_an_alarm_on_an_ood_instance_outside_of_all_episodes_is_no_false_one():
    episode = np.array([-1, -1, 0, 0, -1, -1])
    is_ood = np.array([False, True, True, False, False, True])
    alarm = np.array([True, True, True, True, False, True])
    assert Episodes(episode, is_ood).false_alarms(alarm).per_1000.value == 500.0  # of the first and the fifth


SEEDS = st.integers(0, 10**6)


def stream(seed, n=60):
    rng = np.random.default_rng(seed)
    episode = np.repeat(np.where(np.arange(6) % 2, np.arange(6) // 2, -1), n // 6)
    is_ood = (episode >= 0) & (rng.random(n) < 0.7)
    return episode, is_ood, rng.random(n) < 0.2


def test_false_alarms_by_hand():
    episode = np.array([-1, -1, -1, 0, 0, 0, -1, -1])
    is_ood = np.array([0, 0, 0, 0, 1, 0, 0, 0]) > 0
    # Quiet: three before, one of the episode before its onset, two after it. An ID image within is none.
    alarm = np.array([1, 0, 0, 1, 1, 1, 0, 1]) > 0
    assert Episodes(episode, is_ood).false_alarms(alarm) == FalseAlarms(quiet=6, alarms=3)
    assert FalseAlarms(6, 3).mean_time.value == 2


@given(SEEDS)
def test_it_is_the_inverse_of_the_rate(seed):
    episode, is_ood, alarm = stream(seed)
    found = Episodes(episode, is_ood).false_alarms(alarm)
    rate = Episodes(episode, is_ood).false_alarms(alarm).per_1000.value
    assert found.mean_time.defined == (rate > 0)
    if rate:
        assert found.mean_time.value == pytest.approx(1000 / rate)


@given(st.integers(1, 10**6), st.integers(0, 500), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_bound_is_the_exact_one_of_the_poisson_distribution(quiet, alarms, level):
    low = FalseAlarms(quiet, alarms).mean_time_low(level).value
    assert poisson.cdf(alarms, quiet / low) == pytest.approx(1 - level)
    assert low == pytest.approx(2 * quiet / chi2.ppf(level, 2 * alarms + 2))
    if alarms and level >= 0.9:
        assert low < FalseAlarms(quiet, alarms).mean_time.value


def test_without_an_alarm_it_is_the_rule_of_three():
    """Hanley and Lippman-Hand 1983, "If nothing goes wrong, is everything all right?": 3 / n at 95 %."""
    silent = FalseAlarms(quiet=300, alarms=0)
    assert math.isnan(silent.mean_time.value)
    same_text(silent.mean_time.reason)
    assert silent.mean_time_low().value == pytest.approx(300 / -math.log(0.05))
    assert silent.mean_time_low().value == pytest.approx(100, rel=0.002)


def test_the_bound_of_the_mean_time_holds_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = [FalseAlarms(1000, int(k)).mean_time_low().value <= 200 for k in rng.binomial(1000, 1 / 200, 4000)]
    assert np.mean(held) >= 0.94


def test_without_quiet_instances_there_is_neither():
    none = Episodes(np.zeros(3, int), np.ones(3, bool)).false_alarms(np.ones(3, bool))
    assert none.mean_time.reason == none.mean_time_low().reason == "no ID instance before or between faults"
    empty = Episodes(np.empty(0, int), np.empty(0, bool)).false_alarms(np.empty(0, bool))
    assert empty == FalseAlarms(0, 0)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, math.nan])
def test_refuses_impossible_levels(level):
    with refused(ParameterError):
        FalseAlarms(10, 1).mean_time_low(level)


@given(st.integers(0, 10**6), st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(1, 40))
def test_a_window_is_the_latest_instances(seed, batches, size):
    rng = np.random.default_rng(seed)
    n = sum(batches)
    label, predicted = rng.integers(-1, 3, n), rng.integers(0, 3, n)
    alarm, cancelled = rng.random((2, n)) < 0.4
    window = Window(size)
    start = 0
    for length in batches:
        part = slice(start, start + length)
        window.add(label[part], predicted[part], alarm[part], cancelled[part])
        start += length
    latest = slice(max(n - size, 0), n)
    counted = tally(overall(cancelled[latest], label[latest], predicted[latest]))
    expected = mcc(Counts(**counted))
    assert window.n == min(n, size)
    assert window.alarm_rate.value == alarm[latest].mean()
    assert window.overall_mcc.defined == expected.defined
    if expected.defined:
        assert window.overall_mcc.value == expected.value


def test_an_empty_window_says_so():
    assert Window(3).overall_mcc.reason == "no instances"
    assert Window(3).alarm_rate.reason == "no instances"
