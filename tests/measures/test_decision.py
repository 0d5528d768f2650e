"""Balanced accuracy against scikit-learn, and what trimming keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from farm.measures.decision import balanced_accuracy, trimmed_accuracy, trimmed_counts
from farm.measures.detection import OVERALL, SPECIFIC, Counts
from farm.measures.oracle import specific, tally

BOTH = st.integers(1, 200)
COUNTS = st.builds(Counts, BOTH, BOTH, BOTH, BOTH)


def stream(seed, n_id, n_ood):
    rng = np.random.default_rng(seed)
    is_ood = rng.permutation(np.repeat([False, True], [n_id, n_ood]))
    return rng.random(n_id + n_ood) < np.where(is_ood, 0.8, 0.3), is_ood


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 60))
def test_balanced_accuracy_agrees_with_scikit_learn(seed, n_id, n_ood):
    alarm, is_ood = stream(seed, n_id, n_ood)
    found = balanced_accuracy(Counts(**tally(specific(alarm, is_ood)))).value
    assert found == pytest.approx(balanced_accuracy_score(is_ood, alarm), abs=1e-12)


@given(COUNTS)
def test_balanced_accuracy_is_the_same_for_either_side_and_any_share(c):
    value = balanced_accuracy(c).value
    assert 0 <= value <= 1
    assert balanced_accuracy(Counts(c.tn, c.fn, c.tp, c.fp)).value == pytest.approx(value)
    assert balanced_accuracy(Counts(7 * c.tp, c.fp, c.tn, 7 * c.fn)).value == pytest.approx(value)


@pytest.mark.parametrize("always", [True, False])
def test_whoever_does_not_look_has_a_half(always):
    alarm, is_ood = np.full(30, always), np.arange(30) < 7
    assert balanced_accuracy(Counts(**tally(specific(alarm, is_ood)))).value == 0.5
    assert trimmed_accuracy(alarm, is_ood, seed=3).value == 0.5


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (Counts(0, 0, 0, 0), "no instances"),
        (Counts(0, 1, 2, 0, SPECIFIC), "none of the 3 instances is OOD"),
        (Counts(1, 0, 0, 2, SPECIFIC), "each of the 3 instances is OOD"),
        (Counts(1, 0, 0, 0, OVERALL), "each of the 1 instances should be cancelled"),
    ],
)
def test_of_one_class_it_is_undefined(counts, reason):
    assert balanced_accuracy(counts).reason == reason


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 60), st.sampled_from([None, 0, 1, 2]))
def test_trimming_keeps_all_of_the_smaller_class_and_as_many_of_the_other(data, n_id, n_ood, seed):
    alarm, is_ood = stream(data, n_id, n_ood)
    counts = trimmed_counts(alarm, is_ood, seed=seed)
    fewest = min(n_id, n_ood)
    assert (counts.positive, counts.n) == (fewest, 2 * fewest)
    if n_ood == fewest:
        assert counts.tp == np.count_nonzero(alarm & is_ood)
    if n_id == fewest:
        assert counts.fp == np.count_nonzero(alarm & ~is_ood)
    assert trimmed_accuracy(alarm, is_ood, seed=seed).value == (counts.tp + counts.tn) / counts.n
    if n_id == n_ood:
        assert trimmed_accuracy(alarm, is_ood, seed=seed).value == accuracy_score(is_ood, alarm)


def test_a_seed_keeps_the_same_instances_for_every_monitor():
    alarm, is_ood = stream(0, 500, 100)
    assert trimmed_counts(alarm, is_ood, seed=1) == trimmed_counts(alarm, is_ood, seed=1)
    mirrored = trimmed_counts(~alarm, is_ood, seed=1)
    assert mirrored.fp == trimmed_counts(alarm, is_ood, seed=1).tn
    assert len({trimmed_counts(alarm, is_ood, seed=seed).fp for seed in range(10)}) > 1


def test_without_a_seed_the_first_are_kept():
    is_ood = np.arange(10) >= 8
    alarm = np.array([1, 1, 0, 0, 0, 0, 0, 0, 1, 1]) > 0
    assert trimmed_accuracy(alarm, is_ood, seed=None).value == 0.5  # both of the first two are false alarms


def test_over_all_draws_the_mean_is_the_balanced_accuracy():
    alarm, is_ood = stream(5, 90, 30)
    drawn = np.mean([trimmed_accuracy(alarm, is_ood, seed=seed).value for seed in range(2000)])
    balanced = balanced_accuracy(Counts(**tally(specific(alarm, is_ood)))).value
    assert drawn == pytest.approx(balanced, abs=0.003)  # five standard errors


@pytest.mark.parametrize(
    ("is_ood", "reason"),
    [
        ([], "no instances"),
        ([False], "none of the 1 instances is OOD"),
        ([True, True], "each of the 2 instances is OOD"),
    ],
)
def test_there_is_nothing_to_trim_of_one_class(is_ood, reason):
    positive = np.array(is_ood, dtype=bool)
    assert trimmed_accuracy(positive, positive, seed=0).reason == reason
