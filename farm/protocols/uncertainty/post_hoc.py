"""A network after calibration: fitted on validation data, and applied to all other streams.

The source leaves this out. It holds for data of the validation data's kind; under a shift it may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from farm.api import NO_ANSWER, FloatArray, IntArray
from farm.api.arrays import BoolArray
from farm.errors import DataError, UserError, one_line
from farm.judging.boxes import boxes_of
from farm.measures import Measure, undefined
from farm.measures.boxes import NO_BOXES, NO_SPREAD, why_no_boxes
from farm.measures.calibration import brier_of, sums_of_squares
from farm.protocols.uncertainty.asked import MergedSpec
from farm.protocols.uncertainty.measured import (
    BOXES,
    CLASSES,
    Result,
    answered,
    results_of,
    with_merged_classes,
)
from farm.statistics.post_hoc.conformal_boxes import ConformalBoxes
from farm.statistics.post_hoc.conformal_sets import ConformalSets
from farm.statistics.post_hoc.coverage import LEVEL, CoverageHad
from farm.statistics.post_hoc.quantiles import BoxQuantiles
from farm.statistics.post_hoc.temperature import Temperature
from farm.statistics.post_hoc.vector_scaling import VectorScaling
from farm.store.class_probabilities import probability_frame
from farm.store.readouts import Readouts

T = TypeVar("T")
SCALED = ("temperature", "vector")
ISOTONIC, SETS, BOX_BANDS = "isotonic", "sets", "boxes"
OF_SCALED = ("ece", "nll")
"""What is told of classes that are calibrated."""


@dataclass(frozen=True, eq=False)
class PostHoc:
    """All that is fitted to a network's validation data; in the place of what cannot be, why."""

    scaled: Mapping[str, Temperature | VectorScaling | str]
    quantiles: BoxQuantiles | str
    sets: ConformalSets | str
    bands: ConformalBoxes | str

    @classmethod
    def fit(cls, validation: Readouts, coverage: float) -> PostHoc:
        """Fit all that can be."""
        instances = validation.instances
        labels, rows = instances["label"].to_numpy(), answered(validation)
        probabilities, tracks = validation.probabilities[rows], _tracks(instances)
        known = _of(tracks, rows)
        return cls(
            {
                "temperature": _or_why(lambda: Temperature.fit(probabilities, labels[rows])),
                "vector": _or_why(lambda: VectorScaling.fit(probabilities, labels[rows])),
            },
            _or_why(lambda: BoxQuantiles.fit(*_with_spread(instances))),
            _or_why(lambda: ConformalSets.fit(probabilities, labels[rows], coverage, track=known)),
            _or_why(lambda: ConformalBoxes.fit(*_boxes(instances), coverage, track=tracks)),
        )

    def results(self, readouts: Readouts, merged: MergedSpec | None) -> Iterator[Result]:
        """Yield what a stream is worth after calibration."""
        instances = readouts.instances
        of_classes = answered(readouts).any()
        for name in SCALED if of_classes else ():
            yield from self._scaled(name, readouts, merged)
        yield Result(BOXES, f"ece {ISOTONIC}", _or_undefined(lambda: self._ece(instances)), len(instances))
        if of_classes:
            yield from self._of_sets(readouts, merged)
        band = _or_undefined(lambda: self.coverage(BOX_BANDS, readouts, None).had.value)
        yield Result(BOXES, f"coverage {BOX_BANDS}", band, len(instances))
        width = _or_undefined(lambda: self._width(instances))
        yield Result(BOXES, f"width {BOX_BANDS}", width, len(instances))

    def _of_sets(self, readouts: Readouts, merged: MergedSpec | None) -> Iterator[Result]:
        try:
            found = GroupedSets.of(_fitted(self.sets), readouts, merged)
        except UserError as error:
            if merged is None:  # else the results before calibration tell it
                why, n = undefined(one_line(error)), int(answered(readouts).sum())
                yield from (Result(CLASSES, f"{name} {SETS}", why, n) for name in ("coverage", "size"))
            return
        yield Result(CLASSES, f"coverage {SETS}", self.coverage(SETS, readouts, merged).had.value, found.n)
        yield Result(CLASSES, f"size {SETS}", found.mean_size, found.n)

    def _scaled(self, name: str, readouts: Readouts, merged: MergedSpec | None) -> Iterator[Result]:
        fitted, calibrated = self.scaled[name], readouts
        if not isinstance(fitted, str):
            calibrated = with_probabilities(readouts, fitted.apply(readouts.probabilities))
        if merged is not None:
            try:
                calibrated = with_merged_classes(calibrated, merged)
            except UserError:  # the results before calibration tell it
                return
        for one in results_of(calibrated, CLASSES):
            if one.measure in OF_SCALED:
                value = undefined(fitted) if isinstance(fitted, str) else one.value
                yield one._replace(measure=f"{one.measure} {name}", value=value)

    def _ece(self, instances: pd.DataFrame) -> Measure:
        return _fitted(self.quantiles).ece(*_with_spread(instances))

    def coverage(
        self, what: str, readouts: Readouts, merged: MergedSpec | None, level: float = LEVEL
    ) -> CoverageHad:
        """Return how many sets of classes, or boxes, hold what is right; raise where that is not told."""
        instances, tracks = readouts.instances, _tracks(readouts.instances)
        if what == BOX_BANDS:
            return _fitted(self.bands).coverage(*_boxes(instances), track=tracks, level=level)
        sets = _fitted(self.sets)
        found = GroupedSets.of(sets, readouts, merged)
        return sets.coverage(found.sets, found.labels, track=tracks, level=level)

    def coverage_if_any(
        self, what: str, readouts: Readouts, merged: MergedSpec | None, level: float = LEVEL
    ) -> CoverageHad | None:
        """Return the same; None where nothing is covered, or could be."""
        found = _or_why(lambda: self.coverage(what, readouts, merged, level))
        return None if isinstance(found, str) or not found.had.value.defined else found

    def _width(self, instances: pd.DataFrame) -> Measure:
        predicted, spread, _ = _boxes(instances)
        return _fitted(self.bands).mean_width(predicted, spread)


