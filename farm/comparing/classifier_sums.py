"""The classifier's own measures as sums over instances: means between two ends, and gaps that should be 0.

What is summed up by track can be drawn anew by tracks, whatever the measure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.errors import ParameterError
from farm.judging import VerdictTable
from farm.measures import Measure
from farm.measures.boxes import BOX_ECE, BOX_IOU, BOX_MAE, BOX_NLL, LOCALIZATION, Boxes
from farm.measures.calibration import BINS, MOST_BRIER
from farm.measures.localization import LEVELS
from farm.measures.many import parts_ratio
from farm.measures.probability_sums import CLASSIFIER_ECE, CLASSIFIER_NLL, ProbabilitySums, equal_bins

BRIER = "classifier_brier"
"""What both Brier scores are computed of."""
MEANS = (BRIER, CLASSIFIER_NLL, BOX_MAE, BOX_IOU, BOX_NLL)
"""Means of a number that each instance has, as `MeanParts` has it."""
NO_ANSWER_NEEDED = (BOX_MAE, BOX_IOU, BOX_NLL)
"""Those that also an instance has of which no class is right."""
GAPS = {CLASSIFIER_ECE: BINS, BOX_ECE: 4 * len(LEVELS)}
"""Calibration errors, and of how many gaps each is the size; a gap is a mean over instances."""
OF_PREDICTIONS = (*MEANS, *GAPS)
"""What is computed of the classifier's own outputs and is no count of kinds of instances."""


@dataclass(frozen=True, eq=False)
class MeanParts:
    """A number of each instance, in parts of the lowest and of the highest there is, or that was seen."""

    low: float
    high: float
    values: FloatArray
    counting: BoolArray
    """Which instances it is a mean of."""

    @classmethod
    def of(cls, stream: VerdictTable, task: str) -> MeanParts:
        """Take what a task is the mean of."""
        if task == BRIER:
            if stream.brier is None:
                raise _without("Brier scores")
            return cls(0.0, MOST_BRIER, stream.brier, stream.answered)
        if task == CLASSIFIER_NLL:
            if stream.label_probability is None:
                raise _without("probabilities of the right class")
            rows = stream.answered
            likely = np.where(rows, stream.label_probability, 1.0)
            values = -np.log(likely)
            return cls(0.0, float(values.max()), values, rows)
        values = _boxes(stream).each(task)
        everyone = np.ones(len(values), dtype=np.bool_)
        if task == BOX_IOU:
            return cls(0.0, 1.0, values, everyone)
        if task == BOX_NLL:
            return cls(float(values.min()), float(values.max()), values, everyone)
        # No side of a box within the image is farther off than the image is wide or high.
        within = sum(stream.image_size) / 2 if stream.image_size else 0.0
        return cls(0.0, max(within, float(values.max())), values, everyone)

    @property
    def parts(self) -> FloatArray:
        """In which parts each instance has the lowest and the highest value; or that it does not count."""
        span = self.high - self.low or 1.0
        highest = np.clip(np.where(self.counting, (self.values - self.low) / span, 0.0), 0.0, 1.0)
        return np.column_stack([self.counting - highest, highest, ~self.counting])

    def mean(self, parts: FloatArray) -> FloatArray:
        """Return the mean of sums of parts."""
        return self.low + (self.high - self.low) * parts_ratio(parts)


def gap_parts(stream: VerdictTable, task: str) -> FloatArray:
    """Return what each instance adds to the gaps, and behind it whether it counts."""
    if task == BOX_ECE:
        gaps = _boxes(stream).gaps()
        return np.column_stack([gaps, np.ones(len(gaps))])
    if stream.confidence is None:
        raise _without("confidence")
    rows = stream.answered
    sure = np.where(rows, stream.confidence, 0.0)
    gaps = np.zeros((len(rows), BINS))
    gaps[np.arange(len(rows)), equal_bins(sure)] = np.where(rows, ~stream.should_cancel - sure, 0.0)
    return np.column_stack([gaps, rows])


def size_of_gaps(task: str, gaps: FloatArray) -> FloatArray:
    """Return the calibration error of mean gaps, along the last axis.

    Each bin's gap is a share of all instances, so that those of a classifier are added up.
    """
    sizes = np.abs(gaps)
    return np.asarray(sizes.mean(axis=-1) if task == BOX_ECE else sizes.sum(axis=-1))


def value_of(stream: VerdictTable, name: str) -> Measure:
    """Return a measure of boxes, or of the classifier's probabilities, on a stream."""
    if name in LOCALIZATION:
        return _boxes(stream).measure(name)
    wrong = stream.should_cancel
    known = ProbabilitySums.of(stream.answered, ~wrong, stream.confidence, stream.label_probability)
    return known.measures()[name]


def _boxes(stream: VerdictTable) -> Boxes:
    if stream.boxes is None:
        raise _without("boxes")
    return stream.boxes


def _without(what: str) -> ParameterError:
    return ParameterError(f"bounds: the classifier has no {what}; expected one for each instance")
