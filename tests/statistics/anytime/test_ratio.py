"""Shares over tracks of unequal length: by simulation at the worst of moments, and by capital by hand."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy.stats import binom

from farm.errors import DataError, ParameterError
from farm.statistics.anytime import BettingSequence, RatioSequence
from farm.statistics.anytime.betting import MOST
from farm.statistics.anytime.ratio import GRID
from tests.wording import refused

LEVEL, N_STREAMS = 0.9, 120


def lengths(random, n):
    return np.where(random.random(n) < 0.4, 30, 1)


def related(random, n):
    """Long tracks have far more hits."""
    counts = lengths(random, n)
    return random.binomial(counts, np.where(counts == 30, 0.22, 0.02)), counts


def unrelated(random, n):
    counts = lengths(random, n)
    return random.binomial(counts, random.beta(0.3, 5, n)), counts


def whole(random, n):
    """Frames of a track are all hits or none is."""
    counts = lengths(random, n)
    return counts * (random.random(n) < 0.1), counts


def varying(random, n):
    """Of tracks of one length a part counts, and where more does, more are hits."""
    counts = random.binomial(30, random.choice([0.0, 0.3, 0.9], n))
    return random.binomial(counts, np.where(counts > 18, 0.3, 0.05)), counts


_COUNTS = np.arange(31)
_CHANCE = (binom.pmf(_COUNTS, 30, 0.3) + binom.pmf(_COUNTS, 30, 0.9)) / 3 * _COUNTS
STREAMS = {
    "related": (related, (0.4 * 30 * 0.22 + 0.6 * 0.02) / (0.4 * 30 + 0.6)),
    "unrelated": (unrelated, 0.3 / 5.3),
    "whole": (whole, 0.1),
    "varying": (varying, (_CHANCE * np.where(_COUNTS > 18, 0.3, 0.05)).sum() / _CHANCE.sum()),
}


def missed(name, make):
    """Count streams in which a bound was ever above the share, and ever below; each keeps its worst."""
    draw, share = STREAMS[name]
    random, found = np.random.default_rng(sorted(STREAMS).index(name)), np.zeros(2, dtype=int)
    for _ in range(N_STREAMS):
        low, high = make(*draw(random, 300))
        found += low > share, high < share
    return found


def by_ratio(hits, counts):
    sequence = RatioSequence(30, LEVEL)
    sequence.add(hits, counts)
    return sequence.low, sequence.high


@pytest.mark.parametrize("name", STREAMS)
def test_who_stops_when_a_bound_is_wrong_seldom_stops(name):
    found = missed(name, by_ratio)
    assert found.sum() <= binom.ppf(0.9999, N_STREAMS, 1 - LEVEL)
    assert found.max() <= binom.ppf(0.9999, N_STREAMS, (1 - LEVEL) / 2)


@pytest.mark.parametrize("name", ["related", "varying"])
def test_tracks_that_each_count_the_same_break_the_promise(name):
    def by_means(hits, counts):
        sequence = BettingSequence(LEVEL)
        sequence.add((hits / np.maximum(counts, 1))[counts > 0])
        return sequence.low, sequence.high

    assert missed(name, by_means).sum() > N_STREAMS / 2


def test_stakes_that_know_the_track_break_the_promise():
    class Knowing(RatioSequence):
        def _bets(self, own, of):
            bets = super()._bets(own, of)
            return np.where((own > 0.1 * of)[:, None], bets, bets / 20)

    def knowing(hits, counts):
        sequence = Knowing(30, LEVEL)
        sequence.add(hits, counts)
        return sequence.low, sequence.high

    assert missed("unrelated", knowing).sum() > binom.ppf(0.9999, N_STREAMS, 1 - LEVEL)


def test_bounds_are_where_capital_against_each_share_says():
    """One track and one share at a time, from the formulas."""
    hits, counts = whole(np.random.default_rng(3), 80)
    ruled_out = {-1: [], 1: []}
    for side, share in [(side, share) for side in ruled_out for share in GRID]:
        capital, squares, at_risk = 1.0, share * (1 - share), MOST / (share if side == 1 else 1 - share)
        richest = 0.0
        for t, (hit, count) in enumerate(zip(hits / 30, counts / 30, strict=True), start=1):
            bet = math.sqrt(2 * math.log(2 / (1 - LEVEL)) / (squares * math.log(t + 1)))
            capital *= 1 + side * min(bet, at_risk) * (hit - share * count)
            richest = max(richest, capital)
            squares += (hit - share * count) ** 2
        if richest > 2 / (1 - LEVEL):
            ruled_out[side].append(share)
    low, high = by_ratio(hits, counts)
    assert (low, high) == pytest.approx((max(ruled_out[1]), min(ruled_out[-1])), abs=1e-12)


@pytest.mark.parametrize("length", [1, 7])
def test_tracks_of_one_length_are_bounded_about_as_by_betting_on_their_means(length):
    values = np.random.default_rng(0).random(2000) < 0.1
    ratio, mean = RatioSequence(length), BettingSequence()
    ratio.add(length * values, np.full(2000, length))
    mean.add(values)
    assert (ratio.low, ratio.mean, ratio.high) == pytest.approx(
        (mean.low, mean.mean, mean.high), abs=1e-12 if length == 1 else 0.006
    )


def test_it_does_not_matter_how_tracks_are_handed_in_nor_what_they_have_that_does_not_count():
    hits, counts = related(np.random.default_rng(1), 300)
    at_once, by_parts = RatioSequence(30), RatioSequence(30)
    at_once.add(hits, counts)
    for some in zip(*(np.split(each, [1, 2, 150]) for each in (hits, counts)), strict=True):
        by_parts.add(*some)
        by_parts.add(np.zeros(2), np.zeros(2))
    told = [(each.n, each.mean, each.low, each.high) for each in (at_once, by_parts)]
    assert told[0] == pytest.approx(told[1], abs=1e-12)
    assert at_once.mean == pytest.approx(hits.sum() / counts.sum())


def test_a_share_that_moves_is_told():
    found = RatioSequence(10)
    found.add(np.tile([0, 2], 200), np.full(400, 10))
    assert not found.moved
    found.add(np.tile([8, 10], 200), np.full(400, 10))
    assert found.moved


def test_before_the_first_track_nothing_is_known_and_memory_stays_the_same():
    found = RatioSequence(30)
    found.add(np.zeros(3), np.zeros(3))
    assert (found.n, found.low, found.high, found.moved) == (0, 0.0, 1.0, False)
    assert math.isnan(found.mean)
    hits, counts = related(np.random.default_rng(2), 500)
    found.add(hits, counts)
    tracemalloc.start()
    for _ in range(10):
        found.add(hits, counts)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 60_000


@pytest.mark.parametrize(
    ("hits", "counts"), [([3], [2]), ([-1], [2]), ([1], [11]), ([1], [1.5]), ([1, 1], [1]), ([math.nan], [1])]
)
def test_what_cannot_be_is_refused(hits, counts):
    with refused(DataError):
        RatioSequence(10).add(np.array(hits), np.array(counts))


def test_no_track_is_shorter_than_an_instance():
    with refused(ParameterError):
        RatioSequence(0)