@dataclass(frozen=True, eq=False)
class GroupedSets:
    """Sets of classes, judged by groups where classes are merged: one class holds its whole group.

    So a set is never worse for the merging: it holds a group wherever it holds the right class of it.
    """

    sets: BoolArray
    """Which classes each holds; of a group all, or none."""
    labels: IntArray
    """The right class, -1 where there is none, or none in a group."""
    sizes: IntArray
    """How many classes each holds; where they are merged, how many groups, with all others as one."""

    @classmethod
    def of(cls, fitted: ConformalSets, readouts: Readouts, merged: MergedSpec | None) -> GroupedSets:
        """Make sets of readouts; raise where groups do not fit the classes."""
        sets = fitted.apply(readouts.probabilities)
        labels: IntArray = np.where(answered(readouts), readouts.instances["label"], NO_ANSWER)
        if merged is None:
            return cls(sets, labels, sets.sum(axis=1))
        with_merged_classes(readouts, merged)  # which tells what is wrong with the groups
        classes = list(readouts.run["classes"])
        groups = [[classes.index(name) for name in own] for own in merged.groups.values()]
        inside = np.concatenate(groups)
        held = np.stack([sets[:, own].any(axis=1) for own in groups], axis=1)
        rest = np.delete(sets, inside, axis=1).any(axis=1)
        whole = sets.copy()
        for own, one in zip(groups, held.T, strict=True):
            whole[:, own] = one[:, np.newaxis]
        known = np.isin(labels, inside)
        return cls(whole, np.where(known, labels, NO_ANSWER), held.sum(axis=1) + rest)

    @property
    def n(self) -> int:
        """How many instances have a right answer."""
        return int((self.labels != NO_ANSWER).sum())

    @property
    def mean_size(self) -> Measure:
        """The mean of the sizes of these."""
        own = self.sizes[self.labels != NO_ANSWER]
        return Measure(float(own.mean())) if len(own) else undefined("no instances")


def with_probabilities(readouts: Readouts, probabilities: FloatArray) -> Readouts:
    """Return readouts of a classifier that gives these probabilities in the place of its own."""
    instances, n = readouts.instances, len(probabilities)
    label = instances["label"].to_numpy()
    predicted = probabilities.argmax(axis=1)
    likely = np.where(label != NO_ANSWER, probabilities[np.arange(n), label], np.nan)
    columns = probability_frame(probabilities.astype(np.float32), readouts.run["classes"])
    changed = instances.assign(
        predicted=predicted,
        confidence=probabilities[np.arange(n), predicted],
        label_probability=likely,
        brier=brier_of(sums_of_squares(probabilities), likely),
        **{str(name): columns[name].to_numpy() for name in columns},
    )
    return replace(readouts, instances=changed)


def _tracks(instances: pd.DataFrame) -> NDArray[np.object_] | None:
    """Return what instances belong to; None where each stands alone."""
    if "track" not in instances or instances["track"].isna().any():
        return None
    track = instances["track"].to_numpy(dtype=object)
    return None if instances["track"].is_unique else track


def _of(tracks: NDArray[np.object_] | None, rows: NDArray[np.bool_]) -> NDArray[np.object_] | None:
    return None if tracks is None else tracks[rows]


def _boxes(instances: pd.DataFrame) -> tuple[FloatArray, FloatArray | None, FloatArray]:
    """Return where boxes are said to be, how surely, and where they are."""
    boxes = boxes_of(instances)
    if boxes is None or (why := why_no_boxes(boxes, spread=False)):
        raise DataError(NO_BOXES if boxes is None else why)
    return boxes.predicted, boxes.spread, boxes.target


def _with_spread(instances: pd.DataFrame) -> tuple[FloatArray, FloatArray, FloatArray]:
    predicted, spread, target = _boxes(instances)
    if spread is None:
        raise DataError(NO_SPREAD)
    return predicted, spread, target


def _fitted(one: T | str) -> T:
    """Return what was fitted; raise where it could not be."""
    if isinstance(one, str):
        raise DataError(one)
    return one


def _or_why(fit: Callable[[], T]) -> T | str:
    try:
        return fit()
    except UserError as error:
        return one_line(error)


def _or_undefined(measure: Callable[[], Measure]) -> Measure:
    found = _or_why(measure)
    return undefined(found) if isinstance(found, str) else found
