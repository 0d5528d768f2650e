"""Bounds from proxies and few labels: whatever the proxy is worth, they hold; a good one narrows them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from farm.errors import DataError, ParameterError
from farm.statistics.anytime import BettingSequence, PredictionPowered, RatioSequence, Tracks
from tests.wording import refused

LEVEL, N_STREAMS, LENGTH = 0.9, 150, 600
PROXIES = {
    "good": lambda value, random: np.clip(value + random.normal(0, 0.1, len(value)), 0, 1),
    "useless": lambda value, random: random.random(len(value)),
    "opposed": lambda value, random: 1 - value,
    "constant": lambda value, random: np.full(len(value), 0.2),
}


def asked_by_proxy(proxy, random):
    """Ask more often where the proxy is undecided."""
    chance = np.where(np.abs(proxy - 0.5) < 0.4, 0.5, 0.2)
    return chance, random.random(len(proxy)) < chance


def ever_wrong(kind, random, choose=asked_by_proxy):
    """Return whether a bound was ever wrong: each keeps the worst it has been."""
    value = (random.random(LENGTH) < 0.1).astype(float)
    proxy = PROXIES[kind](value, random)
    chance, asked = choose(proxy, random)
    label = np.where(asked, value, np.nan)
    found = PredictionPowered(0.2, LEVEL)
    found.add(proxy, label, chance)
    return not found.low <= 0.1 <= found.high


@pytest.mark.parametrize("kind", PROXIES)
def test_bounds_are_seldom_ever_wrong_whatever_the_proxy(kind):
    random = np.random.default_rng(sorted(PROXIES).index(kind))
    wrong = sum(ever_wrong(kind, random) for _ in range(N_STREAMS))
    assert wrong <= binom.ppf(0.9999, N_STREAMS, 1 - LEVEL)


def test_instances_that_were_picked_break_the_promise():
    def picked(proxy, random):
        return np.full(len(proxy), 0.2), proxy > 0.5

    random = np.random.default_rng(5)
    wrong = sum(ever_wrong("good", random, picked) for _ in range(N_STREAMS))
    assert wrong > binom.ppf(0.9999, N_STREAMS, 1 - LEVEL)


def width(kind, n=4000):
    random = np.random.default_rng(6)
    value = (random.random(n) < 0.1).astype(float)
    asked = random.random(n) < 0.1
    found = PredictionPowered(0.1)
    found.add(PROXIES[kind](value, random), np.where(asked, value, np.nan), np.full(n, 0.1))
    return found.high - found.low


def test_a_good_proxy_helps_and_a_useless_one_does_little_harm():
    none = width("constant")
    assert width("good") < 0.75 * none
    assert width("useless") < 1.1 * none


def test_all_labels_known_are_the_values_themselves():
    random = np.random.default_rng(7)
    value = random.random(300)
    powered, plain = PredictionPowered(1.0), BettingSequence()
    powered.add(random.random(300), value, np.ones(300))
    plain.add(value)
    assert (powered.n, powered.labelled) == (300, 300)
    told = [(each.low, each.mean, each.high) for each in (powered, plain)]
    assert told[0] == pytest.approx(told[1], abs=1e-9)


def test_an_answer_counts_by_its_chance_and_only_later_proxies_are_weighed_by_it():
    found = PredictionPowered(0.5)
    # The first proxy counts nothing, so that the first instance is worth 1 / 0.5 = 2.
    found.add(np.array([0.8]), np.array([1.0]), np.array([0.5]))
    assert found.mean == pytest.approx(2.0)
    # Of the next, without an answer, the proxy counts with 2 * 0.8 / (2 * 0.64 + 2).
    share = 1.6 / 3.28
    found.add(np.array([0.5]), np.array([np.nan]), np.array([0.5]))
    assert found.mean == pytest.approx((2.0 + share * 0.5) / 2)
    assert (found.n, found.labelled, found.moved) == (2, 1, False)


def test_it_does_not_matter_how_instances_are_handed_in():
    random = np.random.default_rng(8)
    proxy, value, asked = random.random(500), random.random(500), random.random(500) < 0.3
    rows = np.stack([proxy, np.where(asked, value, np.nan), np.full(500, 0.3)])
    found = []
    for cuts in ([], [1, 2, 2, 300]):
        each = PredictionPowered(0.3)
        for part in np.split(rows, cuts, axis=1):
            each.add(*part)
        found.append((each.n, each.mean, each.low, each.high))
    assert found[0] == pytest.approx(found[1], abs=1e-9)


@pytest.mark.parametrize("mixed", [True, False])
def test_tracks_of_unequal_length_are_bounded_by_what_all_instances_are(mixed):
    """Long tracks hold all that is wrong, where their frames resemble each other."""
    random, wrong, times = np.random.default_rng(9), 0, 100
    for _ in range(times):
        lengths = np.where(random.random(80) < 0.4, 15, 1)
        track = np.arange(80).repeat(lengths)
        track = random.permutation(track) if mixed else track
        value = ((random.random(80) < 0.6) & (lengths == 15))[track].astype(float)
        proxy = np.clip(value + random.normal(0, 0.3, len(value)), 0, 1)
        label = np.where(random.random(len(value)) < 0.3, value, np.nan)
        tracks = Tracks(track)
        most = int(tracks.sums((~np.isnan(label)).astype(float)).max())
        found = {some: PredictionPowered(0.3, LEVEL, longest=15, most_asked=some) for some in (None, most)}
        for each in found.values():
            each.add(proxy, label, np.full(len(value), 0.3), tracks)
        wrong += not found[most].low <= 0.4 * 15 * 0.6 / (0.4 * 15 + 0.6) <= found[most].high
        width = {some: each.high - each.low for some, each in found.items()}
        assert width[most] <= width[None]
    assert wrong <= binom.ppf(0.9999, times, 1 - LEVEL)


def test_a_track_with_more_answers_than_were_told_of_is_refused():
    found, tracks = PredictionPowered(0.5, longest=8, most_asked=2), Tracks(np.zeros(8, dtype=int))
    with refused(DataError):
        found.add(np.zeros(8), np.ones(8), np.full(8, 0.5), tracks)


def test_tracks_with_all_labels_are_their_own_sums():
    random = np.random.default_rng(10)
    tracks, value = Tracks(random.integers(0, 60, 300)), random.random(300)
    powered, ratio = PredictionPowered(1.0, longest=20), RatioSequence(20)
    powered.add(random.random(300), value, np.ones(300), tracks)
    ratio.add(tracks.sums(value), tracks.sizes)
    told = [(each.n, each.low, each.mean, each.high) for each in (powered, ratio)]
    assert told[0] == pytest.approx(told[1], abs=1e-9)


def test_before_the_first_instance_nothing_is_known():
    found = PredictionPowered(0.1)
    assert (found.n, found.low, found.high) == (0, 0.0, 1.0)
    assert math.isnan(found.mean)


@pytest.mark.parametrize(
    "row", [(1.2, 1.0, 0.5), (0.5, 2.0, 0.5), (0.5, 1.0, 0.05), (0.5, 1.0, 1.5), (0.5, math.nan, math.nan)]
)
def test_what_cannot_be_is_refused(row):
    with refused(DataError):
        PredictionPowered(0.1).add(*np.array(row)[:, None])


def test_rows_of_unequal_length_and_no_chance_at_all_are_refused():
    with refused(DataError):
        PredictionPowered(0.1).add(np.ones(2), np.ones(2), np.ones(1))
    with refused(ParameterError):
        PredictionPowered(0.0)
