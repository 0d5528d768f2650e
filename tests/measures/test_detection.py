import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)

from farm.measures import OVERALL, SPECIFIC, Counts
from farm.measures.detection import (
    detection_measures,
    error,
    fnr,
    fpr,
    mcc,
    micro_f1,
    precision,
    recall,
    weighted_f1,
)
from tests.wording import same_text

COUNT = st.one_of(st.just(0), st.integers(0, 60))
COUNTS = st.builds(Counts, tp=COUNT, fp=COUNT, tn=COUNT, fn=COUNT)
MANY = st.builds(Counts, **{name: st.integers(0, 10**12) for name in ("tp", "fp", "tn", "fn")})


def arrays(counts):
    """Give truth and verdict with these counts."""
    truth = np.repeat([1, 0, 0, 1], [counts.tp, counts.fp, counts.tn, counts.fn])
    flagged = np.repeat([1, 1, 0, 0], [counts.tp, counts.fp, counts.tn, counts.fn])
    return truth, flagged


@given(COUNTS)
def test_mcc_agrees_with_scikit_learn_where_it_is_defined(counts):
    measure = mcc(counts)
    truth, flagged = arrays(counts)
    if len(set(truth)) == 2 and len(set(flagged)) == 2:
        assert measure.value == pytest.approx(matthews_corrcoef(truth, flagged), abs=1e-12)
    else:
        assert math.isnan(measure.value)
        assert measure.reason


@given(COUNTS.filter(lambda counts: counts.n > 0))
def test_f1_scores_agree_with_scikit_learn(counts):
    truth, flagged = arrays(counts)
    weighted = f1_score(truth, flagged, average="weighted", labels=[0, 1], zero_division=0)
    assert weighted_f1(counts).value == pytest.approx(weighted, abs=1e-12)
    assert micro_f1(counts).value == pytest.approx(f1_score(truth, flagged, average="micro"), abs=1e-12)
    assert micro_f1(counts).value == pytest.approx(accuracy_score(truth, flagged), abs=1e-12)


@given(COUNTS)
def test_rates_agree_with_scikit_learn_where_they_are_defined(counts):
    truth, flagged = arrays(counts)
    for measure, reference, defined in [
        (precision(counts), lambda: precision_score(truth, flagged), counts.tp + counts.fp),
        (recall(counts), lambda: recall_score(truth, flagged), counts.tp + counts.fn),
        (fnr(counts), lambda: 1 - recall_score(truth, flagged), counts.tp + counts.fn),
        (fpr(counts), lambda: 1 - recall_score(truth, flagged, pos_label=0), counts.fp + counts.tn),
        (error(counts), lambda: 1 - accuracy_score(truth, flagged), counts.n),
    ]:
        if defined:
            assert measure.value == pytest.approx(reference(), abs=1e-12)
        else:
            assert not measure.defined


@given(MANY)
def test_bounds(counts):
    measures = detection_measures(counts)
    assert not measures["mcc"].defined or -1 <= measures["mcc"].value <= 1
    for name, measure in measures.items():
        assert name == "mcc" or not measure.defined or 0 <= measure.value <= 1


@given(MANY)
def test_mcc_is_the_same_when_the_classes_swap(counts):
    swapped = Counts(tp=counts.tn, fp=counts.fn, tn=counts.tp, fn=counts.fp)
    assert mcc(swapped).value == pytest.approx(mcc(counts).value, nan_ok=True)
    assert weighted_f1(swapped).value == pytest.approx(weighted_f1(counts).value, nan_ok=True)


@given(MANY)
def test_mcc_changes_its_sign_when_the_verdict_swaps(counts):
    swapped = Counts(tp=counts.fn, fp=counts.tn, tn=counts.fp, fn=counts.tp)
    assert mcc(swapped).value == pytest.approx(-mcc(counts).value, nan_ok=True)


