"""What monitors were tried on: which cells of conditions met which faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from farm.api import BoolArray, IntArray
from farm.measures.measure import Bounded, undefined
from farm.measures.scenario_search import Search
from farm.measures.scenarios import Cells
from farm.protocols.dependability.rows import Lacking, MetricRow, read_off
from farm.protocols.dependability.streams import MISSING, ScenarioCodes, Streams

METRIC = "monitor_coverage"


@dataclass(frozen=True, eq=False)
class CellsAgainstFaults:
    """How many images of each possible cell of k conditions each fault had."""

    k: int
    cells: list[dict[str, str]]
    plain: IntArray
    """How many images of each cell the test data have."""
    counts: IntArray
    """A row a fault, a column a cell."""

    @property
    def met(self) -> BoolArray:
        """Which faults met which cells."""
        return np.asarray(self.counts > 0)

    @property
    def share(self) -> float:
        """The pairs of a fault and a cell that met, among all."""
        return float(self.met.mean())

    def unmet(self, faults: Sequence[str]) -> list[tuple[dict[str, str], str]]:
        """Return the pairs of a cell and a fault that did not meet."""
        return [(self.cells[cell], faults[fault]) for fault, cell in np.argwhere(~self.met).tolist()]

    @property
    def spared(self) -> list[dict[str, str]]:
        """The cells that saw no fault."""
        return [
            cell for cell, met in zip(self.cells, np.atleast_1d(self.met.any(axis=0)), strict=True) if not met
        ]


@dataclass(frozen=True, eq=False)
class WatchedCells:
    """Coverage of what the monitor was tried on."""

    faults: tuple[str, ...]
    n: int
    """How many images faults acted upon."""
    by_k: Mapping[int, CellsAgainstFaults]
    rare: tuple[dict[str, str], ...]
    """Values of conditions that few of the test images have."""
    without_rare: tuple[str, ...]
    """Faults that met none of them."""
    without_conditions: tuple[str, ...]
    """Faults of which no image tells its conditions."""
    absent: tuple[str, ...] = ()
    """Faults that failed, or were not put on any image yet: they met nothing."""

    @classmethod
    def of_streams(cls, streams: Streams) -> WatchedCells | Lacking:
        """Count which cells met which faults."""
        scenarios = streams.scenarios
        if isinstance(scenarios, str):
            return Lacking((METRIC,), scenarios)
        if not streams.faulted or not streams.spec.fault_names:
            return Lacking((METRIC,), "no fault was put on the test data; name some under loss or faults")
        none = np.empty((0, len(scenarios.domain.names)), dtype=np.int64)
        codes = {
            name: scenarios.codes(streams.faulted[name]) if name in streams.faulted else none
            for name in streams.spec.fault_names
        }
        asked = streams.spec.scenarios
        return cls.of_codes(scenarios, scenarios.codes(streams.plain), codes, asked.k, asked.rare)

    @classmethod
    def of_codes(
        cls,
        scenarios: ScenarioCodes,
        plain: IntArray,
        codes: Mapping[str, IntArray],
        ks: Sequence[int],
        rare_below: float,
    ) -> WatchedCells:
        """Count by the scenarios of images without a fault, and of those that each fault acted upon."""
        domain, search = scenarios.domain, Search(scenarios.domain)
        by_k = {}
        for k in sorted({1, *(k for k in ks if k <= len(domain.names))}):
            cells = Cells(domain.sizes, k)
            possible = np.flatnonzero(search.possible(cells))
            by_k[k] = CellsAgainstFaults(
                k,
                _written(scenarios, cells, possible),
                _counted(cells, plain)[possible],
                np.stack([_counted(cells, each)[possible] for each in codes.values()]),
            )
        single = by_k[1]
        rare = single.plain < rare_below * len(plain)
        unmet = ~single.met[:, rare].any(axis=1) if rare.any() else np.zeros(len(codes), dtype=np.bool_)
        untold = {name for name, each in codes.items() if len(each) and (each == MISSING).all()}
        return cls(
            tuple(codes),
            sum(map(len, codes.values())),
            by_k,
            tuple(cell for cell, few in zip(single.cells, rare, strict=True) if few),
            tuple(
                name
                for name, none in zip(codes, np.atleast_1d(unmet), strict=True)
                if none and name not in untold
            ),
            tuple(name for name in codes if name in untold),
            tuple(name for name, each in codes.items() if not len(each)),
        )

    def rows(self, level: float) -> list[MetricRow]:  # noqa: ARG002 - nothing is inferred
        """Return the share of pairs of a cell and a fault that met, for each k."""
        return [
            MetricRow(METRIC, f"k={k}", self._value(one), self.n, about="all monitors")
            for k, one in self.by_k.items()
        ]

    @staticmethod
    def _value(one: CellsAgainstFaults) -> Bounded:
        return read_off(one.share) if one.counts.size else Bounded.nowhere(undefined("there is no cell"))


def _counted(cells: Cells, codes: IntArray) -> IntArray:
    """Return how many of these images have each cell; one that lacks a condition has none of its cells."""
    counts = np.zeros(len(cells), dtype=np.int64)
    for number, conditions in enumerate(cells.conditions):
        known = codes[(codes[:, conditions] != MISSING).all(axis=1)]
        ids = cells.ids(np.maximum(known, 0), slice(number, number + 1))[:, 0]
        counts += np.bincount(ids, minlength=len(cells))
    return counts


def _written(scenarios: ScenarioCodes, cells: Cells, ids: IntArray) -> list[dict[str, str]]:
    names = scenarios.domain.names
    values = list(scenarios.domain.conditions.values())
    conditions, codes = cells.choices(ids)
    return [
        {names[i]: values[i][code] for i, code in zip(*row, strict=True)}
        for row in zip(conditions.tolist(), codes.tolist(), strict=True)
    ]
