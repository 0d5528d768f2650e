"""Measures that can be computed of any draw of groups, for several monitors at once.

Each gives columns, one a measure and monitor: the value of the stream as it is, and the value of every
draw. A draw enters as weights, how often each group was drawn: the counts of thousands of draws are one
matrix product of the weights and the counts within each group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.errors import DataError, ParameterError, suggestion
from farm.measures import detection
from farm.measures.detection import OVERALL, SPECIFIC, Counts
from farm.measures.many import MANY
from farm.measures.measure import Measure, ratio, undefined
from farm.measures.ranking import auroc
from farm.oracle import OUTCOMES, OutcomeCodes, tally
from farm.statistics.resampling import Resampling

Column: TypeAlias = tuple[str, str]
"""A measure and a monitor."""
Draw: TypeAlias = Callable[[FloatArray], FloatArray]
"""From weights, a row a replicate and a column a group, to values: a row a replicate, NaN where undefined."""


Method: TypeAlias = Literal["expanded percentile", "logit t"]
"""How a measure's interval is read off its draws; `farm.statistics.bootstrap` tells of both."""


class Replicated(Protocol):
    """What `bootstrap` resamples."""

    @property
    def method(self) -> Method:
        """How the interval is made."""
        ...

    def points(self) -> Mapping[Column, Measure]:
        """Give the values of the stream as it is, column by column."""
        ...

    def draw(self, resampling: Resampling) -> Draw:
        """Get ready for draws; their columns are those of `points`, in that order."""
        ...


class Counted:
    """Measures that follow from counts of true and false positives and negatives.

    Parameters
    ----------
    task
        `specific` or `overall`; the measures' names begin with it: `specific_mcc`.
    outcomes
        Each monitor's outcome codes, of `farm.oracle.specific` or `overall`.
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

    method: Method = "expanded percentile"

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

    method: Method = "expanded percentile"

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
        sums = resampling.sums(np.column_stack([among, *columns]))

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

    method: Method = "logit t"

    def __init__(self, scores: Mapping[str, FloatArray], is_ood: BoolArray) -> None:
        self._scores, self._is_ood = scores, is_ood

    def points(self) -> dict[Column, Measure]:
        """Give the area for all instances."""
        return {("auroc", monitor): auroc(scores, self._is_ood) for monitor, scores in self._scores.items()}

    def draw(self, resampling: Resampling) -> Draw:
        """Sort each monitor's scores, once."""
        for monitor, scores in self._scores.items():
            _check(monitor, len(scores), resampling.n)
        each = [_area(scores, self._is_ood, resampling) for scores in self._scores.values()]
        return lambda weights: np.column_stack([area(weights) for area in each])


def _area(scores: FloatArray, is_ood: BoolArray, resampling: Resampling) -> Draw:
    """Weigh pairs of an ID and an OOD instance by the product of their weights.

    With the ID weights summed in the order of their scores, the weight of all that lie below an OOD score is
    one look into that sum.
    """
    if np.isnan(scores).any():
        return lambda weights: np.full(len(weights), np.nan)
    id_rows, ood_rows = np.flatnonzero(~is_ood), np.flatnonzero(is_ood)
    id_rows = id_rows[np.argsort(scores[id_rows], kind="stable")]
    # Sorted, both look-ups pass through memory in one direction.
    ood_rows = ood_rows[np.argsort(scores[ood_rows], kind="stable")]
    below = np.searchsorted(scores[id_rows], scores[ood_rows], side="left")
    up_to = np.searchsorted(scores[id_rows], scores[ood_rows], side="right")
    id_groups, ood_groups = resampling.code[id_rows], resampling.code[ood_rows]

    def values(weights: FloatArray) -> FloatArray:
        ood = weights[:, ood_groups]
        summed = np.zeros((len(weights), len(id_rows) + 1))
        np.cumsum(weights[:, id_groups], axis=1, out=summed[:, 1:])
        twice = np.einsum("ij,ij->i", ood, summed[:, below]) + np.einsum("ij,ij->i", ood, summed[:, up_to])
        pairs = summed[:, -1] * ood.sum(axis=1)
        return np.asarray(twice / np.where(pairs > 0, 2 * pairs, np.nan))

    return values


def _check(monitor: str, found: int, n: int) -> None:
    if found != n:
        raise DataError(f"bootstrap: monitor '{monitor}' has {found} values; expected {n}, one an instance")
