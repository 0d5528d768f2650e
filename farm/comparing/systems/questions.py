"""What is asked of the draws of systems, and the answers read off them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from farm.comparing.sets import NO_FAULT
from farm.comparing.systems.designs import (
    ACTED,
    COST,
    FALLBACK,
    HAZARD,
    MEASURES,
    NONE,
    KnownSystems,
    SystemDesign,
)
from farm.comparing.systems.drawn import SystemDraws, Wanted
from farm.comparing.systems.found import MIXED, System, SystemPair
from farm.comparing.systems.weighing import Strata
from farm.measures import Bounded, Measure, undefined
from farm.statistics.corrections import holm


class Questions:
    """What is asked of the draws: the values of each system, and the differences between each two."""

    def __init__(
        self,
        known: Sequence[SystemDesign],
        strata: Strata,
        found: KnownSystems,
        prevalence: float | None,
        priced: bool,
    ) -> None:
        self.known, self._strata, self.runs = known, strata, found.runs
        self.gaps = {one: f"failed ({why})" for one, why in found.failures.items()}
        """Why a system has no value."""
        self.measures = [name for name in MEASURES if name != COST or priced]
        self.compared = [name for name in (HAZARD, COST) if name in self.measures]
        self.levels: dict[tuple[int, str, str], Wanted] = {}
        """By a system's number, a fault (or `MIXED`) and a measure."""
        for number, one in enumerate(known):
            mixed = strata.weights(found.runs[one], prevalence)
            if one in self.gaps or isinstance(mixed, str):
                self.gaps.setdefault(one, str(mixed))
                continue
            for name in self.measures:
                self.levels[number, MIXED, name] = (((number, name), mixed, 1),)
            for fault in (NO_FAULT, *strata.faults):
                weights = strata.of_fault(fault, found.runs[one])
                if weights and not isinstance(weights, str):
                    for name in self.compared:
                        self.levels[number, fault, name] = (((number, name), weights, 1),)
        valued = [number for number, one in enumerate(known) if one not in self.gaps]
        self.pairs: dict[tuple[str, int, int], Wanted] = {}
        for first, second in combinations(valued, 2):
            for name in self.compared:
                (more,), (less,) = self.levels[first, MIXED, name], self.levels[second, MIXED, name]
                self.pairs[name, first, second] = (more, (*less[:2], -1))

    @property
    def most_pairs(self) -> int:
        """How many pairs p is corrected for."""
        return len(self.pairs) // len(self.compared)

    def systems(self, drawn: SystemDraws, level: float) -> list[System]:
        """Read the systems' values off the draws; the intervals of a measure hold for all systems together.

        Whichever comes first was chosen by what was seen: by itself its interval would hold less often.
        """
        together = 1 - (1 - level) / (len(self.known) - len(self.gaps))
        found = {
            key: drawn.bounds(place, together if key[1] == MIXED else level)
            for place, key in enumerate(self.levels)
        }
        return [self._system(number, one, found) for number, one in enumerate(self.known)]

    def _system(
        self, number: int, one: SystemDesign, found: Mapping[tuple[int, str, str], Bounded]
    ) -> System:
        gap = Bounded.nowhere(undefined(self.gaps[one])) if one in self.gaps else None
        mixed = {name: gap or found[number, MIXED, name] for name in self.measures}
        if gap is None:
            certain = {ACTED: one.alone, FALLBACK: one.alone or one.fallback == NONE}
            mixed |= {name: Bounded(*[mixed[name].value] * 3) for name, is_so in certain.items() if is_so}
        return System(
            design=one,
            hazard=mixed[HAZARD],
            acted=mixed[ACTED],
            fallback=mixed[FALLBACK],
            cost=mixed.get(COST),
            by_fault={
                fault: {name: found[number, fault, name] for name in self.compared}
                for fault in (NO_FAULT, *self._strata.faults)
                if (number, fault, HAZARD) in found
            },
        )

    def differences(self, drawn: SystemDraws, level: float) -> Iterator[SystemPair]:
        """Read the pairs off the draws; each measure's p are corrected for all pairs."""
        for name in self.compared:
            own = {
                key: place for place, key in enumerate(self.pairs, start=len(self.levels)) if key[0] == name
            }
            p = {key: drawn.p(place) for key, place in own.items()}
            known = [key for key in own if p[key].defined]
            p |= dict(zip(known, map(Measure, holm([p[key].value for key in known])), strict=True))
            for key, place in own.items():
                first, second = (self.known[number].name for number in key[1:])
                yield SystemPair(name, first, second, drawn.bounds(place, level), p[key])
