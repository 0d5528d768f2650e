"""The evidence for one verdict: a value, and how low and how high it may be, each at the level asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from farm.check.binomial import Trials
from farm.check.criterion import Criterion
from farm.check.drawing import Drawing, Inferred
from farm.check.measures import CLASSIFIER, Kind
from farm.check.onsets import Onsets, quiet, quiet_run
from farm.check.seen import counts_of
from farm.check.selected import Selected
from farm.check.timed import Timed
from farm.comparison import benchmark_sets
from farm.measures import Measure, undefined

FPR = "specific.fpr"
REFUSED = {
    "aupr": "auroc",
    "fpr_at_95_tpr": "auroc, or specific.fpr and specific.fnr at the monitor's own threshold",
    "system_mcc": "overall.mcc, accepted_accuracy or residual_hazard",
}
"""What has no bound that holds with a known level, and what to ask for instead."""


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on."""

    value: Measure
    low: Measure
    """A one-sided bound: it is no lower, at the level."""
    high: Measure
    level: float
    n: int
    """Of how many instances it is; of how many onsets, where these are what is counted."""
    n_ood: int
    n_groups: int
    """How many of them count as independent: tracks, or measurements of a time."""
    sets: tuple[str, ...]
    method: str
    """How the bounds are made, and what is taken for granted."""
    counts: Mapping[str, int] | None
    trials: Trials | None = None
    """The same asked as a question about a share, where it is one."""


def nothing(why: str, selected: Selected, criterion: Criterion) -> Evidence:
    """Give the evidence where there is no value."""
    gap = undefined(why)
    return Evidence(gap, gap, gap, criterion.level, 0, 0, 0, _sets(selected), "", None)


def evidence(selected: Selected, criterion: Criterion, monitor: str, drawing: Drawing) -> Evidence:
    """Give the evidence for one verdict, on a monitor that did not fail.

    Parameters
    ----------
    selected
        What the criterion selects, or one of several such.
    drawing
        Where draws are kept; one for all verdicts spares most of the time.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from farm.check.criterion import parse_criterion
    >>> from farm.check.selected import select
    >>> from farm.readouts import Readouts
    >>> n = 200
    >>> instances = pd.DataFrame({"position": range(n), "label": 0, "predicted": 0})
    >>> instances = instances.assign(is_ood=np.arange(n) >= 100, faultload="fog", category="shift")
    >>> alarms = pd.DataFrame({"position": range(n), "monitor": "odin", "alarm": np.arange(n) % 100 < 2})
    >>> criterion = parse_criterion("specific.fpr <= 5 %")
    >>> (selected,) = select([Readouts(instances, alarms)], criterion)
    >>> found = evidence(selected, criterion, "odin", Drawing())
    >>> found.value.value, round(found.high.value, 3), found.n, found.method
    (0.02, 0.062, 100, 'Clopper and Pearson, 2 of 100 tracks')
    """
    refuse(criterion)
    return _KINDS.get(criterion.gated.kind, _drawn)(selected, criterion, monitor, drawing)


def is_drawn(criterion: Criterion) -> bool:
    """Whether its evidence is drawn of the sets that are selected."""
    return criterion.baseline is None and criterion.gated.kind not in _KINDS


def refuse(criterion: Criterion) -> None:
    """Refuse what has a value and no bound, whatever the readouts."""
    if criterion.measure in REFUSED:
        raise criterion.error(
            f"{criterion.measure} has no confidence bound, so that nothing would be sure; ask for "
            f"{REFUSED[criterion.measure]}"
        )
    if criterion.statistic == "max":
        raise criterion.error(
            "a maximum has no upper confidence bound, as what was not seen may be greater; ask for a "
            f"quantile, such as '{criterion.measure}.p99.9'"
        )


def _drawn(selected: Selected, criterion: Criterion, monitor: str, drawing: Drawing) -> Evidence:
    column = (criterion.measure, monitor)
    found = drawing.infer(selected.name, selected.sets, column, criterion.level)
    return _inferred(found, selected, criterion, counts=counts_of(selected.sets, *column))


def _false_alarms(selected: Selected, criterion: Criterion, monitor: str, drawing: Drawing) -> Evidence:
    for run in selected.runs:
        if not quiet(run).any():
            raise criterion.error(
                f"{criterion.measure} needs ID instances before or between faults; {run.run.name} has none"
            )
    sets = benchmark_sets([quiet_run(run) for run in selected.runs])
    key = f"{selected.name}, quiet"
    drawing.announce(key, [(FPR, each) for each in selected.monitors if each not in selected.failures])
    found = drawing.infer(key, sets, (FPR, monitor), criterion.level)
    return _inferred(found, selected, criterion, counts=counts_of(sets, FPR, monitor), times=1000.0)


