"""The coverage had and the one to expect: against scipy, statsmodels and simulations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, betabinom, norm
from statsmodels.stats.proportion import proportion_confint

from farm.errors import DataError, ParameterError
from farm.statistics.by_track import share_by_track
from farm.statistics.post_hoc.conformal import Threshold
from farm.statistics.post_hoc.coverage import CoverageHad, expected_coverage, expected_share
from tests.statistics.post_hoc.made import as_json
from tests.wording import refused, same_text


def threshold(n, coverage=0.9, tied=False):
    score = Threshold.of(np.arange(float(n)), coverage).score
    return Threshold(coverage, score, n, "instance", tied)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("n", "m", "coverage"), [(20, 7, 0.5), (99, 1000, 0.9), (5000, 3000, 0.99)])
def test_the_interval_is_that_of_the_beta_binomial_law(n, m, coverage, level):
    k = math.ceil((n + 1) * coverage - 1e-9)
    low, high = (each.value for each in expected_share([threshold(n, coverage)], [m], level))
    law = betabinom(m, k, n + 1 - k)
    assert (low, high) == pytest.approx(tuple(each / m for each in law.interval(level)))
    of_all = expected_coverage(threshold(n, coverage), level)
    assert of_all == pytest.approx(beta(k, n + 1 - k).interval(level), abs=1e-9)


def test_of_more_and_more_instances_it_comes_to_that_of_all():
    low, high = (each.value for each in expected_share([threshold(50)], [200_000]))
    assert (low, high) == pytest.approx(expected_coverage(threshold(50)), abs=1e-4)


def test_of_several_thresholds_it_is_that_of_the_sum():
    several, counts = [threshold(30), threshold(12, 0.5), threshold(3)], [40, 25, 9]
    random = np.random.default_rng(0)
    drawn = betabinom.rvs(40, 28, 3, size=200_000, random_state=random)
    drawn += betabinom.rvs(25, 7, 6, size=200_000, random_state=random) + 9
    found = [each.value for each in expected_share(several, counts)]
    assert found == pytest.approx(np.quantile(drawn, (0.025, 0.975)) / 74, abs=1.01 / 74)


def test_where_all_is_covered_all_has_to_be():
    few = threshold(8)
    assert expected_coverage(few) == (1.0, 1.0)
    assert [each.value for each in expected_share([few], [30])] == [1.0, 1.0]


def test_ties_leave_it_open_how_many_more_are_covered():
    tied, plain = threshold(50, tied=True), threshold(50)
    assert expected_coverage(tied) == (expected_coverage(plain)[0], 1.0)
    assert expected_share([plain, tied], [9, 9])[1].value == 1.0
    assert expected_share([plain, plain], [900, 900])[1].value < 1.0


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 99))
def test_the_middle_of_the_law_lies_within_it(n, m, percent):
    found = expected_share([threshold(n, percent / 100)], [m], level=0.9)
    low, high = (each.value for each in found)
    middle = expected_share([threshold(n, percent / 100)], [m], level=1e-9)[0].value
    assert 0 <= low <= middle <= high <= 1


class TestWhatWasHad:
    @pytest.mark.parametrize("level", [0.8, 0.95])
    def test_of_instances_it_has_wilsons_interval(self, level):
        covered = np.arange(150) % 8 > 0
        found = CoverageHad.of(covered, [threshold(100)], level=level)
        reference = proportion_confint(covered.sum(), 150, 1 - level, method="wilson")
        assert (found.had.low.value, found.had.high.value) == pytest.approx(reference)
        assert found.had.value.value == covered.mean()
        assert (found.asked, found.n) == (0.9, 150)
        assert found.expected == expected_share([threshold(100)], [150], level)

    def test_of_tracks_it_has_theirs_and_as_many_are_expected_as_tracks_of_one_size_would_be(self):
        track = np.repeat(np.arange(20), 10)
        covered = np.arange(200) % 7 > 0
        found = CoverageHad.of(covered, [threshold(100)], track=track)
        assert (found.had.low, found.had.high) == share_by_track(covered, track)
        assert found.expected == expected_share([threshold(100)], [20])
        uneven = np.r_[np.zeros(90, int), np.arange(1, 11)]
        found = CoverageHad.of(covered[:100], [threshold(100)], track=uneven)
        assert found.expected == expected_share([threshold(100)], [round(100**2 / (90**2 + 10))])

    def test_each_threshold_counts_for_those_that_it_was_applied_to(self):
        several, which = [threshold(100), threshold(200), threshold(40)], np.array([0] * 30 + [2] * 12)
        found = CoverageHad.of(np.ones(42, dtype=bool), several, which)
        assert found.expected == expected_share(several, [30, 0, 12])

    def test_it_falls_short_where_chance_does_not_explain_it(self):
        low = expected_share([threshold(100)], [200])[0].value
        for hits, short in ((round(200 * low), False), (round(200 * low) - 1, True)):
            found = CoverageHad.of(np.arange(200) < hits, [threshold(100)])
            assert found.falls_short is short
            assert as_json(found.record())["falls_short"] is short

    def test_its_record(self):
        found = CoverageHad.of(np.arange(200) < 190, [threshold(100)])
        (low, high), had = found.expected, found.had
        assert as_json(found.record()) == {
            "asked": 0.9,
            "coverage": 0.95,
            "low": had.low.value,
            "high": had.high.value,
            "expected_low": low.value,
            "expected_high": high.value,
            "falls_short": False,
            "n": 200,
            "why_undefined": None,
        }

    def test_of_no_instances(self):
        found = CoverageHad.of(np.empty(0, dtype=bool), [threshold(100)], why_none="the boxes are lost")
        assert not found.falls_short
        record = as_json(found.record())
        assert (record["coverage"], record["expected_low"], record["n"]) == (None, None, 0)
        same_text(record["why_undefined"])

    def test_too_few_tracks_have_a_coverage_and_no_interval(self):
        found = CoverageHad.of(np.ones(8, dtype=bool), [threshold(100)], track=np.arange(8) // 2)
        record = as_json(found.record())
        assert (record["coverage"], record["low"], record["n"]) == (1.0, None, 8)
        assert record["expected_low"] < 1
        same_text(record["why_undefined"])

    def test_bad_input_is_refused(self):
        with refused(DataError):
            CoverageHad.of(np.ones(8, dtype=bool), [threshold(100)], track=np.arange(7))
        for level in (0, 95):
            with refused(ParameterError):
                CoverageHad.of(np.ones(8, dtype=bool), [threshold(100)], level=level)
            with refused(ParameterError):
                expected_coverage(threshold(100), level)


def tracked(random, tracks, alike):
    """Standard normal scores of tracks of 1 to 30 instances that resemble each other."""
    track = np.repeat(np.arange(tracks), random.integers(1, 31, tracks))
    own = np.sqrt(alike) * random.normal(size=tracks)[track]
    return own + np.sqrt(1 - alike) * random.normal(size=len(track)), track


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.95])
def test_of_tracks_the_coverage_lies_where_it_is_expected(alike):
    """In 400 draws; 3.1 standard errors below 95 %. Taken for exchangeable, like frames fail in most."""
    random, of_tracks, of_frames = np.random.default_rng(7), [], []
    for _ in range(400):
        (scores, track), (new, other) = tracked(random, 40, alike), tracked(random, 50, alike)
        for found, fitted, groups in (
            (of_tracks, Threshold.of(scores, 0.9, track), other),
            (of_frames, Threshold.of(scores, 0.9), None),
        ):
            had = CoverageHad.of(new <= fitted.score, [fitted], track=groups)
            low, high = (each.value for each in had.expected)
            found.append((low <= had.had.value.value <= high, norm.cdf(fitted.score)))
    held, covered = np.mean(of_tracks, axis=0)
    assert held >= 0.95 - 3.1 * np.sqrt(0.95 * 0.05 / 400)
    assert covered >= 0.9 - 3 * np.std([each for _, each in of_tracks]) / 20
    if alike > 0.9:
        assert np.mean(of_frames, axis=0)[0] < 0.6
