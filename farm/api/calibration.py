"""From a score to an alarm: thresholds set on in-distribution validation data, and kept on record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.api.component import check_choice, check_number
from farm.errors import ComponentFailure, ParameterError

VALIDATION_FAULT = "validation-fault"
METHODS = ("id-quantile", "id-extreme", "per-class", "fixed", VALIDATION_FAULT)
FEWEST_PER_CLASS = 20
"""A class with fewer validation instances than this takes the threshold of all classes together."""


@dataclass(frozen=True)
class CalibrationRule:
    """How a threshold is to be chosen.

    - `id-quantile`: the share `accept` of the ID validation data is accepted;
    - `id-extreme`: all of it is;
    - `per-class`: the share `accept` within each predicted class;
    - `fixed`: at `threshold`, whatever the data say (a published rule, or a baseline);
    - `validation-fault`: where ID validation data and the outliers of a named validation fault are told apart
      best. No result of it is one of ID data alone.
    """

    method: str = "id-quantile"
    accept: float = 0.95
    threshold: float | None = None

    def __post_init__(self) -> None:
        check_choice("calibration.method", self.method, METHODS)
        check_number("calibration.accept", self.accept, above=0, high=1)
        if self.method == "fixed":
            check_number("calibration.threshold", self.threshold)
        elif self.threshold is not None:
            raise ParameterError(
                f"calibration.threshold is {self.threshold!r}, which method '{self.method}' would not use; "
                "leave it out, or set method to fixed"
            )

    def calibrate(
        self, scores: FloatArray, predicted: IntArray, n_classes: int, outliers: FloatArray | None = None
    ) -> Calibration:
        """Choose the threshold from the scores of ID validation data, and of outliers where it takes any."""
        if not len(scores):
            raise ComponentFailure("calibration got no ID validation data; expected at least one instance")
        accept = {"id-extreme": 1.0, "fixed": None, VALIDATION_FAULT: None}.get(self.method, self.accept)
        accuracy = None
        if self.method == "fixed":
            assert self.threshold is not None
            threshold = float(self.threshold)
        elif self.method == VALIDATION_FAULT:
            if outliers is None or not len(outliers):
                raise ComponentFailure(
                    f"calibration method '{VALIDATION_FAULT}' got no outliers; expected those of a "
                    "validation_fault"
                )
            threshold, accuracy = best_threshold(scores, outliers)
        else:
            threshold = quantile_threshold(scores, 1.0 if accept is None else accept)
        per_class, borrowed = None, 0
        if self.method == "per-class":
            per_class = np.full(n_classes, threshold)
            for label in range(n_classes):
                own = scores[predicted == label]
                if len(own) >= FEWEST_PER_CLASS:
                    per_class[label] = quantile_threshold(own, self.accept)
                else:
                    borrowed += 1
        calibration = Calibration(
            self.method,
            threshold,
            n=len(scores),
            asked_acceptance=accept,
            per_class=per_class,
            classes_without_own_threshold=borrowed,
            outliers=0 if accuracy is None or outliers is None else len(outliers),
            outlier_accuracy=accuracy,
        )
        accepted = float(1.0 - calibration.alarms(scores, predicted).mean())
        return replace(calibration, validation_acceptance=accepted)


@dataclass(frozen=True)
class Calibration:
    """A threshold with its history. An alarm is a score above it."""

    method: str
    threshold: float
    n: int
    asked_acceptance: float | None = None
    validation_acceptance: float | None = None
    per_class: FloatArray | None = field(default=None, compare=False)
    classes_without_own_threshold: int = 0
    outliers: int = field(default=0, repr=False)
    """How many outliers it was chosen on, beside the n."""
    outlier_accuracy: float | None = field(default=None, repr=False)
    """The mean of the shares that it accepts of the n and alarms on of the outliers."""

    def thresholds(self, predicted: IntArray) -> FloatArray | float:
        """Return the threshold that holds for each instance."""
        return self.threshold if self.per_class is None else self.per_class[predicted]

    def alarms(self, scores: FloatArray, predicted: IntArray) -> BoolArray:
        """Compare scores with the threshold."""
        return np.asarray(scores > self.thresholds(predicted), dtype=np.bool_)

    def record(self) -> dict[str, Any]:
        """Return everything as JSON, for the readouts."""
        values = asdict(self)
        values["per_class"] = None if self.per_class is None else self.per_class.tolist()
        if not self.outliers:
            del values["outliers"], values["outlier_accuracy"]
        return values

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Calibration:
        """Make it again from what `record` gave; what others wrote beside is left out.

        Examples
        --------
        >>> Calibration.from_record(Calibration("fixed", 0.5, n=3).record())
        Calibration(method='fixed', threshold=0.5, n=3, asked_acceptance=None, validation_acceptance=None,
                    per_class=None, classes_without_own_threshold=0)
        """
        values = {f.name: record[f.name] for f in fields(cls) if f.repr or f.name in record}
        if values["per_class"] is not None:
            values["per_class"] = np.array(values["per_class"], dtype=np.float64)
        return cls(**values)


def quantile_threshold(scores: FloatArray, accept: float) -> float:
    """Return a threshold at or below which lies at least the share `accept` of the scores.

    It is put half-way to the next score up. A threshold that equals somebody's score is where decisions
    flip between machines and batch sizes, since floating-point sums differ in their last bits.

    Examples
    --------
    >>> quantile_threshold(np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    2.5
    >>> quantile_threshold(np.array([1.0, 2.0, 3.0, 4.0]), 1.0)
    4.0
    """
    ordered = np.sort(scores)
    # The 1e-9 keeps 0.55 * 100 = 55.00000000000001 from asking for one more.
    rank = max(int(np.ceil(accept * len(ordered) - 1e-9)), 1)
    value = float(ordered[rank - 1])
    above = ordered[ordered > value]
    return half_way(value, float(above[0])) if above.size else value


def best_threshold(inliers: FloatArray, outliers: FloatArray) -> tuple[float, float]:
    """Return the threshold that tells two samples apart best, and its balanced accuracy.

    That is the mean of the share of inliers at or below it and the share of outliers above it, so that it
    does not matter which sample is the larger. The threshold is put half-way between neighbouring scores. Of
    several that are equally good it is the highest, which alarms least.

    Examples
    --------
    >>> best_threshold(np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 6.0, 7.0]))
    (4.0, 0.875)
    >>> best_threshold(np.array([1.0, 2.0]), np.array([4.0, 5.0]))
    (3.0, 1.0)
    """
    if not len(inliers) or not len(outliers):
        raise ComponentFailure(
            f"a threshold was to be set between {len(inliers)} inliers and {len(outliers)} outliers; "
            "expected at least one of each"
        )
    values, places = np.unique(np.concatenate([inliers, outliers]), return_inverse=True)
    accepted = np.cumsum(np.bincount(places[: len(inliers)], minlength=len(values)))
    missed = np.cumsum(np.bincount(places[len(inliers) :], minlength=len(values)))
    # In whole numbers, so that what is equally good is equal.
    good = accepted * len(outliers) + (len(outliers) - missed) * len(inliers)
    best = len(good) - 1 - int(good[::-1].argmax())
    value = float(values[best])
    threshold = half_way(value, float(values[best + 1])) if best + 1 < len(values) else value
    return threshold, float(good[best] / (2 * len(inliers) * len(outliers)))


def half_way(value: float, above: float) -> float:
    """Return the middle of two scores, or the lower where there is no number between them.

    Examples
    --------
    >>> half_way(1.0, 2.0)
    1.5
    """
    middle = value + (above - value) / 2
    return middle if middle < above else value
