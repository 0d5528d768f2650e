"""Comparing whole systems: what goes wrong with each, what it costs, and who cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from farm.api.arrays import FloatArray
from farm.comparing.sameness import changed_monitors, names, unranked
from farm.comparing.sets import NO_FAULT, judged_runs
from farm.comparing.systems.designs import (
    ACTED,
    COST,
    FALLBACK,
    HAZARD,
    MEASURES,
    NONE,
    Design,
    Found,
    classes_of,
    designs,
    made_of,
)
from farm.comparing.systems.drawn import Part, Quantity, Redrawn, Wanted, redrawn, track_numbers
from farm.comparing.systems.weighing import Strata
from farm.errors import DataError, ExperimentError, suggestion
from farm.judging import JudgedRun, VerdictTable
from farm.measures import Bounded, Measure, undefined
from farm.measures.cost import Costs
from farm.measures.oracle import ORACLE
from farm.statistics.corrections import holm
from farm.statistics.resolution import REPLICATES, check_replicates
from farm.statistics.wording import listed, verb
from farm.store.readouts import Readouts

PURPOSE = "to compare systems it has to be known for all"
THOUSAND = 1000.0
MIXED = "all instances"
DRAWS_A_PAIR = 200
"""So many draws there are at least for each pair of systems, that one alone can be told apart."""


@dataclass(frozen=True)
class System:
    """What a system is worth, in a thousand decisions."""

    design: Design
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


def compare_systems(
    runs: Sequence[Readouts],
    *,
    costs: Costs | None = None,
    prevalence: float | None = None,
    only: Sequence[str] = (),
    alpha: float = 0.05,
    replicates: int | None = None,
    seed: int = 0,
) -> SystemComparison:
    """Compare classifiers with their monitors, policies and fallbacks, and each classifier alone.

    Parameters
    ----------
    runs
        Their readouts. Runs, faults and workloads weigh alike.
    costs
        The user's prices; without them nothing is said of costs.
    prevalence
        The share of instances under a fault to mix to, from 0 to 1; None: as many as in the streams.
    only
        The monitors whose systems are compared; all that are ranked and know something where none is named.
    alpha
        The chance of telling any two systems apart that are alike; intervals hold with 1 - alpha.
    replicates, seed
        Of the draws. Without `replicates` as many as the number of systems asks for.

    Examples
    --------
    >>> import numpy as np
    >>> from farm.testing import make_readouts
    >>> wrong = np.arange(400) % 5 == 0
    >>> run = make_readouts({"oob": wrong & (np.arange(400) % 20 > 0)}, wrong=wrong)
    >>> found = compare_systems([run], costs=Costs(wrong=10, cancelled_right=1))
    >>> for one in found.systems:
    ...     print(one.design.name, one.hazard.value.value, one.acted.value.value, one.cost.value.value)
    oob 50.0 850.0 500.0
    the classifier alone 200.0 1000.0 2000.0
    """
    for option, value in (("--prevalence", prevalence), ("--alpha", alpha)):
        if value is not None and not (0 <= value <= 1 if option == "--prevalence" else 0 < value < 1):
            between = "from 0 to 1" if option == "--prevalence" else "between 0 and 1"
            raise ExperimentError(f"{option} is {value:g}; expected a number {between}")
    check_replicates(replicates)
    judged = judged_runs(runs, PURPOSE)
    workloads = names(judged, "workload")
    found = designs(judged, only)
    _check_names(judged, only, unranked(runs))
    strata = Strata.of(judged, workloads)
    _check_sides(strata, prevalence)
    asked = _Asked(list(found.runs), strata, found, prevalence, costs is not None)
    if not asked.levels:
        gap = next(iter(asked.gaps.values()))
        raise DataError(f"no system was run on all faults and workloads ({gap}); expected runs of the same")
    replicates = replicates or max(REPLICATES, DRAWS_A_PAIR * len(asked.pairs))
    dearest = 0.0 if costs is None else max(costs.dearest(classes_of(run)) for run in judged) or 1.0
    parts = list(_parts(judged, workloads, strata, asked, costs, dearest))
    drawn = redrawn(
        parts,
        [*asked.levels.values(), *asked.pairs.values()],
        dict.fromkeys(MEASURES, THOUSAND) | {COST: THOUSAND * dearest},
        replicates=replicates,
        seed=seed,
    )
    by = HAZARD if costs is None else COST
    systems = asked.systems(drawn, 1 - alpha)
    return SystemComparison(
        by=by,
        alpha=alpha,
        prevalence=prevalence,
        share=strata.share,
        faults=strata.faults,
        systems=tuple(sorted(systems, key=lambda one: _order(one.value(by).value))),
        pairs=tuple(asked.differences(drawn, 1 - alpha)),
        n=sum(len(run.table) for run in judged),
        n_tracks=len(np.unique(np.concatenate([part.track for part in parts]))),
        replicates=replicates,
        aside=found.aside,
        approximate=tuple(_approximate(judged, systems, prevalence)),
        warnings=tuple(_warnings(runs, strata, systems, prevalence)),
    )


class _Asked:
    """What is asked of the draws: the values of each system, and the differences between each two."""

    def __init__(
        self, known: Sequence[Design], strata: Strata, found: Found, prevalence: float | None, priced: bool
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

    def systems(self, drawn: Redrawn, level: float) -> list[System]:
        """Read the systems' values off the draws; the intervals of a measure hold for all systems together.

        Whichever comes first was chosen by what was seen: by itself its interval would hold less often.
        """
        together = 1 - (1 - level) / (len(self.known) - len(self.gaps))
        found = {
            key: drawn.bounds(place, together if key[1] == MIXED else level)
            for place, key in enumerate(self.levels)
        }
        return [self._system(number, one, found) for number, one in enumerate(self.known)]

    def _system(self, number: int, one: Design, found: Mapping[tuple[int, str, str], Bounded]) -> System:
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

    def differences(self, drawn: Redrawn, level: float) -> Iterator[SystemPair]:
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


def _parts(
    runs: Sequence[JudgedRun],
    workloads: Sequence[str],
    strata: Strata,
    asked: _Asked,
    costs: Costs | None,
    dearest: float,
) -> Iterator[Part]:
    """Return the strata with what the systems that have a value made of their instances."""
    tracks = track_numbers(
        [(workload, run.table.track) for run, workload in zip(runs, workloads, strict=True)]
    )
    made: list[dict[Quantity, FloatArray]] = [{} for _ in runs]
    for number, one in enumerate(asked.known):
        for place in () if one in asked.gaps else asked.runs[one]:
            found = made_of(one, runs[place], costs)
            made[place] |= {
                (number, name): values / dearest if name == COST else values for name, values in found.items()
            }
    for each in strata.each:
        values = {what: own[each.rows] for what, own in made[each.run].items()}
        yield Part(each.fault, tracks[each.run][each.rows], values)


def _order(value: Measure) -> tuple[bool, float]:
    return not value.defined, value.value if value.defined else 0.0


def _check_names(runs: Sequence[JudgedRun], only: Sequence[str], aside: Sequence[str]) -> None:
    there = list(dict.fromkeys(noted.name for run in runs for noted in run.monitors if noted.name != ORACLE))
    for name in only:
        if name not in there:
            raise ExperimentError(f"--monitor '{name}' is in none of the runs; {suggestion(name, there)}")
        if name in aside:
            raise ExperimentError(
                f"--monitor '{name}' is not ranked by its own run, so that it cannot be here"
            )


def _check_sides(strata: Strata, prevalence: float | None) -> None:
    if prevalence is None:
        return
    if prevalence and not strata.faults:
        raise DataError(f"--prevalence is {prevalence:g}, and none of the runs has instances under a fault")
    if prevalence < 1 and all(one.fault != NO_FAULT for one in strata.each):
        raise DataError(
            f"--prevalence is {prevalence:g}, and none of the runs has instances without a fault; expected 1"
        )


def _approximate(
    runs: Sequence[JudgedRun], systems: Sequence[System], prevalence: float | None
) -> Iterator[str]:
    """Name the systems that remember what came before, where instances without a fault come after others."""
    if prevalence is not None and any(_back_from_faults(run.table) for run in runs):
        yield from (one.design.name for one in systems if one.design.remembers and one.hazard.value.defined)


def _warnings(
    runs: Sequence[Readouts],
    strata: Strata,
    systems: Sequence[System],
    prevalence: float | None,
) -> Iterator[str]:
    """Say what makes values something else than they look like."""
    shares = [strata.share_of(run) for run in strata.runs]
    if prevalence is None and max(shares) - min(shares) >= 0.01:
        yield (
            f"the share of instances under a fault differs from run to run ({100 * min(shares):.0f} % to "
            f"{100 * max(shares):.0f} %): --prevalence mixes all to one"
        )
    yield from changed_monitors(runs, but=("policy", "fallback"))
    if aside := unranked(runs):
        yield f"{listed(aside)} {verb(aside, 'is', 'are')} not ranked by the run itself and left out"
    for one in systems:
        if not one.hazard.value.defined:
            yield f"{one.design.name}: {one.hazard.value.reason}"


def _back_from_faults(table: VerdictTable) -> bool:
    """Whether an instance without a fault comes after one under a fault."""
    is_ood = table.is_ood[np.argsort(table.position, kind="stable")]
    return bool((np.logical_or.accumulate(is_ood) & ~is_ood).any())
