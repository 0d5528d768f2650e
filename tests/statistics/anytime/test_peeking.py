"""Repeated tests for a fixed number of instances: each is scipy's, and together they alarm far too often."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm, ttest_1samp

from farm.errors import DataError, ParameterError
from farm.statistics.anytime import RateEvidence, repeated_fixed_n
from farm.statistics.anytime.peeking import FEWEST, contradicted, contradicted_by_tracks
from tests.wording import refused


@pytest.mark.parametrize(("bound", "level"), [(0.05, 0.95), (0.3, 0.9), (0.5, 0.99)])
def test_each_look_is_scipys_test(bound, level):
    hits = np.cumsum(np.random.default_rng(0).random(120) < 1.5 * bound)
    expected = [
        binomtest(int(k), n, bound, alternative="greater").pvalue < 1 - level - 1e-12
        for n, k in enumerate(hits, start=1)
    ]
    assert contradicted(hits.astype(float), bound, level).tolist() == expected
    assert any(expected)
    assert not all(expected)


def test_the_first_look_that_alarms_is_told():
    # Of 5, one hit has a chance of 0.23; of 6, two have one of 0.03.
    assert repeated_fixed_n(np.array([0, 0, 0, 0, 1, 1, 0]), 0.05) == 6
    assert repeated_fixed_n(np.array([1, 1, 1, 1, 0, 0, 1]), 0.95, at_least=True) == 6
    assert repeated_fixed_n(np.zeros(50), 0.05) is None
    assert repeated_fixed_n(np.array([]), 0.05) is None


def test_a_bound_that_is_certain_is_contradicted_by_one_value_or_never():
    assert repeated_fixed_n(np.array([0, 0, 1]), 0.0) == 3
    assert repeated_fixed_n(np.ones(100), 1.0) is None


def test_what_a_last_bit_decides_is_no_alarm():
    assert repeated_fixed_n(np.array([1, 0, 0]), 0.05) is None


def test_peeking_alarms_where_a_claim_is_true_and_evidence_for_all_times_does_not():
    streams = np.random.default_rng(1).random((100, 1000)) < 0.05
    peeking = contradicted(np.cumsum(streams, axis=1).astype(float), 0.05, 0.95).any(axis=1).sum()
    anytime = 0
    for values in streams:
        evidence = RateEvidence(0.05)
        evidence.add(values)
        anytime += evidence.p < 0.05
    # Of 1,000 such streams it was 28 %.
    most = binom.ppf(0.9999, 100, 0.05)
    assert anytime <= most < peeking


def in_tracks(random, n, share=0.1):
    sizes = np.where(random.random(n) < 0.3, 30.0, 1.0)
    return random.binomial(sizes.astype(int), random.beta(9 * share, 9 * (1 - share), n)).astype(float), sizes


def test_each_look_at_tracks_is_a_test_of_the_mean_of_what_is_over():
    hits, sizes = in_tracks(np.random.default_rng(3), 60, 0.3)
    expected = [
        n >= FEWEST and ttest_1samp(hits[:n] - 0.2 * sizes[:n], 0).statistic > norm.ppf(0.9)
        for n in range(1, 61)
    ]
    assert contradicted_by_tracks(hits, sizes, 0.2, 0.9).tolist() == expected
    assert any(expected)
    assert not all(expected[FEWEST:])
    assert repeated_fixed_n(hits, 0.2, 0.9, sizes=sizes) == expected.index(True) + 1
    # That at least so many are hits is that at most the rest are none.
    assert repeated_fixed_n(sizes - hits, 0.8, 0.9, sizes=sizes, at_least=True) == expected.index(True) + 1


def test_of_tracks_without_a_hit_enough_are_asked_for():
    """As if each were one instance: the first n of which n * 0.05 is above 1.645 sqrt(n * 0.05 * 0.95)."""
    assert repeated_fixed_n(np.zeros(80), 0.05, sizes=np.full(80, 7.0), at_least=True) == 52
    assert repeated_fixed_n(np.zeros(80), 0.05, sizes=np.full(80, 7.0)) is None


def test_one_look_at_tracks_is_right_as_often_as_it_says_and_many_are_not():
    random, streams = np.random.default_rng(2), 300
    looks = np.array([contradicted_by_tracks(*in_tracks(random, 200), 0.1, 0.95) for _ in range(streams)])
    most = binom.ppf(0.9999, streams, 0.05)
    assert looks[:, -1].sum() <= most < looks.any(axis=1).sum()


def test_what_is_no_rate_is_refused():
    with refused(DataError):
        repeated_fixed_n(np.array([0.0, 1.5]), 0.05)
    with refused(ParameterError):
        repeated_fixed_n(np.ones(3), 1.5)
    with refused(ParameterError):
        repeated_fixed_n(np.ones(3), 0.5, level=1)
