"""Limits by simulated run lengths, and the units that are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from farm.api.changes import Cusum, Units, check_run_length, limit_of_run_length
from farm.api.changes.run_length import LONGEST, PATHS
from farm.errors import ComponentFailure, ParameterError
from tests.wording import refused

NORMAL = 5.07
"""The limit at which a one-sided CUSUM with k = 1/2 runs 1,000 normal values, by its Markov chain."""


def test_it_finds_the_textbooks_limit_again() -> None:
    found = [
        limit_of_run_length(1000, lambda chance, n: Cusum().along(chance.normal(size=n)), seed)
        for seed in range(6)
    ]
    # The run length rises by e for each 1 of the limit, and is known to 8 % each.
    assert np.mean(found) == pytest.approx(NORMAL, abs=0.12)
    assert max(abs(one - NORMAL) for one in found) < 0.35


def test_alarms_that_know_no_past_have_the_run_length_of_their_rate() -> None:
    limits = [limit_of_run_length(50, lambda chance, n: chance.random(n), seed) for seed in range(20)]
    assert 1 / np.mean(1 - np.array(limits)) == pytest.approx(50, rel=0.06)


def test_whoever_cannot_be_met_runs_longer() -> None:
    """Of two values the higher is met too often, and the limit is the higher itself: it never alarms."""

    def coin(chance: np.random.Generator, n: int) -> np.ndarray:
        return (chance.random(n) < 0.5).astype(float)

    assert limit_of_run_length(100, coin, 0) == 1.0
    rare = limit_of_run_length(10, lambda chance, n: (chance.random(n) < 0.02).astype(float), 0)
    assert rare == 0.5


def test_every_stream_is_as_long_and_another() -> None:
    seen = []

    def noted(chance: np.random.Generator, n: int) -> np.ndarray:
        seen.append(chance.random(n))
        return seen[-1]

    limit_of_run_length(10, noted, 0)
    assert np.array(seen).shape == (PATHS, 10 * LONGEST)
    assert len(np.unique(seen)) == PATHS * 10 * LONGEST


def test_a_statistic_that_is_no_number_is_told() -> None:
    with refused(ComponentFailure):
        limit_of_run_length(10, lambda chance, n: np.full(n, np.nan), 0)


@pytest.mark.parametrize("run_length", [9, 1e6, float("nan")])
def test_a_run_length_that_cannot_be_simulated_is_refused(run_length) -> None:
    with refused(ParameterError):
        check_run_length(run_length)


def test_tracks_are_drawn_whole_and_in_their_order() -> None:
    track = np.array(["a", "b", "a", "c", "b", "a"])
    units = Units(track, 6)
    assert [rows.tolist() for rows in units.rows] == [[0, 2, 5], [1, 4], [3]]
    drawn = units.drawn(np.random.default_rng(0), 3000)
    assert len(drawn) == 3000
    text = "".join(str(row) for row in drawn)
    assert set(text.replace("025", "x").replace("14", "y").replace("3", "z")[:-1]) == {"x", "y", "z"}
    # Each track is as likely, so that each instance is.
    assert np.bincount(drawn) == pytest.approx(500, rel=0.2)


def test_without_tracks_each_instance_stands_alone() -> None:
    units = Units(None, 4)
    assert len(units) == 4
    assert sorted(set(units.drawn(np.random.default_rng(0), 100).tolist())) == [0, 1, 2, 3]
    assert len(units.resampled(np.random.default_rng(0))) == 4
