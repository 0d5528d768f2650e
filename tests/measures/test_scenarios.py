"""Scenario coverage against its source and plain counting, and its planner against trying every scenario."""

from __future__ import annotations

import time
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.errors import ParameterError
from farm.measures import scenario_search
from farm.measures.scenario_plan import _program, plan
from farm.measures.scenario_search import Search, contradiction
from farm.measures.scenarios import Cells, Choice, Coverage, Domain, Restriction, coverage, distinct

FIGURE_2 = Domain(
    {
        "weather": ("sunny", "cloudy", "rainy"),
        "road": ("stone", "mud", "tarmac"),
        "course": ("straight", "curvy"),
    }
)
RECORDED = [[0, 0, 0], [2, 2, 1]]


def covered(domain: Domain, rows: list, k: int) -> Coverage:
    cells = Cells(domain.sizes, k)
    return coverage(domain, np.array(rows, dtype=np.int64), cells, Search(domain).possible(cells))


def test_the_source_covers_6_of_21_and_9_with_one_more():
    before = covered(FIGURE_2, RECORDED, 2)
    assert (before.covered.sum(), before.possible.sum(), len(before.open)) == (6, 21, 15)
    assert [part[1:] for part in before.parts()] == [(2, 9), (2, 6), (2, 6)]
    after = covered(FIGURE_2, [*RECORDED, [1, 1, 1]], 2)
    assert (after.covered.sum(), after.possible.sum()) == (9, 21)
    assert after.curve() == [(1, 3), (2, 6), (3, 9)]


def test_the_plan_for_the_source_covers_all_in_the_end():
    before = covered(FIGURE_2, RECORDED, 2)
    made = list(plan(before, Search(FIGURE_2), 100, 5))
    assert (made[0].gain, made[0].gap) == (3, 0)
    assert sum(each.gain for each in made) == 15
    after = covered(FIGURE_2, [*RECORDED, *(each.scenario for each in made)], 2)
    assert after.share == 1


def test_cells_and_choices_are_each_others_inverse():
    cells = Cells([2, 1, 3, 4], 3)
    conditions, values = cells.choices(np.arange(len(cells)))
    for cell, (of, have) in enumerate(zip(conditions, values, strict=True)):
        scenario = np.zeros((1, 4), dtype=np.int64)
        scenario[0, of] = have
        assert cell in cells.ids(scenario)


@st.composite
def domains(draw, most: int = 4) -> Domain:
    sizes = draw(st.lists(st.integers(1, most), min_size=1, max_size=most))
    conditions = {f"c{i}": tuple(map(str, range(size))) for i, size in enumerate(sizes)}
    choices = [(i, v) for i, size in enumerate(sizes) for v in range(size)]
    restrictions = []
    for _ in range(draw(st.integers(0, 3))):
        of = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=5, unique=True))
        weights = draw(st.lists(st.sampled_from([1, 1, 2, -1]), min_size=len(of), max_size=len(of)))
        low = draw(st.sampled_from([-np.inf, 0, 1, 2]))
        high = draw(st.sampled_from([np.inf, 1, 2]))
        made = tuple(Choice(*choice, weight) for choice, weight in zip(of, weights, strict=True))
        restrictions.append(Restriction(made, low, high))
    return Domain(conditions, tuple(restrictions))


def allowed(domain: Domain, restrictions=None) -> list[tuple[int, ...]]:
    """Return all scenarios that meet the restrictions, by trying."""
    rules = domain.restrictions if restrictions is None else restrictions
    return [
        each
        for each in product(*map(range, domain.sizes.tolist()))
        if all(rule.low <= sum(w for c, v, w in rule.choices if each[c] == v) <= rule.high for rule in rules)
    ]


def cells_of(scenario, k: int) -> set:
    return set(combinations(enumerate(scenario), k))


def check_against_trying(domain: Domain, data: st.DataObject) -> None:
    every = allowed(domain)
    against = contradiction(domain)
    assert bool(against) == (not every)
    if not every:
        chosen = [domain.restrictions[i] for i in against]
        assert not allowed(domain, chosen)
        assert all(allowed(domain, [each for each in chosen if each is not one]) for one in chosen)
        return
    k = data.draw(st.integers(1, len(domain.sizes)))
    rows = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=6))
    found = covered(domain, rows, k)

    def named(ids) -> set:
        conditions, values = found.cells.choices(ids)
        return {
            tuple(zip(*each, strict=True)) for each in zip(conditions.tolist(), values.tolist(), strict=True)
        }

    possible = set.union(*(cells_of(each, k) for each in every))
    had = set.union(*(cells_of(each, k) for each in rows))
    assert named(np.flatnonzero(found.possible)) == possible
    assert named(np.flatnonzero(found.covered)) == had
    assert named(found.open) == possible - had
    once = list(dict.fromkeys(rows))
    grown = [len(set.union(*(cells_of(row, k) for row in once[:n]))) for n in range(1, len(once) + 1)]
    assert all(grown[n - 1] == cells for n, cells in found.curve())
    left = possible - had
    for proposal in plan(found, Search(domain), 3, 20):
        best = max(len(cells_of(each, k) & left) for each in every)
        scenario = tuple(proposal.scenario.tolist())
        assert scenario in every
        assert (proposal.gain, proposal.gap) == (best, 0)
        assert len(cells_of(scenario, k) & left) == best
        left -= cells_of(scenario, k)


