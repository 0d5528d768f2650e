"""What a monitor's mistakes cost by the user's own price list: a missed pedestrian is not a false alarm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from farm.api.arrays import NO_ANSWER, BoolArray, FloatArray, IntArray, check_labels
from farm.api.component import check_number
from farm.errors import DataError, ParameterError, suggestion
from farm.measures.class_groups import ClassGroups, Key
from farm.measures.measure import Measure, ratio
from farm.measures.oracle import should_be_cancelled

MOST = 1e15
"""No price is higher: sums of such are still numbers."""
EXAMPLE = "{wrong: 100, cancelled_right: 1, cancelled_wrong: 1, by_label: {pedestrian: 1000}}"
"""Prices in YAML, to show what is expected."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Prices in any unit, at least 0; a right decision acted upon costs nothing.

    Parameters
    ----------
    wrong
        A wrong decision acted upon, where nothing more particular is said.
    cancelled_right
        A right decision that was cancelled: a false alarm.
    cancelled_wrong
        A wrong decision that was cancelled: what the safe reaction itself costs.
    by_label
        A wrong decision acted upon, by the label. A class counts before its group.
    by_pair
        The same by label, and then by what was predicted; counts before `by_label`.
    groups
        Names for several classes, to be used wherever a class can be.

    Examples
    --------
    >>> costs = Costs.of({"wrong": 1, "cancelled_right": 0.1, "by_label": {"pedestrian": 100, -1: 10}})
    >>> costs.table(["car", "pedestrian"])
    array([[  0.,   1.],
           [100.,   0.],
           [ 10.,  10.]])
    """

    wrong: float
    cancelled_right: float
    cancelled_wrong: float = 0.0
    by_label: Mapping[Key, float] = field(default_factory=dict)
    by_pair: Mapping[Key, Mapping[Key, float]] = field(default_factory=dict)
    groups: Mapping[str, Sequence[Key]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("wrong", "cancelled_right", "cancelled_wrong"):
            check_number(f"costs.{name}", getattr(self, name), low=0, high=MOST)
        for name in ("by_label", "by_pair", "groups"):
            _check_mapping(f"costs.{name}", getattr(self, name))
        for label, price in self.by_label.items():
            check_number(f"costs.by_label.{label}", price, low=0, high=MOST)
        for label, row in self.by_pair.items():
            _check_mapping(f"costs.by_pair.{label}", row)
            for predicted, price in row.items():
                check_number(f"costs.by_pair.{label}.{predicted}", price, low=0, high=MOST)
        for name, members in self.groups.items():
            if isinstance(members, str) or not isinstance(members, Sequence) or not members:
                raise ParameterError(f"costs.groups.{name} is {members!r}; expected a list of classes")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Costs:
        """Make it of a mapping as YAML gives one."""
        _check_mapping("costs", given)
        known = {f.name for f in fields(cls)}
        if unknown := [name for name in given if name not in known]:
            raise ParameterError(f"costs has no '{unknown[0]}'; {suggestion(str(unknown[0]), known)}")
        for name in ("wrong", "cancelled_right"):
            if name not in given:
                raise ParameterError(f"costs.{name} is missing; expected a number, as in {EXAMPLE}")
        return cls(**given)

    def table(self, classes: Sequence[str]) -> FloatArray:
        """Return the cost of acting on each decision (column) by label (row); the last row is label -1."""
        table = np.full((len(classes) + 1, len(classes)), float(self.wrong))
        names = ClassGroups(classes, self.groups, "costs.")
        for rows, price in names.by_particularity(self.by_label, "by_label"):
            table[rows] = price
        names.fill(table, self.by_pair, "by_pair")
        np.fill_diagonal(table, 0.0)
        return table

    def dearest(self, classes: Sequence[str]) -> float:
        """Return the highest price that a decision may cost.

        Examples
        --------
        >>> Costs(wrong=10, cancelled_right=1, by_label={"pedestrian": 100}).dearest(["car", "pedestrian"])
        100.0
        """
        return max(float(self.table(classes).max()), self.cancelled_right, self.cancelled_wrong)


def instance_costs(
    costs: Costs, classes: Sequence[str], label: IntArray, predicted: IntArray, decision: IntArray
) -> FloatArray:
    """Return what each instance costs; `decision` is the class that was acted upon, -1 for none.

    Examples
    --------
    >>> costs = Costs(wrong=10, cancelled_right=1, cancelled_wrong=2)
    >>> label, predicted, decision = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([-1, 1, -1])
    >>> instance_costs(costs, ("a", "b"), label, predicted, decision)
    array([ 1., 10.,  2.])
    """
    _check_lengths(label, predicted, decision)
    check_labels(label, len(classes), "costs", no_answer=True)
    check_labels(predicted, len(classes), "costs: predicted")
    check_labels(decision, len(classes), "costs: decision", no_answer=True)
    wrong = should_be_cancelled(label, predicted)
    # Label -1 indexes the last row, which is its own.
    acted = costs.table(classes)[label, decision]
    idle = np.where(wrong, float(costs.cancelled_wrong), float(costs.cancelled_right))
    return np.asarray(np.where(decision == NO_ANSWER, idle, acted))


@dataclass(frozen=True)
class CostTally:
    """Summed costs of a monitor, of having none, and of the perfect one.

    The perfect monitor cancels what is wrong and nothing else, even where acting would have been cheaper.

    Examples
    --------
    >>> costs = Costs(wrong=10, cancelled_right=1)
    >>> label, predicted = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0])
    >>> tally = CostTally.of(costs, ("a", "b"), label, predicted, np.array([True, False, True, False]))
    >>> tally.mean.value, tally.mean_without.value, tally.mean_perfect.value, tally.saved.value
    (2.75, 5.0, 0.0, 0.45)
    """

    n: int
    monitor: float
    without: float
    perfect: float

    @classmethod
    def of(
        cls,
        costs: Costs,
        classes: Sequence[str],
        label: IntArray,
        predicted: IntArray,
        cancelled: BoolArray,
        decision: IntArray | None = None,
    ) -> CostTally:
        """Sum up the costs of what was done.

        `decision` is the class that was acted upon, -1 for none, where a fallback may have decided instead;
        without it, what was cancelled is not acted upon at all.
        """
        _check_lengths(label, predicted, cancelled)
        done = np.where(cancelled, NO_ANSWER, predicted) if decision is None else decision
        wrong = should_be_cancelled(label, predicted)
        return cls(
            n=len(label),
            monitor=float(instance_costs(costs, classes, label, predicted, done).sum()),
            without=float(instance_costs(costs, classes, label, predicted, predicted).sum()),
            perfect=float(costs.cancelled_wrong) * int(np.count_nonzero(wrong)),
        )

    @property
    def mean(self) -> Measure:
        """Mean cost an instance with this monitor."""
        return ratio(self.monitor, self.n, "no instances")

    @property
    def mean_without(self) -> Measure:
        """Mean cost an instance were every decision acted upon."""
        return ratio(self.without, self.n, "no instances")

    @property
    def mean_perfect(self) -> Measure:
        """Mean cost an instance were what is wrong cancelled, and nothing else."""
        return ratio(self.perfect, self.n, "no instances")

    @property
    def saved(self) -> Measure:
        """Share it saves of what the perfect monitor would; below 0 where having none is cheaper."""
        possible = max(self.without - self.perfect, 0.0)
        why = "the perfect monitor saves nothing" if self.n else "no instances"
        return ratio(self.without - self.monitor, possible, why)


def _check_lengths(*arrays: IntArray | BoolArray) -> None:
    lengths = {len(each) for each in arrays}
    if len(lengths) > 1:
        raise DataError(f"costs: arrays of {sorted(lengths)} instances; expected as many of each")


def _check_mapping(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name} is {value!r}; expected a mapping")
