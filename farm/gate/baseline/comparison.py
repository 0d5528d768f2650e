"""Comparing runs with a baseline on the same stream: measure by measure, set by set, instance by instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from farm.comparing.measures import measured
from farm.comparing.sameness import unranked
from farm.comparing.sets import BenchmarkSet, judged_runs
from farm.errors import DataError, ExperimentError, suggestion
from farm.gate.baseline.baseline import NEEDED, Baseline, paired_with
from farm.gate.baseline.difference import PairedDifference, Task, paired_differences
from farm.gate.baseline.entry import BaselineRun, another_classifier
from farm.measures.oracle import OUTCOMES
from farm.statistics.resolution import REPLICATES
from farm.statistics.wording import listed, verb
from farm.store.readouts import Readouts

DEFAULT = ("overall.mcc", "specific.fpr", "specific.fnr", "residual_hazard")
NEEDS = {
    "auroc": "scores",
    "aupr": "scores",
    "fpr_at_95_tpr": "scores",
    "system_mcc": "the classes acted upon",
}
"""What these measures follow from; a saved file has decisions alone."""
FP, FN = OUTCOMES.index("fp"), OUTCOMES.index("fn")
TASKS: tuple[Task, ...] = ("specific", "overall")


@dataclass(frozen=True)
class Changed:
    """One monitor's instances whose verdict is another than before, of one task.

    A miss is an OOD instance without alarm, or a wrong decision that was not cancelled; a false alarm is an
    alarm on an ID instance, or a right decision that was cancelled.
    """

    monitor: str
    task: Task
    missed_ids: tuple[str, ...]
    """Of those newly missed, in the order of the stream; of several runs with the run's name."""
    newly_missed: int = 0
    no_longer_missed: int = 0
    new_false_alarms: int = 0
    no_longer_false_alarms: int = 0


@dataclass(frozen=True)
class BaselineComparison:
    """What was compared with what, and all that was found."""

    baseline: str
    runs: tuple[str, ...]
    n: int
    n_ood: int
    level: float
    replicates: int
    seed: int
    monitors: tuple[str, ...]
    overall: tuple[PairedDifference, ...]
    """The mean over all sets, monitor by monitor and measure by measure."""
    by_set: tuple[PairedDifference, ...]
    """The same for each set, where there are several."""
    changed: tuple[Changed, ...]
    notes: tuple[str, ...]


