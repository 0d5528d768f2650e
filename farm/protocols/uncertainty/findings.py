"""Which of the source's findings hold here: by rules, on differences between networks on the same images.

A finding holds where all differences that it is about show to its side, and does not where one shows to the
other; else it cannot be told. A difference shows where its p, corrected for all differences of all findings,
is below 0.05, and where it has the same side in each repetition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from farm.config.specs import NO_FAULT
from farm.measures import Measure
from farm.protocols.uncertainty.asked import (
    AFTER_BACKBONE,
    DROPOUT,
    ENSEMBLE,
    EVERYWHERE,
    HEAD,
    LAST_LAYER,
    OWN,
    VANILLA,
)
from farm.protocols.uncertainty.compared import Contrast, Place
from farm.protocols.uncertainty.measured import BOXES, CLASSES, Task
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.summary import corrected, shown

Verdict: TypeAlias = Literal["holds", "does not hold", "cannot be told"]
HOLDS: Verdict = "holds"
DOES_NOT: Verdict = "does not hold"
UNKNOWN: Verdict = "cannot be told"


@dataclass(frozen=True)
class ExpectedDifference:
    """A difference of which a finding says that it is above 0."""

    said: str
    """The two sides, in words: `one less other`."""
    contrast: Contrast
    p: Measure
    """Corrected for all differences of all findings."""

    @property
    def side(self) -> int:
        """1 where it shows to be above 0, -1 where below, 0 where neither."""
        if not shown(self.contrast, self.p):
            return 0
        return 1 if self.contrast.difference.value.value > 0 else -1


@dataclass(frozen=True)
class SourceFinding:
    """What the source found, and whether it holds here."""

    claim: str
    rule: str
    verdict: Verdict
    why: str = ""
    """Why it cannot be told, where nothing was compared."""
    differences: tuple[ExpectedDifference, ...] = ()


@dataclass(frozen=True)
class _Side:
    """What is compared for a finding: the mean at some places less that at others."""

    said: str
    task: Task
    measure: str
    one: Sequence[Place]
    other: Sequence[Place]


@dataclass(frozen=True)
class _Asked:
    """A finding before it is looked at."""

    claim: str
    rule: str
    sides: Sequence[_Side] = ()
    any_of: bool = False
    """Whether one of the differences is enough, where the first one shows."""
    why: str = field(default="")


def findings(results: Results) -> list[SourceFinding]:
    """Look at each of the source's findings."""
    asked = list(_asked(results))
    contrasts = [
        results.draws(side.task, side.measure).contrast(side.one, side.other)
        for one in asked
        for side in one.sides
    ]
    adjusted = corrected([contrast.difference.p for contrast in contrasts])
    told = iter(zip(contrasts, adjusted, strict=True))
    found = []
    for one in asked:
        differences = tuple(ExpectedDifference(side.said, *next(told)) for side in one.sides)
        verdict, why = (UNKNOWN, one.why) if one.why else _verdict(one, differences)
        found.append(SourceFinding(one.claim, one.rule, verdict, why, differences))
    return found


def _verdict(asked: _Asked, differences: Sequence[ExpectedDifference]) -> tuple[Verdict, str]:
    sides = [one.side for one in differences]
    if asked.any_of:
        if sides[0] <= 0:
            return UNKNOWN, "the ensemble is not shown to be ahead of vanilla"
        return (HOLDS if 1 in sides[1:] else DOES_NOT if set(sides[1:]) == {-1} else UNKNOWN), ""
    return (HOLDS if set(sides) == {1} else DOES_NOT if -1 in sides else UNKNOWN), ""


def _asked(results: Results) -> Iterator[_Asked]:
    networks = _Networks(results)
    yield networks.weather(
        "Heavy rain hurts classes more than heavy fog does", CLASSES, "accuracy", "fog", "rain"
    )
    yield networks.weather("Heavy fog hurts boxes more than heavy rain does", BOXES, "iou", "rain", "fog")
    yield networks.against(
        "Dropout after the backbone is best for classes, of the three that run the backbone once",
        (CLASSES, "accuracy"),
        AFTER_BACKBONE,
        [LAST_LAYER, HEAD],
    )
    others = [LAST_LAYER, HEAD, EVERYWHERE]
    yield networks.against(
        "Dropout after the backbone has the worst calibration error of boxes, of all with dropout",
        (BOXES, "ece"),
        AFTER_BACKBONE,
        others,
        with_id=True,
    )
    yield networks.against(
        "Dropout before the last layer has the best calibration error of boxes, of all with dropout",
        (BOXES, "ece"),
        LAST_LAYER,
        [AFTER_BACKBONE, HEAD, EVERYWHERE],
        lower=True,
    )
    yield networks.against(
        "The ensemble is more often right than the single network", (CLASSES, "accuracy"), ENSEMBLE, [VANILLA]
    )
    yield networks.against(
        "The ensemble places boxes better than dropout everywhere", (BOXES, "iou"), ENSEMBLE, [EVERYWHERE]
    )
    yield networks.against(
        "Dropout everywhere has a better calibration error of boxes than the ensemble",
        (BOXES, "ece"),
        EVERYWHERE,
        [ENSEMBLE],
        lower=True,
    )
    yield networks.approaches(
        "Some placement of dropout approaches the ensemble in classes", CLASSES, "brier"
    )
    yield networks.approaches("Some placement of dropout approaches the ensemble in boxes", BOXES, "iou")


