"""How soon a monitor noticed what went wrong along streams, how often never, and how often it cried wolf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from farm.api.arrays import BoolArray, FloatArray
from farm.check.binomial import Trials, high_of_share, low_of_share
from farm.check.ground import RunRows
from farm.check.quantiles import as_trials, quantile_bounds
from farm.measures import OUTSIDE, Bounded, Delays, Measure
from farm.measures.delay import begun
from farm.readouts import Readouts


@dataclass(frozen=True, eq=False)
class Onsets:
    """The delays of all onsets of some streams: an onset that was missed has an infinite one.

    Examples
    --------
    >>> onsets = Onsets(np.array([0.0] * 50 + [3.0] * 9))
    >>> onsets.quantile(0.95, 0.95).high.value, round(onsets.missed(0.95).high.value, 4)
    (3.0, 0.0495)
    """

    delays: FloatArray = field(repr=False)

    @classmethod
    def of(cls, runs: Sequence[RunRows], monitor: str) -> Onsets:
        """Find them along whole streams."""
        found = []
        for run in runs:
            episode, is_ood = (run.instances[column].to_numpy() for column in ("episode", "is_ood"))
            alarm = run.alarms(monitor)["alarm"].to_numpy(np.bool_)
            found.append(Delays.of(episode.astype(np.int64), is_ood.astype(np.bool_), alarm).values)
        return cls(np.concatenate(found))

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.delays)

    @property
    def n_missed(self) -> int:
        """How many nobody noticed while they lasted."""
        return int(np.isinf(self.delays).sum())

    @property
    def counts(self) -> dict[str, int]:
        """Both, by name."""
        return {"onsets": self.n, "missed": self.n_missed}

    def quantile(self, q: float, level: float) -> Bounded:
        """Give the delay that a share of the onsets does not exceed."""
        value = np.sort(self.delays)[max(int(np.ceil(q * self.n - 1e-9)), 1) - 1]
        return Bounded(Measure(float(value)), *quantile_bounds(self.delays, q, level, what="onsets"))

    def missed(self, level: float) -> Bounded:
        """Give the share of them that was missed."""
        k, n = self.n_missed, self.n
        ends = (low_of_share(k, n, level), high_of_share(k, n, level))
        return Bounded(Measure(k / n), *map(Measure, ends))

    def trials(self, q: float, bound: float, *, strict: bool) -> Trials:
        """Ask whether a quantile meets a bound as a question about a share of the onsets."""
        return as_trials(self.delays, q, bound, strict=strict, independent=self.n)

    def missed_trials(self, bound: float) -> Trials:
        """Ask the same of the share that was missed."""
        return Trials(self.n_missed, self.n, bound)


def quiet(run: RunRows) -> BoolArray:
    """Say which instances of a run are ID, before faults or between them."""
    rows = run.instances
    is_ood = rows["is_ood"].to_numpy(np.bool_)
    outside = begun(rows["episode"].to_numpy(np.int64), is_ood) == OUTSIDE
    return np.asarray(outside & ~is_ood)


def quiet_run(run: RunRows) -> Readouts:
    """Give the readouts of these alone."""
    rows, alarms = run.instances[quiet(run)], run.run.readouts.alarms
    return Readouts(rows, alarms[alarms["position"].isin(rows["position"])], run.run.readouts.run)
