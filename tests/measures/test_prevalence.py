import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from farm.errors import ParameterError
from farm.measures import OVERALL, SPECIFIC, Counts, ratio
from farm.measures.detection import error, fnr, fpr, mcc, precision
from farm.measures.prevalence import at_prevalence
from tests.wording import refused, same_text

COUNT = st.integers(0, 60)
BOTH = st.builds(Counts, tp=COUNT, fp=COUNT, tn=COUNT, fn=COUNT).filter(lambda c: 0 < c.positive < c.n)
SHARES = st.floats(1e-6, 1 - 1e-6)
FOLLOWING = ("mcc", "precision", "f1", "error", "alarm_rate")
LEVEL = math.sqrt(0.95)


@given(BOTH)
def test_at_the_samples_own_share_it_is_the_measure_of_the_counts(counts):
    (own,) = at_prevalence(counts, [counts.positive / counts.n])
    f1 = ratio(2 * counts.tp, 2 * counts.tp + counts.fp + counts.fn, "none").value
    for found, expected in [
        (own.mcc, mcc(counts).value),
        (own.precision, precision(counts).value),
        (own.f1, f1),
        (own.error, error(counts).value),
        (own.alarm_rate, counts.flagged / counts.n),
        (own.fpr, fpr(counts).value),
        (own.fnr, fnr(counts).value),
    ]:
        assert found.value.value == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(BOTH, st.integers(1, 40), st.integers(1, 40))
def test_is_the_measure_of_counts_that_were_multiplied(counts, positives, negatives):
    """Each positive seen so many times, each negative so many: the same rates at another share."""
    other = Counts(
        tp=counts.tp * positives, fn=counts.fn * positives, fp=counts.fp * negatives, tn=counts.tn * negatives
    )
    (found,) = at_prevalence(counts, [other.positive / other.n])
    assert found.mcc.value.value == pytest.approx(mcc(other).value, abs=1e-9, nan_ok=True)
    assert found.precision.value.value == pytest.approx(precision(other).value, abs=1e-9, nan_ok=True)
    assert found.error.value.value == pytest.approx(error(other).value, abs=1e-9)


@given(BOTH, st.lists(SHARES, max_size=4))
def test_several_shares_give_what_each_gives(counts, shares):
    for found, share in zip(at_prevalence(counts, shares), shares, strict=True):
        (alone,) = at_prevalence(counts, [share])
        assert found.prevalence == alone.prevalence == share
        for name in ("fpr", "fnr", *FOLLOWING):
            for end in ("value", "low", "high"):
                one, other = (getattr(getattr(each, name), end) for each in (found, alone))
                assert one.value == pytest.approx(other.value, rel=1e-14, abs=1e-15, nan_ok=True), (name, end)
                assert one.reason == other.reason


@given(BOTH, SHARES)
def test_lies_between_its_ends(counts, share):
    (found,) = at_prevalence(counts, [share])
    for name in FOLLOWING:
        bounded = getattr(found, name)
        if bounded.value.defined:
            assert bounded.low.value - 1e-12 <= bounded.value.value <= bounded.high.value + 1e-12
            assert (-1 if name == "mcc" else 0) <= bounded.low.value
            assert bounded.high.value <= 1
        else:
            assert bounded.low.reason == bounded.high.reason == bounded.value.reason


@given(BOTH, SHARES, st.floats(0, 1), st.floats(0, 1))
def test_ends_hold_whatever_the_rates_within_their_intervals(counts, share, right, up):
    """The claim that every measure moves one way with each rate, asked anywhere in the rectangle."""
    (found,) = at_prevalence(counts, [share])
    low, high = proportion_confint(counts.fp, counts.fp + counts.tn, 1 - LEVEL, method="wilson")
    false_alarms = low + right * (high - low)
    low, high = proportion_confint(counts.fn, counts.positive, 1 - LEVEL, method="wilson")
    hits = 1 - (low + up * (high - low))
    flagged = share * hits + (1 - share) * false_alarms
    inside = {
        "precision": share * hits / flagged,
        "f1": 2 * share * hits / (flagged + share),
        "error": share * (1 - hits) + (1 - share) * false_alarms,
        "alarm_rate": flagged,
    }
    if 1e-9 < flagged < 1 - 1e-9:
        spread = math.sqrt(share * (1 - share)) * math.sqrt(flagged * (1 - flagged))
        inside["mcc"] = share * (1 - share) * (hits - false_alarms) / spread
    for name, value in inside.items():
        bounded = getattr(found, name)
        if bounded.value.defined:
            assert bounded.low.value - 1e-7 <= value <= bounded.high.value + 1e-7, name


