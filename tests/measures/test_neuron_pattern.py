"""The neuron activation pattern metric by hand, and against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import DataError, ParameterError
from farm.measures.neuron_pattern import ActivationGroups, activation_groups, pattern_curve
from tests.wording import refused


def grouped(counts: list[int], neurons: int, gamma: int) -> ActivationGroups:
    return activation_groups(np.array(counts, dtype=np.int64), neurons, gamma)


def test_an_example_by_hand():
    # 10 neurons in 4 groups: [0, 2.5), [2.5, 5), [5, 7.5), [7.5, 10].
    found = grouped([0, 2, 3, 4, 5, 8, 10, 0, 1], neurons=10, gamma=4)
    assert (found.sizes, found.main, found.starts, found.n) == ((4, 2, 1, 2), 0, (0, 3, 5, 8), 9)
    # Of the groups 2 and 3 away from the main one, those 3 away come first.
    assert found.outlying == (5, 6, 4)
    share = found.share
    assert share.value.value == 3 / 9
    # Wilson's interval of 3 in 9 by statsmodels.stats.proportion.proportion_confint.
    assert (share.low.value, share.high.value) == pytest.approx((0.1205838184, 0.6457978644), abs=1e-9)


def test_a_count_at_a_bound_is_in_the_upper_group_and_all_on_in_the_last():
    assert grouped([0, 3, 4, 7, 8, 11, 12], neurons=12, gamma=3).sizes == (2, 2, 3)
    # A third of 7 and two thirds lie between whole numbers.
    assert grouped(list(range(8)), neurons=7, gamma=3).sizes == (3, 2, 3)
    # In binary 0.7 * 10 is 7 and 3 * (1 / 0.7) is not: only whole numbers hit each bound.
    assert all(size == 10 for size in grouped(list(range(490)), neurons=490, gamma=49).sizes)


def test_of_like_groups_the_lowest_is_the_main_one():
    found = grouped([9, 9, 1, 1, 5, 5], neurons=10, gamma=5)
    assert (found.sizes, found.main, found.outlying) == ((2, 0, 2, 0, 2), 0, (0, 1, 4, 5))


def test_the_neighbours_of_the_main_group_are_not_outlying():
    found = grouped([2, 2, 0, 1, 3, 4], neurons=4, gamma=5)
    assert (found.main, found.outlying) == (2, (2, 5))


@st.composite
def inputs(draw) -> tuple[list[int], int, int]:
    neurons = draw(st.integers(1, 40))
    counts = draw(st.lists(st.integers(0, neurons), max_size=30))
    return counts, neurons, draw(st.integers(1, neurons + 1))


@given(inputs())
def test_it_agrees_with_exact_fractions(made):
    counts, neurons, gamma = made
    width = Fraction(neurons, gamma)
    groups = [
        [
            row
            for row, on in enumerate(counts)
            if width * i <= on < width * (i + 1) or (i == gamma - 1 and on == neurons)
        ]
        for i in range(gamma)
    ]
    found = grouped(counts, neurons, gamma)
    assert found.sizes == tuple(map(len, groups))
    assert all(
        min(on for on in range(neurons + 1) if on >= width * i) == s for i, s in enumerate(found.starts)
    )
    main = max(range(gamma), key=lambda i: (len(groups[i]), -i))
    away = sorted((i for i in range(gamma) if abs(i - main) > 1), key=lambda i: -abs(i - main))
    outlying = [row for i in away for row in groups[i]]
    assert sorted(found.outlying) == sorted(outlying)
    distance = {row: abs(i - main) for i, group in enumerate(groups) for row in group}
    assert [distance[row] for row in found.outlying] == [distance[row] for row in outlying]
    assert found.trivial == (gamma <= 2)
    assert not (found.trivial and found.outlying)
    if counts:
        assert found.main == main
        assert found.share.value.value == len(outlying) / len(counts)


def test_three_groups_are_not_trivial():
    found = grouped([0, 0, 9], neurons=9, gamma=3)
    assert not found.trivial
    assert found.outlying == (2,)


def test_without_inputs_it_is_undefined():
    found = grouped([], neurons=3, gamma=2)
    assert (found.n, found.main, found.outlying) == (0, None, ())
    assert found.share.value.reason == found.share.low.reason == found.share.high.reason == "no inputs"
    assert pattern_curve(np.array([], dtype=np.int64), 3, 2, rng=np.random.default_rng(0)) == []


def test_small_types_do_not_overflow():
    counts = np.array([200, 200, 0], dtype=np.uint8)
    assert activation_groups(counts, neurons=255, gamma=100).outlying == (2,)


def test_the_curve_is_of_subsets_drawn_once_and_ends_with_all():
    counts = np.random.default_rng(1).integers(0, 21, 57)
    curve = pattern_curve(counts, 20, 7, rng=np.random.default_rng(5))
    assert [n for n, _ in curve] == [5, 11, 17, 22, 28, 34, 39, 45, 51, 57]
    assert curve[-1][1] == activation_groups(counts, 20, 7).share.value.value
    assert curve == pattern_curve(counts, 20, 7, rng=np.random.default_rng(5))
    assert curve != pattern_curve(counts, 20, 7, rng=np.random.default_rng(6))
    drawn = np.random.default_rng(5).permutation(counts)
    assert curve[2] == (17, activation_groups(drawn[:17], 20, 7).share.value.value)
    assert len(pattern_curve(counts, 20, 7, rng=np.random.default_rng(5), steps=3)) == 3


@pytest.mark.parametrize(
    ("error", "counts", "neurons", "gamma"),
    [
        pytest.param(ParameterError, [1], 0, 1, id="no neurons"),
        pytest.param(ParameterError, [1], 8, 0, id="no groups"),
        pytest.param(ParameterError, [1], 8, 10, id="more groups than counts"),
        pytest.param(ParameterError, [1], 8, 2.5, id="half a group"),
        pytest.param(DataError, [0, 9, 10], 8, 2, id="more on than there are"),
        pytest.param(DataError, [-1], 8, 2, id="fewer than none on"),
        pytest.param(DataError, [1.0], 8, 2, id="no whole numbers"),
    ],
)
def test_mistakes_are_named(error, counts, neurons, gamma):
    with refused(error):
        activation_groups(np.array(counts), neurons, gamma)


def test_of_several_scenarios_each_image_is_held_against_its_own():
    counts = np.array([0, 0, 0, 20, 20, 20, 20, 0])
    scenario = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    (last,) = pattern_curve(counts, 20, 5, rng=np.random.default_rng(0), scenario=scenario, steps=1)
    assert last == (8, 1 / 8)
    (last,) = pattern_curve(counts, 20, 5, rng=np.random.default_rng(0), steps=1)
    assert last == (8, 4 / 8)