@pytest.mark.parametrize("n", [1, 10, 10**6, 10**15, 3**40])
def test_perfect_and_perfectly_wrong_are_exact_however_many(n):
    assert mcc(Counts(tp=n, fp=0, tn=n, fn=0)).value == 1.0
    assert mcc(Counts(tp=0, fp=n, tn=0, fn=n)).value == -1.0


def test_monitor_that_never_alarms_has_no_mcc():
    counts = Counts(tp=0, fp=0, tn=4999, fn=1, wording=SPECIFIC)
    measures = detection_measures(counts)
    same_text(measures["mcc"].reason)
    same_text(measures["precision"].reason)
    assert (measures["fpr"].value, measures["fnr"].value) == (0.0, 1.0)
    assert measures["error"].value == pytest.approx(1 / 5000)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (Counts(0, 0, 0, 0), "no instances"),
        (Counts(0, 2, 3, 0), "none of the 5 instances is positive"),
        (Counts(2, 0, 0, 3), "each of the 5 instances is positive"),
        (Counts(2, 3, 0, 0), "each of the 5 instances was flagged"),
        (Counts(0, 0, 2, 3, wording=OVERALL), "none of the 5 instances was cancelled"),
        (Counts(0, 2, 3, 0, wording=OVERALL), "none of the 5 instances should be cancelled"),
        (Counts(1, 0, 0, 0, wording=SPECIFIC), "each of the 1 instances is OOD"),
    ],
)
def test_reason_says_what_is_missing_and_of_how_many(counts, reason):
    assert mcc(counts).reason == reason


def test_nothing_leaves_everything_undefined():
    assert {measure.reason for measure in detection_measures(Counts(0, 0, 0, 0)).values()} == {"no instances"}


@given(COUNTS, COUNTS)
def test_counts_add_up(one, other):
    both = one + other
    assert (both.n, both.positive) == (one.n + other.n, one.positive + other.positive)
    assert both.flagged == one.flagged + other.flagged


PUBLISHED = [
    # FPR, FNR, precision, MCC, "micro-F1"
    pytest.param(0.84, 0.04, 0.80, 0.21, 0.73, id="gtsrb-btsc-oob"),
    pytest.param(0.72, 0.11, 0.81, 0.20, 0.73, id="gtsrb-btsc-oob-isomap"),
    pytest.param(0.86, 0.11, 0.78, 0.04, 0.68, id="gtsrb-btsc-oob-pca"),
    pytest.param(0.80, 0.03, 0.20, 0.17, 0.33, id="cifar10-gtsrb-oob-pca"),
    pytest.param(0.61, 0.10, 0.24, 0.23, 0.52, id="cifar10-gtsrb-odin"),
    pytest.param(0.73, 0.10, 0.21, 0.16, 0.40, id="gtsrb-cifar10-oob"),
]


@pytest.mark.parametrize(("fp_rate", "fn_rate", "precise", "published_mcc", "published_f1"), PUBLISHED)
def test_published_rows_follow_from_their_rates(fp_rate, fn_rate, precise, published_mcc, published_f1):
    """Rates and precision fix the share of OOD; MCC and the F1 follow, as far as two digits carry."""
    negatives = 10_000
    positives = round(negatives * precise * fp_rate / ((1 - precise) * (1 - fn_rate)))
    missed, false_alarms = round(positives * fn_rate), round(negatives * fp_rate)
    counts = Counts(tp=positives - missed, fp=false_alarms, tn=negatives - false_alarms, fn=missed)
    assert precision(counts).value == pytest.approx(precise, abs=1e-3)
    assert mcc(counts).value == pytest.approx(published_mcc, abs=0.015)
    assert weighted_f1(counts).value == pytest.approx(published_f1, abs=0.006)


def test_published_micro_f1_is_the_weighted_one():
    counts = Counts(tp=3070, fp=720, tn=280, fn=379)
    assert round(weighted_f1(counts).value, 2) == 0.73
    assert round(micro_f1(counts).value, 2) == 0.75
