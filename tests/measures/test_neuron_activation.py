"""Neuron k-activation against looking at every k neurons of every instance, and by hand."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import DataError, ParameterError
from farm.measures import neuron_activation
from farm.measures.neuron_activation import (
    ActivationCounts,
    NeuronCell,
    NeuronCoverage,
    growing_sizes,
    neuron_coverage,
    switched_on,
)
from tests.wording import refused

BY_HAND = np.array([[1, 0, 1], [1, 1, 1], [1, 0, 1]], dtype=np.bool_)
EVERY_CELL = 10_000


@st.composite
def layers(draw) -> tuple[np.ndarray, int]:
    k = draw(st.sampled_from([1, 2, 3]))
    neurons = draw(st.integers(k, 6))
    rows = st.lists(st.booleans(), min_size=neurons, max_size=neurons)
    on = np.array(draw(st.lists(rows, max_size=12)), dtype=np.bool_)
    return on.reshape(-1, neurons), k


def counted(on: np.ndarray, k: int, cuts=()) -> ActivationCounts:
    counts = ActivationCounts(on.shape[1], k)
    for part in np.split(on, sorted(cuts)):
        counts.add(part)
    return counts


def covered(on: np.ndarray, k: int) -> NeuronCoverage:
    return counted(on, k).coverage(EVERY_CELL)


@given(layers())
def test_it_agrees_with_looking_at_every_k_neurons_of_every_instance(layer):
    on, k = layer
    had = {
        (neurons, tuple(row[i] for i in neurons))
        for row in on.tolist()
        for neurons in combinations(range(on.shape[1]), k)
    }
    cells = list(product(combinations(range(on.shape[1]), k), product((False, True), repeat=k)))
    found = covered(on, k)
    assert (found.occupied, found.total, found.instances) == (len(had), len(cells), len(on))
    assert found.n_empty == len(found.empty)
    assert [tuple(cell) for cell in found.empty] == [cell for cell in cells if cell not in had]
    assert found.never_on == tuple(i for i, column in enumerate(on.T) if not column.any())
    assert found.always_on == tuple(i for i, column in enumerate(on.T) if column.all())
    assert not len(on) or found.share.value == len(had) / len(cells)


@given(layers(), st.data())
def test_parts_in_any_split_are_the_whole(layer, data):
    on, k = layer
    cuts = st.lists(st.integers(0, len(on)), max_size=4)
    cut = data.draw(st.integers(0, len(on)))
    merged = counted(on[:cut], k, data.draw(cuts))
    merged.merge(counted(on[cut:], k, data.draw(cuts)))
    assert merged.coverage(EVERY_CELL) == covered(on, k)


@given(layers(), st.data())
def test_the_order_of_instances_does_not_matter_and_more_of_them_cover_no_less(layer, data):
    on, k = layer
    order = data.draw(st.permutations(range(len(on))))
    whole = covered(on, k)
    assert covered(on[order], k) == whole
    some = covered(on[order[: len(on) // 2]], k)
    assert some.occupied <= whole.occupied
    assert set(whole.empty) <= set(some.empty)


def test_an_example_by_hand():
    # Neuron 0 is always on, 1 both, 2 always on.
    one, two, three = (covered(BY_HAND, k) for k in (1, 2, 3))
    assert (one.occupied, one.total, one.never_on, one.always_on) == (4, 6, (), (0, 2))
    assert one.empty == (NeuronCell((0,), (False,)), NeuronCell((2,), (False,)))
    # Of 0 and 1 two patterns are seen, of 0 and 2 one, of 1 and 2 two.
    assert (two.occupied, two.total, two.share.value) == (5, 12, 5 / 12)
    assert (three.occupied, three.total, three.n_empty) == (2, 8, 6)
    assert {(True, False, True), (True, True, True)} == set(product((False, True), repeat=3)) - {
        cell.on for cell in three.empty
    }


def test_no_more_empty_cells_are_listed_than_asked_for():
    counts = counted(BY_HAND, 2)
    every = covered(BY_HAND, 2).empty
    assert len(every) == counts.coverage(0).n_empty == 7
    assert all(counts.coverage(listed).empty == every[:listed] for listed in range(9))


def test_without_instances_the_share_is_undefined_and_every_cell_empty():
    found = neuron_coverage(np.empty((0, 3), dtype=np.float32), k=2, layer="fc")
    assert found.share.reason == "the layer 'fc': no instances"
    assert (found.occupied, found.n_empty, found.curve) == (0, comb(3, 2) * 4, ())
    assert found.never_on == found.always_on == (0, 1, 2)


def test_values_of_a_mapped_file_are_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(neuron_activation, "_VALUES", 28)
    values = np.random.default_rng(3).normal(0.5, size=(95, 7)).astype(np.float32)
    np.save(tmp_path / "fc.npy", values)
    mapped = np.load(tmp_path / "fc.npy", mmap_mode="r")
    found = neuron_coverage(mapped, 3, threshold=0.25, layer="fc", listed=EVERY_CELL)
    whole = covered(values > 0.25, 3)
    assert (found.occupied, found.empty, found.instances) == (whole.occupied, whole.empty, 95)
    assert found.layer == "fc"
    assert [n for n, _ in found.curve] == [9, 19, 28, 38, 47, 57, 66, 76, 85, 95]
    assert all(share == covered(values[:n] > 0.25, 3).share.value for n, share in found.curve)
    assert 0 < found.curve[0][1] < found.curve[-1][1] == found.share.value


def test_counts_stay_exact_where_float32_would_not():
    # A sum of ones in float32 ends at 2^24, and one instance would seem to have a neuron off.
    counts = counted(np.ones((1, 2), dtype=np.bool_), 2)
    for _ in range(24):
        counts.merge(counts)
    counts.add(np.ones((1, 2), dtype=np.bool_))
    assert (counts.instances, counts.coverage().occupied) == (2**24 + 1, 1)


def test_on_is_what_lies_above_the_threshold():
    values = np.array([[-np.inf, 0.0, 0.5, 1.0, np.inf]], dtype=np.float32)
    assert switched_on(values).tolist() == [[False, False, True, True, True]]
    assert switched_on(values, 0.5).tolist() == [[False, False, False, True, True]]


def test_sizes_grow_by_like_steps():
    assert growing_sizes(0, 10) == []
    assert growing_sizes(100, 4) == [25, 50, 75, 100]
    with refused(ParameterError):
        growing_sizes(5, 0)


MISTAKES = {
    "k too large": lambda: ActivationCounts(9, 4),
    "k too small": lambda: ActivationCounts(9, 0),
    "k above the neurons": lambda: ActivationCounts(2, 3, "fc"),
    "too many cells": lambda: ActivationCounts(1000, 3, "fc"),
    "other neurons added": lambda: counted(BY_HAND, 1).add(BY_HAND[:, :2]),
    "values added": lambda: counted(BY_HAND, 1).add(BY_HAND.astype(np.float32)),
    "merged with another k": lambda: counted(BY_HAND, 1).merge(counted(BY_HAND, 2)),
    "merged with other neurons": lambda: counted(BY_HAND, 1).merge(counted(BY_HAND[:, :2], 1)),
    "merged with another layer": lambda: ActivationCounts(2, 1, "fc").merge(ActivationCounts(2, 1, "conv")),
    "NaN": lambda: switched_on(np.array([[nan, 1.0], [nan, nan]])),
    "NaN in a layer": lambda: neuron_coverage(np.array([[0.0, 1.0], [nan, 1.0]]), 1, layer="fc", steps=1),
    "NaN as threshold": lambda: switched_on(np.zeros((1, 1)), nan),
    "a layer of maps": lambda: neuron_coverage(np.zeros((2, 3, 4)), 1, layer="conv"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(mistake):
    with refused(ParameterError, DataError):
        MISTAKES[mistake]()
