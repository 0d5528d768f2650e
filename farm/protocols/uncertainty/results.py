"""What an evaluation of uncertainty found, a row a result: one network, one shift, one measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from farm.config.specs import NO_FAULT
from farm.errors import UserError, one_line
from farm.measures import Measure
from farm.protocols.uncertainty.asked import MERGED_ID, VALIDATION, MergedSpec, Uncertainty
from farm.protocols.uncertainty.compared import Draws, Kind, mean_of
from farm.protocols.uncertainty.measured import (
    BOXES,
    CLASSES,
    Result,
    Task,
    results_of,
    with_merged_classes,
)
from farm.protocols.uncertainty.post_hoc import PostHoc
from farm.protocols.uncertainty.streams import JudgedNetwork, Streams
from farm.protocols.uncertainty.watched import OF_MONITORS, watched
from farm.statistics.post_hoc.coverage import CoverageHad
from farm.store.files import write_text
from farm.store.readouts import Readouts

ALPHA = 0.05
FILE, MONITORS_FILE = "results.csv", "monitors.csv"
COLUMNS = ("backbone", "variant", "seed", "task", "shift", "measure", "value", "n")
REASON = "reason"
"""What the frame has beside the columns of the file: why a result has no value; None where it has one."""
OF_MONITOR = ("backbone", "variant", "seed", "monitor", "shift", *OF_MONITORS, "ood_share", "n")
OF_MEMBER = ("backbone", "seed", "member", "task", "measure", "value", "n")


@dataclass(frozen=True, eq=False)
class Results:
    """All results of an evaluation of uncertainty that are there, each found when it is asked for.

    `frame` has `COLUMNS` and `REASON`, `monitors` has `OF_MONITOR`, and `members` has `OF_MEMBER`.
    """

    streams: Streams
    _drawn: dict[tuple[Task, str], Draws] = field(default_factory=dict, init=False, repr=False)
    _covered: dict[str, dict[tuple[JudgedNetwork, str], CoverageHad]] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def of(cls, folder: Path | str) -> Results:
        """Read the results of a campaign's folder."""
        return cls(Streams.read(folder))

    @property
    def spec(self) -> Uncertainty:
        """What was asked."""
        return self.streams.spec

    @cached_property
    def _merged(self) -> dict[tuple[JudgedNetwork, str], Readouts | str]:
        """What is judged in the place of streams whose classes are merged; or why they cannot be."""
        found: dict[tuple[JudgedNetwork, str], Readouts | str] = {}
        if (said := self.spec.merged) is None:
            return found
        for network, own in self.streams.of.items():
            for shift, readouts in own.items():
                if shift == NO_FAULT or self.spec.is_merged(shift):
                    name = MERGED_ID if shift == NO_FAULT else shift
                    try:
                        found[network, name] = with_merged_classes(readouts, said)
                    except UserError as error:
                        found[network, name] = one_line(error)
        return found

    @cached_property
    def judged(self) -> dict[tuple[JudgedNetwork, str, Task], Readouts]:
        """The readouts by which each network is judged on each shift, task by task."""
        found: dict[tuple[JudgedNetwork, str, Task], Readouts] = {}
        for network, own in self.streams.of.items():
            for shift, readouts in own.items():
                if shift == VALIDATION:
                    continue
                if not self.spec.is_merged(shift):
                    found[network, shift, CLASSES] = readouts
                found[network, shift, BOXES] = readouts
        for (network, shift), made in self._merged.items():
            if isinstance(made, Readouts):
                found[network, shift, CLASSES] = made
        return found

    @cached_property
    def calibrated(self) -> dict[JudgedNetwork, PostHoc]:
        """What was fitted to each network's validation data, where they are there."""
        there = {network: own[VALIDATION] for network, own in self.streams.of.items() if VALIDATION in own}
        return {network: PostHoc.fit(one, self.spec.coverage) for network, one in there.items()}

    def coverages(self, what: str) -> dict[tuple[JudgedNetwork, str], CoverageHad]:
        """Return how many sets of classes, or boxes, hold what is right, by network and shift.

        Where all would cover as many as they should, that one of all falls short has a chance of 5 %.
        """
        if what in self._covered:
            return self._covered[what]
        streams = [
            (network, shift, readouts)
            for network in self.calibrated
            for shift, readouts in self.streams.of[network].items()
            if shift != VALIDATION
        ]
        level = 1 - 2 * ALPHA / max(len(streams), 2)
        found = {
            (network, shift): self.calibrated[network].coverage_if_any(
                what, readouts, self._merging(shift), level
            )
            for network, shift, readouts in streams
        }
        self._covered[what] = {key: had for key, had in found.items() if had is not None}
        return self._covered[what]

    def _merging(self, shift: str) -> MergedSpec | None:
        """Return how classes are merged under a shift; None where they are not."""
        return self.spec.merged if self.spec.is_merged(shift) else None

    @cached_property
    def _measured(self) -> list[tuple[JudgedNetwork, str, Result]]:
        """What each network is worth on each shift as it is."""
        return [
            (network, shift, result)
            for (network, shift, task), readouts in self.judged.items()
            for result in results_of(readouts, task)
        ]

    @cached_property
    def _found(self) -> list[tuple[JudgedNetwork, str, Result]]:
        """The same, and what it is worth once it is calibrated."""
        after = [
            (network, shift, result)
            for network, own in self.streams.of.items()
            for shift, result in self._after(network, own)
        ]
        return [*self._measured, *after]

    def _after(self, network: JudgedNetwork, own: Mapping[str, Readouts]) -> Iterator[tuple[str, Result]]:
        """Yield what a network's streams are worth after it was calibrated."""
        if (fitted := self.calibrated.get(network)) is None:
            return
        for shift, readouts in own.items():
            if shift != VALIDATION:
                for result in fitted.results(readouts, self._merging(shift)):
                    yield shift, result

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All results, network by network, shift by shift."""
        order = {name: place for place, name in enumerate([NO_FAULT, MERGED_ID, *self.spec.shift_names])}
        kinds = {kind: place for place, kind in enumerate(self.streams.kinds)}
        found = sorted(
            self._found, key=lambda one: (kinds[one[0].kind], one[0].seed, one[2].task, order[one[1]])
        )
        rows = [
            (*network, result.task, shift, result.measure, result.value.value, result.n, result.value.reason)
            for network, shift, result in found
        ]
        frame = pd.DataFrame(rows, columns=[*COLUMNS, REASON])
        return frame.assign(**{REASON: pd.Series([row[-1] for row in rows], dtype=object)})

    @cached_property
    def _watched(self) -> tuple[list[dict[str, Any]], list[str]]:
        """What each monitor is worth on each shift; and why streams could not be put together."""
        rows: list[dict[str, Any]] = []
        unfit: list[str] = []
        for network, own in self.streams.of.items():
            for shift in own:
                if shift in (NO_FAULT, VALIDATION):
                    continue
                plain, shifted = self._judged_together(network, shift)
                if plain is None or shifted is None:
                    continue  # which is told where one of them is missing
                try:
                    said = list(watched(plain, shifted, shift))
                except UserError as error:
                    unfit.append(f"monitors of {network.title} under {shift}: {one_line(error)}")
                else:
                    rows += [{**network._asdict(), **row} for row in said]
        return rows, unfit

    def _judged_together(self, network: JudgedNetwork, shift: str) -> tuple[Readouts | None, Readouts | None]:
        """Return the test data and a shift: of merged classes, where these alone are known there."""
        if self.spec.is_merged(shift):
            return self.judged.get((network, MERGED_ID, CLASSES)), self.judged.get((network, shift, CLASSES))
        return self.judged.get((network, NO_FAULT, BOXES)), self.judged.get((network, shift, BOXES))

    @property
    def monitors(self) -> pd.DataFrame:
        """What each monitor is worth on each shift; cells are measures."""
        return pd.DataFrame(self._watched[0], columns=list(OF_MONITOR))

    @cached_property
    def members(self) -> pd.DataFrame:
        """What the single networks of ensembles are worth on the test data."""
        rows = [
            (backbone, seed, number, *result)
            for (backbone, seed), own in self.streams.members.items()
            for number, readouts in sorted(own.items())
            for result in results_of(readouts, CLASSES, BOXES)
        ]
        return pd.DataFrame(rows, columns=list(OF_MEMBER))

    def draws(self, task: Task, measure: str) -> Draws:
        """Return the values of a measure, and the same of tracks that are drawn anew."""
        if (task, measure) not in self._drawn:
            values = {
                (network, shift): result.value
                for network, shift, result in self._measured
                if (result.task, result.measure) == (task, measure)
            }
            judged = {key: (self.judged[*key, task], value) for key, value in values.items()}
            self._drawn[task, measure] = Draws(self.spec, task, measure, judged, self.streams.seeds)
        return self._drawn[task, measure]

    def shifts_of(self, task: Task) -> list[str]:
        """Return the shifts that have results of a task, in the order of the file."""
        there = {shift for _, shift, own in self.judged if own == task}
        rows = self.frame[(self.frame["task"] == task)]
        return [name for name in self.spec.shift_names if name in there & set(rows["shift"])]

    @cached_property
    def by_kind(self) -> Mapping[tuple[Kind, str, Task, str], list[Measure]]:
        """The values of all repetitions that are there, by backbone and variant, shift, task and measure."""
        found: dict[tuple[Kind, str, Task, str], list[Measure]] = {}
        for network, shift, one in self._found:
            found.setdefault((network.kind, shift, one.task, one.measure), []).append(one.value)
        return found

    def mean(self, kind: Kind, shift: str, task: Task, measure: str) -> Measure | None:
        """Return a value, averaged over repetitions; None where it was not asked for."""
        values = self.by_kind.get((kind, shift, task, measure))
        return None if values is None else mean_of(values, len(self.streams.seeds))

    @cached_property
    def undefined(self) -> Mapping[str, int]:
        """Why results have no value, and how many."""
        return Counter(self.frame[REASON].dropna())

    @property
    def problems(self) -> list[str]:
        """What is wrong with data or the file, so that there are results missing."""
        told = [made for made in self._merged.values() if isinstance(made, str)]
        return [*(f"merged: {why}" for why in dict.fromkeys(told)), *self._watched[1]]

    def write(self, folder: Path) -> Path:
        """Write all results as CSV beside the cells, and beside them those of monitors."""
        target = folder / FILE
        _write(target, self.frame[list(COLUMNS)])
        of_monitors = self.monitors.copy()
        for name in OF_MONITORS:
            of_monitors[name] = [value.value for value in of_monitors[name]]
        _write(folder / MONITORS_FILE, of_monitors)
        return target


def _write(target: Path, frame: pd.DataFrame) -> None:
    text: str = frame.to_csv(index=False, lineterminator="\n")
    write_text(target, text)
