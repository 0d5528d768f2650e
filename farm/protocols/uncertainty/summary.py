"""What results say together: which variant is better, and whether its rank is the same in each repetition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from farm.config.specs import NO_FAULT
from farm.measures import Measure
from farm.protocols.uncertainty.asked import OWN
from farm.protocols.uncertainty.compared import Contrast, Kind, Place
from farm.protocols.uncertainty.measured import BOXES, CLASSES, HIGHER_IS_BETTER, Task
from farm.protocols.uncertainty.results import ALPHA, Results
from farm.statistics.concordance import Concordance, concordance
from farm.statistics.corrections import holm

COMPARED: tuple[tuple[Task, str], ...] = ((CLASSES, "accuracy"), (BOXES, "mae"), (BOXES, "iou"))
"""What variants are compared by."""
Where: TypeAlias = Literal["test data", "all shifts"]
WHERE: tuple[Where, ...] = ("test data", "all shifts")


@dataclass(frozen=True)
class NetworkComparison:
    """Two networks on the same images."""

    task: Task
    measure: str
    where: Where
    first: Kind
    second: Kind
    contrast: Contrast
    p: Measure
    """By Holm's correction, for all comparisons by one measure."""

    @property
    def better(self) -> Kind | None:
        """Which is better; None where that is not shown."""
        if not shown(self.contrast, self.p):
            return None
        higher = self.contrast.difference.value.value > 0
        return self.first if higher == HIGHER_IS_BETTER[self.task, self.measure] else self.second


def shown(contrast: Contrast, p: Measure) -> bool:
    """Whether a difference shows: over images, and in each repetition to the same side."""
    signs = {value > 0 for value in contrast.by_seed}
    return p.defined and p.value < ALPHA and len(signs) == 1 and 0.0 not in contrast.by_seed


def groups(results: Results) -> dict[str, list[Kind]]:
    """Return what is compared with each other: the variants of a backbone, and classifiers of one's own."""
    kinds = results.streams.kinds
    own = [kind for kind in kinds if kind[1] == OWN]
    found = {
        name: [*(kind for kind in kinds if kind[0] == name and kind[1] != OWN), *own]
        for name in results.spec.backbone_names
    }
    return {name: group for name, group in (found or {OWN: own}).items() if len(group) > 1}


def places(results: Results, kind: Kind, task: Task, where: Where) -> list[Place]:
    """Return where a kind of network is compared: on the test data, or on all shifts, each as much."""
    shifts = [NO_FAULT] if where == WHERE[0] else results.shifts_of(task)
    return [Place(kind, shift) for shift in shifts]


def comparisons(results: Results, task: Task, measure: str) -> list[NetworkComparison]:
    """Compare each two networks that can be compared by a measure."""
    draws, found = results.draws(task, measure), []
    for group in groups(results).values():
        for first, second in combinations(group, 2):
            for where in WHERE:
                one, other = (places(results, kind, task, where) for kind in (first, second))
                contrast = draws.contrast(one, other)
                numbers = contrast, contrast.difference.p
                found.append(NetworkComparison(task, measure, where, first, second, *numbers))
    adjusted = corrected([one.p for one in found])
    return [replace(one, p=p) for one, p in zip(found, adjusted, strict=True)]


def corrected(ps: Sequence[Measure]) -> list[Measure]:
    """Correct p-values, those that there are, for being asked for together."""
    adjusted = iter(holm([p.value for p in ps if p.defined]))
    return [Measure(next(adjusted)) if p.defined else p for p in ps]


@dataclass(frozen=True)
class Ranking:
    """How the variants of a backbone rank, and whether repetitions agree on it."""

    backbone: str
    task: Task
    measure: str
    where: Where
    order: tuple[Kind, ...]
    """By their means, the best first."""
    agreement: Concordance | str
    """Why that cannot be told, where it is text."""

    p: Measure | None = None
    """By Holm's correction, for all rankings."""

    @property
    def stable(self) -> bool:
        """Whether repetitions are shown to agree more than rankings by chance would."""
        return self.p is not None and self.p.defined and self.p.value < ALPHA


def rankings(results: Results) -> list[Ranking]:
    """Rank the variants of each backbone by each measure that they are compared by."""
    found = [
        _ranking(results, name, group, task, measure, where)
        for name, group in groups(results).items()
        for task, measure in COMPARED
        for where in WHERE
    ]
    known = [one.agreement.p for one in found if isinstance(one.agreement, Concordance)]
    adjusted = iter(corrected(known))
    return [
        replace(one, p=next(adjusted)) if isinstance(one.agreement, Concordance) else one for one in found
    ]


def _ranking(
    results: Results, name: str, group: Sequence[Kind], task: Task, measure: str, where: Where
) -> Ranking:
    draws, sign = results.draws(task, measure), -1.0 if HIGHER_IS_BETTER[task, measure] else 1.0
    by_seed = {}
    for kind in group:
        own = [draws.at(place) for place in places(results, kind, task, where)]
        values = [one.by_seed for one in own if one is not None and one.point.defined]
        if values and len(values) == len(own):
            by_seed[kind] = sign * np.mean(values, axis=0)
    order = tuple(sorted(by_seed, key=lambda kind: float(by_seed[kind].mean())))
    if len(by_seed) < len(group):
        agreement: Concordance | str = "not all results are there"
    elif len(results.streams.seeds) < 2:
        agreement = "one repetition cannot tell whether another would rank them alike"
    else:
        agreement = concordance(np.column_stack([by_seed[kind] for kind in group]))
    return Ranking(name, task, measure, where, order, agreement)