@settings(max_examples=150, deadline=None)
@given(domains(), st.data())
def test_all_agrees_with_trying_every_scenario(domain, data):
    check_against_trying(domain, data)


@settings(max_examples=40, deadline=None)
@given(domains(3), st.data())
def test_what_takes_long_to_search_is_programmed_alike(domain, data):
    before = scenario_search._NODES
    scenario_search._NODES = 0
    try:
        check_against_trying(domain, data)
    finally:
        scenario_search._NODES = before


@settings(max_examples=60, deadline=None)
@given(domains(), st.data())
def test_the_program_alone_finds_the_best(domain, data):
    every = allowed(domain)
    if not every:
        return
    k = data.draw(st.integers(1, len(domain.sizes)))
    found = covered(domain, [data.draw(st.sampled_from(every))], k)
    if len(found.open):
        scenario, bound = _program(domain, found.cells, found.open, 0, 20)
        gains = [np.isin(found.cells.ids(np.array([each])), found.open).sum() for each in every]
        own = np.isin(found.cells.ids(scenario[None]), found.open).sum()
        assert own == bound == max(gains)
        assert _program(domain, found.cells, found.open, max(gains), 20) == (None, max(gains))


def test_distinct_scenarios_stay_in_order_in_domains_beyond_64_bits():
    rng = np.random.default_rng(1)
    few = rng.integers(0, 1000, (20, 40))
    rows = few[rng.integers(0, 20, 300)]
    expected = list(dict.fromkeys(map(tuple, rows.tolist())))
    assert distinct(rows, np.full(40, 1000)).tolist() == list(map(list, expected))


def test_a_long_curve_keeps_its_ends():
    rows = [[i, i] for i in range(500)]
    found = covered(Domain({"a": tuple(map(str, range(500))), "b": tuple(map(str, range(500)))}), rows, 1)
    curve = found.curve(most=10)
    assert (len(curve), curve[0], curve[-1]) == (10, (1, 2), (500, 1000))


@pytest.mark.parametrize("k", [0, 4])
def test_k_beyond_the_conditions_is_refused(k):
    with pytest.raises(ParameterError, match=f"k is {k}; expected from 1 to 3"):
        Cells([2, 2, 2], k)


def test_more_cells_than_fit_are_refused():
    with pytest.raises(ParameterError, match=r"20,000,000,000 cells; expected at most 10,000,000"):
        Cells([100_000, 200_000], 2)


TEN = Domain({f"c{i}": tuple(map(str, range(10))) for i in range(10)})


def test_a_hundred_thousand_rows_are_soon_counted():
    rows = np.random.default_rng(0).integers(0, 10, (100_000, 10))
    began = time.process_time()
    assert covered(TEN, rows, 2).share == 1
    assert time.process_time() - began < 2  # 0.3 s where nothing else runs


def test_a_plan_ends_in_time_and_tells_its_gap():
    rows = np.random.default_rng(0).integers(0, 10, (120, 10))
    found = covered(TEN, rows, 2)
    assert 0.68 < found.share < 0.72
    began = time.monotonic()
    (proposal,) = plan(found, Search(TEN), 1, 2)
    assert time.monotonic() - began < 6
    assert proposal.gain >= 35
    assert proposal.gain <= proposal.at_most <= 45


def test_many_tied_conditions_are_soon_decided():
    ordered = tuple(
        Restriction(
            (*(Choice(i, v, v) for v in range(10)), *(Choice(i + 1, v, -v) for v in range(10))), high=0
        )
        for i in range(9)
    )
    domain = Domain(TEN.conditions, ordered)  # c0 <= c1 <= ... <= c9
    cells = Cells(domain.sizes, 2)
    began = time.process_time()
    possible = Search(domain).possible(cells)
    assert possible.sum() == 45 * 55
    assert time.process_time() - began < 5
