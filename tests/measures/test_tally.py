"""The classifier alone and with a monitor: against scikit-learn, by hand, and as published."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import matthews_corrcoef

from farm.errors import DataError
from farm.measures import Counts, Measure, undefined
from farm.measures.detection import mcc
from farm.measures.tally import Agreement, Tally, multiclass_mcc, relative_change, system_outcome
from tests.wording import refused, same_text

CLASSES = 4
PAIRS = st.integers(0, 40).flatmap(
    lambda n: st.tuples(*[hnp.arrays(np.int64, n, elements=st.integers(-1, CLASSES - 1))] * 2)
)


@given(PAIRS)
def test_mcc_agrees_with_scikit_learn_where_it_is_defined(pair):
    label, outcome = pair
    measure = multiclass_mcc(Agreement.of(label, outcome, CLASSES))
    if len(set(label)) > 1 and len(set(outcome)) > 1:
        assert measure.value == pytest.approx(matthews_corrcoef(label, outcome), abs=1e-12)
        assert -1 <= measure.value <= 1
    else:
        assert math.isnan(measure.value)
        assert measure.reason


@given(PAIRS, st.permutations(range(CLASSES + 1)))
def test_mcc_does_not_care_how_classes_are_numbered(pair, numbers):
    label, outcome = (np.array(numbers)[values + 1] - 1 for values in pair)
    renumbered = multiclass_mcc(Agreement.of(label, outcome, CLASSES))
    assert renumbered.value == pytest.approx(multiclass_mcc(Agreement.of(*pair, CLASSES)).value, nan_ok=True)


@given(PAIRS)
def test_mcc_of_two_classes_is_the_binary_one(pair):
    positive, flagged = pair[0] > 0, pair[1] > 0
    counts = Counts(
        tp=int((positive & flagged).sum()),
        fp=int((~positive & flagged).sum()),
        tn=int((~positive & ~flagged).sum()),
        fn=int((positive & ~flagged).sum()),
    )
    agreement = Agreement.of(positive.astype(np.int64), flagged.astype(np.int64), 2)
    assert multiclass_mcc(agreement).value == pytest.approx(mcc(counts).value, nan_ok=True)


@given(PAIRS, PAIRS)
def test_agreements_add_up(one, other):
    together = [np.concatenate(values) for values in zip(one, other, strict=True)]
    total = Agreement.of(*one, CLASSES) + Agreement.of(*other, CLASSES)
    whole = Agreement.of(*together, CLASSES)
    assert (total.correct, total.n) == (whole.correct, whole.n)
    assert total.labels.tolist() == whole.labels.tolist()
    assert total.outcomes.tolist() == whole.outcomes.tolist()


def test_reasons_of_an_undefined_mcc():
    nothing, one, two = np.array([], dtype=np.int64), np.array([1, 1, 1]), np.array([0, 1, 1])
    assert multiclass_mcc(Agreement.of(nothing, nothing, 2)).reason == "no instances"
    same_text(multiclass_mcc(Agreement.of(one, two, 2)).reason)
    same_text(multiclass_mcc(Agreement.of(two, one, 2)).reason)


def test_billions_do_not_overflow():
    huge = np.array([0, 4 * 10**9, 4 * 10**9])
    assert multiclass_mcc(Agreement(8 * 10**9, huge, huge)).value == 1.0


@pytest.mark.parametrize(
    ("label", "outcome"),
    [
        ([-2, 0], [0, 0]),
        ([0, 0], [0, 2]),
    ],
)
def test_refuses_what_is_no_class(label, outcome):
    with refused(DataError):
        Agreement.of(np.array(label), np.array(outcome), 2)


def test_cancelling_is_never_right_on_id_data():
    label = predicted = np.array([0, 1, 0, 1])
    outcome = system_outcome(predicted, np.array([True, False, False, False]))
    system = multiclass_mcc(Agreement.of(label, outcome, 2))
    assert system.value == pytest.approx(matthews_corrcoef(label, outcome))
    assert system.value < 1.0


def test_cancelling_is_the_right_outcome_of_a_novel_class():
    label, predicted = np.array([0, 1, -1, -1]), np.array([0, 1, 0, 1])
    outcome = system_outcome(predicted, np.array([False, False, True, True]))
    assert multiclass_mcc(Agreement.of(label, outcome, 2)).value == 1.0


@pytest.mark.parametrize(
    ("classifier", "system", "change"),
    [
        (0.96, 0.59, -38.54),
        (0.96, 0.66, -31.25),
        (0.96, 0.5, -47.92),
        (0.74, 0.51, -31.08),
        (0.74, 0.64, -13.51),
    ],
)
def test_published_relative_changes(classifier, system, change):
    assert relative_change(Measure(classifier), Measure(system)).value == pytest.approx(change, abs=0.006)


def test_relative_change_needs_two_numbers_and_a_classifier_above_chance():
    none = undefined("no instances")
    same_text(relative_change(none, Measure(0.5)).reason)
    same_text(relative_change(Measure(0.5), none).reason)
    for value in (0.0, -0.25):
        same_text(relative_change(Measure(value), Measure(0.5)).reason)


def test_coverage_and_accuracies():
    # Of twenty decisions six are wrong. Five are cancelled, three of them rightly.
    wrong, cancelled = np.arange(20) < 6, (np.arange(20) >= 3) & (np.arange(20) < 8)
    tally = Tally.of(np.zeros(20, int), wrong.astype(int), wrong, cancelled, cancelled)
    found = tally.classification()
    assert found["coverage"].value == 0.75
    assert found["accepted_accuracy"].value == 0.8
    assert found["classifier_accuracy"].value == 0.7


def test_nothing_accepted_has_no_accuracy():
    every = np.ones(3, dtype=bool)
    found = Tally.of(np.zeros(3, int), np.zeros(3, int), ~every, every, every).decisions()
    same_text(found["accepted_accuracy"].reason)


def test_of_no_instances_nothing_is_defined():
    codes, flags = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    found = Tally.of(codes, codes, flags, flags, flags).classification()
    for name in ("coverage", "accepted_accuracy", "classifier_accuracy"):
        assert found[name].reason == "no instances"


N = 24
codes = hnp.arrays(np.int64, N, elements=st.integers(-1, 2))
predictions = hnp.arrays(np.int64, N, elements=st.integers(0, 2))
flags = hnp.arrays(np.bool_, N)


@given(codes, predictions, flags)
def test_without_a_fallback_they_are_the_published_ones(label, predicted, cancelled):
    tally = Tally.of(label, predicted, label < 0, cancelled, cancelled)
    found = tally.classification()
    for name, count in (("residual_hazard", "fn"), ("safety_gain", "tp"), ("availability_cost", "fp")):
        assert found[name].value == getattr(tally.overall, count) / N


@given(codes, predictions, flags, predictions)
def test_with_a_fallback_gain_and_hazard_still_sum_to_the_error_rate(label, predicted, cancelled, instead):
    decision = np.where(cancelled, instead, predicted)
    found = Tally.of(label, predicted, label < 0, cancelled, cancelled, decision).classification()
    assert np.isclose(found["residual_hazard"].value, (decision != label).mean())
    error = (predicted != label).mean()
    assert np.isclose(found["safety_gain"].value + found["residual_hazard"].value, error)
    assert np.isclose(
        found["availability_cost"].value, (predicted == label).mean() - (decision == label).mean()
    )
