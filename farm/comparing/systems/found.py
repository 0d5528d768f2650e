"""What a comparison of systems finds, in a thousand decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from farm.comparing.systems.designs import MEASURES, SystemDesign
from farm.measures import Bounded, Measure

MIXED = "all instances"
"""What stands in a fault's place where all instances count."""


@dataclass(frozen=True)
class System:
    """What a system is worth, in a thousand decisions."""

    design: SystemDesign
    hazard: Bounded
    """Wrong decisions that were acted upon."""
    acted: Bounded
    """Decisions that were acted upon: how available it is."""
    fallback: Bounded
    """Those of them that a fallback took."""
    cost: Bounded | None
    """None where there are no prices."""
    by_fault: Mapping[str, Mapping[str, Bounded]]
    """Hazard, and cost, on the instances of each fault alone, and on those of none."""

    def value(self, measure: str) -> Bounded:
        """Return a measure by its name."""
        found: Bounded = getattr(self, measure)
        return found

    @property
    def everywhere(self) -> Iterator[tuple[str, str, Bounded]]:
        """Return all values with the instances and the measure that they are of."""
        mixed = {name: self.value(name) for name in MEASURES if getattr(self, name) is not None}
        for instances, values in {MIXED: mixed, **self.by_fault}.items():
            yield from ((instances, name, value) for name, value in values.items())


@dataclass(frozen=True)
class SystemPair:
    """By how much one system exceeds another, in a thousand decisions."""

    measure: str
    first: str
    second: str
    difference: Bounded
    p: Measure
    """Of no difference, corrected for all pairs (Holm)."""


@dataclass(frozen=True)
class SystemComparison:
    """All systems of some runs compared."""

    by: str
    """What they are ordered by: `cost` where there are prices, else `hazard`."""
    alpha: float
    prevalence: float | None
    """As asked for; None: as in the streams."""
    share: float
    """The share of the streams' instances that are under a fault."""
    faults: tuple[str, ...]
    systems: tuple[System, ...]
    """The least first; those without a value last."""
    pairs: tuple[SystemPair, ...]
    n: int
    n_tracks: int
    replicates: int
    aside: tuple[str, ...]
    """Monitors that are left out since they know nothing; naming them brings them in."""
    approximate: tuple[str, ...]
    """Systems whose values at the asked prevalence are an approximation, since they remember other faults."""
    warnings: tuple[str, ...]

    @property
    def values_frame(self) -> pd.DataFrame:
        """A row a system, instances and measure, for pandas."""
        columns = ("classifier", "monitor", "policy", "fallback")
        return pd.DataFrame(
            {"system": one.design.name}
            | {name: getattr(one.design, name) for name in columns}
            | {"instances": instances, "measure": measure, **_ends(value)}
            for one in self.systems
            for instances, measure, value in one.everywhere
        )

    @property
    def pairs_frame(self) -> pd.DataFrame:
        """A row a pair of systems and measure: the difference, its interval, and p by Holm."""
        return pd.DataFrame(
            {"measure": one.measure, "first": one.first, "second": one.second}
            | {**_ends(one.difference), "p_holm": one.p.value}
            for one in self.pairs
        )

    def pair(self, measure: str, one: str, other: str) -> SystemPair:
        """Return what is known of two systems, in whichever order."""
        return next(
            each
            for each in self.pairs
            if each.measure == measure and {each.first, each.second} == {one, other}
        )


def _ends(value: Bounded) -> dict[str, float]:
    return {name: getattr(value, name).value for name in ("value", "low", "high")}
