"""Scenario coverage: which combinations of conditions a data set has (Cheng et al., 2018, section II A).

A scenario chooses one value of each condition, under restrictions: linear constraints over choices, of whole
numbers, so that nothing is lost by rounding. A cell is a combination of k conditions with a value of each;
cells that no scenario has are left out, and a cell is covered where a recorded scenario has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import inf
from typing import NamedTuple

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import ParameterError

MOST_CELLS = 10_000_000
"""What is counted in memory."""
_LARGEST = 2**62


class Choice(NamedTuple):
    """A value of a condition, both by their numbers, and how much it counts in a restriction."""

    condition: int
    value: int
    weight: int = 1


@dataclass(frozen=True)
class Restriction:
    """The weights of those choices that a scenario makes add up to something from `low` to `high`."""

    choices: tuple[Choice, ...]
    low: float = -inf
    high: float = inf

    @property
    def conditions(self) -> list[int]:
        """The numbers of the conditions that it is about."""
        return sorted({choice.condition for choice in self.choices})


@dataclass(frozen=True)
class Domain:
    """Conditions with their values, and restrictions of what goes together.

    Examples
    --------
    >>> domain = Domain({"lanes": ("2", "4"), "lane": ("1", "2", "3")}, (
    ...     Restriction((Choice(0, 0), Choice(1, 2)), high=1),
    ... ))
    >>> domain.broken(np.array([[0, 1], [0, 2], [1, 2]])).tolist()
    [[False, True, False]]
    """

    conditions: Mapping[str, Sequence[str]]
    restrictions: tuple[Restriction, ...] = ()

    @cached_property
    def names(self) -> list[str]:
        """The conditions' names."""
        return list(self.conditions)

    @cached_property
    def sizes(self) -> IntArray:
        """How many values each condition has."""
        return np.array([len(values) for values in self.conditions.values()], dtype=np.int64)

    @cached_property
    def starts(self) -> IntArray:
        """The number of each condition's first choice among the choices of all."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of each choice in each restriction: a row a restriction."""
        weights = np.zeros((len(self.restrictions), int(self.sizes.sum())))
        for row, restriction in zip(weights, self.restrictions, strict=True):
            for condition, value, weight in restriction.choices:
                row[self.starts[condition] + value] += weight
        return weights

    @cached_property
    def low(self) -> FloatArray:
        """What each restriction demands at least."""
        return np.array([each.low for each in self.restrictions], dtype=np.float64)

    @cached_property
    def high(self) -> FloatArray:
        """What each restriction allows at most."""
        return np.array([each.high for each in self.restrictions], dtype=np.float64)

    def of(self, condition: int) -> FloatArray:
        """Return the weights of one condition's values in each restriction."""
        start = self.starts[condition]
        return self.weights[:, start : start + self.sizes[condition]]

    def broken(self, scenarios: IntArray) -> BoolArray:
        """Return which restrictions (rows) which scenarios break."""
        totals = np.zeros((len(self.restrictions), len(scenarios)))
        if self.restrictions:
            for condition in range(len(self.sizes)):
                totals += self.of(condition)[:, scenarios[:, condition]]
        return np.asarray((totals < self.low[:, None]) | (totals > self.high[:, None]))

    def written(self, scenario: IntArray) -> dict[str, str]:
        """Return a scenario by names and values."""
        pairs = zip(self.conditions.items(), scenario.tolist(), strict=True)
        return {name: values[code] for (name, values), code in pairs}


