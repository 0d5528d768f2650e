"""Which scenarios to record next: each covers as many new cells as a scenario can, under the restrictions.

Climbing from several scenarios, and again from where it ended with a few conditions drawn anew, finds a good
one soon; integer programming then either finds a better one or proves that there is none. Where its time ends
before, what it has proven by then is the bound.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, IntArray
from farm.api.randomness import generator
from farm.measures.scenario_search import Search
from farm.measures.scenarios import Cells, Coverage, Domain

_STARTS, _KICKS = 64, 2_000
_MOST_PROGRAMMED = 15_000
"""Cells; with more of them the program does not end when its time does."""
_CLIMBING = 0.3
"""The part of the time that may be spent climbing."""


@dataclass(frozen=True)
class Proposal:
    """A scenario, how many cells it is the first to cover, and how many any scenario could at most."""

    scenario: IntArray
    gain: int
    at_most: int

    @property
    def gap(self) -> int:
        """How many more cells another scenario might cover; 0 where this one is proven to be best."""
        return self.at_most - self.gain


def plan(covered: Coverage, search: Search, n: int, seconds: float) -> Iterator[Proposal]:
    """Return up to `n` scenarios, one after the other the best; fewer where all cells are covered by then."""
    is_open = covered.possible & ~covered.covered
    for _ in range(n):
        if not is_open.any():
            return
        proposal = _best(covered.domain, covered.cells, search, is_open, seconds)
        is_open[covered.cells.ids(proposal.scenario[None])] = False
        yield proposal


def _best(domain: Domain, cells: Cells, search: Search, is_open: BoolArray, seconds: float) -> Proposal:
    began = time.monotonic()
    # No scenario has two cells of one combination.
    at_most = int(np.add.reduceat(is_open, cells.starts, dtype=np.int64).astype(np.bool_).sum())
    climber = _Climber(domain, cells, is_open)
    best, gain = np.zeros(0, dtype=np.int64), -1
    for cell in _spread(np.flatnonzero(is_open)):
        conditions, values = (each[0].tolist() for each in cells.choices(np.array([cell])))
        start = search.completed(dict(zip(conditions, values, strict=True)))
        assert start is not None, "an open cell is a possible one"
        found = climber.climbed(start)
        if (own := climber.gain(found)) > gain:
            best, gain = found, own
        if gain == at_most or time.monotonic() - began > _CLIMBING * seconds:
            break
    rng, at = generator(0, "scenario plan"), best
    for _ in range(_KICKS):
        if gain == at_most or time.monotonic() - began > _CLIMBING * seconds:
            break
        kicked = climber.kicked(at, rng)
        if kicked is None:
            continue
        found = climber.climbed(kicked)
        # What is as good is gone on from, too: so the search leaves its first summit.
        if (own := climber.gain(found)) >= climber.gain(at):
            at = found
            best, gain = (found, own) if own > gain else (best, gain)
    left = seconds - (time.monotonic() - began)
    if gain < at_most and left > 0 and is_open.sum() <= _MOST_PROGRAMMED:
        found_better, bound = _program(domain, cells, np.flatnonzero(is_open), gain, left)
        at_most = min(at_most, max(bound, gain))
        if found_better is not None and not domain.broken(found_better[None]).any():
            own = climber.gain(found_better)
            best, gain = (found_better, own) if own > gain else (best, gain)
    return Proposal(best, gain, max(at_most, gain))


def _spread(ids: IntArray) -> list[int]:
    chosen = np.unique(np.linspace(0, len(ids) - 1, min(len(ids), _STARTS)).round().astype(np.int64))
    return [int(each) for each in ids[chosen]]


class _Climber:
    """Changes one condition after the other to its best value, until no single change helps."""

    def __init__(self, domain: Domain, cells: Cells, is_open: BoolArray) -> None:
        self._domain, self._cells, self._open = domain, cells, is_open
        self._with = [
            np.flatnonzero((cells.conditions == condition).any(axis=1))
            for condition in range(len(domain.sizes))
        ]

    def gain(self, scenario: IntArray) -> int:
        """Return how many open cells a scenario has."""
        return int(self._open[self._cells.ids(scenario[None])].sum())

    def kicked(self, scenario: IntArray, rng: np.random.Generator) -> IntArray | None:
        """Return a scenario with up to three conditions drawn anew; None where restrictions forbid it."""
        kicked, sizes = scenario.copy(), self._domain.sizes
        drawn = rng.choice(len(sizes), min(3, len(sizes)), replace=False)
        kicked[drawn] = rng.integers(0, sizes[drawn])
        return None if self._domain.broken(kicked[None]).any() else kicked

    def climbed(self, scenario: IntArray) -> IntArray:
        """Return a scenario that no change of one condition betters."""
        at, unchanged, condition = scenario.copy(), 0, 0
        while unchanged < len(at):
            others = np.repeat(at[None], self._domain.sizes[condition], axis=0)
            others[:, condition] = np.arange(len(others))
            gains = self._open[self._cells.ids(others, self._with[condition])].sum(axis=1)
            gains[self._domain.broken(others).any(axis=0)] = -1
            best = int(np.argmax(gains))
            unchanged += 1
            if gains[best] > gains[at[condition]]:
                at[condition], unchanged = best, 1
            condition = (condition + 1) % len(at)
        return at


def _program(
    domain: Domain, cells: Cells, ids: IntArray, known: int, seconds: float
) -> tuple[IntArray | None, int]:
    """Look for a scenario with more than `known` of the open cells; return it, and a bound of any's.

    There is a variable a choice, and one an open cell, which is had where its choices are made. Of the cells
    of one combination that share a choice a scenario has one at most, so their sum is bounded by that choice:
    a much closer bound than each by itself.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # whose loading takes a while
    from scipy.sparse import csr_array

    n = int(domain.sizes.sum())
    of = np.arange(len(domain.sizes))
    one = csr_array((np.ones(n), (np.repeat(of, domain.sizes), np.arange(n))), shape=(len(of), n + len(ids)))
    conditions, values = cells.choices(ids)
    choice = domain.starts[conditions] + values
    keys = cells.combination(ids)[:, None] * n + choice
    found, row = np.unique(keys.ravel(), return_inverse=True)
    column = np.repeat(n + np.arange(len(ids)), cells.k)
    data = np.concatenate([np.ones(len(column)), -np.ones(len(found))])
    rows, columns = np.concatenate([row.ravel(), np.arange(len(found))]), np.concatenate([column, found % n])
    had = csr_array((data, (rows, columns)), shape=(len(found), n + len(ids)))
    gains = np.concatenate([np.zeros(n), np.ones(len(ids))])
    constraints = [
        LinearConstraint(one, 1, 1),
        LinearConstraint(had, -np.inf, 0),
        LinearConstraint(csr_array(gains[None]), known + 1, np.inf),
    ]
    if domain.restrictions:
        padded = np.concatenate([domain.weights, np.zeros((len(domain.restrictions), len(ids)))], axis=1)
        constraints.append(LinearConstraint(csr_array(padded), domain.low, domain.high))
    solved = milp(
        -gains,
        integrality=(1 - gains).astype(np.int64),
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    if solved.status == 2:
        return None, known
    dual = solved.mip_dual_bound
    bound = len(ids) if dual is None or not np.isfinite(dual) else int(np.floor(-dual + 1e-6))
    if solved.x is None:
        return None, bound
    parts = np.split(solved.x[:n], domain.starts[1:])
    return np.array([int(np.argmax(part)) for part in parts], dtype=np.int64), bound
