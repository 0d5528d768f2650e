"""From a score to an alarm: thresholds set on in-distribution validation data, and kept on record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.api.calibration_data import CalibrationData
from farm.api.component import check_choice, check_number
from farm.api.guarantee import INSTANCE, TRACK, Guarantee, Unit
from farm.api.guarantees import GUARANTEES
from farm.api.thresholds import best_threshold, quantile_threshold
from farm.errors import ComponentFailure, ParameterError

VALIDATION_FAULT = "validation-fault"
CALIBRATION_KEYS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "id-quantile": ("accept",),
        "id-extreme": (),
        "per-class": ("accept",),
        "fixed": ("threshold",),
        VALIDATION_FAULT: (),
        **{name: (*method.needs, *method.takes) for name, method in GUARANTEES.items()},
    }
)
"""What each method is told, beside its name."""
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

    With a guarantee, where ID data at work and of validation are exchangeable, as instances or as the tracks
    that they share:

    - `conformal`: the share `accept` of ID data or more is accepted, on average over validation sets; also
      `by` the predicted `class`, or `by` a condition, within each of which it holds;
    - `bounded`: it is with this `confidence`; the `event` is one random `instance` of each track, or any of
      a `track`;
    - `risk`: of the accepted decisions at most the share `risk` is wrong, with this `confidence`;
    - `learn-then-test`: both together, or instead of the risk the share `hazard` of all that is wrong and
      accepted. Of the thresholds that keep it the lowest is taken, which alarms most.
    """

    method: str = "id-quantile"
    accept: float = 0.95
    threshold: float | None = None
    confidence: float | None = None
    event: Unit | None = None
    by: str | None = None
    risk: float | None = None
    hazard: float | None = None

    def __post_init__(self) -> None:
        check_choice("calibration.method", self.method, tuple(CALIBRATION_KEYS))
        check_number("calibration.accept", self.accept, above=0, high=1)
        if self.method == "fixed":
            check_number("calibration.threshold", self.threshold)
        for key in ("threshold", "confidence", "event", "by", "risk", "hazard"):
            if getattr(self, key) is not None and key not in CALIBRATION_KEYS[self.method]:
                those = ", ".join(name for name, keys in CALIBRATION_KEYS.items() if key in keys)
                raise ParameterError(
                    f"calibration.{key} is {getattr(self, key)!r}, which method '{self.method}' would not "
                    f"use; leave it out, or set method to {those}"
                )
        if self.method in GUARANTEES:
            self._check_guarantee()

    def _check_guarantee(self) -> None:
        method = GUARANTEES[self.method]
        told = {key for key in CALIBRATION_KEYS[self.method] if getattr(self, key) is not None}
        missing = [key for key in method.needs if key not in told]
        if method.one_of and not told.intersection(method.one_of):
            missing.append(" or ".join(method.one_of))
        if missing:
            raise ParameterError(
                f"calibration.{missing[0]} is missing, which method '{self.method}' needs; expected a number "
                "above 0 and below 1"
            )
        for key in sorted(told - {"event", "by"}):
            share = getattr(self, key)
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
                raise ParameterError(
                    f"calibration.{key} is {share!r}; expected a number above 0 and below 1 for method "
                    f"'{self.method}'"
                )
        if self.event is not None:
            check_choice("calibration.event", self.event, (INSTANCE, TRACK))
        if self.by is not None and not (isinstance(self.by, str) and self.by.strip()):
            raise ParameterError(f"calibration.by is {self.by!r}; expected class, or a condition by name")

    def calibrate(self, data: CalibrationData) -> Calibration:
        """Choose the threshold from the scores of ID validation data, and of outliers where it takes any."""
        if not len(data):
            raise ComponentFailure("calibration got no ID validation data; expected at least one instance")
        chosen = self._chosen(data)
        accepted = float(1.0 - chosen.alarms(data.scores, data.predicted).mean())
        return replace(chosen, validation_acceptance=accepted)

    def _chosen(self, data: CalibrationData) -> Calibration:
        """Return the threshold, before anything was compared with it."""
        scores, n = data.scores, len(data)
        keys = CALIBRATION_KEYS[self.method]
        accept = self.accept if "accept" in keys else None
        if self.method == "fixed":
            assert self.threshold is not None
            return Calibration(self.method, float(self.threshold), n)
        if self.method == VALIDATION_FAULT:
            if data.outliers is None or not len(data.outliers):
                raise ComponentFailure(
                    f"calibration method '{VALIDATION_FAULT}' got no outliers; expected those of a "
                    "validation_fault"
                )
            threshold, accuracy = best_threshold(scores, data.outliers)
            return Calibration(
                self.method, threshold, n, outliers=len(data.outliers), outlier_accuracy=accuracy
            )
        if self.method in GUARANTEES:
            told = {key: getattr(self, key) for key in keys if getattr(self, key) is not None}
            found = GUARANTEES[self.method].find(data, **told)
            return Calibration(
                self.method,
                found.threshold,
                n,
                asked_acceptance=accept,
                per_class=found.per_class,
                guarantee=found.guarantee,
            )
        accept = 1.0 if accept is None else accept
        threshold = quantile_threshold(scores, accept)
        per_class, borrowed = None, 0
        if self.method == "per-class":
            per_class = np.full(data.n_classes, threshold)
            for label in range(data.n_classes):
                own = scores[data.predicted == label]
                if len(own) >= FEWEST_PER_CLASS:
                    per_class[label] = quantile_threshold(own, accept)
                else:
                    borrowed += 1
        return Calibration(
            self.method,
            threshold,
            n,
            asked_acceptance=accept,
            per_class=per_class,
            classes_without_own_threshold=borrowed,
        )


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

    guarantee: Guarantee | None = field(default=None, repr=False)
    """What it promises, where it was chosen by a rule that promises anything."""

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
        if self.guarantee is None:
            del values["guarantee"]
        else:
            values["guarantee"] = self.guarantee.record()
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
        if "guarantee" in values:
            values["guarantee"] = Guarantee.from_record(values["guarantee"])
        return cls(**values)
