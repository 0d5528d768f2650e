"""Wrong decisions among accepted ones: by hand, by simulation, and that each threshold tried is paid for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from farm.api import CalibrationData, CalibrationRule
from farm.api.guarantees import risk
from farm.api.guarantees.binomial import fewest_if_none, is_small
from farm.errors import ComponentFailure
from tests.api.guarantees.populations import (
    as_many_as_told,
    broken,
    evenly,
    most,
    mostly_do,
    outcomes,
    population,
)
from tests.wording import refused, same_text

RULE = CalibrationRule("risk", risk=0.05, confidence=0.9)
PERCENTS = st.integers(2, 98)


def data(scores, wrong=(), **more):
    scores = np.asarray(scores, np.float64)
    labels = np.isin(np.arange(len(scores)), list(wrong)).astype(np.int64)
    return CalibrationData(scores, np.zeros(len(scores), np.int64), 2, labels=labels, **more)


@given(PERCENTS, PERCENTS)
@settings(max_examples=50)
def test_one_less_than_needed_does_not_do(percent, confidence):
    rule = CalibrationRule("risk", risk=percent / 100, confidence=confidence / 100)
    n = risk.fewest(rule.risk, rule.confidence)
    made = rule.calibrate(data(np.arange(n)))
    assert (made.guarantee.n, made.guarantee.needed) == (n, n)
    assert made.alarms(np.arange(n), np.zeros(n, np.int64)).sum() == 1
    assume(n > 1)
    with pytest.raises(ComponentFailure, match=f"needs at least {n:,}$"):
        rule.calibrate(data(np.arange(n - 1)))


def test_by_hand():
    """Of 1,000 the 100 highest are wrong: of the ranks that are tried, 899 is the highest certified one."""
    made = RULE.calibrate(data(np.arange(1000.0), wrong=range(900, 1000)))
    assert made.threshold == np.nextafter(898.0, 0)
    (promise,) = made.guarantee.promises
    assert (promise.what, promise.at_most, promise.realised_on_validation) == ("risk", 0.05, 0.0)
    assert made.asked_acceptance is None
    same_text(made.guarantee.sentence)


def test_what_is_tied_with_the_end_is_not_accepted():
    made = RULE.calibrate(data(np.repeat([1.0, 2.0], [70, 30])))
    assert made.alarms(np.array([1.0, 2.0]), np.zeros(2, np.int64)).tolist() == [False, True]
    with refused(ComponentFailure):
        RULE.calibrate(data(np.ones(100)))


def test_what_is_missed_tells_how_many_would_do_or_that_it_cannot_tell():
    """Where none of the lowest is wrong, some hundreds would do; where some are everywhere, who knows?"""
    with refused(ComponentFailure):
        RULE.calibrate(data(np.arange(120.0), wrong=range(3, 120, 33)))
    with refused(ComponentFailure):
        RULE.calibrate(data(np.arange(300.0), wrong=range(0, 300, 10)))
    with refused(ComponentFailure):
        RULE.calibrate(data(np.arange(50.0), wrong=[7]))
    with refused(ComponentFailure):
        RULE.calibrate(data(np.arange(120.0), wrong=[65, 80, 100]))
    with refused(ComponentFailure):
        RULE.calibrate(CalibrationData(np.arange(300.0), np.zeros(300, np.int64), 1))


@given(st.integers(1, 400), st.integers(1, 30), st.integers(50, 99))
@settings(max_examples=60)
def test_each_rank_that_is_tried_could_be_certified(n, percent, confidence):
    tried = risk.ranks(n, percent / 100, confidence / 100)
    assert len(tried) <= risk.RANKS
    assert (len(tried) > 0) == (n >= risk.fewest(percent / 100, confidence / 100))
    assert len(set(tried)) == len(tried)
    if len(tried):
        level = (1 - confidence / 100) / len(tried)
        assert binom.cdf(0, tried[0] - 1, percent / 100) <= level + 1e-9
        assert tried[0] <= tried[-1] <= n


# The worst there is: accepted or not, always a little too much is wrong, so that any threshold breaks it.
EVERYWHERE = {"wrong": evenly(0.0501)}
CASES = {
    "instances": (population([1], **EVERYWHERE), 200),
    "as few as can be": (population([1], **EVERYWHERE), 46),
    "six different scores": (population([1], levels=6, **EVERYWHERE), 200),
    "tracks of several sizes": (population([1, 2, 9], alike=0.9, wrong=0.055), 200),
    "wrong where it is high": (population([1], wrong=lambda rank: 0.02 + 0.6 * (rank > 0.7)), 200),
    "tracks, wrong where it is high": (
        population([1, 2, 9], alike=0.9, levels=30, wrong=lambda rank: 0.02 + 0.6 * (rank > 0.7)),
        200,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_promise_is_broken_no_oftener_than_said(case):
    assert broken(outcomes(RULE, *case)) <= most(0.1)


def test_a_monitor_that_knows_has_its_threshold_certified():
    good = population([1], wrong=lambda rank: 0.9 * (rank > 0.9))
    found = outcomes(RULE, good, 300)
    assert sum(one is not None for one in found) > 290
    assert broken(found) <= most(0.1)


NOT_ENOUGH = {
    "more and more wrong": (population([1], wrong=lambda rank: 0.1 * rank), 0.05, 150),
    "wrong where it is high": (population([1], wrong=lambda rank: 0.3 * rank**3), 0.02, 400),
    "few everywhere": (population([1], wrong=0.03), 0.05, 150),
    "twelve different scores": (population([1], levels=12, wrong=lambda rank: 0.3 * rank**3), 0.02, 400),
    "a tail that is wrong": (population([1], wrong=lambda rank: 0.01 + 0.39 * (rank > 0.85)), 0.05, 150),
    "tracks": (population([1, 2, 9], alike=0.9, wrong=lambda rank: 0.3 * rank**3), 0.02, 400),
}


def test_about_so_many_do():
    mostly_do(
        (CalibrationRule("risk", risk=share, confidence=0.9), drawn, n)
        for drawn, share, n in NOT_ENOUGH.values()
    )


def test_where_hardly_any_could_be_seen_to_be_right_no_number_is_told():
    """With 400 no number; with 20,000 the lowest scores are seen to be right, so that more did help."""
    rule = CalibrationRule("risk", risk=0.01, confidence=0.9)
    drawn = population([1], wrong=lambda rank: 0.1 * rank)
    assert as_many_as_told(rule, drawn, 400)[0] <= 3
    with refused(ComponentFailure):
        rule.calibrate(drawn.draw(np.random.default_rng(0), 400))
    assert rule.calibrate(drawn.draw(np.random.default_rng(0), 20_000)).guarantee is not None


def test_thresholds_that_are_not_paid_for_break_it(monkeypatch):
    def at_full_doubt(k, n, share, level):
        return is_small(k, n, share, min(10 * level, 0.1) if level < 0.1 else level)

    case = CASES["instances"]
    monkeypatch.setattr(risk, "is_small", at_full_doubt)
    monkeypatch.setattr(
        risk, "fewest_if_none", lambda share, level: fewest_if_none(share, min(10 * level, 0.1))
    )
    assert broken(outcomes(RULE, *case)) > most(0.1)


def test_work_that_is_not_like_validation_breaks_it():
    here = population([1], wrong=0.02)
    there = population([1], wrong=0.12, seed=5)
    assert broken(outcomes(RULE, here, 200, at_work=there)) > most(0.1)
