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
    Task,
    results_of,
    with_merged_classes,
)
from farm.statistics.post_hoc.conformal_boxes import ConformalBoxes
from farm.statistics.post_hoc.conformal_sets import ConformalSets, mean_size
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
        labels = instances["label"].to_numpy()
        rows = labels != NO_ANSWER
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
        answered = int((instances["label"] != NO_ANSWER).sum())
        for name in SCALED if answered else ():
            yield from self._scaled(name, readouts, merged, answered)
        yield Result(BOXES, f"ece {ISOTONIC}", _or_undefined(lambda: self._ece(instances)), len(instances))
        if answered:
            yield from self._conformal(CLASSES, SETS, "size", readouts, answered)
        yield from self._conformal(BOXES, BOX_BANDS, "width", readouts, len(instances))

    def _conformal(self, task: Task, what: str, size: str, readouts: Readouts, n: int) -> Iterator[Result]:
        had = _or_undefined(lambda: self.coverage(what, readouts).had.value)
        yield Result(task, f"coverage {what}", had, n)
        yield Result(task, f"{size} {what}", _or_undefined(lambda: self._size(what, readouts)), n)

    def _scaled(
        self, name: str, readouts: Readouts, merged: MergedSpec | None, answered: int
    ) -> Iterator[Result]:
        fitted = self.scaled[name]
        if isinstance(fitted, str):
            for measure in OF_SCALED:
                yield Result(CLASSES, f"{measure} {name}", undefined(fitted), answered)
            return
        calibrated = with_probabilities(readouts, fitted.apply(readouts.probabilities))
        if merged is not None:
            try:
                calibrated = with_merged_classes(calibrated, merged)
            except UserError:  # the results before calibration tell it
                return
        for one in results_of(calibrated, CLASSES):
            if one.measure in OF_SCALED:
                yield one._replace(measure=f"{one.measure} {name}")

    def _ece(self, instances: pd.DataFrame) -> Measure:
        return _fitted(self.quantiles).ece(*_with_spread(instances))

    def coverage(self, what: str, readouts: Readouts, level: float = LEVEL) -> CoverageHad:
        """Return how many sets of classes, or boxes, hold what is right; raise where that is not told."""
        instances, tracks = readouts.instances, _tracks(readouts.instances)
        if what == BOX_BANDS:
            return _fitted(self.bands).coverage(*_boxes(instances), track=tracks, level=level)
        sets = _fitted(self.sets)
        labels: IntArray = instances["label"].to_numpy()
        found = sets.apply(readouts.probabilities)
        return sets.coverage(found, labels, track=tracks, level=level)

    def coverage_if_any(self, what: str, readouts: Readouts, level: float = LEVEL) -> CoverageHad | None:
        """Return the same; None where nothing is covered, or could be."""
        found = _or_why(lambda: self.coverage(what, readouts, level))
        return None if isinstance(found, str) or not found.had.value.defined else found

    def _size(self, what: str, readouts: Readouts) -> Measure:
        if what == BOX_BANDS:
            predicted, spread, _ = _boxes(readouts.instances)
            return _fitted(self.bands).mean_width(predicted, spread)
        rows = (readouts.instances["label"] != NO_ANSWER).to_numpy()
        return mean_size(_fitted(self.sets).apply(readouts.probabilities[rows]))


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
