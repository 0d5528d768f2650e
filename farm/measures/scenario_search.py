"""Which scenarios restrictions leave: whether a few choices can be completed to one, decided exactly.

Conditions that no restriction ties together are independent of each other, so each group of tied ones is
searched alone, depth first; the few that take long go to integer programming.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import ParameterError
from farm.measures.scenarios import Cells, Domain

_NODES = 500
"""After so many steps the search is given up; it is never deeper, either."""
_SECONDS = 60.0

Fixed: TypeAlias = tuple[tuple[int, int], ...]
"""Conditions in order, each with its value."""


class Search:
    """Finds scenarios that meet all restrictions of a domain.

    Examples
    --------
    >>> from farm.measures.scenarios import Choice, Restriction
    >>> rule = Restriction((Choice(0, 0), Choice(1, 0)), low=1)
    >>> search = Search(Domain({"a": "xy", "b": "xy", "c": "xy"}, (rule,)))
    >>> search.completed({0: 1, 2: 1}).tolist(), search.completed({0: 1, 1: 1})
    ([1, 0, 1], None)
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.groups = _groups(domain)
        self._group_of = {each: number for number, group in enumerate(self.groups) for each in group}
        self._rules = [
            np.array(
                [number for number, rule in enumerate(domain.restrictions) if rule.conditions[0] in group]
            )
            for group in map(set, self.groups)
        ]
        self._known: dict[tuple[int, Fixed], dict[int, int] | None] = {}

    def completed(self, fixed: Mapping[int, int]) -> IntArray | None:
        """Return a scenario that has these values of these conditions; None where there is none."""
        scenario = np.zeros(len(self.domain.sizes), dtype=np.int64)
        for condition, value in fixed.items():
            scenario[condition] = value
        own: list[list[tuple[int, int]]] = [[] for _ in self.groups]
        for condition in sorted(fixed):
            if condition in self._group_of:
                own[self._group_of[condition]].append((condition, fixed[condition]))
        for group, choices in enumerate(own):
            found = self._found(group, tuple(choices))
            if found is None:
                return None
            for condition, value in found.items():
                scenario[condition] = value
        return scenario

    def _found(self, group: int, fixed: Fixed) -> dict[int, int] | None:
        key = (group, fixed)
        if key not in self._known:
            try:
                self._known[key] = _Descent(self.domain, self.groups[group], self._rules[group]).below(fixed)
            except _TakesLong:
                self._known[key] = _programmed(self.domain, self.groups[group], self._rules[group], fixed)
        return self._known[key]

    def possible(self, cells: Cells) -> BoolArray:
        """Return which cells a scenario can have; some scenario must meet the restrictions."""
        tied = np.zeros(len(self.domain.sizes), dtype=np.bool_)
        tied[list(self._group_of)] = True
        possible = np.repeat(~tied[cells.conditions].any(axis=1), cells.sizes)
        if not self.groups:
            return possible
        asked = np.flatnonzero(~possible)
        asked = asked[self._may_be(cells, asked)]
        for cell, conditions, values in zip(
            asked.tolist(), *map(np.ndarray.tolist, cells.choices(asked)), strict=True
        ):
            if possible[cell]:
                continue
            scenario = self.completed(dict(zip(conditions, values, strict=True)))
            if scenario is not None:
                # It has many cells beside the one that was asked for.
                possible[cells.ids(scenario[None])] = True
        return possible

    def _may_be(self, cells: Cells, asked: IntArray) -> BoolArray:
        """Return which cells leave each restriction, taken by itself, something that meets it."""
        domain = self.domain
        conditions, values = cells.choices(asked)
        may = np.ones(len(asked), dtype=np.bool_)
        by_condition = [domain.of(condition) for condition in range(len(domain.sizes))]
        least = np.array([weights.min(axis=1) for weights in by_condition])
        greatest = np.array([weights.max(axis=1) for weights in by_condition])
        chosen = domain.starts[conditions] + values
        for number in range(len(domain.restrictions)):
            own = domain.weights[number][chosen].sum(axis=1)
            low = least[:, number].sum() - least[conditions, number].sum(axis=1) + own
            high = greatest[:, number].sum() - greatest[conditions, number].sum(axis=1) + own
            may &= (high >= domain.low[number]) & (low <= domain.high[number])
        return may


def contradiction(domain: Domain) -> list[int]:
    """Return the numbers of restrictions that cannot be met together, no one too many; none where all can."""
    if Search(domain).completed({}) is not None:
        return []
    left = list(range(len(domain.restrictions)))
    for number in tuple(left):
        fewer = tuple(domain.restrictions[each] for each in left if each != number)
        if Search(Domain(domain.conditions, fewer)).completed({}) is None:
            left.remove(number)
    return left


