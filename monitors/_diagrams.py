"""Sets of on/off patterns as reduced ordered binary decision diagrams, and distances to such sets.

A diagram asks for one variable after the other, a level each, in an order of its own; a node leads to one
node where its variable is off (low) and to another where it is on (high). No two nodes are alike, and a
variable that makes no difference is not asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from farm.api import BoolArray, IntArray
from monitors._pattern_sets import Words, packed

REFUSED, ACCEPTED = 0, 1
"""The two terminals: where what is in no pattern of the set ends, and where every pattern ends."""


class Diagram(NamedTuple):
    """The nodes as arrays, children before parents; what is called i + 2 is node i."""

    level: IntArray
    low: IntArray
    high: IntArray
    root: int


def short_order(patterns: BoolArray) -> IntArray:
    """Return an order of the variables that keeps the diagram of these patterns small.

    Nodes are many at a level where many different beginnings lead to many different rests. Variables that
    hardly ever change make few of either, so they come first and last, and those that change most between.
    """
    steadiness = np.abs(2 * patterns.sum(axis=0, dtype=np.int64) - len(patterns))
    steady_first = np.argsort(-steadiness, kind="stable")
    return np.concatenate([steady_first[::2], steady_first[1::2][::-1]])


def diagram_of(patterns: BoolArray, manager: Any) -> Diagram:
    """Build the diagram of different patterns, one column a level, with a `dd.bdd.BDD`.

    It grows from the last level to the first: patterns that begin alike become one node of each level, and
    the manager finds out which of these nodes are the same.
    """
    n, width = patterns.shape
    manager.declare(*(f"x{level}" for level in range(width)))
    patterns = patterns[np.lexsort(patterns.T[::-1])]
    # Where each pattern departs from the one before it in the sorted list.
    departs = (patterns[1:] != patterns[:-1]).argmax(axis=1)
    first, found = np.arange(n), np.full(n, manager.true)
    for level in reversed(range(width)):
        if not n:
            break
        new = np.append(True, departs[first[1:] - 1] < level)
        children = np.full((new.sum(), 2), manager.false)
        children[new.cumsum() - 1, patterns[first, level].astype(np.int64)] = found
        found = np.array([manager.find_or_add(level, low, high) for low, high in children.tolist()])
        first = first[new]
    return _read(manager, int(found[0]) if n else manager.false)


def _read(manager: Any, root: int) -> Diagram:
    """Read the nodes under a root; a negative reference is the opposite of a node, and becomes its own."""
    nodes: dict[int, tuple[int, int, int]] = {}
    ahead = [root]
    while ahead:
        reference = ahead.pop()
        if reference in nodes or reference in (manager.true, manager.false):
            continue
        level, low, high = manager.succ(abs(reference))
        sign = 1 if reference > 0 else -1
        nodes[reference] = level, sign * low, sign * high
        ahead += [sign * high, sign * low]
    upwards = sorted(nodes, key=lambda reference: -nodes[reference][0])
    number = {manager.false: REFUSED, manager.true: ACCEPTED} | {r: i for i, r in enumerate(upwards, start=2)}
    rows = [(nodes[r][0], number[nodes[r][1]], number[nodes[r][2]]) for r in upwards]
    level, low, high = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Diagram(level, low, high, number[root])


class Distances:
    """A diagram made ready for the smallest Hamming distance to what it accepts.

    Most nodes refuse one side, so they leave no choice. A row of such nodes is walked in one step: the
    bits that it asks for are compared as packed words. Choices remain at the forks alone. The distance from
    a fork to acceptance is the smaller one over its two ways, and is found for all forks, lowest first.
    """

    def __init__(self, diagram: Diagram, order: IntArray, width: int) -> None:
        level, low, high, root = diagram
        fork = np.flatnonzero((low != REFUSED) & (high != REFUSED))
        forced = np.append([False, False], (low == REFUSED) | (high == REFUSED))
        # The ways: the low one of each fork, the high one of each, and the one to the first fork.
        n, ends = len(fork), np.concatenate([low[fork], high[fork], [root]])
        asked, on = np.zeros((2, len(ends), width), dtype=np.bool_)
        asked[np.arange(2 * n), np.tile(order[level[fork]], 2)] = True
        on[np.arange(n, 2 * n), order[level[fork]]] = True
        going = np.flatnonzero(forced[ends])
        while len(going):
            node = ends[going] - 2
            asked[going, order[level[node]]] = True
            on[going, order[level[node]]] = high[node] != REFUSED
            ends[going] = np.maximum(low[node], high[node])
            going = going[forced[ends[going]]]
        # From here on forks are numbered from 1, by how many may still lie on the way; 0 is acceptance.
        number = np.zeros(len(level) + 2, dtype=np.int64)
        number[fork + 2] = np.arange(1, n + 1)
        below = [0]
        for one, other in number[ends[:-1]].reshape(2, n).T.tolist():
            below.append(1 + max(below[one], below[other]))
        by_depth = np.argsort(below[1:], kind="stable")
        number[fork[by_depth] + 2] = np.arange(1, n + 1)
        ways = np.concatenate([by_depth, n + by_depth, [2 * n]])
        self._asked, self._on = (packed(bits[ways]).T[:, :, None].copy() for bits in (asked, on))
        self._ends, self._first = number[ends[ways[:-1]]].reshape(2, n), number[ends[-1]]
        bounds = np.flatnonzero(np.diff(np.sort(below), append=n + 1))
        self._steps = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))

    def __call__(self, words: Words) -> IntArray:
        """Return each pattern's distance."""
        differ = np.zeros((self._asked.shape[1], len(words)), dtype=np.int64)
        for asked, on, own in zip(self._asked, self._on, words.T, strict=True):
            differ += np.bitwise_count((on ^ own) & asked)
        ways = differ[:-1].reshape(2, -1, len(words))
        rest = np.zeros((ways.shape[1] + 1, len(words)), dtype=np.int64)
        for start, stop in self._steps:
            one, other = ways[:, start:stop] + rest[self._ends[:, start:stop]]
            np.minimum(one, other, out=rest[start + 1 : stop + 1])
        distance: IntArray = differ[-1] + rest[self._first]
        return distance
