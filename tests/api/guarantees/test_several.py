"""Several promises at once: by hand, by simulation at the worst there is, and with too little doubt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from farm.api import CalibrationData, CalibrationRule
from farm.api.guarantees import several
from farm.api.guarantees.binomial import is_small
from farm.errors import ComponentFailure
from tests.api.guarantees.populations import broken, evenly, most, mostly_do, outcomes, population
from tests.wording import refused, same_text

METHOD = several.METHOD
RULE = CalibrationRule(METHOD, accept=0.9, hazard=0.05, confidence=0.9)
RISK = CalibrationRule(METHOD, accept=0.9, risk=0.05, confidence=0.9)


def data(n, wrong=()):
    labels = np.isin(np.arange(n), list(wrong)).astype(np.int64)
    return CalibrationData(np.arange(float(n)), np.zeros(n, np.int64), 2, labels=labels)


@given(st.integers(50, 98), st.integers(50, 98), st.integers(2, 60), st.booleans())
@settings(max_examples=50)
def test_one_less_than_needed_does_not_do(accept, confidence, percent, by_risk):
    bound = {"risk" if by_risk else "hazard": percent / 100}
    rule = CalibrationRule(METHOD, accept=accept / 100, confidence=confidence / 100, **bound)
    n = several.fewest(rule.accept, rule.confidence, rule.risk, rule.hazard)
    assert rule.calibrate(data(n)).guarantee.needed == n
    assume(n > 1)
    with pytest.raises(ComponentFailure, match=f"needs at least {n:,}$"):
        rule.calibrate(data(n - 1))


def test_by_hand():
    """Of 200, each with a doubt of 5 %: the lowest rank that will do is 188, and 4 wrong are few enough."""
    assert binom.cdf(186, 200, 0.9) < 0.95 <= binom.cdf(187, 200, 0.9)
    assert binom.cdf(4, 200, 0.054) < 0.05
    made = CalibrationRule(METHOD, accept=0.9, risk=0.06, hazard=0.06, confidence=0.9).calibrate(
        data(200, wrong=[*range(0, 80, 20), *range(190, 200)])
    )
    assert made.threshold == 187.5
    told = [(one.what, one.at_most, one.realised_on_validation) for one in made.guarantee.promises]
    assert told == [
        ("false_alarms", 0.1, pytest.approx(12 / 200)),
        ("risk", 0.06, pytest.approx(4 / 188)),
        ("residual_hazard", 0.06, pytest.approx(4 / 200)),
    ]
    assert made.asked_acceptance == 0.9
    same_text(made.guarantee.sentence)


def test_what_is_missed_tells_how_many_would_do_or_that_it_cannot_tell():
    with refused(ComponentFailure):
        RULE.calibrate(data(100, wrong=range(0, 80, 20)))
    with refused(ComponentFailure):
        RULE.calibrate(data(100, wrong=range(20)))
    with refused(ComponentFailure):
        RULE.calibrate(data(200, wrong=range(0, 180, 40)))
    with refused(ComponentFailure):
        RULE.calibrate(data(66, wrong=[3]))
    with refused(ComponentFailure):
        RISK.calibrate(data(30))


def test_what_is_tied_with_the_threshold_is_accepted():
    tied = replace(data(100, wrong=range(20)), scores=np.ones(100))
    with pytest.raises(ComponentFailure, match="20 of the 100 are wrong and accepted"):
        RULE.calibrate(tied)


# The worst there is: below the 90th percentile too many alarms, from it on too much is wrong and accepted.
AT_THE_EDGE = evenly(0.0501 / 0.9, below=0.9)
CASES = {
    "hazard": (RULE, population([1], wrong=AT_THE_EDGE), 200),
    "risk": (RISK, population([1], wrong=evenly(0.0501)), 200),
    "ties": (RULE, population([1], levels=10, wrong=AT_THE_EDGE), 200),
    "risk and ties": (RISK, population([1], levels=10, wrong=evenly(0.0501)), 200),
    "tracks": (RULE, population([1, 2, 9], alike=0.9, wrong=AT_THE_EDGE), 200),
    "risk of tracks": (RISK, population([1, 2, 9], alike=0.9, levels=15, wrong=0.055), 200),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_all_promises_are_kept_together_as_often_as_said(case):
    assert broken(outcomes(*case)) <= most(0.1)


NOT_ENOUGH = {
    "hazard": (RULE, population([1], wrong=0.03), 200),
    "risk": (RISK, population([1], wrong=0.02), 200),
    "ties": (RULE, population([1], levels=12, wrong=lambda rank: 0.08 * rank), 200),
    "a tail that is wrong": (RULE, population([1], wrong=lambda rank: 0.005 + 0.8 * (rank > 0.95)), 150),
    "tracks": (RULE, population([1, 2, 9], alike=0.9, wrong=0.03), 200),
}


def test_about_so_many_do():
    mostly_do(NOT_ENOUGH.values(), sets=120)


def test_a_hazard_tested_at_ten_times_the_doubt_breaks_it(monkeypatch):
    monkeypatch.setattr(several, "is_small", lambda k, n, share, level: is_small(k, n, share, 10 * level))
    assert broken(outcomes(*CASES["hazard"])) > most(0.1)


def test_a_monitor_that_knows_has_its_threshold_certified():
    good = population([1, 3], alike=0.5, wrong=lambda rank: 0.9 * (rank > 0.95))
    found = outcomes(RULE, good, 300)
    assert sum(one is not None for one in found) > 290
    assert broken(found) <= most(0.1)
