"""Repeated tests for a fixed number of instances: each is scipy's, and together they alarm far too often."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from farm.errors import DataError, ParameterError
from farm.statistics.anytime import RateEvidence, repeated_fixed_n
from farm.statistics.anytime.peeking import contradicted
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


def test_what_is_no_rate_is_refused():
    with refused(DataError):
        repeated_fixed_n(np.array([0.0, 1.5]), 0.05)
    with refused(ParameterError):
        repeated_fixed_n(np.ones(3), 1.5)
    with refused(ParameterError):
        repeated_fixed_n(np.ones(3), 0.5, level=1)