def _groups(domain: Domain) -> list[list[int]]:
    """Return the conditions that restrictions tie together."""
    groups: list[set[int]] = []
    for restriction in domain.restrictions:
        tied = set(restriction.conditions)
        apart = []
        for group in groups:
            if group & tied:
                tied |= group
            else:
                apart.append(group)
        groups = [*apart, tied]
    return [sorted(group) for group in groups]


class _TakesLong(Exception):  # noqa: N818 - no error
    """The search has taken more steps than it may."""


class _Descent:
    """Goes through a group's values depth first, and turns back where a restriction is out of reach."""

    def __init__(self, domain: Domain, group: Sequence[int], rules: IntArray) -> None:
        self._group = group
        self._weights = {each: domain.of(each)[rules] for each in group}
        self._low, self._high = domain.low[rules][:, None], domain.high[rules][:, None]
        self._steps = 0

    def below(self, fixed: Fixed) -> dict[int, int] | None:
        """Return values of all conditions of the group, with these among them; None where there are none."""
        at = dict(fixed)
        free = [each for each in self._group if each not in at]
        free.sort(key=lambda each: -np.count_nonzero(self._weights[each]))
        totals = np.zeros(len(self._low))
        for condition, value in at.items():
            totals = totals + self._weights[condition][:, value]
        least, greatest = [np.zeros(len(totals))], [np.zeros(len(totals))]
        for condition in reversed(free):
            least.append(least[-1] + self._weights[condition].min(axis=1))
            greatest.append(greatest[-1] + self._weights[condition].max(axis=1))
        self._free, self._least, self._greatest = free, least[::-1], greatest[::-1]
        if not self._reach(totals[:, None], 0).all():
            return None
        found = self._go(totals, 0)
        return None if found is None else at | dict(zip(free, reversed(found), strict=True))

    def _reach(self, totals: FloatArray, depth: int) -> BoolArray:
        """Return by column whether what is still to be chosen may bring totals to where they must be."""
        high, low = totals + self._greatest[depth][:, None], totals + self._least[depth][:, None]
        return np.asarray(((high >= self._low) & (low <= self._high)).all(axis=0))

    def _go(self, totals: FloatArray, depth: int) -> list[int] | None:
        if depth == len(self._free):
            return []
        self._steps += 1
        if self._steps > _NODES:
            raise _TakesLong
        reached = totals[:, None] + self._weights[self._free[depth]]
        for value in np.flatnonzero(self._reach(reached, depth + 1)).tolist():
            found = self._go(reached[:, value], depth + 1)
            if found is not None:
                return [*found, value]
        return None


def _programmed(domain: Domain, group: Sequence[int], rules: IntArray, fixed: Fixed) -> dict[int, int] | None:
    """Do the same by integer programming."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # whose loading takes a while

    weights = np.concatenate([domain.of(each)[rules] for each in group], axis=1)
    ends = np.cumsum(domain.sizes[group])
    one = np.zeros((len(group), weights.shape[1]))
    low = np.zeros(weights.shape[1])
    for row, (start, end) in zip(one, _spans(ends), strict=True):
        row[start:end] = 1
    for condition, value in fixed:
        place = group.index(condition)
        low[ends[place] - domain.sizes[condition] + value] = 1
    solved = milp(
        np.zeros(weights.shape[1]),
        integrality=np.ones(weights.shape[1], dtype=np.int64),
        bounds=Bounds(low, np.ones_like(low)),
        constraints=[
            LinearConstraint(one, 1, 1),
            LinearConstraint(weights, domain.low[rules], domain.high[rules]),
        ],
        options={"time_limit": _SECONDS},
    )
    if solved.status == 2:
        return None
    if solved.x is not None:
        found = [int(np.argmax(solved.x[start:end])) for start, end in _spans(ends)]
        scenario = np.zeros((1, len(domain.sizes)), dtype=np.int64)
        scenario[0, group] = found
        if not domain.broken(scenario)[rules].any():
            return dict(zip(group, found, strict=True))
    told = ", ".join(f"{domain.names[i]}={domain.conditions[domain.names[i]][v]}" for i, v in fixed)
    raise ParameterError(
        f"restrictions: whether {told or 'a scenario'} is possible was not decided within {_SECONDS:g} s; "
        "expected fewer or simpler ones"
    )


def _spans(ends: IntArray) -> Iterator[tuple[int, int]]:
    """Return from where to where each condition's choices go."""
    start = 0
    for end in ends.tolist():
        yield start, end
        start = end
