"""Drift of scores: the distance against scipy, p and bounds by simulation, what few tracks cannot tell."""

import numpy as np
import pytest
from scipy.stats import binom, ks_2samp, norm
from statsmodels.stats.proportion import confint_proportions_2indep

from farm.errors import DataError
from farm.measures.measure import Bounded, Measure, share, undefined
from farm.statistics.drift import THRESHOLDS, DriftResolution, rate_difference, score_drift
from farm.statistics.resampling import FEWEST
from tests.wording import refused


def tracks(random, number, frames=20, alike=0.2, by=0.0):
    """Scores of tracks whose frames resemble each other: normal ones, of variance 1."""
    own = np.repeat(random.normal(0, np.sqrt(alike), number), frames)
    return own + random.normal(by, np.sqrt(1 - alike), number * frames), np.repeat(np.arange(number), frames)


def alone(scores):
    return np.asarray(scores, dtype=np.float64), np.arange(len(scores))


@pytest.mark.parametrize(("n", "m", "digits"), [(200, 150, 9), (200, 256, 1), (5000, 900, 9)])
def test_the_distance_is_kolmogorovs_and_smirnovs(n, m, digits):
    random = np.random.default_rng(n)
    one, other = random.normal(0.3, 1, n).round(digits), random.normal(0, 2, m).round(digits)
    found, reference = score_drift(alone(one), alone(other), replicates=10), ks_2samp(one, other)
    exact = max(len(set(one)), len(set(other))) <= THRESHOLDS
    assert found.distance.value == pytest.approx(reference.statistic, abs=1e-9 if exact else 1 / THRESHOLDS)
    if exact:
        assert found.threshold == reference.statistic_location
    assert found.above == pytest.approx([np.mean(each > found.threshold) for each in (one, other)])


@pytest.mark.parametrize("by", [0.0, 0.1, 0.2, 0.3])
def test_of_single_instances_p_is_that_of_the_usual_test(by):
    random = np.random.default_rng(1)
    one, other = random.normal(by, 1, 400), random.normal(0, 1, 300)
    p = score_drift(alone(one), alone(other), replicates=4000).p.value
    assert p == pytest.approx(ks_2samp(one, other).pvalue, abs=0.05)


def test_drift_is_found_in_no_more_than_one_in_twenty_logs_without_it():
    """Frames taken for independent find it in half of them."""
    random, found, naive = np.random.default_rng(2), 0, 0
    for _ in range(120):
        log, reference = tracks(random, 15), tracks(random, 25)
        found += score_drift(log, reference, replicates=400).p.value <= 0.05
        naive += ks_2samp(log[0], reference[0]).pvalue <= 0.05
    assert found <= binom.ppf(0.99, 120, 0.05)
    assert naive > 36


def test_tracks_beside_single_instances_need_not_be_alike():
    random, found = np.random.default_rng(3), 0
    for _ in range(100):
        log, reference = tracks(random, 20), alone(random.normal(size=300))
        found += score_drift(log, reference, replicates=400).p.value <= 0.05
    assert found <= binom.ppf(0.99, 100, 0.05)


def test_scores_that_moved_are_found():
    random = np.random.default_rng(4)
    assert all(score_drift(tracks(random, 40, by=0.8), tracks(random, 40)).p.value < 0.01 for _ in range(10))
    spread, reference = tracks(random, 60), tracks(random, 60)
    assert score_drift((3 * spread[0], spread[1]), reference).p.value < 0.01


def test_the_bounds_hold():
    random, held = np.random.default_rng(5), []
    truth = 2 * norm.cdf(0.2) - 1
    for _ in range(80):
        found = score_drift(tracks(random, 20, by=0.4), tracks(random, 40), replicates=400)
        held.append((found.low(0.95).value <= truth, truth <= found.high(0.95).value))
    assert np.mean(held, axis=0).min() >= 0.9


def test_a_share_that_was_seldom_seen_may_be_greater():
    """One of 61 instances of either side scores 1; of one of them up to 7.6 % may (Clopper and Pearson)."""
    found = score_drift(alone([*np.zeros(60), 1]), alone([*np.zeros(60), 1]))
    assert found.distance.value == 0
    assert found.high(0.95).value > 0.05


