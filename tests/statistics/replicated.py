"""Measures of several monitors at once, got ready for draws, as tests of intervals need them.

Each gives columns, one a measure and monitor: the value of the stream as it is, and the value of every
draw. A draw enters as weights, how often each group was drawn: the counts of thousands of draws are one
matrix product of the weights and the counts within each group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.errors import DataError, ParameterError, suggestion
from farm.measures import detection
from farm.measures.detection import OVERALL, SPECIFIC, Counts
from farm.measures.many import MANY
from farm.measures.measure import Measure, ratio, undefined
from farm.measures.oracle import OUTCOMES, OutcomeCodes, tally
from farm.measures.ranking import auroc
from farm.statistics.bootstrap import Column
from farm.statistics.bootstrap import bootstrap as bootstrap_of
from farm.statistics.resampling import Draw, Resampling, areas_by_weight


def bootstrap(measures, resampling, **options):
    """Draw all measures together."""
    prepared = [(measure.points(), measure.draw(resampling)) for measure in measures]

    def values(weights):
        tables = [(points, draw(weights)) for points, draw in prepared]
        return {column: of for points, table in tables for column, of in zip(points, table.T, strict=True)}

    return bootstrap_of(
        {column: value for points, _ in prepared for column, value in points.items()},
        values,
        resampling,
        **options,
    )


class Counted:
    """Measures that follow from counts of true and false positives and negatives.

    Parameters
    ----------
    task
        `specific` or `overall`; the measures' names begin with it: `specific_mcc`.
    outcomes
        Each monitor's outcome codes, of `farm.measures.oracle.specific` or `overall`.
    measures
        Names of functions in `farm.measures.detection`.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 3, 3, 2], dtype=np.uint8)
    >>> counted = Counted("specific", {"odin": codes}, ["mcc", "fnr"])
    >>> for (measure, monitor), value in counted.points().items():
    ...     print(measure, monitor, round(value.value, 3))
    specific_mcc odin 0.333
    specific_fnr odin 0.333
    """

    def __init__(
        self,
        task: Literal["specific", "overall"],
        outcomes: Mapping[str, OutcomeCodes],
        measures: Sequence[str],
    ) -> None:
        for name in measures:
            if name not in MANY:
                raise ParameterError(f"bootstrap: measure '{name}'; {suggestion(name, MANY)}")
        self._task, self._outcomes, self._measures = task, outcomes, measures

    def points(self) -> dict[Column, Measure]:
        """Give the measures of all instances."""
        wording = SPECIFIC if self._task == "specific" else OVERALL
        counts = {name: Counts(**tally(codes), wording=wording) for name, codes in self._outcomes.items()}
        return {
            (f"{self._task}_{measure}", monitor): getattr(detection, measure)(found)
            for measure in self._measures
            for monitor, found in counts.items()
        }

    def draw(self, resampling: Resampling) -> Draw:
        """Count outcomes within each group, once."""
        for monitor, codes in self._outcomes.items():
            _check(monitor, len(codes), resampling.n)
        kinds = len(OUTCOMES)
        cells = kinds * resampling.n_groups
        counts = np.hstack(
            [
                np.bincount(kinds * resampling.code + codes, minlength=cells).reshape(-1, kinds)
                for codes in self._outcomes.values()
            ]
        ).astype(np.float64)

        def values(weights: FloatArray) -> FloatArray:
            matrices = (weights @ counts).reshape(len(weights), -1, kinds)
            return np.hstack([MANY[measure](matrices) for measure in self._measures])

        return values


class Mean:
    """The mean of any number that each instance has: a cost, an alarm (whose mean is a rate).

    Parameters
    ----------
    name
        What the measure is called.
    values
        Each monitor's numbers.
    among
        Which instances count; None: all of them.

    Examples
    --------
    >>> Mean("cost", {"odin": np.array([0.0, 1.0, 5.0])}).points()
    {('cost', 'odin'): Measure(value=2.0, reason=None)}
    """

    def __init__(
        self, name: str, values: Mapping[str, FloatArray | BoolArray], among: BoolArray | None = None
    ) -> None:
        self._name = name
        self._values = {monitor: np.asarray(found, dtype=np.float64) for monitor, found in values.items()}
        self._among = among

    def points(self) -> dict[Column, Measure]:
        """Give the means over all instances that count."""
        return {(self._name, monitor): self._point(values) for monitor, values in self._values.items()}

    def _point(self, values: FloatArray) -> Measure:
        counted = values if self._among is None else values[self._among]
        missing = int(np.isnan(counted).sum())
        if missing:
            return undefined(f"the value is missing for {missing} of {len(counted)} instances")
        return ratio(float(counted.sum()), len(counted), "no instances")

    def draw(self, resampling: Resampling) -> Draw:
        """Sum within each group, once."""
        for monitor, found in self._values.items():
            _check(monitor, len(found), resampling.n)
        among = np.ones(resampling.n, dtype=np.bool_) if self._among is None else self._among
        columns = [np.where(among, values, 0.0) for values in self._values.values()]
        sums = np.column_stack([np.bincount(resampling.code, weights=each) for each in (among, *columns)])

        def values(weights: FloatArray) -> FloatArray:
            summed = weights @ sums
            whole = np.where(summed[:, :1] > 0, summed[:, :1], np.nan)
            return np.asarray(summed[:, 1:] / whole)

        return values


class Auroc:
    """The area under the ROC curve, a tie counting half: `auroc`.

    Parameters
    ----------
    scores
        Each monitor's scores.
    is_ood
        Which instances are OOD.
    """

    def __init__(self, scores: Mapping[str, FloatArray], is_ood: BoolArray) -> None:
        self._scores, self._is_ood = scores, is_ood

    def points(self) -> dict[Column, Measure]:
        """Give the area for all instances."""
        return {("auroc", monitor): auroc(scores, self._is_ood) for monitor, scores in self._scores.items()}

    def draw(self, resampling: Resampling) -> Draw:
        """Sort each monitor's scores, once."""
        for monitor, scores in self._scores.items():
            _check(monitor, len(scores), resampling.n)
        each = [areas_by_weight(scores, self._is_ood, resampling.code) for scores in self._scores.values()]
        return lambda weights: np.column_stack([area(weights) for area in each])


def _check(monitor: str, found: int, n: int) -> None:
    if found != n:
        raise DataError(f"bootstrap: monitor '{monitor}' has {found} values; expected {n}, one an instance")
