"""How long something took: quantiles and means of times, which instances of one batch have in common.

What takes a batch of 64 is told as a 64th of it for each: that is one measurement, and 64 values. So values
that follow each other along the stream and are the same count as one. Beyond that, measurements are taken
for independent of each other. On a machine that does other things besides, slow ones come together, and the
bounds are surer than they should be: time on a quiet machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.check.binomial import Trials
from farm.check.ground import RunRows
from farm.check.quantiles import as_trials, quantile_bounds
from farm.measures import Bounded, Measure
from farm.statistics.bootstrap import bootstrap
from farm.statistics.replicated import Mean
from farm.statistics.resampling import Resampling


@dataclass(frozen=True, eq=False)
class Timed:
    """The times of selected instances, as far as they are known."""

    values: FloatArray = field(repr=False)
    measurement: IntArray = field(repr=False)
    """The number of the measurement that each is of."""
    is_ood: BoolArray = field(repr=False)

    @classmethod
    def of(cls, runs: Sequence[RunRows], monitor: str | None) -> Timed:
        """Take them along each run's stream; None stands for the classifier."""
        times, is_ood, first = [], [], []
        for run in runs:
            table = run.instances if monitor is None else run.alarms(monitor)
            column = "classifier_time_us" if monitor is None else "monitor_time_us"
            values = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
            known = ~np.isnan(values)
            times.append(values[known])
            is_ood.append(run.instances["is_ood"].to_numpy(np.bool_)[known])
            first.append(np.diff(values[known], prepend=np.nan) != 0)
        number = np.cumsum(np.concatenate(first)) - 1
        return cls(np.concatenate(times), number, np.concatenate(is_ood))

    @property
    def n(self) -> int:
        """How many instances were timed."""
        return len(self.values)

    @property
    def n_ood(self) -> int:
        """How many of them are OOD."""
        return int(self.is_ood.sum())

    @property
    def n_measured(self) -> int:
        """How many measurements there are."""
        return int(self.measurement[-1]) + 1

    @property
    def told(self) -> str:
        """Say what bounds are made of, and what they take for granted."""
        batches = " (instances of a batch are timed together)" if self.n_measured < self.n else ""
        return f"{self.n_measured} measurements, taken for independent{batches}"

    def quantile(self, q: float, level: float) -> Bounded:
        """Give a quantile of all instances, between two of the values in their order.

        Examples
        --------
        >>> timed = Timed(np.arange(400.0), np.arange(400) // 4, np.zeros(400, dtype=bool))
        >>> found = timed.quantile(0.9, 0.95)
        >>> round(found.value.value, 1), found.low.value, found.high.value
        (359.1, 339.0, 383.0)
        """
        ends = quantile_bounds(self.values, q, level, independent=self.n_measured, what="measurements")
        return Bounded(Measure(float(np.quantile(self.values, q))), *ends)

    def mean(self, level: float, replicates: int, seed: int) -> Bounded:
        """Give the mean, by resampling measurements.

        Examples
        --------
        >>> timed = Timed(np.arange(100.0), np.arange(100), np.zeros(100, dtype=bool))
        >>> found = timed.mean(0.95, 2000, 0)
        >>> found.value.value, round(found.low.value), round(found.high.value)
        (49.5, 44, 54)
        """
        made = bootstrap(
            [Mean("mean", {"it": self.values})],
            Resampling(self.n, group=self.measurement),
            seed=seed,
            replicates=replicates,
            level=max(2 * level - 1, 1e-9),  # each end alone holds with the level
        )
        found = made.interval("mean", "it")
        return Bounded(found.value, found.low, found.high)

    def trials(self, q: float, bound: float, *, strict: bool) -> Trials:
        """Ask whether a quantile meets a bound as a question about a share of the measurements."""
        return as_trials(self.values, q, bound, strict=strict, independent=self.n_measured)
