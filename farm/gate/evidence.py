"""The evidence for one verdict: a value, and how low and how high it may be, each at the level asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from farm.api.arrays import IntArray
from farm.comparing import BenchmarkSet
from farm.comparing.sets import NO_FAULT, NO_SEVERITY
from farm.errors import suggestion
from farm.gate.anytime import anytime_evidence
from farm.gate.binomial import Trials
from farm.gate.bounds import Redrawn, redrawn
from farm.gate.criterion import Criterion
from farm.gate.demand import Demand, Evidence
from farm.gate.drift import Reference
from farm.gate.measurements import onset_evidence, quiet, size_evidence, time_evidence
from farm.gate.observed import Size, counts_of, mean_over, size_of
from farm.gate.scanner import name_words
from farm.gate.selected import Selected
from farm.measures import Bounded, Measure, undefined
from farm.measures.boxes import BOX_NLL
from farm.measures.calibration import MOST_BRIER
from farm.measures.certainty import BRIER_MEAN, BRIER_SUM
from farm.measures.probability_sums import CLASSIFIER_NLL
from farm.statistics.bootstrap import Column
from farm.statistics.resolution import REPLICATES

FPR = "specific.fpr"
REFUSED = {
    "aupr": "auroc",
    "fpr_at_95_tpr": "auroc, or specific.fpr and specific.fnr at the monitor's own threshold",
    "system_mcc": "overall.mcc, accepted_accuracy or residual_hazard",
    # What was not seen may be as unlikely as it likes: in simulations bounds held in 75 to 98 % of streams.
    CLASSIFIER_NLL: "classifier_brier_sum, which has a worst value",
    BOX_NLL: "box_mae, box_iou or box_ece, which have a worst value",
}
"""What has no bound that holds with a known level, and what to ask for instead."""


@dataclass
class Drawing:
    """Draws that several verdicts share: each selection is drawn once, for all that was announced of it."""

    replicates: int = REPLICATES
    seed: int = 0
    reference: Reference | None = None
    """What drift is measured against."""
    _announced: dict[str, dict[Column, None]] = field(default_factory=dict, repr=False)
    _values: dict[tuple[str, Column], Measure] = field(default_factory=dict, repr=False)
    _sizes: dict[tuple[str, str], Size] = field(default_factory=dict, repr=False)
    _draws: dict[tuple[str, Column], Redrawn] = field(default_factory=dict, repr=False)

    def announce(self, selection: str, columns: Iterable[Column]) -> None:
        """Say what of a selection will be asked for."""
        self._announced.setdefault(selection, {}).update(dict.fromkeys(columns))

    def evidence(
        self,
        selection: str,
        sets: Sequence[BenchmarkSet],
        column: Column,
        criterion: Criterion,
        *,
        times: float = 1.0,
    ) -> Evidence:
        """Return the evidence on so many times a measure of a monitor; `selection` names these sets alone."""
        value, level = self._value(selection, sets, column), criterion.level
        if (selection, column[0]) not in self._sizes:
            self._sizes[selection, column[0]] = size_of(sets, column[0])
        size = self._sizes[selection, column[0]]
        mean, tracks = f"mean over {len(sets)} sets; " if len(sets) > 1 else "", None
        if why := value.reason or size.too_few:
            bounded, method = Bounded(value, undefined(why), undefined(why)), f"{mean}no bounds"
        else:
            draws = self._drawn(selection, sets, column)
            bounded, tracks = draws.bounds(column, value, level), draws.trials.get(column)
            method = f"{mean}{self.replicates} draws of {draws.n_tracks} tracks and an unseen one"
            if tracks is not None:
                method = "Clopper and Pearson, {} of {} tracks".format(*tracks)
        measures = (bounded.value, bounded.low, bounded.high)
        value, low, high = (Measure(times * each.value, each.reason) for each in measures)
        return Evidence(
            value,
            low,
            high,
            level,
            n=size.n,
            n_ood=size.n_ood,
            n_groups=size.n_tracks,
            sets=tuple(one.name for one in sets),
            method=method,
            counts=counts_of(sets, *column),
            trials=None if tracks is None else Trials(*tracks, Demand.of(criterion).bound / times),
        )

    def _value(self, selection: str, sets: Sequence[BenchmarkSet], column: Column) -> Measure:
        if (selection, column) not in self._values:
            self._values[selection, column] = mean_over(sets, *column)
        return self._values[selection, column]

    def _drawn(self, selection: str, sets: Sequence[BenchmarkSet], column: Column) -> Redrawn:
        if (selection, column) not in self._draws:
            self.announce(selection, [column])
            columns = [c for c in self._announced[selection] if self._value(selection, sets, c).defined]
            made = redrawn(sets, columns, replicates=self.replicates, seed=self.seed)
            self._draws |= {(selection, each): made for each in columns}
        return self._draws[selection, column]


def nothing(why: str, selected: Selected, criterion: Criterion) -> Evidence:
    """Return the evidence where there is no value."""
    gap = undefined(why)
    return Evidence(gap, gap, gap, criterion.level, 0, 0, 0, selected.set_names, "")


def evidence(selected: Selected, criterion: Criterion, monitor: str, drawing: Drawing) -> Evidence:
    """Return the evidence for one verdict, on a monitor that did not fail.

    Parameters
    ----------
    selected
        What the criterion selects, or one of several such.
    drawing
        Where draws are kept; one for all verdicts spares most of the time.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from farm.gate.criterion import parse_criterion
    >>> from farm.gate.selected import select
    >>> from farm.store.readouts import Readouts
    >>> n = 200
    >>> instances = pd.DataFrame({"position": range(n), "label": 0, "predicted": 0})
    >>> instances = instances.assign(is_ood=np.arange(n) >= 100, faultload="fog", category="shift")
    >>> alarms = pd.DataFrame({"position": range(n), "monitor": "odin", "alarm": np.arange(n) % 100 < 2})
    >>> criterion = parse_criterion("specific.fpr <= 5 %")
    >>> (selected,) = select([Readouts(instances, alarms)], criterion)
    >>> rate = evidence(selected, criterion, "odin", Drawing())
    >>> rate.value.value, round(rate.high.value, 3), rate.n, rate.method
    (0.02, 0.062, 100, 'Clopper and Pearson, 2 of 100 tracks')
    """
    refuse(criterion)
    if criterion.anytime:
        return anytime_evidence(selected, criterion, monitor)
    match criterion.gated.kind:
        case "time":
            return time_evidence(selected, criterion, monitor, drawing.replicates, drawing.seed)
        case "delay" | "misses":
            return onset_evidence(selected, criterion, monitor)
        case "drift":
            return drift_evidence(selected, criterion, monitor, drawing)
        case "bytes":
            return size_evidence(selected, criterion, monitor)
        case "false_alarms":
            return _false_alarms(selected, criterion, monitor, drawing)
        case "mean" if why := _beyond_brier(selected, criterion):
            raise criterion.error(why)
        case _:
            column = (criterion.measure, monitor)
            return drawing.evidence(selected.name, selected.sets, column, criterion)


def _beyond_brier(selected: Selected, criterion: Criterion) -> str:
    """Say that a bound of a mean over classes is beyond what any classifier of so many has, if it is."""
    n = min(each.stream.classifier_classes or 0 for each in selected.streams)
    if criterion.measure != BRIER_MEAN or criterion.bound is None or criterion.bound < MOST_BRIER / n:
        return ""
    return (
        f"it can never fail: with {n} classes {BRIER_MEAN} is from 0 to {MOST_BRIER / n:.3g}; "
        f"{BRIER_SUM}, which does not divide by their number, is from 0 to {MOST_BRIER:g}"
    )


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


def drift_evidence(selected: Selected, criterion: Criterion, monitor: str, drawing: Drawing) -> Evidence:
    """Return the evidence on how far a monitor's scores have moved against the reference."""
    reference = drawing.reference
    if reference is None:
        raise criterion.error(
            "drift needs a reference; expected 'reference: PATH' in the file of criteria, or --reference PATH"
        )
    known = reference.table
    if monitor not in known.said:
        both = [name_words(name) for name in selected.sound if name in known.said]
        hint = suggestion(monitor, known.said)
        if both and criterion.monitors is None:
            hint = f"add `for {', '.join(both)}` to the criterion, and put it in quotes"
        raise criterion.error(f"reference {reference.name} has nothing of '{monitor}'; {hint}")
    tables = [run.table for run in selected.runs]
    track = _joined_tracks(selected)
    asked = sum(name in known.said for name in selected.sound)
    found = reference.drift(
        tables, track, monitor, monitors=asked, replicates=drawing.replicates, seed=drawing.seed
    )
    if isinstance(found, Measure):
        raise criterion.error(f"drift of monitor '{monitor}' is not known: {found.reason}")
    tracks = int(track.max()) + 1
    which = "ID instances" if reference.kind == "ID" else "instances"
    return Evidence(
        found.distance,
        found.low(criterion.level),
        found.high(criterion.level),
        criterion.level,
        n=sum(map(len, tables)),
        n_ood=sum(int(each.is_ood.sum()) for each in tables),
        n_groups=tracks,
        sets=selected.set_names,
        method=(
            f"{drawing.replicates} draws of {tracks} tracks, and of {known.n_tracks} with {len(known)} "
            f"{which} of {reference.name}"
            if found.why_not is None
            else "no bounds"
        ),
        beside=found.beside,
    )