@pytest.mark.parametrize("number", [5, 6, 8, 30])
@pytest.mark.parametrize("monitors", [1, 3])
def test_no_p_is_below_the_floor(number, monitors):
    track = np.arange(number)
    found = score_drift((track + 1.0, track), (track - 100.0, track), monitors=monitors)
    assert found.distance.value == 1
    assert found.resolution.enough == (found.resolution.floor < 0.05) == found.p.defined
    if found.p.defined:
        assert monitors * found.p.value == pytest.approx(found.resolution.floor)


def test_too_few_tracks_have_a_distance_and_tell_nothing():
    random = np.random.default_rng(6)
    found = score_drift(tracks(random, 4), tracks(random, 90))
    assert found.distance.value > 0
    assert [each.defined for each in (found.p, found.low(0.95), found.high(0.95))] == [False] * 3
    assert not found.resolution.enough
    needed = found.resolution.needed
    assert needed is not None
    assert needed >= FEWEST
    assert DriftResolution(needed, 1).enough
    assert not DriftResolution(needed - 1, 1).enough


def test_scores_that_are_all_the_same_tell_nothing():
    found = score_drift(alone(np.ones(50)), alone(np.ones(60)))
    assert found.distance.value == 0
    assert found.p.reason == "all scores are the same"


def test_few_draws_have_no_bounds():
    random = np.random.default_rng(7)
    found = score_drift(tracks(random, 9), tracks(random, 9), replicates=15)
    assert not found.low(0.95).defined
    assert not found.high(0.95).defined


def test_many_tracks_tell_as_much_as_they_do_one_by_one():
    """Joined at random to groups, 3,000 tracks have bounds as of single instances."""
    random = np.random.default_rng(8)
    one, other = random.normal(0.1, 1, 3000), random.normal(0, 1, 3000)
    found = score_drift(alone(one), alone(other), replicates=4000)
    assert found.p.value == pytest.approx(ks_2samp(one, other).pvalue, abs=0.02)
    assert found.resolution.fewest == 3000


def test_each_score_needs_a_track():
    with refused(DataError):
        score_drift((np.ones(3), np.arange(2)), alone(np.ones(3)))


@pytest.mark.parametrize(("k", "n", "j", "m"), [(56, 70, 48, 80), (0, 20, 3, 50), (9, 10, 1, 400)])
def test_a_difference_of_rates_has_newcombes_interval(k, n, j, m):
    found = rate_difference(share(k, n, ""), share(j, m, ""))
    ends = confint_proportions_2indep(k, n, j, m, method="newcomb")
    assert (found.low.value, found.high.value) == pytest.approx(ends)


def test_a_difference_of_rates_lacks_what_they_lack():
    known, why = share(3, 9, ""), undefined("too few tracks")
    assert rate_difference(Bounded.nowhere(why), known) == Bounded.nowhere(why)
    found = rate_difference(known, Bounded(Measure(0.1), why, why))
    assert found.value.value == pytest.approx(3 / 9 - 0.1)
    assert (found.low, found.high) == (why, why)


def test_uneven_tracks_count_as_fewer():
    random = np.random.default_rng(9)
    sizes = np.array([100, 100, 1, 1, 1, 1, 1, 1, 1, 1])
    track = np.repeat(np.arange(10), sizes)
    found = score_drift((random.normal(size=len(track)), track), tracks(random, 30))
    assert found.resolution.fewest == round(208**2 / (2 * 100**2 + 8))
    assert "10 tracks, whose sizes differ so that they count as 2" in str(found.p.reason)


def test_drift_of_uneven_tracks_is_not_found_too_often():
    random, found = np.random.default_rng(10), 0
    for _ in range(100):
        sides = []
        for _ in range(2):
            track = np.repeat(np.arange(15), random.geometric(0.05, 15))
            shared = random.normal(0, np.sqrt(0.4), 15)[track]
            sides.append((shared + random.normal(0, np.sqrt(0.6), len(track)), track))
        p = score_drift(sides[0], sides[1], replicates=400).p
        found += p.defined and p.value <= 0.05
    assert found <= binom.ppf(0.99, 100, 0.05)