def _inferred(
    found: Inferred,
    selected: Selected,
    criterion: Criterion,
    *,
    counts: Mapping[str, int] | None,
    times: float = 1.0,
) -> Evidence:
    ends = (found.bounded.value, found.bounded.low, found.bounded.high)
    value, low, high = (Measure(times * each.value, each.reason) for each in ends)
    return Evidence(
        value,
        low,
        high,
        criterion.level,
        n=found.size.n,
        n_ood=found.size.n_ood,
        n_groups=found.size.n_tracks,
        sets=_sets(selected),
        method=found.method,
        counts=counts,
        trials=None if found.tracks is None else Trials(*found.tracks, _bound(criterion) / times),
    )


def _times(selected: Selected, criterion: Criterion, monitor: str, drawing: Drawing) -> Evidence:
    timed, q = Timed.of(selected.runs, None if monitor == CLASSIFIER else monitor), _share(criterion)
    if q is None:
        found = timed.mean(criterion.level, drawing.replicates, drawing.seed)
    else:
        found = timed.quantile(q, criterion.level)
    how = f"{drawing.replicates} resamplings" if q is None else "order statistics"
    return Evidence(
        found.value,
        found.low,
        found.high,
        criterion.level,
        n=timed.n,
        n_ood=timed.n_ood,
        n_groups=timed.n_measured,
        sets=_sets(selected),
        method=f"{how} of {timed.told}",
        counts=None,
        trials=None if q is None else timed.trials(q, _bound(criterion), strict=_is_strict(criterion)),
    )


def _onsets(selected: Selected, criterion: Criterion, monitor: str, _: Drawing) -> Evidence:
    onsets, q = Onsets.of(selected.runs, monitor), _share(criterion)
    if q is None:
        found, trials = onsets.missed(criterion.level), onsets.missed_trials(_bound(criterion))
    else:
        found = onsets.quantile(q, criterion.level)
        trials = onsets.trials(q, _bound(criterion), strict=_is_strict(criterion))
    how = "Clopper and Pearson, " if q is None else "order statistics of "
    return Evidence(
        found.value,
        found.low,
        found.high,
        criterion.level,
        n=onsets.n,
        n_ood=onsets.n,
        n_groups=onsets.n,
        sets=_sets(selected),
        method=f"{how}{onsets.n} onsets, taken for independent",
        counts=onsets.counts,
        trials=trials,
    )


def _size(selected: Selected, criterion: Criterion, monitor: str, _: Drawing) -> Evidence:
    """Take the size of what was fitted, which nothing is uncertain about; of several runs the largest."""
    sizes = [run.run.monitors[monitor].nbytes or 0 for run in selected.runs]
    value, several = Measure(float(max(sizes))), len(set(sizes)) > 1
    n = sum(len(run.rows) for run in selected.runs)
    return Evidence(
        value,
        value,
        value,
        criterion.level,
        n=n,
        n_ood=sum(int(run.instances["is_ood"].sum()) for run in selected.runs),
        n_groups=n,
        sets=_sets(selected),
        method=f"the largest of {len(sizes)} runs, as noted" if several else "as noted in the run",
        counts=None,
    )


def _bound(criterion: Criterion) -> float:
    if criterion.bound is None:
        raise criterion.error("there is no bound; expected one where it is not compared with a baseline")
    return criterion.bound


def _share(criterion: Criterion) -> float | None:
    """Give the share that a quantile stands for; None of what is no quantile."""
    statistic = criterion.statistic
    return None if statistic in (None, "mean") else float(Decimal(str(statistic)[1:]) / 100)


def _is_strict(criterion: Criterion) -> bool:
    return criterion.relation in ("<", ">")


def _sets(selected: Selected) -> tuple[str, ...]:
    return tuple(one.name for one in selected.sets)


_KINDS: Mapping[Kind, Callable[[Selected, Criterion, str, Drawing], Evidence]] = {
    "time": _times,
    "delay": _onsets,
    "misses": _onsets,
    "false_alarms": _false_alarms,
    "bytes": _size,
}
"""All others are drawn."""
