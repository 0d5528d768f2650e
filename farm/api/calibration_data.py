"""What a threshold is chosen on: the scores of ID validation data, and what is known of each instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import BoolArray, FloatArray, IntArray, StrArray
from farm.errors import ComponentFailure

CLASS = "class"
UNKNOWN = ("", "nan")
"""What a condition says, as text, of an instance that it is not known of."""


@dataclass(frozen=True, eq=False)
class CalibrationData:
    """Scores of ID validation data; each array has a value an instance.

    What is None is not known: a rule that needs it says so. `conditions` are columns such as weather or
    light. `outliers` are the scores of a validation fault, and `seed` is the experiment's. `seen_in_fit` says
    that the monitor's fit looked at these very instances.

    Examples
    --------
    >>> data = CalibrationData(np.array([0.1, 0.7]), np.array([0, 1]), 2, labels=np.array([0, 0]))
    >>> data.wrong.tolist(), len(data)
    ([False, True], 2)
    """

    scores: FloatArray
    predicted: IntArray
    n_classes: int
    ids: StrArray | None = None
    labels: IntArray | None = None
    track: StrArray | None = None
    conditions: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    outliers: FloatArray | None = None
    seed: int = 0
    seen_in_fit: bool = False

    def __post_init__(self) -> None:
        columns = {f.name: getattr(self, f.name) for f in fields(self)} | dict(self.conditions)
        for name in ("predicted", "ids", "labels", "track", *self.conditions):
            if (values := columns[name]) is not None and len(values) != len(self):
                raise ComponentFailure(
                    f"calibration got {len(self)} scores and {len(values)} values of {name}; expected as many"
                )
        for name in ("scores", "outliers"):
            if (values := columns[name]) is not None and not (finite := np.isfinite(values)).all():
                place = int(finite.argmin())
                raise ComponentFailure(
                    f"calibration got {values[place]} as value {place} of {name}; expected finite numbers"
                )

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def wrong(self) -> BoolArray:
        """Whether each instance's class is wrong."""
        if self.labels is None:
            raise ComponentFailure("calibration got no labels; expected one for each ID validation instance")
        return np.asarray(self.labels != self.predicted, dtype=np.bool_)

    @cached_property
    def code(self) -> IntArray:
        """The number of the track of each instance, from 0; each is one by itself where none is known."""
        if self.track is None:
            return np.arange(len(self))
        return np.unique(self.track, return_inverse=True)[1]

    @property
    def n_tracks(self) -> int:
        """How many tracks there are."""
        return int(self.code.max(initial=-1)) + 1

    @property
    def shares_tracks(self) -> bool:
        """Whether any two instances are of one track."""
        return len(self) > self.n_tracks

    def grouped(self, by: str) -> tuple[CalibrationData, Mapping[str, CalibrationData]]:
        """Return those whose group is known, and of them each group by its name.

        These are the predicted classes, whether there are any instances of one or not, or the values of a
        condition.
        """
        if by == CLASS:
            each = (np.flatnonzero(self.predicted == label) for label in range(self.n_classes))
            return self, {f"predicted class {label}": self.rows(rows) for label, rows in enumerate(each)}
        if by not in self.conditions:
            known = ", ".join([CLASS, *self.conditions])
            raise ComponentFailure(
                f"calibration.by is '{by}', which the validation data do not tell; expected one of: {known}"
            )
        values = np.asarray(self.conditions[by]).astype(str)
        told = ~np.isin(values, UNKNOWN)
        if not told.any():
            raise ComponentFailure(f"calibration.by is '{by}', which is known of no validation instance")
        names = np.unique(values[told])
        groups = {f"{by} '{name}'": self.rows(np.flatnonzero(values == name)) for name in names}
        return self.rows(np.flatnonzero(told)), groups

    def rows(self, chosen: IntArray) -> CalibrationData:
        """Return some of the instances."""

        def of(values: NDArray[Any] | None) -> Any:
            return None if values is None else values[chosen]

        return replace(
            self,
            scores=self.scores[chosen],
            predicted=self.predicted[chosen],
            ids=of(self.ids),
            labels=of(self.labels),
            track=of(self.track),
            conditions={name: values[chosen] for name, values in self.conditions.items()},
        )
