"""False alarms with a confidence: by hand, and how often the promise is broken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from farm.api import CalibrationData, CalibrationRule
from farm.api.guarantees import bounded, found
from farm.api.guarantees.binomial import lowest_rank
from farm.errors import ComponentFailure
from tests.api.guarantees.populations import SETS, broken, most, outcomes, population
from tests.wording import refused, same_text

PERCENTS = st.integers(1, 99)
RULE = CalibrationRule("bounded", accept=0.9, confidence=0.9)
ANY = CalibrationRule("bounded", accept=0.9, confidence=0.9, event="track")


@pytest.mark.parametrize(
    ("accept", "confidence", "n"), [(95, 95, 59), (95, 99, 90), (90, 90, 22), (50, 75, 2)]
)
def test_tables_of_tolerance_limits(accept, confidence, n):
    """Wilks's smallest samples for a limit from one side."""
    assert bounded.fewest(accept / 100, confidence / 100) == n


def data(scores, **more):
    scores = np.asarray(scores, np.float64)
    return CalibrationData(scores, np.zeros(len(scores), np.int64), 1, **more)


@given(PERCENTS, PERCENTS)
def test_one_less_than_needed_does_not_do(accept, confidence):
    rule = CalibrationRule("bounded", accept=accept / 100, confidence=confidence / 100)
    n = bounded.fewest(rule.accept, rule.confidence)
    made = rule.calibrate(data(np.arange(n)))
    assert (made.threshold, made.guarantee.n, made.guarantee.needed) == (n - 1, n, n)
    assume(n > 1)
    with pytest.raises(ComponentFailure, match=f"needs at least {n:,}$"):
        rule.calibrate(data(np.arange(n - 1)))


def test_by_hand():
    made = CalibrationRule("bounded", accept=0.95, confidence=0.99).calibrate(data(np.arange(300.0)[::-1]))
    (promise,) = made.guarantee.promises
    assert (made.threshold, promise.at_most, promise.realised_on_validation) == (293.5, 0.05, 0.02)
    assert (made.asked_acceptance, made.validation_acceptance) == (0.95, 0.98)
    same_text(made.guarantee.sentence)


def test_what_is_tied_is_accepted_together():
    scores = np.repeat([1.0, 2.0, 5.0], [5, 20, 5])
    made = RULE.calibrate(data(scores))
    assert made.threshold == 5.0
    assert made.guarantee.promises[0].realised_on_validation == 0.0


TRACKED = {"track": np.repeat([f"t{i}" for i in range(30)], 3), "ids": np.arange(90).astype(str)}


def test_any_false_alarm_of_a_track_is_that_of_its_highest_score():
    scores = np.arange(90.0)
    made = ANY.calibrate(data(scores, **TRACKED))
    alone = RULE.calibrate(data(scores[2::3]))
    assert made.threshold == pytest.approx(alone.threshold)
    assert (made.guarantee.unit, made.guarantee.event, made.guarantee.n) == ("track", "track", 30)
    same_text(made.guarantee.sentence)


def test_one_random_instance_of_each_track_whatever_their_order():
    scores = np.random.default_rng(0).normal(size=90)
    whole = data(scores, **TRACKED)
    chosen = found.Units.of(whole)
    assert sorted(chosen.data.track) == sorted(set(TRACKED["track"]))
    mixed = whole.rows(np.random.default_rng(1).permutation(90))
    assert set(found.Units.of(mixed).data.ids) == set(chosen.data.ids)
    assert RULE.calibrate(mixed).threshold == RULE.calibrate(whole).threshold
    places = {int(i) % 3 for i in chosen.data.ids}
    other = found.Units.of(data(scores, **TRACKED, seed=1))
    assert places == {0, 1, 2}
    assert set(other.data.ids) != set(chosen.data.ids)
    same_text(RULE.calibrate(whole).guarantee.sentence)


def test_tracks_without_ids_and_an_event_without_tracks_are_refused():
    with refused(ComponentFailure):
        RULE.calibrate(data(np.arange(90.0), track=TRACKED["track"]))
    with refused(ComponentFailure):
        ANY.calibrate(data(np.arange(90.0)))
    with refused(ComponentFailure):
        CalibrationRule("bounded", accept=0.95, confidence=0.99).calibrate(data(np.arange(90.0), **TRACKED))


SINGLE = population([1])
CASES = {
    "instances": (RULE, SINGLE, 40),
    "as few as can be": (RULE, SINGLE, 22),
    "two different scores": (RULE, population([1], levels=2), 30),
    "twelve different scores": (RULE, population([1], levels=12), 60),
    "tracks of several sizes": (RULE, population([1, 2, 9], alike=0.9), 60),
    "tracks with ties": (RULE, population([1, 2, 9], alike=0.9, levels=12), 60),
    "any of a track": (ANY, population([1, 2, 9], alike=0.9), 60),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_promise_is_broken_no_oftener_than_said(case):
    found = outcomes(*case)
    assert None not in found
    assert broken(found) <= most(0.1)


def test_tracks_taken_for_instances_break_it():
    """Frames that are alike are fewer than they seem."""
    tracks = population([1, 2, 9], alike=0.98)
    assert broken(outcomes(RULE, tracks, 60, change=lambda one: data(one.scores))) > most(0.1)


def test_work_that_is_not_like_validation_breaks_it():
    shifted = population([1], wrong=0.0)
    harder = type(shifted)(shifted.scores + 0.3, shifted.wrong, shifted.track)
    assert broken(outcomes(RULE, shifted, 40, at_work=harder)) > most(0.1)


def test_one_rank_lower_would_break_it(monkeypatch):
    monkeypatch.setattr(bounded, "lowest_rank", lambda *told: lowest_rank(*told) and lowest_rank(*told) - 1)
    assert broken(outcomes(RULE, SINGLE, 22)) > most(0.1)


def test_it_is_not_needlessly_careful():
    """Of 22 the highest has the confidence 0.9015: about a tenth of sets break the promise."""
    assert broken(outcomes(RULE, SINGLE, 22)) > SETS * 0.05
