"""What a comparison of systems finds, in a thousand decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from farm.comparing.systems.designs import SystemDesign
from farm.measures import Bounded, Measure


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

    def pair(self, measure: str, one: str, other: str) -> SystemPair:
        """Return what is known of two systems, in whichever order."""
        return next(
            each
            for each in self.pairs
            if each.measure == measure and {each.first, each.second} == {one, other}
        )
