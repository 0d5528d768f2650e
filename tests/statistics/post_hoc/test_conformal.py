"""The threshold of scores: by counting in fractions, by the law of ranks, and of tracks."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, kstest

from farm.errors import DataError, ParameterError
from farm.statistics.post_hoc.conformal import Threshold
from farm.statistics.post_hoc.coverage import expected_coverage
from tests.statistics.post_hoc.made import as_json
from tests.wording import refused, same_text

PERCENTS = st.integers(1, 99)
SCORES = st.lists(st.integers(0, 12).map(float), min_size=1, max_size=40)


def by_counting(scores, percent, track):
    """The least score up to which tracks have the share asked for, a new one above all among them."""
    tracks = set(track)
    for score in sorted(scores):
        share = sum(
            Fraction(
                sum(s <= score for s, t in zip(scores, track, strict=True) if t == own), track.count(own)
            )
            for own in tracks
        )
        if share / (len(tracks) + 1) >= Fraction(percent, 100):
            return score
    return math.inf


@given(SCORES, PERCENTS)
def test_exchangeable_scores_by_counting(scores, percent):
    found = Threshold.of(np.array(scores), percent / 100)
    assert found.score == by_counting(scores, percent, list(range(len(scores))))
    assert found.n == len(scores)
    if found.why_all is None:
        assert found.score == sorted(scores)[found.rank - 1]
    assert found.tied == (scores.count(found.score) > 1)


@given(
    st.lists(st.tuples(st.integers(0, 12).map(float), st.integers(0, 5)), min_size=1, max_size=30), PERCENTS
)
def test_tracks_by_counting(pairs, percent):
    scores, track = map(list, zip(*pairs, strict=True))
    found = Threshold.of(np.array(scores), percent / 100, np.array(track))
    assert found.score == by_counting(scores, percent, track)
    assert (found.n, found.unit) == (len(set(track)), "track")


@given(SCORES, PERCENTS)
def test_tracks_of_one_instance_are_instances(scores, percent):
    alone = Threshold.of(np.array(scores), percent / 100)
    single = Threshold.of(
        np.array(scores), percent / 100, np.array([f"track {i}" for i in range(len(scores))])
    )
    assert single.score == alone.score


def coverages(n, coverage, threshold):
    """Of uniform scores a threshold covers as large a share as it is high itself."""
    random = np.random.default_rng(0)
    return np.array([threshold(random.random(n), coverage) for _ in range(400)])


def ours(scores, coverage):
    return Threshold.of(scores, coverage).score


def of_n_alone(scores, coverage):
    """The mistake that is often made: a quantile of the n scores, not of n + 1."""
    return np.sort(scores)[math.ceil(len(scores) * coverage - 1e-9) - 1]


def keeps_the_law(found, n, coverage):
    """Whether 400 coverages are beta distributed, and lie in their interval as often as they should."""
    k = math.ceil(Fraction(coverage).limit_denominator(1000) * (n + 1))
    low, high = expected_coverage(Threshold(coverage, 0.5, n, "instance", tied=False))
    assert (low, high) == pytest.approx(beta.interval(0.95, k, n + 1 - k))
    inside = np.mean((found >= low) & (found <= high))
    enough = found.mean() > coverage - 3 * found.std() / 20
    return bool(enough and 0.92 < inside < 0.98 and kstest(found, beta(k, n + 1 - k).cdf).pvalue > 0.001)


@pytest.mark.parametrize(("n", "coverage"), [(20, 0.9), (10, 0.5), (100, 0.9), (30, 0.95)])
def test_the_coverage_has_the_law_of_ranks_and_with_n_for_n_plus_1_it_had_not(n, coverage):
    assert keeps_the_law(coverages(n, coverage, ours), n, coverage)
    assert not keeps_the_law(coverages(n, coverage, of_n_alone), n, coverage)


def test_of_too_few_everything_is_covered_and_it_is_said():
    few = [Threshold.of(np.arange(float(n)), 0.95) for n in (0, 1, 18)]
    few.append(Threshold.of(np.arange(40.0), 0.5, np.zeros(40)))
    assert [each.score for each in few[:3]] == [math.inf] * 3
    assert Threshold.of(np.arange(19.0), 0.95).why_all is None
    few.append(Threshold.of(np.arange(400.0), 0.9, np.repeat([0, 1], 200)))
    same_text(str(each.why_all) for each in few)


@pytest.mark.parametrize("coverage", [0, 1, 90, -0.1, math.nan])
def test_what_is_no_coverage_is_refused(coverage):
    with refused(ParameterError):
        Threshold.of(np.arange(9.0), coverage)


def test_bad_scores_and_tracks_are_refused():
    with refused(DataError):
        Threshold.of(np.array([1.0, np.nan]), 0.5)
    with refused(DataError):
        Threshold.of(np.arange(4.0), 0.5, np.arange(3))
    with refused(DataError):
        Threshold.of(np.arange(2.0), 0.5, np.array(["a", None], dtype=object))


def test_its_record():
    assert as_json(Threshold.of(np.arange(9.0), 0.9).record()) == {
        "coverage": 0.9,
        "threshold": 8.0,
        "n": 9,
        "unit": "instance",
        "why_all": None,
    }
    few = as_json(Threshold.of(np.arange(8.0), 0.9).record())
    assert few["threshold"] is None
    assert few["why_all"] == "a coverage of 90 % needs 9 validation instances; there are 8"
