"""One monitor's verdicts summed up in bounded memory: parts add up to the same as the whole, in any order.

Memory grows with the number of groups and classes, never with that of the instances.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sized
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.errors import DataError
from farm.measures.detection import detection_measures
from farm.measures.histogram import BINS, Histogram
from farm.measures.measure import Measure, ratio, undefined
from farm.measures.score_histogram import ScoreHistogram
from farm.measures.tally import Tally

TIME_BINS = 2**12
"""The most bins for times: half the width of one is one or two thousandths of the time."""
QUANTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99}
"""The quantiles given of times."""
_NO_CLASSES, _NO_FLAGS = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
_NOBODY = Tally.of(_NO_CLASSES, _NO_CLASSES, _NO_FLAGS, _NO_FLAGS, _NO_FLAGS)


@dataclass(frozen=True, eq=False)
class Sums:
    """What is kept of some instances, all of them ID or all OOD."""

    tally: Tally
    scores: Histogram
    times: Histogram

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.tally + other.tally, self.scores + other.scores, self.times + other.times)


class Accumulator:
    """Counts and histograms of one monitor: of ID instances, and of each group of OOD instances.

    Parameters
    ----------
    bins, time_bins
        The most bins of each histogram.

    Examples
    --------
    >>> seen = Accumulator()
    >>> is_ood, alarm = np.array([False, False, True]), np.array([False, True, True])
    >>> label, predicted, score = np.array([0, 1, -1]), np.array([0, 1, 0]), np.array([0.1, 0.7, 0.6])
    >>> seen.add(label, predicted, is_ood, alarm, score=score)
    >>> measures = seen.merge(seen).measures()
    >>> [measures[name].value for name in ("auroc", "auroc_error", "specific_fpr", "coverage")]
    [0.5, 0.0, 0.5, 0.3333333333333333]
    """

    def __init__(self, *, bins: int = BINS, time_bins: int = TIME_BINS) -> None:
        self._bins, self._time_bins = bins, time_bins
        self._sums: dict[Hashable, Sums] = {}

    def add(
        self,
        label: IntArray,
        predicted: IntArray,
        is_ood: BoolArray,
        alarm: BoolArray,
        *,
        cancelled: BoolArray | None = None,
        decision: IntArray | None = None,
        score: FloatArray | None = None,
        time_us: FloatArray | None = None,
        group: Hashable = "ood",
    ) -> None:
        """Take down a part, its OOD instances all of one group.

        Labels and predictions are classes from 0 on, a label is -1 where no right answer exists. Where
        `cancelled` is not given every alarm cancels; where `decision` is not, nothing takes a cancelled
        decision's place.
        """
        given: dict[str, Sized | None] = {"label": label, "predicted": predicted, "alarm": alarm}
        given |= {"cancelled": cancelled, "decision": decision, "score": score, "time_us": time_us}
        for name, values in given.items():
            if values is not None and len(values) != len(is_ood):
                raise DataError(f"{name}: {len(values)} values; expected {len(is_ood)}, one an instance")
        for side, key in ((~is_ood, None), (is_ood, group)):
            if not side.any():
                continue
            tally = Tally.of(
                label[side],
                predicted[side],
                is_ood[side],
                alarm[side],
                (alarm if cancelled is None else cancelled)[side],
                None if decision is None else decision[side],
            )
            self.put(key, tally, *(None if x is None else x[side] for x in (score, time_us)))

    def put(
        self,
        group: Hashable,
        tally: Tally,
        score: FloatArray | None = None,
        time_us: FloatArray | None = None,
    ) -> None:
        """Take down instances that have been counted; the group None is ID."""
        before = self._sums.get(group)
        unknown = np.full(tally.n, np.nan)
        scores, times = (
            # Bins that are too fine already need not be made again.
            Histogram.of(unknown if values is None else values, most, sketch.shift if sketch else 0)
            for values, most, sketch in (
                (score, self._bins, before and before.scores),
                (time_us, self._time_bins, before and before.times),
            )
        )
        new = Sums(tally, scores, times)
        self._sums[group] = before + new if before else new

    def merge(self, other: Accumulator) -> Accumulator:
        """Give the sum of both."""
        merged = Accumulator(bins=self._bins, time_bins=self._time_bins)
        merged._sums = dict(self._sums)
        for group, sums in other._sums.items():
            merged._sums[group] = merged._sums[group] + sums if group in merged._sums else sums
        return merged

    def rename(self, group: Hashable, new: Hashable) -> None:
        """Make a group part of another."""
        sums = self._sums.pop(group)
        self._sums[new] = self._sums[new] + sums if new in self._sums else sums

    def recoded(self, codes: IntArray) -> Accumulator:
        """Give the same with other codes for classes: `i` becomes `codes[i]`."""
        changed = Accumulator(bins=self._bins, time_bins=self._time_bins)
        changed._sums = {
            group: replace(sums, tally=sums.tally.recoded(codes)) for group, sums in self._sums.items()
        }
        return changed

    def keys(self) -> list[Hashable]:
        """Name what was taken down, in the order it came: groups of OOD instances, and None for ID."""
        return list(self._sums)

    def sums(self, keys: Iterable[Hashable]) -> Sums:
        """Sum up groups; what was never taken down is nothing."""
        nothing = Sums(_NOBODY, *(Histogram.of(np.empty(0), most) for most in (self._bins, self._time_bins)))
        return reduce(add, (self._sums[key] for key in keys if key in self._sums), nothing)

    def scores(self, keys: Iterable[Hashable]) -> ScoreHistogram:
        """Give the scores of ID instances, if None is among the keys, beside those of the groups."""
        groups = set(keys)
        id_ = self.sums(groups & {None}).scores
        return ScoreHistogram(id_, self.sums(groups - {None}).scores)

    def measures(self, keys: Iterable[Hashable] | None = None) -> dict[str, Measure]:
        """Give the measures of some groups, or of everything; a name with `_error` bounds another's error."""
        chosen = self.keys() if keys is None else list(keys)
        sums = self.sums(chosen)
        tally = sums.tally
        return {
            **{f"specific_{name}": m for name, m in detection_measures(tally.specific).items()},
            **{f"overall_{name}": m for name, m in detection_measures(tally.overall).items()},
            "alarm_rate": ratio(tally.alarms, tally.n, "no instances"),
            **self.scores(chosen).measures(),
            **tally.classification(),
            **{f"time_us_{name}": measure for name, measure in time_quantiles(sums.times).items()},
        }


def time_quantiles(times: Histogram) -> dict[str, Measure]:
    """Give the quantiles of times, and the greatest relative error that one of them may have.

    Examples
    --------
    >>> {name: measure.value for name, measure in time_quantiles(Histogram.of(np.array([2.0, 4.0]))).items()}
    {'median': 3.0, 'p95': 3.9, 'p99': 3.98, 'relative_error': 0.0}
    """
    if not times.n:
        return dict.fromkeys((*QUANTILES, "relative_error"), undefined("no times were given"))
    found = {name: times.quantile(share) for name, share in QUANTILES.items()}
    errors = [error.value / abs(value.value) for value, error in found.values() if error.value]
    worst = max(errors, default=0.0)
    return {name: value for name, (value, _) in found.items()} | {"relative_error": Measure(worst)}
