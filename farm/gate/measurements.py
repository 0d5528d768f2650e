"""Evidence on times, on delays along streams, and on sizes: read off the readouts, where no track is drawn.

What takes a batch of 64 is told as a 64th of it for each: that is one measurement, and 64 values. So values
that follow each other along the stream and are the same count as one. Beyond that, measurements are taken
for independent of each other. On a machine that does other things besides, slow ones come together, and the
bounds are surer than they should be: time on a quiet machine.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from farm.api.arrays import BoolArray, IntArray
from farm.comparing.measures import CLASSIFIER
from farm.gate.binomial import Trials, as_trials, quantile_bounds
from farm.gate.criterion import Criterion
from farm.gate.demand import Demand, Evidence
from farm.gate.selected import Selected
from farm.judging import VerdictTable
from farm.measures import Measure
from farm.measures.delays import Delays
from farm.measures.episodes import OUTSIDE, Episodes
from farm.statistics.bootstrap import bootstrap
from farm.statistics.clopper_pearson import high_of_share, low_of_share
from farm.statistics.resampling import Resampling, means_by_weight


def time_evidence(
    selected: Selected, criterion: Criterion, monitor: str, replicates: int, seed: int
) -> Evidence:
    """Return the evidence on the mean or a quantile of a monitor's or the classifier's known times."""
    times, oods, begins = [], [], []
    for table in (run.table for run in selected.runs):
        given = table.time_us if monitor == CLASSIFIER else table.said[monitor].time_us
        every = np.full(len(table), np.nan) if given is None else given
        known = ~np.isnan(every)
        times.append(every[known])
        oods.append(table.is_ood[known])
        begins.append(np.diff(every[known], prepend=np.nan) != 0)
    values, first = np.concatenate(times), np.concatenate(begins)
    n, n_measured, q, trials = len(values), int(first.sum()), _share(criterion), None
    demand = Demand.of(criterion)
    if q is None:
        how, column = f"{replicates} resamplings", (criterion.measure, monitor)
        measurements = Resampling(n, group=np.cumsum(first) - 1)
        mean = means_by_weight(values, measurements)
        value = Measure(float(values.sum() / n))
        made = bootstrap(
            {column: value},
            lambda weights: {column: mean(weights)},
            measurements,
            seed=seed,
            replicates=replicates,
            level=max(2 * criterion.level - 1, 1e-9),  # each end alone holds with the level
        )
        interval = made.interval(*column)
        low, high = interval.low, interval.high
    else:
        how, value = "order statistics", Measure(float(np.quantile(values, q)))
        low, high = quantile_bounds(values, q, criterion.level, independent=n_measured, what="measurements")
        trials = as_trials(values, q, demand.bound, strict=demand.strict, independent=n_measured)
    batches = " (instances of a batch are timed together)" if n_measured < n else ""
    return Evidence(
        value,
        low,
        high,
        criterion.level,
        n=n,
        n_ood=int(np.concatenate(oods).sum()),
        n_groups=n_measured,
        sets=selected.set_names,
        method=f"{how} of {n_measured} measurements, taken for independent{batches}",
        trials=trials,
    )


def onset_evidence(selected: Selected, criterion: Criterion, monitor: str) -> Evidence:
    """Return the evidence on how soon a monitor noticed what went wrong along streams, or how often never.

    An onset that nobody noticed while it lasted has an infinite delay; so has one that the stream's end left
    open after more instances than the criterion grants. All others without a delay are told apart.
    """
    demand, tables = Demand.of(criterion), [run.table for run in selected.runs]
    q, level = _share(criterion), criterion.level
    every = Delays.together(
        Episodes(episode_of(each), each.is_ood).noticed(each.said[monitor].alarm).delays for each in tables
    )
    outlasted = 0 if q is None else every.open_after(demand.bound)
    delays, n_missed = np.append(every.values, np.full(outlasted, np.inf)), every.missed + outlasted
    n = len(delays)
    if not n:
        gap = every.quantile(0.5)
        return Evidence(gap, gap, gap, level, 0, 0, 0, selected.set_names, "")
    if q is None:
        how, value = "Clopper and Pearson, ", n_missed / n
        low, high = (Measure(end(n_missed, n, level)) for end in (low_of_share, high_of_share))
        trials = Trials(n_missed, n, demand.bound)
    else:
        how, value = "order statistics of ", float(np.sort(delays)[max(int(np.ceil(q * n - 1e-9)), 1) - 1])
        low, high = quantile_bounds(delays, q, level, what="onsets")
        trials = as_trials(delays, q, demand.bound, strict=demand.strict, independent=n)
    return Evidence(
        Measure(value),
        low,
        high,
        level,
        n=n,
        n_ood=n,
        n_groups=n,
        sets=selected.set_names,
        method=f"{how}{n} onsets, taken for independent{every.aside(outlasted)}",
        counts={"onsets": n, "missed": n_missed},
        trials=trials,
    )


def size_evidence(selected: Selected, criterion: Criterion, monitor: str) -> Evidence:
    """Return the size of what was fitted, which nothing is uncertain about; of several runs the largest."""
    sizes = [run.run.monitors[monitor].nbytes or 0 for run in selected.runs]
    value, n = Measure(float(max(sizes))), sum(len(run.table) for run in selected.runs)
    several = len(set(sizes)) > 1
    return Evidence(
        value,
        value,
        value,
        criterion.level,
        n=n,
        n_ood=sum(int(run.table.is_ood.sum()) for run in selected.runs),
        n_groups=n,
        sets=selected.set_names,
        method=f"the largest of {len(sizes)} runs, as noted" if several else "as noted in the run",
    )


def quiet(table: VerdictTable) -> BoolArray:
    """Say which instances of a whole stream are ID, before faults or between them."""
    return Episodes(episode_of(table), table.is_ood).quiet


def episode_of(table: VerdictTable) -> IntArray:
    """Return each instance's episode; without a column of them it is in none."""
    return np.full(len(table), OUTSIDE) if table.episode is None else table.episode


def _share(criterion: Criterion) -> float | None:
    """Return the share that a quantile stands for; None of what is no quantile."""
    statistic = criterion.statistic
    return None if statistic in (None, "mean") else float(Decimal(str(statistic)[1:]) / 100)
