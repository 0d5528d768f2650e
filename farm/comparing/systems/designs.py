"""Which systems some runs have, and what each of them made of every instance.

A system is a classifier with a monitor, its policy and its fallback, and so is a classifier alone. Monitors
of one name whose policies or fallbacks differ from run to run are several systems.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from farm.api.arrays import FloatArray
from farm.comparing.sameness import names
from farm.judging import JudgedRun, Judgement
from farm.judging.notes import class_names
from farm.judging.verdicts import Verdicts
from farm.measures.cost import Costs, instance_costs
from farm.measures.oracle import ORACLE
from farm.measures.tally import system_outcome

HAZARD, ACTED, FALLBACK, COST = MEASURES = ("hazard", "acted", "fallback", "cost")
"""A wrong decision that was acted upon, any decision that was, one of a fallback that was; what it costs."""
ALONE = "the classifier alone"
CANCEL, NONE, LAST = "cancel", "none", "last"
"""The policy that remembers nothing, no fallback, and the fallback that remembers."""


@dataclass(frozen=True)
class SystemDesign:
    """What a system is made of."""

    name: str
    classifier: str
    monitor: str | None = None
    """None: every decision of the classifier is acted upon."""
    policy: str | None = None
    fallback: str | None = None
    """These as runs note them; None where they do not tell."""

    @property
    def alone(self) -> bool:
        """Whether it is a classifier without a monitor."""
        return self.monitor is None

    @property
    def remembers(self) -> bool:
        """Whether a decision may depend on instances before; a policy that is not known is taken to."""
        return self.policy not in (None, CANCEL) or self.fallback == LAST


@dataclass(frozen=True)
class KnownSystems:
    """The systems of some runs, each with the numbers of the runs that it is in."""

    runs: Mapping[SystemDesign, tuple[int, ...]]
    failures: Mapping[SystemDesign, str]
    """Why systems failed, in whichever run."""
    aside: tuple[str, ...]
    """The monitors that know nothing, which nobody asked for."""


def designs(runs: Sequence[JudgedRun], only: Sequence[str]) -> KnownSystems:
    """Find the systems of some runs, or those of some monitors; a classifier alone is always one."""
    classifiers = names(runs, "classifier")
    where: dict[SystemDesign, list[int]] = {}
    failures: dict[SystemDesign, str] = {}
    aside: dict[str, None] = {}
    for number, (run, classifier) in enumerate(zip(runs, classifiers, strict=True)):
        where.setdefault(SystemDesign(ALONE, classifier), []).append(number)
        for noted in run.monitors:
            if noted.name == ORACLE or (only and noted.name not in only) or not noted.ranked:
                continue
            if noted.yardstick and not only:
                aside[noted.name] = None
                continue
            said = run.table.said.get(noted.name)
            # Where no decisions are kept, nothing took a cancelled one's place.
            fallback = noted.fallback or (NONE if said is not None and said.decision is None else None)
            made = SystemDesign(noted.name, classifier, noted.name, noted.policy, fallback)
            where.setdefault(made, []).append(number)
            if noted.failure is not None:
                failures.setdefault(made, noted.failure)
    named = dict(zip(where, _named(list(where)), strict=True))
    return KnownSystems(
        {named[one]: tuple(numbers) for one, numbers in where.items()},
        {named[one]: why for one, why in failures.items()},
        tuple(aside),
    )


def _named(found: Sequence[SystemDesign]) -> Iterator[SystemDesign]:
    """Add to names that several systems have what tells these apart."""
    for one in found:
        alike = [other for other in found if other.name == one.name]
        differing = [
            one.classifier if what == "classifier" else f"{what} {getattr(one, what) or 'not told'}"
            for what in ("classifier", "policy", "fallback")
            if len({getattr(other, what) for other in alike}) > 1
        ]
        yield replace(one, name=f"{one.name} ({', '.join(differing)})") if differing else one


def made_of(design: SystemDesign, run: JudgedRun, costs: Costs | None) -> dict[str, FloatArray]:
    """Return what a system made of each instance, measure by measure; without prices there is no cost."""
    table = run.table
    nothing = np.zeros(len(table), dtype=np.bool_)
    if design.monitor is None:
        said = Judgement.of(Verdicts(design.name, nothing, nothing), table)
    else:
        said = table.said[design.monitor]
    found = {
        HAZARD: said.decided & ~said.right,
        ACTED: said.decided,
        FALLBACK: said.cancelled & said.decided,
    }
    values = {name: each.astype(np.float64) for name, each in found.items()}
    if costs is not None:
        decision = said.decision
        if decision is None:
            decision = system_outcome(table.predicted, said.cancelled)
        numbers = (table.number(each) for each in (table.label, table.predicted, decision))
        values[COST] = instance_costs(costs, classes_of(run), *numbers)
    return values


def classes_of(run: JudgedRun) -> list[str]:
    """Return what a run's classes are called, by their numbers."""
    return class_names(run.run, int(run.table.classes.max()))
