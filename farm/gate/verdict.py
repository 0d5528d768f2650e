"""Verdicts: a bound meets a criterion, or fails it, or there is not enough data, and how much would be.

A monitor that failed while it ran shows neither the one nor the other: what is asked of it is an `error`,
which never passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from farm.gate.against import Baselines
from farm.gate.criteria_file import CriteriaFile
from farm.gate.criterion import Criterion
from farm.gate.demand import POWER, CriterionOutcome, Demand, Evidence
from farm.gate.drift import Reference
from farm.gate.evidence import Drawing, evidence, nothing, refuse
from farm.gate.measures import DRAWN
from farm.gate.population import Population
from farm.gate.reported import Reported, ReportedMeasure, selected_parts
from farm.gate.selected import Selected, select
from farm.store.readouts import Readouts


@dataclass(frozen=True)
class CriterionVerdict:
    """One criterion, one monitor, and one of the selections that the criterion is judged on."""

    criterion: Criterion
    monitor: str
    where: str
    """What was selected, such as `category:noise`."""
    verdict: CriterionOutcome
    evidence: Evidence
    needed: int | None
    """Of an undecided one, how many instances (onsets, of a delay) would decide, were this the true value."""
    reason: str
    power: float = POWER
    """With which chance they would."""
    note: str = ""
    """What to know of one that passes: the baseline is of another classifier, or of another engine."""


def judge_criteria(
    runs: Sequence[Readouts],
    file: CriteriaFile,
    *,
    seed: int | None = None,
    replicates: int | None = None,
    reference: Reference | None = None,
    reported: Reported | None = None,
    place: str = "the run",
) -> list[CriterionVerdict]:
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
    reference
        What drift is measured against; None stands for what the file says.
    reported
        What a protocol found over the campaign that the runs are of, where one did.
    place
        Where the runs are, for errors about it.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from farm.gate.criteria_file import parse_criteria
    >>> n = 400
    >>> instances = pd.DataFrame({"position": range(n), "label": 0, "predicted": 0})
    >>> instances = instances.assign(is_ood=np.arange(n) >= 200, faultload="fog", category="shift")
    >>> alarms = [pd.DataFrame({"position": range(n), "monitor": name, "alarm": np.arange(n) % 200 < k})
    ...           for name, k in (("oob", 2), ("odin", 5), ("knn", 40))]
    >>> run = Readouts(instances, pd.concat(alarms))
    >>> for one in judge_criteria([run], parse_criteria({"criteria": ["specific.fpr <= 5 %"]}, "gate.yaml")):
    ...     print(one.monitor, one.verdict, one.needed, "-", one.reason)
    oob pass None - at most 0.0311
    odin undecided 410 - between 0.0099 and 0.0518, and 0.05 is within
    knn fail None - at least 0.155, which is above 0.05
    """
    drawing = Drawing(
        file.replicates if replicates is None else replicates,
        file.seed if seed is None else seed,
        _reference(runs, file) if reference is None else reference,
    )
    baselines = Baselines(drawing.replicates, drawing.seed)
    population = Population.of(runs)
    if reported is not None:
        reported = cache(reported)
    selections: list[tuple[Criterion, Selected | ReportedMeasure]] = []
    for criterion in file.criteria:
        refuse(criterion)
        if criterion.gated.kind == "reported":
            selections += [(criterion, part) for part in selected_parts(criterion, reported, place)]
            continue
        for one in select(population, criterion):
            selections.append((criterion, one))
            drawn = criterion.gated.kind in DRAWN and not criterion.anytime
            if criterion.baseline is None and drawn:
                drawing.announce(one.name, [(criterion.measure, name) for name in one.sound])
    verdicts = []
    for criterion, selected in selections:
        if isinstance(selected, ReportedMeasure):
            own = selected.evidence(criterion.level)
            verdicts.append(_judged(file, criterion, selected.about, selected.where, own))
            continue
        if criterion.baseline is not None:
            known = baselines.paired_evidence(selected, criterion)
        else:
            known = {name: evidence(selected, criterion, name, drawing) for name in selected.sound}
        for monitor in _in_order(selected):
            own = known.get(monitor) or nothing(selected.failures[monitor], selected, criterion)
            if any(each.stream.why_no_ood for each in selected.streams):
                own = replace(own, n_ood=None)
            failed, note = monitor in selected.failures, baselines.note(selected, criterion)
            verdicts.append(_judged(file, criterion, monitor, selected.name, own, failed=failed, note=note))
    return verdicts


def _judged(
    file: CriteriaFile,
    criterion: Criterion,
    monitor: str,
    where: str,
    own: Evidence,
    *,
    failed: bool = False,
    note: str = "",
) -> CriterionVerdict:
    """Judge one verdict's evidence; a monitor that failed, or what has no value, meets nothing."""
    verdict: CriterionOutcome
    if failed:
        verdict, needed, reason = "error", None, f"could not be judged, because {own.value.reason}"
    elif own.value.defined:
        verdict, needed, reason = Demand.of(criterion).judge(own, file.power)
    elif file.undefined == "error":
        raise criterion.error(f"{monitor} has no value on {where}: {own.value.reason}")
    else:  # nothing was shown, so nothing is met
        verdict, needed, reason = "fail", None, f"undefined: {own.value.reason}"
    if note and verdict != "pass":
        reason, note = f"{reason}; {note}", ""
    return CriterionVerdict(criterion, monitor, where, verdict, own, needed, reason, file.power, note)


def _reference(runs: Sequence[Readouts], file: CriteriaFile) -> Reference | None:
    """Read what a file's criteria measure drift against, if any do."""
    if not any("reference" in criterion.gated.needs for criterion in file.criteria) or file.reference is None:
        return None
    reference = Reference.load(file.reference)
    reference.check(runs)
    return reference


def _in_order(selected: Selected) -> list[str]:
    """Return the monitors to judge in the order of the runs."""
    known = list(dict.fromkeys(name for run in selected.runs for name in run.run.monitors))
    return sorted(selected.monitors, key=lambda name: known.index(name) if name in known else 0)
