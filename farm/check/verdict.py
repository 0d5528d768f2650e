"""Verdicts: a bound meets a criterion, or fails it, or there is not enough data, and how much would be.

A monitor that failed while it ran shows neither the one nor the other: what is asked of it is an `error`,
which never passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from farm.check.against import Baselines
from farm.check.asked import Asked, Verdict
from farm.check.criteria_file import CriteriaFile
from farm.check.criterion import Criterion
from farm.check.drawing import Drawing
from farm.check.evidence import Evidence, evidence, is_drawn, nothing, refuse
from farm.check.ground import Ground
from farm.check.selected import Selected, select
from farm.readouts import Readouts


@dataclass(frozen=True)
class Judged:
    """One criterion, one monitor, and one of the selections that the criterion is judged on."""

    criterion: Criterion
    monitor: str
    where: str
    """What was selected, such as `category:noise`."""
    verdict: Verdict
    evidence: Evidence
    needed: int | None
    """Of an undecided one, how many instances (onsets, of a delay) would decide, were the value the same."""
    reason: str


def judge_criteria(
    runs: Sequence[Readouts],
    file: CriteriaFile,
    *,
    seed: int | None = None,
    replicates: int | None = None,
) -> list[Judged]:
    """Judge all criteria of a file: in its order, and the monitors in that of the runs.

    What cannot be judged raises an `ExperimentError` that tells which criterion it is.

    Parameters
    ----------
    runs
        Their readouts; those on the same workload, classifier and fault are repetitions of one set.
    file
        The criteria.
    seed, replicates
        Of what is drawn; None stands for what the file says.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from farm.check.criteria_file import parse_criteria
    >>> n = 400
    >>> instances = pd.DataFrame({"position": range(n), "label": 0, "predicted": 0})
    >>> instances = instances.assign(is_ood=np.arange(n) >= 200, faultload="fog", category="shift")
    >>> alarms = [pd.DataFrame({"position": range(n), "monitor": name, "alarm": np.arange(n) % 200 < k})
    ...           for name, k in (("oob", 2), ("odin", 5), ("knn", 40))]
    >>> run = Readouts(instances, pd.concat(alarms))
    >>> for one in judge_criteria([run], parse_criteria({"criteria": ["specific.fpr <= 5 %"]}, "gate.yaml")):
    ...     print(one.monitor, one.verdict, one.needed, "-", one.reason)
    oob pass None - at most 0.0311
    odin undecided 223 - between 0.0099 and 0.0518, and 0.05 is within
    knn fail None - at least 0.155, which is above 0.05
    """
    drawing = Drawing(
        file.replicates if replicates is None else replicates, file.seed if seed is None else seed
    )
    baselines = Baselines(drawing.replicates, drawing.seed)
    ground = Ground.of(runs)
    chosen: list[tuple[Criterion, Selected]] = []
    for criterion in file.criteria:
        refuse(criterion)
        for selected in select(ground, criterion):
            chosen.append((criterion, selected))
            if is_drawn(criterion):
                columns = [(criterion.measure, monitor) for monitor in _sound(selected)]
                drawing.announce(selected.name, columns)
    found = []
    for criterion, selected in chosen:
        if criterion.baseline is not None:
            known = baselines.paired_evidence(selected, criterion)
        else:
            known = {name: evidence(selected, criterion, name, drawing) for name in _sound(selected)}
        for monitor in _in_order(selected):
            why = selected.failures.get(monitor)
            own = nothing(why, selected, criterion) if why else known[monitor]
            if not own.value.defined and not why and file.undefined == "error":
                raise criterion.error(f"{monitor} has no value on {selected.name}: {own.value.reason}")
            verdict, needed, reason = _judge(criterion, own, why)
            if verdict != "pass" and (note := baselines.note(selected, criterion)):
                reason += f"; {note}"
            found.append(Judged(criterion, monitor, selected.name, verdict, own, needed, reason))
    return found


def _judge(criterion: Criterion, found: Evidence, failure: str | None) -> tuple[Verdict, int | None, str]:
    if failure is not None:
        return "error", None, f"could not be judged, because {failure}"
    if not found.value.defined:
        # Nothing was shown, so nothing is met.
        return "fail", None, f"undefined: {found.value.reason}"
    return Asked.of(criterion).judge(found)


def _sound(selected: Selected) -> list[str]:
    return [name for name in selected.monitors if name not in selected.failures]


def _in_order(selected: Selected) -> list[str]:
    """Give the monitors to judge in the order of the runs."""
    known = list(dict.fromkeys(name for run in selected.runs for name in run.run.monitors))
    return sorted(selected.monitors, key=lambda name: known.index(name) if name in known else 0)
