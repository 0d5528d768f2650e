"""Neuron k-activation: which on-off patterns of k neurons of a layer inputs have (Cheng et al., 2018, II B).

A cell is k neurons of a layer with a pattern of them; it is occupied where some instance has it. Only how
often one, two and three neurons are on together is counted. How many instances have each of the 2^k patterns
follows by inclusion and exclusion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb, isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, Features, IntArray
from farm.errors import DataError, ParameterError
from farm.measures.measure import Measure, ratio

MOST_CELLS = 300_000_000
"""What is counted in memory, which takes up to 4 bytes a cell."""
_VALUES = 2**20
"""How many values are looked at together. Sums of as many ones are exact in float32, up to 2**24."""


class NeuronCell(NamedTuple):
    """Some neurons by their numbers, and which of them are on."""

    neurons: tuple[int, ...]
    on: tuple[bool, ...]


@dataclass(frozen=True)
class NeuronCoverage:
    """Which cells of a layer some instances occupy."""

    layer: str
    neurons: int
    k: int
    instances: int
    occupied: int
    """How many cells an instance has."""
    never_on: tuple[int, ...]
    """The neurons that are on for no instance."""
    always_on: tuple[int, ...]
    """The neurons that are off for no instance; without instances all, as all are never on."""
    empty: tuple[NeuronCell, ...]
    """The first of the cells that no instance has: as many as were asked for."""
    curve: tuple[tuple[int, float], ...] = ()
    """Numbers of first instances, and the share of the cells that these occupy."""

    @property
    def total(self) -> int:
        """How many cells there are."""
        return _how_many(self.neurons, self.k)

    @property
    def n_empty(self) -> int:
        """How many cells no instance has."""
        return self.total - self.occupied

    @property
    def share(self) -> Measure:
        """The metric: the occupied ones among all cells."""
        return ratio(
            self.occupied, self.total if self.instances else 0, f"{_named(self.layer)}: no instances"
        )


class ActivationCounts:
    """Counts how often up to k neurons of a layer are on together.

    Examples
    --------
    >>> counts = ActivationCounts(neurons=3, k=2)
    >>> counts.add(np.array([[True, False, True], [False, True, True]]))
    >>> found = counts.coverage(listed=2)
    >>> found.occupied, found.total, found.share.value, found.always_on
    (6, 12, 0.5, (2,))
    >>> found.empty[1]
    NeuronCell(neurons=(0, 1), on=(True, True))
    """

    def __init__(self, neurons: int, k: int, layer: str = "") -> None:
        if k not in (1, 2, 3):
            raise ParameterError(f"k is {k}; expected 1, 2 or 3")
        if k > neurons:
            raise ParameterError(
                f"k is {k}, {_named(layer)} has {neurons} neurons; expected k to be at most their number"
            )
        if (cells := _how_many(neurons, k)) > MOST_CELLS:
            raise ParameterError(
                f"k is {k}, {_named(layer)} has {neurons:,} neurons, which makes {cells:,} cells; "
                f"expected at most {MOST_CELLS:,}: try a smaller k or another layer"
            )
        self.neurons, self.k, self.layer, self.instances = neurons, k, layer, 0
        # How often each neuron is on; each pair; and by the first of three neurons, each pair of later ones.
        shapes = [(neurons,), (neurons, neurons)][:k]
        if k == 3:
            shapes += [(later, later) for later in range(neurons - 1, 1, -1)]
        self._tables = [np.zeros(shape, dtype=np.int64) for shape in shapes]

    def add(self, on: BoolArray) -> None:
        """Count instances, a row each, by which neurons are on."""
        if on.ndim != 2 or on.shape[1] != self.neurons or on.dtype != np.bool_:
            raise DataError(
                f"{_named(self.layer)}: {on.dtype} of shape {on.shape}; "
                f"expected bool, instances x {self.neurons} neurons"
            )
        for rows in _chunks(0, len(on), self.neurons):
            together = _together(on[rows].astype(np.float32), self.k)
            for table, more in zip(self._tables, together, strict=True):
                table += more.astype(np.int64)
        self.instances += len(on)

    def merge(self, other: ActivationCounts) -> None:
        """Count also what was counted of other instances."""
        for what in ("layer", "neurons", "k"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                raise ParameterError(
                    f"counts of activations: {what} is {mine!r} and {theirs!r}; expected one"
                )
        for table, more in zip(self._tables, other._tables, strict=True):
            table += more
        self.instances += other.instances

    def coverage(self, listed: int = 20) -> NeuronCoverage:
        """Tell what is occupied, and the first empty cells, `listed` at most."""
        occupied, empty = 0, list[NeuronCell]()
        for first, counts in self._patterns():
            occupied += int(np.count_nonzero(counts))
            if len(empty) < listed:
                empty += self._empty(first, counts)[: listed - len(empty)]
        never, always = (np.flatnonzero(self._tables[0] == n) for n in (0, self.instances))
        return NeuronCoverage(
            *(self.layer, self.neurons, self.k, self.instances, occupied),
            *(tuple(never.tolist()), tuple(always.tolist()), tuple(empty)),
        )

    def _patterns(self) -> Iterator[tuple[tuple[int, ...], IntArray]]:
        """Return by the first of k neurons how many instances have which pattern of it and later ones."""
        if self.k == 1:
            yield (), _of_ones(self._tables[0], self.instances)
            return
        ones, pairs = self._tables[:2]
        of_rest = _of_ones if self.k == 2 else _of_pairs
        for first in range(self.neurons - self.k + 1):
            later = slice(first + 1, None)
            whole = ones[later] if self.k == 2 else pairs[later, later]
            on = of_rest(pairs[first, later] if self.k == 2 else self._tables[2 + first], ones[first])
            yield (first,), np.concatenate([of_rest(whole, self.instances) - on, on])

    def _empty(self, first: tuple[int, ...], counts: IntArray) -> list[NeuronCell]:
        """Return the cells that no instance has, in the order of neurons and then patterns."""
        found = np.argwhere(counts.T == 0).tolist()
        if not found:
            return []
        later = range(first[0] + 1 if first else 0, self.neurons)
        neurons = list(combinations(later, self.k - len(first)))
        patterns = list(product((False, True), repeat=self.k))
        return [NeuronCell(first + neurons[place], patterns[pattern]) for place, pattern in found]


def switched_on(values: Features, threshold: float = 0.0, where: str = "activations") -> BoolArray:
    """Return which neurons are on: those above the threshold.

    Examples
    --------
    >>> switched_on(np.array([[0.0, 0.5]])).tolist()
    [[False, True]]
    """
    if isnan(threshold):
        raise ParameterError(f"{where}: the threshold is NaN; expected a number")
    if missing := int(np.count_nonzero(np.isnan(values))):
        raise DataError(f"{where}: {missing:,} of {values.size:,} values are NaN; expected numbers")
    return np.asarray(values > threshold)


def neuron_coverage(
    values: Features, k: int, threshold: float = 0.0, layer: str = "", listed: int = 20, steps: int = 10
) -> NeuronCoverage:
    """Tell which cells a layer's values occupy: a row an instance, read in parts; with a curve of `steps`.

    Examples
    --------
    >>> found = neuron_coverage(np.array([[0.0, 2.0], [1.0, 2.0]]), k=1, layer="fc")
    >>> found.share.value, found.curve
    (0.75, ((1, 0.5), (2, 0.75)))
    """
    if values.ndim != 2:
        raise DataError(f"{_named(layer)}: values have shape {values.shape}; expected instances x neurons")
    n, neurons = values.shape
    counts, curve = ActivationCounts(neurons, k, layer), list[tuple[int, float]]()
    for stop in growing_sizes(n, steps):
        for rows in _chunks(counts.instances, stop, neurons):
            where = f"{_named(layer)}, instances {rows.start:,} to {rows.stop - 1:,}"
            counts.add(switched_on(values[rows], threshold, where))
        curve.append((stop, counts.coverage(0).share.value))
    return replace(counts.coverage(listed), curve=tuple(curve))


def growing_sizes(n: int, steps: int) -> list[int]:
    """Return numbers of instances that grow by like steps up to all `n`, with none twice and no 0.

    Examples
    --------
    >>> growing_sizes(25, 10), growing_sizes(2, 10)
    ([2, 5, 7, 10, 12, 15, 17, 20, 22, 25], [1, 2])
    """
    if steps < 1:
        raise ParameterError(f"steps = {steps}; expected at least 1")
    return sorted({n * step // steps for step in range(1, steps + 1)} - {0})


def _how_many(neurons: int, k: int) -> int:
    return comb(neurons, k) << k


def _named(layer: str) -> str:
    return f"the layer {layer!r}" if layer else "the layer"


def _chunks(start: int, stop: int, neurons: int) -> Iterator[slice]:
    """Return rows from `start` to `stop`, a few at a time."""
    step = max(_VALUES // neurons, 1)
    for each in range(start, stop, step):
        yield slice(each, min(each + step, stop))


def _together(on: NDArray[np.float32], k: int) -> Iterator[NDArray[Any]]:
    """Return how many rows of zeros and ones have 1 in each column, in each two, in each three."""
    yield on.sum(axis=0)
    if k > 1:
        yield on.T @ on
    for first in range(on.shape[1] - 2 if k == 3 else 0):
        later = on[on[:, first] > 0, first + 1 :]
        yield later.T @ later


def _of_ones(ones: IntArray, n: int) -> IntArray:
    """Return how many of `n` instances have each neuron off, and on."""
    return np.stack([n - ones, ones])


def _of_pairs(pairs: IntArray, n: int) -> IntArray:
    """Return how many of `n` instances have each two neurons off, the second on, the first on, and both."""
    first, second = np.triu_indices(len(pairs), 1)
    both, alone = pairs[first, second], np.diagonal(pairs)
    one, other = alone[first], alone[second]
    return np.stack([n - one - other + both, other - both, one - both, both])
