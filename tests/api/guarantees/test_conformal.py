"""False alarms on average: the same threshold as of conformal sets, groups, and the law by simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from farm.api import CalibrationData, CalibrationRule
from farm.api.guarantees import conformal
from farm.errors import ComponentFailure
from farm.statistics.post_hoc.conformal import Threshold
from tests.api.guarantees.populations import SETS, outcomes, population
from tests.wording import refused, same_text

RULE = CalibrationRule("conformal", accept=0.9)


def data(scores, predicted=None, n_classes=1, **more):
    scores = np.asarray(scores, np.float64)
    predicted = np.zeros(len(scores), np.int64) if predicted is None else np.asarray(predicted)
    return CalibrationData(scores, predicted, n_classes, **more)


@given(
    st.lists(st.tuples(st.integers(0, 12).map(float), st.integers(0, 9)), min_size=30, max_size=60),
    st.integers(1, 90),
)
def test_it_covers_what_a_conformal_set_covers(pairs, percent):
    scores, track = map(np.array, zip(*pairs, strict=True))
    of_sets = Threshold.of(scores, percent / 100, track)
    assume(of_sets.why_all is None)
    made = CalibrationRule("conformal", accept=percent / 100).calibrate(data(scores, track=track.astype(str)))
    assert scores[scores <= made.threshold].max() == of_sets.score
    assert (made.guarantee.n, made.guarantee.unit) == (of_sets.n, "track")
    assert made.guarantee.on_average


@given(st.integers(1, 99))
def test_one_less_than_needed_does_not_do(percent):
    rule, n = CalibrationRule("conformal", accept=percent / 100), math.ceil(Fraction(percent, 100 - percent))
    assert rule.calibrate(data(np.arange(n))).guarantee.needed == n
    assume(n > 1)
    with pytest.raises(ComponentFailure, match=f"needs at least {n:,}$"):
        rule.calibrate(data(np.arange(n - 1)))


@given(st.integers(1, 99), st.integers(1, 200))
def test_how_many_it_takes(percent, n):
    assert (conformal.rank(n, percent / 100) <= n) == (n >= conformal.fewest(percent / 100))
    assert conformal.rank(n, percent / 100) == math.ceil(Fraction(percent, 100) * (n + 1))


def test_by_hand():
    made = RULE.calibrate(data(np.arange(19.0)))
    assert made.threshold == 17.5  # of rank 18 = 0.9 * 20
    assert made.guarantee.promises[0].realised_on_validation == pytest.approx(1 / 19)
    same_text(made.guarantee.sentence)


def test_by_class_each_has_its_own_threshold():
    scores = np.concatenate([np.arange(9.0), 100 + np.arange(19.0)])
    predicted = np.repeat([0, 1], [9, 19])
    made = CalibrationRule("conformal", accept=0.9, by="class").calibrate(data(scores, predicted, 2))
    assert made.per_class.tolist() == [8.0, 117.5]
    assert made.threshold == 117.5
    assert made.alarms(np.array([9.0, 9.0]), np.array([0, 1])).tolist() == [True, False]
    assert made.guarantee.promises[0].realised_on_validation == pytest.approx(1 / 19)
    same_text(made.guarantee.sentence)


def test_a_class_that_is_too_small_is_named():
    rule = CalibrationRule("conformal", accept=0.9, by="class")
    with refused(ComponentFailure):
        rule.calibrate(data(np.arange(30.0), np.repeat([0, 2], [22, 8]), 3))
    with refused(ComponentFailure):
        rule.calibrate(data(np.arange(30.0), np.repeat([0, 1], [22, 8]), 2))


WEATHER = np.repeat(["dry", "fog"], [20, 10])


def test_by_a_condition_the_highest_threshold_holds_for_all():
    scores = np.concatenate([np.arange(20.0), 50 + np.arange(10.0)])
    rule = CalibrationRule("conformal", accept=0.9, by="weather")
    made = rule.calibrate(data(scores, conditions={"weather": WEATHER}))
    assert (made.threshold, made.per_class) == (59.0, None)
    assert made.guarantee.promises[0].realised_on_validation == 0.0
    same_text(made.guarantee.sentence)


def test_a_condition_that_is_too_rare_or_not_known_is_named():
    rule = CalibrationRule("conformal", accept=0.95, by="weather")
    tracks = [f"t{i // 2}" for i in range(30)]
    with refused(ComponentFailure):
        rule.calibrate(data(np.arange(30.0), track=np.array(tracks), conditions={"weather": WEATHER}))
    with refused(ComponentFailure):
        rule.calibrate(data(np.arange(30.0), conditions={"light": WEATHER}))


def test_those_of_unknown_condition_have_no_part_in_it():
    rule = CalibrationRule("conformal", accept=0.9, by="weather")
    weather = np.concatenate([WEATHER, ["", "nan", ""]])
    made = rule.calibrate(data(np.arange(33.0), conditions={"weather": weather}))
    assert (made.threshold, made.guarantee.n, made.n) == (29.0, 30, 33)
    with refused(ComponentFailure):
        rule.calibrate(data(np.arange(3.0), conditions={"weather": np.full(3, np.nan)}))


CASES = {
    "instances": (population([1]), 20),
    "as few as can be": (population([1]), 9),
    "five different scores": (population([1], levels=5), 30),
    "tracks of several sizes": (population([1, 2, 9], alike=0.9), 20),
    "tracks with ties": (population([1, 2, 9], alike=0.9, levels=12), 20),
}


def mean_excess(found):
    """By how much false alarms exceed what was promised on average, in standard errors."""
    excess = np.array(found)[:, 0]
    return excess.mean() / (excess.std() / math.sqrt(SETS))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_on_average_the_promise_is_kept(case):
    assert mean_excess(outcomes(RULE, *case)) < 3


def test_it_is_broken_by_a_rank_of_n_alone_and_by_tracks_taken_for_instances(monkeypatch):
    tracks = population([1, 1, 30], alike=0.98, seed=2)
    # Long tracks are the easier ones here: each instance counted the same, too low a threshold would do.
    rare = type(tracks)(
        tracks.scores - (np.bincount(tracks.track)[tracks.track] > 1) * 3.0, *tracks_of(tracks)
    )
    assert mean_excess(outcomes(RULE, rare, 20, change=lambda one: data(one.scores))) > 3
    covering = conformal.covering
    monkeypatch.setattr(
        conformal,
        "covering",
        lambda scores, share, code: covering(scores, share * len(scores) / (len(scores) + 1), code),
    )
    assert mean_excess(outcomes(RULE, population([1]), 20)) > 3


def tracks_of(drawn):
    return drawn.wrong, drawn.track


def test_it_holds_within_each_condition():
    """Fog is rare and scores high: a threshold for all would alarm there far too often."""
    random = np.random.default_rng(0)
    fog_alone, both = [], []
    for _ in range(SETS):
        weather = np.repeat(["dry", "fog"], [60, 15])
        scores = random.normal(size=75) + (weather == "fog")
        told = data(scores, conditions={"weather": weather})
        new = random.normal(size=200) + 1
        both.append(
            (new > CalibrationRule("conformal", accept=0.9, by="weather").calibrate(told).threshold).mean()
        )
        fog_alone.append((new > RULE.calibrate(told).threshold).mean())
    error = np.std(both) / math.sqrt(SETS)
    assert np.mean(both) < 0.1 + 3 * error
    assert np.mean(fog_alone) > 0.15
