"""Expected costs: by hand, by counting one by one, and what a price list may say."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import DataError, ParameterError
from farm.measures.cost import Costs, CostTally
from farm.measures.oracle import overall, tally
from tests.wording import refused, same_text

CLASSES = ("car", "truck", "pedestrian", "cyclist")
PRICES = yaml.safe_load(
    """
    wrong: 1
    cancelled_right: 0.5
    cancelled_wrong: 0.25
    groups: {vulnerable: [pedestrian, cyclist], vehicle: [car, truck]}
    by_label: {vulnerable: 50, pedestrian: 100, -1: 10}
    by_pair: {vehicle: {vehicle: 0.75}, cyclist: {pedestrian: 2}, 1: {2: 7}}
    """
)


def random_stream(seed, n=40):
    rng = np.random.default_rng(seed)
    label, predicted = rng.integers(-1, 4, n), rng.integers(0, 4, n)
    return label, predicted, rng.random(n) < 0.4


def one_by_one(table, costs, label, predicted, done):
    total = 0.0
    for truth, said, acted in zip(label, predicted, done, strict=True):
        if acted == -1:
            total += costs.cancelled_right if truth == said else costs.cancelled_wrong
        elif acted != truth:
            total += table[truth][acted]
    return total


def test_the_more_particular_price_counts():
    assert Costs.of(PRICES).table(CLASSES).tolist() == [
        [0, 0.75, 1, 1],
        [0.75, 0, 7, 1],
        [100, 100, 0, 100],
        [50, 50, 2, 0],
        [10, 10, 10, 10],
    ]


def test_by_hand():
    label = np.array([2, 2, 0, 0, -1, 3])
    predicted = np.array([0, 0, 0, 0, 1, 2])
    cancelled = np.array([True, False, True, False, False, False])
    found = CostTally.of(Costs.of(PRICES), CLASSES, label, predicted, cancelled)
    # A wrong one cancelled, a pedestrian missed, a false alarm, nothing, a novel class, a mild mix-up.
    assert found.monitor == 0.25 + 100 + 0.5 + 0 + 10 + 2
    assert found.without == 100 + 100 + 0 + 0 + 10 + 2
    assert found.perfect == 4 * 0.25
    assert found.mean.value == pytest.approx(112.75 / 6)
    assert found.saved.value == pytest.approx((212 - 112.75) / 211)


def test_small_prices_save_as_large_ones_do():
    """Of two wrong decisions one is cancelled, which the perfect monitor does with both: half is saved."""
    label, predicted, cancelled = np.array([0, 0]), np.array([1, 1]), np.array([True, False])
    for wrong in (2.0**-10, 0.25, 1.0, 1000.0):
        costs = Costs(wrong=wrong, cancelled_right=wrong / 2)
        assert CostTally.of(costs, CLASSES, label, predicted, cancelled).saved.value == 0.5


@pytest.mark.parametrize("cancelled_wrong", [1.0, 3.0])
def test_where_cancelling_costs_as_much_as_acting_nothing_can_be_saved(cancelled_wrong):
    costs = Costs(wrong=1, cancelled_right=1, cancelled_wrong=cancelled_wrong)
    label, predicted = np.array([0, 0, 1]), np.array([1, 1, 1])
    found = CostTally.of(costs, CLASSES, label, predicted, np.array([True, False, False]))
    assert (found.perfect, found.without, found.monitor) == (2 * cancelled_wrong, 2, cancelled_wrong + 1)
    assert not found.saved.defined


@given(st.integers(0, 10**6))
def test_agrees_with_counting_one_by_one(seed):
    label, predicted, cancelled = random_stream(seed)
    costs = Costs.of(PRICES)
    table = costs.table(CLASSES)
    found = CostTally.of(costs, CLASSES, label, predicted, cancelled)
    done = np.where(cancelled, -1, predicted)
    assert found.monitor == pytest.approx(one_by_one(table, costs, label, predicted, done))
    assert found.without == pytest.approx(one_by_one(table, costs, label, predicted, predicted))
    ideal = np.where(label == predicted, predicted, -1)
    assert found.perfect == pytest.approx(one_by_one(table, costs, label, predicted, ideal))


@given(st.integers(0, 10**6))
def test_a_fallback_is_judged_by_what_it_decides(seed):
    label, predicted, cancelled = random_stream(seed)
    decision = np.where(cancelled, np.random.default_rng(seed).integers(-1, 4, len(label)), predicted)
    costs = Costs.of(PRICES)
    found = CostTally.of(costs, CLASSES, label, predicted, cancelled, decision)
    expected = one_by_one(costs.table(CLASSES), costs, label, predicted, decision)
    assert found.monitor == pytest.approx(expected)


@given(st.integers(0, 10**6))
def test_never_and_perfectly_cancelling_are_the_bounds_they_are_called(seed):
    label, predicted, _ = random_stream(seed)
    costs = Costs.of(PRICES)
    never = CostTally.of(costs, CLASSES, label, predicted, np.zeros(len(label), bool))
    assert never.monitor == pytest.approx(never.without)
    assert never.saved.value == 0
    ideal = CostTally.of(costs, CLASSES, label, predicted, label != predicted)
    assert ideal.monitor == pytest.approx(ideal.perfect)
    assert ideal.saved.value == pytest.approx(1)


@given(st.integers(0, 10**6))
def test_plain_prices_are_hazard_and_availability(seed):
    label, predicted, cancelled = random_stream(seed)
    counts = tally(overall(cancelled, label, predicted))
    hazard = CostTally.of(Costs(wrong=1, cancelled_right=0), CLASSES, label, predicted, cancelled)
    assert hazard.mean.value == pytest.approx(counts["fn"] / len(label))
    alarms = CostTally.of(Costs(wrong=0, cancelled_right=1), CLASSES, label, predicted, cancelled)
    assert alarms.mean.value == pytest.approx(counts["fp"] / len(label))


def test_nothing_is_undefined_with_a_reason():
    none = np.empty(0, dtype=int)
    empty = CostTally.of(Costs.of(PRICES), CLASSES, none, none, none.astype(bool))
    for measure in (empty.mean, empty.mean_without, empty.mean_perfect, empty.saved):
        assert measure.reason == "no instances"
    right = CostTally.of(Costs.of(PRICES), CLASSES, np.array([1]), np.array([1]), np.array([True]))
    assert right.mean.value == 0.5
    same_text(right.saved.reason)


@pytest.mark.parametrize(
    "change",
    [
        {"wrong": -1},
        {"wrong": True},
        {"cancelled_right": float("nan")},
        {"cancelled": 1},
        {"by_label": {"pedestrian": "high"}},
        {"by_label": [1, 2]},
        {"by_pair": {"car": 3}},
        {"by_pair": {"car": {"truck": -3}}},
        {"groups": {"all": "car"}},
        {"groups": {"all": []}},
    ],
)
def test_refuses_a_price_list_that_means_nothing(change):
    with refused(ParameterError):
        Costs.of({"wrong": 1, "cancelled_right": 1} | change)


@pytest.mark.parametrize("missing", ["wrong", "cancelled_right"])
def test_the_two_main_prices_have_no_default(missing):
    with refused(ParameterError):
        Costs.of({name: 1 for name in ("wrong", "cancelled_right") if name != missing})
    with refused(ParameterError):
        Costs.of(None)


@pytest.mark.parametrize(
    "change",
    [
        {"by_label": {"pedestrain": 1}},
        {"by_label": {4: 1}},
        {"by_label": {True: 1}},
        {"by_label": {"car": 1, 0: 2}},
        {"by_pair": {"car": {-1: 1}}},
        {"by_pair": {"car": {"car": 1}}},
        {"groups": {"car": ["truck"]}},
        {"groups": {"a": ["car"], "b": [0]}},
    ],
)
def test_refuses_names_that_the_classes_do_not_have(change):
    costs = Costs.of({"wrong": 1, "cancelled_right": 1} | change)
    with refused(ParameterError):
        costs.table(CLASSES)


def test_an_unquoted_number_that_is_also_another_class_s_name_is_refused():
    limits = ("20", "30", "1")
    with refused(ParameterError):
        Costs(wrong=1, cancelled_right=1, by_label={1: 9}).table(limits)
    assert Costs(wrong=1, cancelled_right=1, by_label={"1": 9}).table(limits)[2].tolist() == [9, 9, 0]


def test_refuses_labels_out_of_range_and_arrays_that_do_not_match():
    costs, one = Costs.of(PRICES), np.array([0])
    with refused(DataError):
        CostTally.of(costs, CLASSES, np.array([4]), one, one > 0)
    with refused(DataError):
        CostTally.of(costs, CLASSES, one, np.array([-1]), one > 0)
    with refused(DataError):
        CostTally.of(costs, CLASSES, np.array([0, 1]), one, one > 0)
