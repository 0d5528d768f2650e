"""Time between false alarms against the Poisson distribution; series against the online window."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, poisson

from farm.errors import ParameterError
from farm.measures.along_time import FalseAlarms, windowed_series
from farm.measures.delay import false_alarms_per_1000
from farm.measures.detection import OVERALL, SPECIFIC, Counts, error, fpr, mcc, recall
from farm.measures.windowed import Window
from farm.oracle import overall, specific, tally
from tests.wording import refused, same_text

SEEDS = st.integers(0, 10**6)


def stream(seed, n=60):
    rng = np.random.default_rng(seed)
    episode = np.repeat(np.where(np.arange(6) % 2, np.arange(6) // 2, -1), n // 6)
    is_ood = (episode >= 0) & (rng.random(n) < 0.7)
    return episode, is_ood, rng.random(n) < 0.2


def test_by_hand():
    episode = np.array([-1, -1, -1, 0, 0, 0, -1, -1])
    is_ood = np.array([0, 0, 0, 0, 1, 0, 0, 0]) > 0
    # Quiet: three before, one of the episode before its onset, two after it. An ID image within is none.
    alarm = np.array([1, 0, 0, 1, 1, 1, 0, 1]) > 0
    assert FalseAlarms.of(episode, is_ood, alarm) == FalseAlarms(quiet=6, alarms=3)
    assert FalseAlarms(6, 3).mean_time.value == 2


@given(SEEDS)
def test_it_is_the_inverse_of_the_rate(seed):
    episode, is_ood, alarm = stream(seed)
    found = FalseAlarms.of(episode, is_ood, alarm)
    rate = false_alarms_per_1000(episode, is_ood, alarm).value
    assert found.mean_time.defined == (rate > 0)
    if rate:
        assert found.mean_time.value == pytest.approx(1000 / rate)


@given(SEEDS, SEEDS)
def test_streams_add_up(one, other):
    a, b = FalseAlarms.of(*stream(one)), FalseAlarms.of(*stream(other))
    assert a + b == b + a == FalseAlarms(a.quiet + b.quiet, a.alarms + b.alarms)


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


def test_the_bound_holds_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = [FalseAlarms(1000, int(k)).mean_time_low().value <= 200 for k in rng.binomial(1000, 1 / 200, 4000)]
    assert np.mean(held) >= 0.94


def test_without_quiet_instances_there_is_neither():
    none = FalseAlarms.of(np.zeros(3, int), np.ones(3, bool), np.ones(3, bool))
    assert none.mean_time.reason == none.mean_time_low().reason == "no ID instance before or between faults"
    empty = FalseAlarms.of(np.empty(0, int), np.empty(0, bool), np.empty(0, bool))
    assert empty == FalseAlarms(0, 0)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, math.nan])
def test_refuses_impossible_levels(level):
    with refused(ParameterError):
        FalseAlarms(10, 1).mean_time_low(level)


@given(SEEDS, st.integers(1, 50), st.integers(1, 50), st.sampled_from([mcc, fpr, recall, error]))
def test_a_series_is_the_measure_of_each_slice(seed, size, step, measure):
    _, is_ood, alarm = stream(seed)
    series = windowed_series(specific(alarm, is_ood), measure, size=size, step=step, wording=SPECIFIC)
    assert series.at.tolist() == list(range(step, len(alarm) + 1, step))
    for at, n, found in zip(series.at, series.n, series.measures, strict=True):
        latest = slice(max(at - size, 0), at)
        assert n == min(at, size)
        expected = measure(Counts(**tally(specific(alarm[latest], is_ood[latest])), wording=SPECIFIC))
        assert (found.reason, found.json) == (expected.reason, expected.json)
    assert np.isnan(series.values).tolist() == [not found.defined for found in series.measures]


@given(SEEDS, st.integers(1, 50), st.integers(1, 20))
def test_a_series_is_what_the_online_window_tells(seed, size, step):
    rng = np.random.default_rng(seed)
    label, predicted = rng.integers(-1, 3, 60), rng.integers(0, 3, 60)
    alarm = rng.random(60) < 0.4
    series = windowed_series(overall(alarm, label, predicted), mcc, size=size, step=step, wording=OVERALL)
    window = Window(size)
    for at, found in zip(series.at.tolist(), series.measures, strict=True):
        part = slice(at - step, at)
        window.add(label[part], predicted[part], alarm[part], alarm[part])
        assert (window.overall_mcc.reason, window.overall_mcc.json) == (found.reason, found.json)


def test_a_stream_shorter_than_a_step_gives_nothing():
    for n in (0, 3):
        series = windowed_series(np.zeros(n, dtype=np.uint8), error, size=5, step=4)
        assert series.measures == ()
        assert series.values.size == series.n.size == 0


@pytest.mark.parametrize("name", ["size", "step"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_refuses_impossible_windows(name, value):
    with refused(ParameterError):
        windowed_series(np.zeros(3, dtype=np.uint8), error, **({"size": 1, "step": 1} | {name: value}))