def _joined_tracks(selected: Selected) -> IntArray:
    """Number the track of each instance, run by run: tracks of one name on one workload are one."""
    workload = {each.run.number: each.of.workload for each in selected.streams}
    named = [
        pd.DataFrame({"workload": workload[each.run.number], "track": each.table.track})
        for each in selected.runs
    ]
    joined = pd.concat(named).groupby(["workload", "track"]).ngroup()
    return np.asarray(joined, dtype=np.int64)


def _false_alarms(selected: Selected, criterion: Criterion, monitor: str, drawing: Drawing) -> Evidence:
    """Return the evidence on false alarms: the FPR of each run's quiet instances, as sets of no fault."""
    about = {stream.run: one for one in selected.sets for stream in one.streams}
    sets: dict[BenchmarkSet, BenchmarkSet] = {}
    for run in selected.runs:
        rows = quiet(run.table)
        if not rows.any():
            raise criterion.error(
                f"{criterion.measure} needs ID instances before or between faults; {run.run.name} has none"
            )
        of = about[run.run.number]
        made = BenchmarkSet(of.workload, of.classifier, NO_FAULT, NO_FAULT, NO_SEVERITY)
        sets.setdefault(made, made).streams.append(run.table.take(rows))
    selection = f"{selected.name}, quiet"
    drawing.announce(selection, [(FPR, name) for name in selected.sound])
    own = drawing.evidence(selection, list(sets), (FPR, monitor), criterion, times=1000.0)
    return replace(own, sets=selected.set_names)
