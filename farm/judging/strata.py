"""What is counted and sorted once for each stratum: ID instances are shared by all groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add

import numpy as np

from farm.api.arrays import FloatArray
from farm.judging.table import Judgement, VerdictTable
from farm.measures import Measure, Separation, undefined
from farm.measures.certainty import CONFIDENCE_AUROC, BrierSums, why_not_told_apart
from farm.measures.histogram import between
from farm.measures.parts import Part, Partition
from farm.measures.probability_sums import ProbabilitySums
from farm.measures.tally import Tally


def tallies(table: VerdictTable, everyone: Mapping[str, Judgement]) -> dict[str, list[Tally]]:
    """Count what each said, stratum by stratum; every part's counts are sums of those.

    Where `is_ood` is missing, what would need it means nothing: `table.why_no_ood` says so.
    """
    found: dict[str, list[Tally]] = {name: [] for name in everyone}
    for rows in table.partition.strata:
        known = table.label[rows], table.predicted[rows], table.is_ood[rows]
        unlabelled = table.unlabelled[rows]
        for name, said in everyone.items():
            decision = None if said.decision is None else said.decision[rows]
            verdicts = said.alarm[rows], said.cancelled[rows], decision
            found[name].append(Tally.of(*known, *verdicts, unlabelled=unlabelled, n_classes=table.n_classes))
    return found


def total(counted: Sequence[Tally], part: Part) -> Tally:
    """Sum the strata of a part."""
    return reduce(add, (counted[number] for number in part.strata))


class Ascending:
    """Values in rising order within each stratum, missing ones (NaN) last."""

    def __init__(self, values: FloatArray, partition: Partition) -> None:
        self.strata = [np.sort(values[rows]) for rows in partition.strata]

    def known(self, part: Part) -> list[FloatArray]:
        """Return the values of a part that are not missing, one array a stratum."""
        found = [self.strata[number] for number in part.strata]
        return [values[: np.searchsorted(values, np.nan)] for values in found]


class Certainty:
    """How sure the classifier was where it was right and where it was wrong, stratum by stratum.

    Only instances that have a right answer count.
    """

    def __init__(self, table: VerdictTable) -> None:
        sure = np.full(len(table), np.nan) if table.confidence is None else table.confidence
        self._n_classes = table.classifier_classes
        self._brier: list[BrierSums] = []
        self._probabilities: list[ProbabilitySums] = []
        self._sides: list[tuple[FloatArray, FloatArray]] = []
        """The confidences of wrong and of right predictions, in rising order."""
        for rows in table.partition.strata:
            answered, wrong = table.answered[rows], table.should_cancel[rows]
            brier = None if table.brier is None else table.brier[rows]
            self._brier.append(BrierSums.of(answered, brier))
            likely = None if table.label_probability is None else table.label_probability[rows]
            own = sure[rows]
            self._probabilities.append(ProbabilitySums.of(answered, ~wrong, own, likely))
            self._sides.append((np.sort(own[answered & wrong]), np.sort(own[~wrong])))

    def measures(self, part: Part) -> dict[str, Measure]:
        """Return what records hold of a part."""
        brier = reduce(add, (self._brier[number] for number in part.strata))
        probabilities = reduce(add, (self._probabilities[number] for number in part.strata))
        sides = (np.concatenate(side) for side in zip(*(self._sides[s] for s in part.strata), strict=True))
        wrong, right = (np.sort(side, kind="stable") for side in sides)  # which merges what is sorted
        missing = int(np.isnan(wrong).sum() + np.isnan(right).sum())
        why = why_not_told_apart(brier.n, len(right), len(wrong), missing)
        auroc = undefined(why) if why else Separation(wrong, right, ascending=True).auroc()
        return {**brier.measures(self._n_classes), CONFIDENCE_AUROC: auroc, **probabilities.measures()}


def quantiles(sorted_arrays: Sequence[FloatArray], shares: Sequence[float]) -> list[float]:
    """Return the quantiles of one or two sorted arrays taken together, as `np.quantile` does by default.

    Examples
    --------
    >>> quantiles([np.array([1.0, 4.0]), np.array([2.0, 3.0])], (0.0, 0.5, 1.0))
    [1.0, 2.5, 4.0]
    """
    first, second = (*sorted_arrays, np.empty(0))[:2]
    last = len(first) + len(second) - 1
    found = []
    for share in shares:
        place = last * share
        below = math.floor(place)
        low, high = _smallest(first, second, below), _smallest(first, second, min(below + 1, last))
        found.append(between(low, high, place - below))
    return found


def _smallest(first: FloatArray, second: FloatArray, k: int) -> float:
    """Return the value with k others before it, looking at a few of each array only."""
    low, high = max(k - len(second), 0), min(k, len(first))
    # How many of the k come from the first array: the smallest number that leaves none smaller in it.
    while low < high:
        taken = (low + high) // 2
        if first[taken] < second[k - taken - 1]:
            low = taken + 1
        else:
            high = taken
    left = [values[at] for values, at in ((first, low), (second, k - low)) if at < len(values)]
    return float(min(left))