def compare_with_baseline(
    runs: Readouts | Sequence[Readouts],
    baseline: Baseline,
    *,
    measures: Sequence[str] = DEFAULT,
    monitors: Sequence[str] = (),
    level: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> BaselineComparison:
    """Compare runs with what is kept of the same streams.

    Parameters
    ----------
    runs, baseline
        Each run has to be on the stream that the baseline has under its name.
    measures
        Names in `farm.comparing.MEASURES`; differences are now minus baseline.
    monitors
        The monitors to compare; all that both sides have where none is named.
    level, replicates, seed
        Of the two-sided intervals, and of the resampling that makes them.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> n = 200
    >>> instances = pd.DataFrame({"position": range(n), "label": 0, "predicted": np.arange(n) % 10 == 0})
    >>> instances = instances.assign(is_ood=np.arange(n) >= 100, faultload="snow", category="shift")
    >>> alarms = pd.DataFrame({"position": range(n), "monitor": "oob"})
    >>> then, now = (
    ...     Readouts(instances, alarms.assign(alarm=np.arange(n) % every == 0)) for every in (5, 9)
    ... )
    >>> mcc = compare_with_baseline(now, Baseline.of([then]), measures=["overall.mcc"]).overall[0]
    >>> round(mcc.baseline.value, 2), round(mcc.now.value, 2), mcc.verdict
    (0.67, 0.04, 'worse, surely')
    """
    runs = [runs] if isinstance(runs, Readouts) else list(runs)
    what = [measured(name) for name in dict.fromkeys(measures)]
    _check_measures(measures, baseline)
    judged = judged_runs(runs, NEEDED)
    pairs = [(baseline.of_run(run, alone=len(runs) == 1), BaselineRun.of(run)) for run in judged]
    sets = paired_with(judged, baseline)
    chosen = _chosen(pairs, monitors, runs)

    def differences(own: Sequence[BenchmarkSet]) -> list[PairedDifference]:
        made = {
            (each.monitor, one.name): each
            for one in what
            for each in paired_differences(own, one, chosen, level=level, replicates=replicates, seed=seed)
        }
        return [made[name, one.name] for name in chosen for one in what]

    return BaselineComparison(
        baseline=baseline.where,
        runs=tuple(now.name for _, now in pairs),
        n=sum(now.stream.n for _, now in pairs),
        n_ood=sum(now.stream.n_ood for _, now in pairs),
        level=level,
        replicates=replicates,
        seed=seed,
        monitors=chosen,
        overall=tuple(differences(sets)),
        by_set=tuple(each for one in sets for each in differences([one])) if len(sets) > 1 else (),
        changed=tuple(each for name in chosen for each in changed(pairs, name)),
        notes=tuple(_notes(pairs, baseline, not monitors)),
    )


def changed(pairs: Sequence[tuple[BaselineRun, BaselineRun]], monitor: str) -> list[Changed]:
    """Count over runs, each as it was and as it is now; those without the monitor count for nothing."""
    every = []
    for task in TASKS:
        counts: Counter[str] = Counter()
        ids: list[str] = []
        for before, now in pairs:
            if now.table is None or monitor not in before.bits or monitor not in now.bits:
                continue
            was, code = (each.outcomes(monitor, task, now.table.is_ood) for each in (before, now))
            counts["newly_missed"] += int(np.count_nonzero((code == FN) & (was != FN)))
            counts["no_longer_missed"] += int(np.count_nonzero((was == FN) & (code != FN)))
            counts["new_false_alarms"] += int(np.count_nonzero((code == FP) & (was != FP)))
            counts["no_longer_false_alarms"] += int(np.count_nonzero((was == FP) & (code != FP)))
            where, names = f"{now.name}: " if len(pairs) > 1 else "", now.ids or []
            ids += [where + names[place] for place in np.flatnonzero((code == FN) & (was != FN))]
        every.append(Changed(monitor, task, missed_ids=tuple(ids), **counts))
    return every


def _check_measures(measures: Sequence[str], baseline: Baseline) -> None:
    """Raise where a measure needs what the baseline does not have."""
    for name in measures:
        if name in NEEDS and not baseline.has_scores:
            raise ExperimentError(
                f"{name} needs {NEEDS[name]}, and {baseline.where} has decisions alone, one bit each; give "
                "the folder of the baseline's run, or a measure of decisions such as overall.mcc"
            )


def _chosen(
    pairs: Sequence[tuple[BaselineRun, BaselineRun]], only: Sequence[str], runs: Sequence[Readouts]
) -> tuple[str, ...]:
    then, now = (list(dict.fromkeys(m for pair in pairs for m in pair[side].ranked)) for side in (0, 1))
    both = [name for name in now if name in then]
    for name in only:
        if name in both:
            continue
        if name in unranked(runs):
            raise ExperimentError(f"--monitor '{name}' is not ranked by its own run, so it cannot be here")
        for own, where in ((now, "the run"), (then, "the baseline")):
            if name not in own:
                failed = next((k.failures[name] for pair in pairs for k in pair if name in k.failures), None)
                why = f"it failed: {failed}" if failed else suggestion(name, both)
                raise ExperimentError(f"--monitor '{name}' is not in {where}; {why}")
    if not both:
        raise DataError(
            f"no monitor is in the run ({listed(now or ['none'])}) and in its baseline "
            f"({listed(then or ['none'])}); expected at least one in both"
        )
    return tuple(name for name in both if name in only or not only)


def _notes(
    pairs: Sequence[tuple[BaselineRun, BaselineRun]], baseline: Baseline, all_monitors: bool
) -> Iterator[str]:
    several = len(pairs) > 1
    for then, now in pairs:
        of = f"{now.name}: " if several else ""
        others = int((then.wrong != now.wrong).sum())
        if others:
            gained = int((now.wrong & ~then.wrong).sum())
            yield (
                f"{of}the classifier is right on other instances than it was: {others} of {now.stream.n:,} "
                f"({gained} newly wrong, {others - gained} newly right); each side is judged against its own "
                "mistakes"
            )
        if differs := another_classifier(then.classifier, now.classifier):
            yield f"{of}{differs}"
        yield from (f"{of}{note}" for note in (_alone(then, now) if all_monitors else ()))
    names = {now.name for _, now in pairs}
    missing = [run.name for run in baseline.runs if run.name not in names]
    if missing and len(baseline.runs) > 1:
        yield f"in the baseline only, and not compared: {listed(missing)}"


def _alone(then: BaselineRun, now: BaselineRun) -> Iterator[str]:
    """Say which monitors are on one side only."""
    for name in (name for name in then.bits if name not in now.bits):
        failure = now.failures.get(name)
        yield f"{name} failed, and did not in the baseline: {failure}" if failure else f"{name} is gone"
    new = [name for name in now.bits if name not in then.bits]
    if new:
        yield f"{listed(new)} {verb(new, 'is', 'are')} not in the baseline"
