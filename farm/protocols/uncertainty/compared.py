"""Which network is better, and how surely: tracks are drawn anew, the same ones for all networks and shifts.

All are judged on the same images, so that a difference is one between networks that saw the same. Simulated
shifts are of the test images themselves, and these are drawn with them. Values of several repetitions are
averaged in each draw: intervals are about other images, and not about other trainings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from farm.api import FloatArray, IntArray, derived_seed
from farm.comparing.classifier_sums import gap_parts, size_of_gaps
from farm.config.specs import NO_FAULT
from farm.judging import VerdictTable
from farm.measures import Measure, undefined
from farm.protocols.uncertainty.asked import NOVELTY, Uncertainty
from farm.protocols.uncertainty.measured import BOXES, CLASSES, MEASURES, Task
from farm.protocols.uncertainty.streams import JudgedNetwork
from farm.statistics.bootstrap import Bootstrap, Difference
from farm.statistics.resampling import Resampling
from farm.store.readouts import Readouts

Kind: TypeAlias = tuple[str, str]
"""A backbone and a variant."""
DRAWN: Mapping[Task, tuple[str, ...]] = {CLASSES: ("accuracy", "ece", "brier"), BOXES: ("mae", "iou", "ece")}
"""The measures that can be drawn anew: means over instances, and gaps that are."""
REPLICATES = 10_000
"""So many draws tell a p that is small enough when some hundred comparisons are corrected for."""


class Place(NamedTuple):
    """Where a value is of: networks of a kind, on the data of a shift."""

    kind: Kind
    shift: str


@dataclass(frozen=True)
class Contrast:
    """By how much a mean of some values exceeds that of others."""

    one: Measure
    other: Measure
    difference: Difference
    by_seed: tuple[float, ...]
    """The same of each repetition."""


@dataclass(frozen=True, eq=False)
class DrawnValue:
    """A value, averaged over repetitions, and the same of each draw and of each repetition."""

    point: Measure
    draws: FloatArray
    by_seed: FloatArray
    tracks: int
    """Of how many tracks it is."""


class Draws:
    """The values of one measure for all networks and shifts, and the same in each draw.

    Parameters
    ----------
    spec
        What was asked.
    judged
        By network and shift, what is judged, and the value that results have.
    """

    def __init__(
        self,
        spec: Uncertainty,
        task: Task,
        measure: str,
        judged: Mapping[tuple[JudgedNetwork, str], tuple[Readouts, Measure]],
        seeds: Sequence[int],
    ) -> None:
        self._spec, self._task, self._measure, self._seeds = spec, task, measure, seeds
        self._values: dict[Place, DrawnValue] = {}
        by_part: dict[str, list[tuple[JudgedNetwork, str]]] = {}
        for network, shift in judged:
            by_part.setdefault(self._part(shift), []).append((network, shift))
        for part, keys in by_part.items():
            self._draw(part, {key: judged[key] for key in keys})

    def _part(self, shift: str) -> str:
        """Return what the images of a shift are called that are drawn together."""
        brought = {one.alias or one.name for one in self._spec.shifts if one.name == NOVELTY}
        return shift if shift in brought else NO_FAULT

    def _draw(self, part: str, judged: Mapping[tuple[JudgedNetwork, str], tuple[Readouts, Measure]]) -> None:
        places: dict[str, int] = {}
        summed: dict[tuple[JudgedNetwork, str], FloatArray] = {}
        tracked: dict[tuple[JudgedNetwork, str], tuple[IntArray, FloatArray]] = {}
        for key, (readouts, value) in judged.items():
            if value.defined:
                table = _table(readouts)
                names = table.track.tolist()
                code = np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int64)
                tracked[key] = code, parts_of(table, self._task, self._measure)
        for key, (code, parts) in tracked.items():
            summed[key] = np.zeros((len(places), parts.shape[1]))
            np.add.at(summed[key], code, parts)
        resampling = Resampling(len(places), unit="track")
        draws = {key: np.full(REPLICATES, np.nan) for key in judged}
        if summed and resampling.why_not is None:
            widths = np.cumsum([sums.shape[1] for sums in summed.values()])[:-1]
            together = np.hstack(list(summed.values()))
            done = 0
            for block in resampling.weights(REPLICATES, seed=derived_seed(0, "uncertainty", part)):
                for key, own in zip(summed, np.split(block @ together, widths, axis=1), strict=True):
                    draws[key][done : done + len(block)] = value_of_sums(self._task, self._measure, own)
                done += len(block)
        for place in dict.fromkeys(Place(network.kind, shift) for network, shift in judged):
            of = {
                network.seed: (network, place.shift)
                for network, shift in judged
                if (network.kind, shift) == place
            }
            keys = [of[seed] for seed in self._seeds if seed in of]
            values = [judged[key][1] for key in keys]
            drawn = np.mean([draws[key] for key in keys], axis=0)
            by_seed = np.array([value.value for value in values])
            self._values[place] = DrawnValue(mean_of(values, len(self._seeds)), drawn, by_seed, len(places))

    def at(self, place: Place) -> DrawnValue | None:
        """Return a value; None where nothing is there."""
        return self._values.get(place)

    def contrast(self, one: Sequence[Place], other: Sequence[Place]) -> Contrast:
        """Return by how much the mean at some places exceeds that at others."""
        sides = [self._mean(places) for places in (one, other)]
        found = _bootstrap({"one": sides[0], "other": sides[1]}).difference("", "one", "other")
        both = sides[0].by_seed, sides[1].by_seed
        same = len(both[0]) == len(both[1])
        by_seed = tuple((both[0] - both[1]).tolist()) if same else ()
        return Contrast(sides[0].point, sides[1].point, found, by_seed)

    def bounded(self, places: Sequence[Place]) -> tuple[Measure, Measure, Measure]:
        """Return the mean at some places with the ends of its interval."""
        found = _bootstrap({"one": self._mean(places)}).interval("", "one")
        return found.value, found.low, found.high

    def _mean(self, places: Sequence[Place]) -> DrawnValue:
        found = [self._values.get(place) for place in places]
        there = [one for one in found if one is not None]
        if not there or len(there) < len(places):
            why = undefined("not all results are there")
            return DrawnValue(why, np.full(REPLICATES, np.nan), np.array([]), 2)
        lacking = next((one.point for one in there if not one.point.defined), None)
        point = lacking or Measure(float(np.mean([one.point.value for one in there])))
        draws = np.mean([one.draws for one in there], axis=0)
        by_seed = [] if lacking else np.mean([one.by_seed for one in there], axis=0)
        return DrawnValue(point, draws, np.asarray(by_seed), min(one.tracks for one in there))


def _bootstrap(values: Mapping[str, DrawnValue]) -> Bootstrap:
    fewest = min(one.tracks for one in values.values())
    why = Resampling(fewest, unit="track").why_not
    return Bootstrap(
        n_groups=fewest,
        fewest=fewest,
        why_not=why,
        level=0.95,
        points={("", name): one.point for name, one in values.items()},
        draws={("", name): one.draws for name, one in values.items()},
    )


def mean_of(values: Sequence[Measure], asked: int) -> Measure:
    """Return the mean of as many repetitions as were asked for; undefined where one lacks a value."""
    if len(values) < asked:
        return undefined(f"{len(values)} of {asked} repetitions are there")
    for value in values:
        if not value.defined:
            return value
    return Measure(float(np.mean([value.value for value in values])))


def _table(readouts: Readouts) -> VerdictTable:
    """Return what classifiers are judged by; monitors are left out."""
    run = {key: value for key, value in readouts.run.items() if key != "monitors"}
    return VerdictTable.of(readouts.instances, readouts.alarms.iloc[:0], run)


def parts_of(table: VerdictTable, task: Task, measure: str) -> FloatArray:
    """Return what each instance adds to the sums that a measure follows from, and whether it counts."""
    name = MEASURES[task][measure]
    if measure == "ece":
        return np.asarray(gap_parts(table, name), dtype=np.float64)
    if task == BOXES:
        assert table.boxes is not None, "there is a value"
        own = table.boxes.each(name)
        return np.column_stack([own, np.ones(len(own))])
    rows = table.answered
    if measure == "accuracy":
        return np.column_stack([rows & ~table.should_cancel, rows]).astype(np.float64)
    assert table.brier is not None, "there is a value"
    return np.column_stack([np.where(rows, table.brier, 0.0), rows])


def value_of_sums(task: Task, measure: str, sums: FloatArray) -> FloatArray:
    """Return a measure of sums, along the last axis; NaN of none that count."""
    counting = np.where(sums[..., -1:] > 0, sums[..., -1:], np.nan)
    means = sums[..., :-1] / counting
    return size_of_gaps(MEASURES[task][measure], means) if measure == "ece" else np.asarray(means[..., 0])