def test_rates_have_wilsons_intervals():
    (found,) = at_prevalence(Counts(tp=90, fp=5, tn=95, fn=10), [0.3])
    for bounded, k in ((found.fpr, 5), (found.fnr, 10)):
        expected = proportion_confint(k, 100, 0.05, method="wilson")
        assert (bounded.low.value, bounded.high.value) == pytest.approx(expected)


def test_rare_faults_drown_in_false_alarms():
    """A published worked example of Bayes' rule: 80 % found, 9.6 % false alarms, 1 % ill give 7.8 %.

    E. Yudkowsky, "An intuitive explanation of Bayes' theorem" (2003), the mammography problem.
    """
    (found,) = at_prevalence(Counts(tp=800, fn=200, fp=96, tn=904), [0.01])
    assert found.precision.value.value == pytest.approx(0.078, abs=5e-4)


def test_interval_holds_its_level():
    """Rectangles are rather too wide: at least the level, whatever the share."""
    random = np.random.default_rng(0)
    shares, true_fpr, true_fnr, n = [0.01, 0.3], 0.1, 0.2, 100
    held = np.zeros((len(shares), 2))
    runs = 200
    for _ in range(runs):
        fp, fn = int(random.binomial(n, true_fpr)), int(random.binomial(n, true_fnr))
        for i, found in enumerate(at_prevalence(Counts(tp=n - fn, fn=fn, fp=fp, tn=n - fp), shares)):
            q = found.prevalence * (1 - true_fnr) + (1 - found.prevalence) * true_fpr
            true = (
                found.prevalence * (1 - true_fnr) / q,
                (1 - true_fnr - true_fpr)
                * math.sqrt(found.prevalence * (1 - found.prevalence) / (q * (1 - q))),
            )
            for j, bounded in enumerate((found.precision, found.mcc)):
                held[i, j] += bounded.low.value <= true[j] <= bounded.high.value
    assert (held / runs).min() >= 0.93


@pytest.mark.parametrize(
    ("counts", "share", "name", "reason"),
    [
        (Counts(0, 0, 5, 5, SPECIFIC), 0.1, "precision", "none of the 10 instances raised an alarm"),
        (Counts(0, 0, 5, 5, OVERALL), 0.1, "mcc", "none of the 10 instances was cancelled"),
        (Counts(5, 5, 0, 0, SPECIFIC), 0.1, "mcc", "each of the 10 instances raised an alarm"),
        (Counts(0, 1, 2, 0, SPECIFIC), 0.1, "error", "none of the 3 instances is OOD"),
        (Counts(1, 0, 0, 2, SPECIFIC), 0.1, "alarm_rate", "each of the 3 instances is OOD"),
        (Counts(0, 0, 0, 0, SPECIFIC), 0.1, "f1", "no instances"),
        (Counts(1, 1, 1, 1, SPECIFIC), 0.0, "mcc", "at a share of 0, none is OOD"),
        (Counts(1, 1, 1, 1, OVERALL), 1.0, "mcc", "at a share of 1, each should be cancelled"),
        (Counts(1, 0, 1, 1, SPECIFIC), 0.0, "precision", "at a share of 0, none raised an alarm"),
        (Counts(1, 0, 1, 1, SPECIFIC), 0.0, "f1", "at a share of 0, none raised an alarm"),
        (Counts(0, 1, 1, 1, SPECIFIC), 1.0, "precision", "at a share of 1, none raised an alarm"),
    ],
)
def test_undefined_with_a_reason(counts, share, name, reason):
    (found,) = at_prevalence(counts, [share])
    bounded = getattr(found, name)
    assert math.isnan(bounded.value.value)
    assert bounded.value.reason == bounded.low.reason == bounded.high.reason == reason


def test_where_one_side_is_absent_its_rate_is_not_needed():
    (found,) = at_prevalence(Counts(tp=3, fp=0, tn=0, fn=1), [1.0])
    assert (found.error.value.value, found.precision.value.value, found.alarm_rate.value.value) == (
        0.25,
        1,
        0.75,
    )
    same_text(found.fpr.value.reason)
    (found,) = at_prevalence(Counts(tp=0, fp=1, tn=3, fn=0), [0.0])
    assert (found.error.value.value, found.precision.value.value, found.alarm_rate.value.value) == (
        0.25,
        0,
        0.25,
    )


def test_no_share_gives_nothing():
    assert at_prevalence(Counts(1, 1, 1, 1), []) == []


@pytest.mark.parametrize("share", [-0.1, 1.1, 50.0, math.nan])
def test_refuses_what_is_no_share(share):
    with refused(ParameterError):
        at_prevalence(Counts(1, 1, 1, 1), [0.5, share])


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95.0, math.nan])
def test_refuses_what_is_no_level(level):
    with refused(ParameterError):
        at_prevalence(Counts(1, 1, 1, 1), [0.5], level)