class Cells:
    """All combinations of k conditions and their values, each by its number.

    Examples
    --------
    >>> cells = Cells([3, 3, 2], 2)
    >>> len(cells), cells.ids(np.array([[0, 0, 0], [2, 2, 1]])).tolist()
    (21, [[0, 9, 15], [8, 14, 20]])
    >>> [each.tolist() for each in cells.choices(np.array([14]))]
    [[[0, 2]], [[2, 1]]]
    """

    def __init__(self, sizes: Sequence[int] | IntArray, k: int) -> None:
        n = _how_many(np.asarray(sizes).tolist(), k)
        if n > MOST_CELLS:
            raise ParameterError(f"k is {k}, which makes {n:,} cells; expected at most {MOST_CELLS:,}")
        self.k, self._n = k, n
        self.conditions = np.array(list(combinations(range(len(sizes)), k)), dtype=np.int64)
        """The conditions of each combination: a row a combination."""
        sizes = np.asarray(sizes)[self.conditions]
        self.sizes = sizes.prod(axis=1)
        """How many cells each combination has."""
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        """The number of each combination's first cell."""
        self._strides = np.ones_like(sizes)
        self._strides[:, :-1] = np.cumprod(sizes[:, :0:-1], axis=1)[:, ::-1]

    def __len__(self) -> int:
        return self._n

    def ids(self, scenarios: IntArray, combination: slice | IntArray = slice(None)) -> IntArray:
        """Return the cells that each scenario has: a row a scenario, a column a combination."""
        conditions, strides = self.conditions[combination], self._strides[combination]
        ids = np.repeat(self.starts[combination][None], len(scenarios), axis=0)
        for place in range(self.k):
            ids += scenarios[:, conditions[:, place]] * strides[:, place]
        return ids

    def choices(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        """Return the conditions and the values of some cells: a row a cell."""
        combination = self.combination(ids)
        rest, values = ids - self.starts[combination], np.empty((len(ids), self.k), dtype=np.int64)
        for place in range(self.k):
            values[:, place], rest = np.divmod(rest, self._strides[combination, place])
        return self.conditions[combination], values

    def combination(self, ids: IntArray) -> IntArray:
        """Return the number of the combination that each cell is of."""
        return np.searchsorted(self.starts, ids, side="right") - 1


def _how_many(sizes: Sequence[int], k: int) -> int:
    if not 1 <= k <= len(sizes):
        raise ParameterError(f"k is {k}; expected from 1 to {len(sizes)}, the number of conditions")
    ways = [1] + [0] * k
    for size in sizes:
        for taken in range(k, 0, -1):
            ways[taken] += ways[taken - 1] * size
    return ways[k]


@dataclass(frozen=True)
class Coverage:
    """Which cells are possible, and which scenario had each of them first."""

    domain: Domain
    cells: Cells
    possible: BoolArray
    first: IntArray
    """By cell, the number of the first among the distinct scenarios that has it; `scenarios` where none."""
    scenarios: int
    """How many distinct ones there are."""

    @cached_property
    def covered(self) -> BoolArray:
        """Which cells a scenario has."""
        return np.asarray(self.first < self.scenarios)

    @cached_property
    def open(self) -> IntArray:
        """The cells that a scenario could have, and none has."""
        return np.flatnonzero(self.possible & ~self.covered)

    @property
    def share(self) -> float:
        """The covered ones among the possible cells."""
        return float(self.covered.sum() / self.possible.sum())

    def parts(self) -> list[tuple[tuple[str, ...], int, int]]:
        """Return each combination of conditions with how many of its cells are covered, and possible."""
        names, starts = self.domain.names, self.cells.starts
        covered = np.add.reduceat(self.covered, starts, dtype=np.int64)
        possible = np.add.reduceat(self.possible, starts, dtype=np.int64)
        of = [tuple(names[each] for each in row) for row in self.cells.conditions.tolist()]
        return list(zip(of, covered.tolist(), possible.tolist(), strict=True))

    def curve(self, most: int = 100) -> list[tuple[int, int]]:
        """Return how many cells the first 1, 2, ... distinct scenarios cover: where it rises, and at the end.

        Of more than `most` points, so many are told, at equal distances.
        """
        covered = np.cumsum(np.bincount(self.first[self.covered], minlength=self.scenarios))
        rises = np.flatnonzero(np.diff(covered, prepend=0))
        points = np.union1d(rises, [self.scenarios - 1])
        if len(points) > most:
            points = points[np.linspace(0, len(points) - 1, most).round().astype(np.int64)]
        return list(zip((points + 1).tolist(), covered[points].tolist(), strict=True))

    def written(self, ids: IntArray) -> list[dict[str, str]]:
        """Return cells by names and values."""
        names, values = self.domain.names, list(self.domain.conditions.values())
        conditions, codes = self.cells.choices(ids)
        return [
            {names[i]: values[i][code] for i, code in zip(*row, strict=True)}
            for row in zip(conditions.tolist(), codes.tolist(), strict=True)
        ]


def distinct(scenarios: IntArray, sizes: IntArray) -> IntArray:
    """Return scenarios in their order, each once."""
    keys, room = np.zeros(len(scenarios), dtype=np.int64), 1
    for column, size in zip(scenarios.T, sizes.tolist(), strict=True):
        if room * size > _LARGEST:
            found, keys = np.unique(keys, return_inverse=True)
            room = len(found)
        keys, room = keys * size + column, room * size
    return scenarios[np.sort(np.unique(keys, return_index=True)[1])]


def coverage(domain: Domain, scenarios: IntArray, cells: Cells, possible: BoolArray) -> Coverage:
    """Tell which cells scenarios cover, all of which the restrictions allow: a row a scenario, in codes."""
    once = distinct(scenarios, domain.sizes)
    n = len(once)
    first = np.full(len(cells), n, dtype=np.int64)
    backwards, numbers = np.ascontiguousarray(once[::-1]), np.arange(n)[::-1]
    for combination in range(len(cells.conditions)):
        # Where a cell is assigned to more than once, the last one stays: the first that had it.
        first[cells.ids(backwards, slice(combination, combination + 1))[:, 0]] = numbers
    return Coverage(domain, cells, possible, first, n)
