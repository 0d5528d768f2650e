"""Limits by simulated run lengths."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api.changes import ChangeDetector, Cusum, check_run_length, limit_of_run_length
from farm.api.changes.run_length import DETECTORS, LONGEST, STREAMS
from farm.errors import ComponentFailure, ParameterError
from tests.wording import refused

NORMAL = 5.07
"""The limit at which a one-sided CUSUM with k = 1/2 runs 1,000 normal values, by its Markov chain."""


class Latest(ChangeDetector[float]):
    """Its statistic is the value itself."""

    def follow(self, value: float) -> float:
        return value

    def forget(self) -> None:
        pass


def normal(chance: np.random.Generator, n: int) -> np.ndarray:
    return chance.normal(size=n)


def uniform(chance: np.random.Generator, n: int) -> np.ndarray:
    return chance.random(n)


def test_it_finds_the_textbooks_limit_again() -> None:
    found = [limit_of_run_length(1000, lambda chance: Cusum(), normal, seed) for seed in range(6)]
    # The run length rises by e for each 1 of the limit, and is known to 8 % each.
    assert np.mean(found) == pytest.approx(NORMAL, abs=0.12)
    assert max(abs(one - NORMAL) for one in found) < 0.35


def test_alarms_that_know_no_past_have_the_run_length_of_their_rate() -> None:
    limits = [limit_of_run_length(50, lambda chance: Latest(), uniform, seed) for seed in range(20)]
    assert 1 / np.mean(1 - np.array(limits)) == pytest.approx(50, rel=0.06)


def test_detectors_that_alarm_often_count_most() -> None:
    """Half of them take values for higher than they are, half for lower, whose quiet does not outweigh it."""

    def uneven(chance: np.random.Generator) -> Cusum:
        return Cusum(mean=float(chance.choice([0.3, -0.3])))

    limit = limit_of_run_length(100, uneven, normal, seed=0)
    assert limit > limit_of_run_length(100, lambda chance: Cusum(), normal, seed=0) + 0.3
    stream = np.random.default_rng(1).normal(size=40_000)
    rates = [(Cusum(mean=mean).along(stream, limit) > limit).mean() for mean in (0.3, -0.3)]
    assert np.mean(rates) == pytest.approx(1 / 100, rel=0.25)


def test_what_cannot_be_met_runs_longer() -> None:
    def coin(share: float):
        return lambda chance, n: (chance.random(n) < share).astype(float)

    # One of two values comes too often: the limit is that itself, which it never exceeds.
    assert limit_of_run_length(100, lambda chance: Latest(), coin(0.5), seed=0) == 1.0
    assert limit_of_run_length(10, lambda chance: Latest(), coin(0.02), seed=0) == 0.5


def test_every_detector_is_another_and_so_is_every_stream() -> None:
    seen, made = [], []

    def noted(chance: np.random.Generator, n: int) -> np.ndarray:
        seen.append(chance.random(n))
        return seen[-1]

    def one_more(chance: np.random.Generator) -> Latest:
        made.append(chance.random())
        return Latest()

    limit_of_run_length(10, one_more, noted, 0)
    assert np.array(seen).shape == (DETECTORS * STREAMS, 10 * LONGEST)
    assert len(np.unique(seen)) == np.size(seen)
    assert len(set(made)) == DETECTORS


def test_a_statistic_that_is_no_number_is_told() -> None:
    with refused(ComponentFailure):
        limit_of_run_length(10, lambda chance: Latest(), lambda chance, n: np.full(n, np.nan), 0)


@pytest.mark.parametrize("run_length", [9, 1e6, float("nan")])
def test_a_run_length_that_cannot_be_simulated_is_refused(run_length) -> None:
    with refused(ParameterError):
        check_run_length(run_length)
