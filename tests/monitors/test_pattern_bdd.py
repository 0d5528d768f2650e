"""Pattern diagrams against packed patterns, and against plain Python transcriptions of their definitions."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from types import SimpleNamespace
from typing import Any

import dd.bdd
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farm.api import CalibrationRule, Capabilities, FunctionClassifier, Labelled, Observation
from farm.errors import ParameterError, RequirementError
from monitors._diagrams import ACCEPTED, REFUSED, Diagram, Distances, diagram_of, short_order
from monitors._pattern_sets import packed
from monitors.pattern_bdd import PatternDiagram
from monitors.patterns import ActivationPatterns
from tests.wording import refused

Pattern = tuple[bool, ...]

# Few columns make sets in which much is shared or free, many columns make words of more than 64 bits.
few = arrays(np.bool_, st.tuples(st.integers(0, 24), st.integers(1, 6)))
many = arrays(np.bool_, st.tuples(st.integers(0, 6), st.integers(60, 140)))
sets = st.one_of(few, many).map(lambda rows: np.unique(rows, axis=0))


def diagram(rows: list[Pattern] | np.ndarray, width: int | None = None) -> Diagram:
    patterns = np.array(rows, dtype=np.bool_).reshape(len(rows), -1 if width is None else width)
    return diagram_of(patterns, dd.bdd.BDD())


def accepts(d: Diagram, pattern: Pattern) -> bool:
    node = d.root
    while node > ACCEPTED:
        node = int((d.high if pattern[d.level[node - 2]] else d.low)[node - 2])
    return node == ACCEPTED


def rests(patterns: set[Pattern], level: int) -> set[frozenset[Pattern]]:
    """What may follow on each beginning of this length, as sets of rests; the empty one left out."""
    follow: dict[Pattern, set[Pattern]] = {}
    for pattern in patterns:
        follow.setdefault(pattern[:level], set()).add(pattern[level:])
    return {frozenset(rest) for rest in follow.values()}


def asks(rest: frozenset[Pattern]) -> bool:
    """Whether the first bit of the rest makes a difference."""
    off, on = ({r[1:] for r in rest if r[0] == bit} for bit in (False, True))
    return off != on


# The diagrams ------------------------------------------------------------------------------------------


def test_a_set_worked_by_hand() -> None:
    """Off in front and then anything in the middle, or 110: the middle is asked for where it matters only."""
    d = diagram([(0, 0, 1), (0, 1, 1), (1, 1, 0)])
    # From below: the last bit must be on (2), it must be off (3); the middle must be on (4); the first forks.
    # Which of the two nodes of the last level comes first is up to the walk: low ways before high ones.
    assert d.level.tolist() == [2, 2, 1, 0]
    assert d.low.tolist() == [REFUSED, ACCEPTED, REFUSED, 2]
    assert d.high.tolist() == [ACCEPTED, REFUSED, 3, 4]
    assert d.root == 5
    distances = Distances(d, np.arange(3), 3)
    asked = np.array(list(itertools.product([False, True], repeat=3)))
    #                                          000 001 010 011 100 101 110 111
    assert distances(packed(asked)).tolist() == [1, 0, 1, 0, 1, 1, 0, 1]


def test_of_everything_and_of_nothing_no_node_is_left() -> None:
    everything = diagram(list(itertools.product([False, True], repeat=3)))
    assert (len(everything.level), everything.root) == (0, ACCEPTED)
    nothing = diagram([], width=3)
    assert (len(nothing.level), nothing.root) == (0, REFUSED)
    assert Distances(everything, np.arange(3), 3)(packed(np.eye(3, dtype=np.bool_))).tolist() == [0, 0, 0]


@settings(deadline=None)
@given(few.map(lambda rows: np.unique(rows, axis=0)))
def test_a_diagram_accepts_the_set_and_nothing_else(rows: np.ndarray) -> None:
    d, members = diagram(rows, rows.shape[1]), set(map(tuple, rows.tolist()))
    for pattern in itertools.product([False, True], repeat=rows.shape[1]):
        assert accepts(d, pattern) == (pattern in members)


@settings(deadline=None)
@given(sets)
def test_a_diagram_is_ordered_and_has_no_node_too_many(rows: np.ndarray) -> None:
    d, width = diagram(rows, rows.shape[1]), rows.shape[1]
    members = set(map(tuple, rows.tolist()))
    needed = [sum(asks(rest) for rest in rests(members, level)) for level in range(width)]
    assert np.bincount(d.level, minlength=width).tolist() == needed
    levels = np.append([width, width], d.level)
    for child in (d.low, d.high):
        assert (levels[child] > d.level).all()
        assert (child < np.arange(len(child)) + 2).all()


@settings(deadline=None)
@given(sets, st.randoms(use_true_random=False), st.integers(0, 2**32 - 1))
def test_distances_are_those_to_the_nearest_member(rows: np.ndarray, random: Any, seed: int) -> None:
    """The variables stand anywhere among others that the diagram does not ask for, in any order."""
    if not len(rows):
        return
    width = rows.shape[1] + 5
    order = np.array(random.sample(range(width), rows.shape[1]))
    asked = np.random.default_rng(seed).random((7, width)) < 0.5
    found = Distances(diagram(rows), order, width)(packed(asked))
    expected = [
        min(sum(a != b for a, b in zip(own, member, strict=True)) for member in rows.tolist())
        for own in asked[:, order].tolist()
    ]
    assert found.tolist() == expected


@settings(deadline=None)
@given(sets)
def test_the_order_names_each_variable_once(rows: np.ndarray) -> None:
    assert sorted(short_order(rows).tolist()) == list(range(rows.shape[1]))


def test_variables_that_hardly_change_come_first_and_last() -> None:
    rows = np.array([[0, 1, 0, 0, 1], [1, 1, 0, 0, 1], [0, 1, 1, 0, 1], [1, 1, 0, 0, 1]], dtype=np.bool_)
    assert short_order(rows).tolist() == [1, 4, 0, 2, 3]


# The monitor -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [{}, {"layer": "conv2"}, {"neurons": 0.25}, {"neurons": [0, 3, 17, 80, 41]}, {"neurons": [7]}],
    ids=["all", "conv2", "share", "list", "one"],
)
def test_scores_equal_those_of_packed_patterns(small, fitted, parameters: dict[str, Any]) -> None:
    one, other = (fitted(cls(**parameters)) for cls in (ActivationPatterns, PatternDiagram))
    noise = np.random.default_rng(0).normal(size=small.test.features("conv2").shape).astype(np.float32)
    hidden = np.random.default_rng(1).normal(size=(len(noise), 128)).astype(np.float32)
    far = dataclasses.replace(small.test, activations={"conv2": noise, "last-hidden": hidden})
    for seen in (small.test, far):
        np.testing.assert_array_equal(other.score(seen), one.score(seen))
    assert one.score(far).any()
    kept = ("patterns", "classes_without_patterns")
    assert {name: other.notes()[name] for name in kept} == one.notes()


class WhiteBox(FunctionClassifier):
    capabilities = Capabilities(layers=("last-hidden",))


class Drawn:
    classes, seed, outliers, networks, validation = ("a", "b", "c"), 0, None, {}, ()

    def __init__(self, rows: np.ndarray, labels: np.ndarray) -> None:
        self.rows, self.labels = rows, labels

    def seen(self, predicted: np.ndarray) -> Observation:
        n = len(self.rows)
        return Observation(
            ids=np.arange(n).astype(str),
            images=np.zeros((n, 1, 1, 1), np.float32),
            probabilities=np.eye(3)[predicted],
            predicted=predicted,
            confidence=np.ones(n),
            activations={"last-hidden": np.where(self.rows, 1, -1).astype(np.float32)},
        )

    def __iter__(self):
        yield Labelled(self.seen(self.labels), self.labels)


@settings(deadline=None)
@given(st.one_of(few, many).filter(len), st.one_of(few, many).filter(len), st.integers(0, 2**32 - 1))
def test_scores_equal_those_of_packed_patterns_on_any_sets(
    known: np.ndarray, asked: np.ndarray, seed: int
) -> None:
    width = min(known.shape[1], asked.shape[1])
    rng = np.random.default_rng(seed)
    data = Drawn(known[:, :width], rng.integers(0, 3, len(known)))
    seen = Drawn(asked[:, :width], np.empty(0)).seen(rng.integers(0, 3, len(asked)))
    box = WhiteBox(lambda x: np.full((len(x), 3), 1 / 3), Drawn.classes)
    one, other = (cls().fit(data, box) for cls in (ActivationPatterns, PatternDiagram))
    np.testing.assert_array_equal(other.score(seen), one.score(seen))


def test_scoring_needs_no_dd_but_fitting_does(small, fitted, monkeypatch) -> None:
    monitor = fitted(PatternDiagram())
    monkeypatch.setitem(sys.modules, "dd.bdd", None)
    restored = PatternDiagram().restore(monitor.state, small.classifier)
    np.testing.assert_array_equal(restored.score(small.test), monitor.score(small.test))
    with refused(RequirementError):
        fitted(PatternDiagram())


def test_a_dd_that_is_broken_is_not_called_missing(fitted, monkeypatch) -> None:
    def broken(name: str) -> None:
        raise ImportError("no such table", name="astutils")

    monkeypatch.setattr("monitors.pattern_bdd.importlib", SimpleNamespace(import_module=broken))
    with refused(RequirementError):
        fitted(PatternDiagram())


def test_the_order_of_variables_saves_nodes(fitted) -> None:
    monitor = fitted(PatternDiagram())
    patterns = fitted(ActivationPatterns()).state
    by_class = np.split(patterns["patterns"], patterns["ends"][:-1])
    plain = sum(
        len(diagram(np.unpackbits(words.view(np.uint8), axis=1)).level) for words in by_class if len(words)
    )
    assert monitor.notes()["nodes"] == len(monitor.state["level"]) < 0.8 * plain


def test_a_class_without_patterns_is_farther_than_all_neurons(small) -> None:
    class NothingRight:
        classes, seed, outliers, networks = small.workload.classes, 0, None, {}

        def __iter__(self):
            for seen, labels in small.material:
                yield seen, np.where(labels == 3, 4, labels)

    one, other = (cls().fit(NothingRight(), small.classifier) for cls in (ActivationPatterns, PatternDiagram))
    assert other.notes()["classes_without_patterns"] == 1
    np.testing.assert_array_equal(other.score(small.test), one.score(small.test))
    assert set(other.score(small.test)[small.test.predicted == 3]) == {129.0}


def test_a_set_gamma_alarms_where_more_neurons_differ(small, fitted) -> None:
    monitor = fitted(PatternDiagram(gamma=2))
    assert monitor.calibrate(small.material.validation, CalibrationRule(), 10).threshold == 2.5
    verdict = monitor.judge(small.test)
    np.testing.assert_array_equal(verdict.alarms, verdict.scores > 2)
    assert 0 < verdict.alarms.mean() < 1


@pytest.mark.parametrize(
    "other", [{"layer": "conv2"}, {"neurons": 0.5}, {"neurons": [1, 2, 3]}], ids=["layer", "share", "list"]
)
def test_each_parameter_changes_scores(small, fitted, other: dict[str, Any]) -> None:
    one, another = (fitted(PatternDiagram(**p)).score(small.test) for p in ({}, other))
    assert np.any(one != another)


@pytest.mark.parametrize(
    "wrong",
    [
        {"gamma": -1},
        {"neurons": []},
        {"neurons": 0.5, "layer": "conv2"},
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, Any]) -> None:
    with refused(ParameterError):
        PatternDiagram(**wrong)
