"""Which scenarios the data have, which they lack, and what to record next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from farm.api import IntArray
from farm.errors import DataError
from farm.measures.measure import Bounded, undefined
from farm.measures.scenario_plan import Proposal, plan
from farm.measures.scenario_search import Search
from farm.measures.scenarios import Cells, Choice, Coverage, Domain, Restriction, coverage
from farm.protocols.dependability.rows import Lacking, MetricRow, read_off
from farm.protocols.dependability.streams import MISSING, ScenarioCodes, Streams
from farm.statistics.wording import counted
from farm.store.readouts import Readouts

METRIC = "scenario_coverage"


@dataclass(frozen=True, eq=False)
class ScenarioCoverage:
    """How much of the possible combinations the data cover, by the data and by k."""

    of: ScenarioCodes
    found: Mapping[tuple[str, int], Coverage]
    sizes: Mapping[str, tuple[int, int]]
    """Of each of the data, how many images have a scenario, and how many lack a condition."""
    ks: tuple[int, ...]
    search: Search
    ask: tuple[int, float]
    """How many scenarios to plan, and how many seconds each may take."""

    @classmethod
    def of_streams(cls, streams: Streams) -> ScenarioCoverage | Lacking:
        """Count what each of the data of an evaluation covers."""
        scenarios, asked = streams.scenarios, streams.spec.scenarios
        if isinstance(scenarios, str):
            return Lacking((METRIC,), scenarios)
        return cls.of_data(scenarios, streams.data, asked.k, (asked.next, asked.seconds))

    @classmethod
    def of_data(
        cls, scenarios: ScenarioCodes, data: Mapping[str, Readouts], ks: Sequence[int], ask: tuple[int, float]
    ) -> ScenarioCoverage:
        """Count what some data, by their names, cover."""
        domain, search = scenarios.domain, Search(scenarios.domain)
        found: dict[tuple[str, int], Coverage] = {}
        sizes: dict[str, tuple[int, int]] = {}
        for name, readouts in data.items():
            every = scenarios.codes(readouts)
            known = (every != MISSING).all(axis=1)
            codes = every[known]
            sizes[name] = len(codes), int((~known).sum())
            ids = readouts.instances["id"].to_numpy()[known]
            _check_allowed(domain, codes, ids, f"the {name} data", scenarios.source)
            for k in ks if len(codes) else ():
                if k <= len(domain.names):
                    cells = Cells(domain.sizes, k)
                    found[name, k] = coverage(domain, codes, cells, search.possible(cells))
        return cls(scenarios, found, sizes, tuple(ks), search, ask)

    def rows(self, level: float) -> list[MetricRow]:  # noqa: ARG002 - nothing is inferred
        """Return the share of each of the data and each k."""
        rows = []
        for data, (n, _) in self.sizes.items():
            for k in self.ks:
                made = self.found.get((data, k))
                if made is not None:
                    value = read_off(made.share)
                else:
                    has = counted(len(self.of.domain.names), "condition")
                    why = f"k is {k}, and the domain has {has}" if n else "no image has all conditions"
                    value = Bounded.nowhere(undefined(why))
                rows.append(MetricRow(METRIC, f"{data} k={k}", value, n, about=f"the {data} data"))
        return rows

    def share(self, data: str, k: int) -> float:
        """Return the coverage of some data; 0 where no image has all conditions."""
        found = self.found.get((data, k))
        return 0.0 if found is None else found.share

    @cached_property
    def proposals(self) -> Mapping[tuple[str, int], list[Proposal]]:
        """What to record next, of each of the data and each k."""
        n, seconds = self.ask
        return {of: list(plan(made, self.search, n, seconds)) for of, made in self.found.items()}

    def scenario_with(self, data: str, cell: Mapping[str, str]) -> Proposal | None:
        """Return the scenario that has a cell and is the first to have most beside it, at the greatest k.

        None where all that a scenario with that cell has was recorded.
        """
        of = [k for name, k in self.found if name == data]
        if not of:
            return None
        covered, domain = self.found[data, max(of)], self.of.domain
        narrowed = Domain(domain.conditions, (*domain.restrictions, *_choosing(domain, cell)))
        search = Search(narrowed)
        possible = search.possible(covered.cells)
        there = Coverage(narrowed, covered.cells, possible, covered.first, covered.scenarios)
        return next(iter(plan(there, search, 1, self.ask[1])), None)


def _choosing(domain: Domain, cell: Mapping[str, str]) -> list[Restriction]:
    choices = [
        Choice(domain.names.index(name), list(domain.conditions[name]).index(value))
        for name, value in cell.items()
    ]
    return [Restriction((choice,), low=1) for choice in choices]


def _check_allowed(domain: Domain, codes: IntArray, ids: np.ndarray, what: str, source: str) -> None:
    """Raise where images break a restriction: then either the domain or what is told of them is wrong."""
    broken = domain.broken(codes)
    if not broken.any():
        return
    row = int(np.argmax(broken.any(axis=0)))
    number = int(np.argmax(broken[:, row])) + 1
    told = ", ".join(f"{name}={value}" for name, value in domain.written(codes[row]).items())
    raise DataError(
        f"{what}: {int(broken.any(axis=0).sum()):,} images break restrictions of {source}, such as "
        f"'{ids[row]}' ({told}), which breaks restriction {number}; expected none"
    )