WORDS = {
    (CLASSES, "accuracy"): "accuracy",
    (CLASSES, "brier"): "Brier score",
    (BOXES, "iou"): "IoU",
    (BOXES, "ece"): "calibration error of boxes",
}


class _Networks:
    """The places of variants and shifts, all backbones together."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._kinds = [kind for kind in results.streams.kinds if kind[1] != OWN]

    def weather(self, claim: str, task: Task, measure: str, one: str, other: str) -> _Asked:
        """Ask whether all networks together are worth less under one weather than under another."""
        rule = (
            f"{WORDS[task, measure]}, mean over all backbones and variants, is lower under heavy {other}, at "
            "these levels"
        )
        shifts = [self._heaviest(kind) for kind in (one, other)]
        missing = [kind for kind, shift in zip((one, other), shifts, strict=True) if shift is None]
        if missing:
            return _Asked(claim, rule, why=f"no shift is simulated {missing[0]}")
        first, second = ([Place(kind, str(shift)) for kind in self._kinds] for shift in shifts)
        if not self._kinds:
            return _Asked(claim, rule, why="there is no network in variants")
        return _Asked(claim, rule, [_Side(f"{shifts[0]} less {shifts[1]}", task, measure, first, second)])

    def _heaviest(self, weather: str) -> str | None:
        """Return the shift that simulates a weather at its highest severity."""
        own = [one for one in self._results.spec.shifts if one.name.rpartition("-")[2] == weather]
        heaviest = max(own, key=lambda one: one.severity or 0.0, default=None)
        return None if heaviest is None else heaviest.alias or heaviest.name

    def against(
        self,
        claim: str,
        by: tuple[Task, str],
        variant: str,
        others: Sequence[str],
        *,
        lower: bool = False,
        with_id: bool = False,
    ) -> _Asked:
        """Ask whether a variant has a higher, or a lower, mean over shifts than each of others."""
        where = "test data and all shifts" if with_id else "all shifts"
        than = "lower" if lower else "higher"
        rule = f"{WORDS[by]}, mean over {where} and backbones, is {than} than that of each other"
        if missing := self._missing(variant, *others):
            return _Asked(claim, rule, why=missing)
        shifts = [*([NO_FAULT] if with_id else []), *self._results.shifts_of(by[0])]
        sides = []
        for other in others:
            one, two = (self._places(name, shifts) for name in (variant, other))
            if lower:
                sides.append(_Side(f"{other} less {variant}", *by, two, one))
            else:
                sides.append(_Side(f"{variant} less {other}", *by, one, two))
        return _Asked(claim, rule, sides)

    def approaches(self, claim: str, task: Task, measure: str) -> _Asked:
        """Ask whether some placement closes at least half of what the ensemble is ahead of vanilla."""
        rule = (
            f"{WORDS[task, measure]}, mean over all shifts and backbones, of one placement is beyond the "
            "middle between vanilla and the ensemble, which is shown to be ahead"
        )
        there = [name for name in DROPOUT if not self._missing(name)]
        if missing := self._missing(VANILLA, ENSEMBLE) or ("" if there else self._missing(*DROPOUT)):
            return _Asked(claim, rule, why=missing)
        shifts = self._results.shifts_of(task)
        vanilla, ensemble = (self._places(name, shifts) for name in (VANILLA, ENSEMBLE))
        pairs = [("ensemble less vanilla", ensemble, vanilla)]
        pairs += [
            (f"{name} less the middle", self._places(name, shifts), [*vanilla, *ensemble]) for name in there
        ]
        if measure == "brier":  # lower is better
            pairs = [
                (" less ".join(reversed(said.split(" less "))), other, one) for said, one, other in pairs
            ]
        sides = [_Side(said, task, measure, one, other) for said, one, other in pairs]
        return _Asked(claim, rule, sides, any_of=True)

    def _missing(self, *variants: str) -> str:
        there = {variant for _, variant in self._kinds}
        lacking = [name for name in variants if name not in there]
        return f"there is no variant {lacking[0]}" if lacking else ""

    def _places(self, variant: str, shifts: Sequence[str]) -> list[Place]:
        return [Place(kind, shift) for kind in self._kinds if kind[1] == variant for shift in shifts]
