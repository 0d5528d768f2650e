"""Comparing whole systems: what goes wrong with each, what it costs, and who cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from farm.api.arrays import FloatArray
from farm.comparing.sameness import changed_monitors, names, unranked
from farm.comparing.sets import NO_FAULT, judged_runs
from farm.comparing.systems.designs import COST, HAZARD, MEASURES, classes_of, designs, made_of
from farm.comparing.systems.drawn import Quantity, StratumValues, redrawn, track_numbers
from farm.comparing.systems.found import System, SystemComparison
from farm.comparing.systems.questions import Questions
from farm.comparing.systems.weighing import Strata
from farm.errors import DataError, ExperimentError, suggestion
from farm.judging import JudgedRun, VerdictTable
from farm.measures import Measure
from farm.measures.cost import Costs
from farm.measures.oracle import ORACLE
from farm.statistics.resolution import REPLICATES, check_replicates
from farm.statistics.wording import listed, verb
from farm.store.readouts import Readouts

PURPOSE = "to compare systems it has to be known for all"
THOUSAND = 1000.0
BEYOND = 5
"""So many draws lie beyond the ends of the interval by which the first of all pairs is told apart."""


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
    asked = Questions(list(found.runs), strata, found, prevalence, costs is not None)
    if not asked.levels:
        gap = next(iter(asked.gaps.values()))
        raise DataError(f"no system was run on all faults and workloads ({gap}); expected runs of the same")
    replicates = replicates or max(REPLICATES, math.ceil(2 * BEYOND * asked.most_pairs / alpha))
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


def _parts(
    runs: Sequence[JudgedRun],
    workloads: Sequence[str],
    strata: Strata,
    asked: Questions,
    costs: Costs | None,
    dearest: float,
) -> Iterator[StratumValues]:
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
        yield StratumValues(each.fault, tracks[each.run][each.rows], values)


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
