"""Closer looks at one run: class by class, at another share of OOD instances, by costs, by confidence.

Each look is a small table. What is undefined in it is None, with the reason below the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np

from farm import oracle
from farm.api.arrays import NO_ANSWER
from farm.errors import DataError, ExperimentError, suggestion
from farm.measures import (
    Counts,
    FalseAlarms,
    Measure,
    RiskCoverage,
    Separation,
    balanced_accuracy,
    confidence_auroc,
    ece,
    reliability,
    trimmed_accuracy,
)
from farm.measures.bounded import Bounded
from farm.measures.calibration import Bin
from farm.measures.cost import Costs, CostTally
from farm.measures.detection import SPECIFIC
from farm.measures.per_class import per_label
from farm.measures.prevalence import at_prevalence
from farm.readouts import Readouts
from farm.records.notes import failures
from farm.records.verdicts import Truth, Verdicts, decisions, truth, verdicts
from farm.statistics.paired import paired, right

Cell: TypeAlias = "str | int | float | Bounded | Measure | None"


@dataclass(frozen=True)
class Look:
    """A table with its title; cells are text, numbers, or measures with or without their interval."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """A run's arrays, in the order of its instances."""

    known: Truth
    said: list[Verdicts]
    classes: Sequence[str]
    confidence: Any = field(repr=False)
    track: Any = field(repr=False)

    @classmethod
    def of(cls, readouts: Readouts) -> Run:
        """Align what monitors said with the instances; monitors that failed are left out."""
        instances, alarms = readouts.instances, readouts.alarms
        alarms = alarms[~alarms["monitor"].isin(failures(readouts.run))]
        known = truth(instances, decisions(alarms))
        if known.why_no_ood or known.unlabelled.any():
            why = known.why_no_ood or "some labels are missing"
            raise DataError(f"a closer look needs labels and is_ood of all instances: {why}")
        confidence = instances["confidence"].to_numpy(np.float64) if "confidence" in instances else None
        unnamed = [str(code) for code in range(int(known.classes.max(initial=-1)) + 1)]
        names = readouts.run.get("classes") or unnamed
        said = [one.coded(known) for one in verdicts(alarms, known.position)]
        track = instances["track"].to_numpy(dtype=str) if "track" in instances else None
        return cls(known, said, names, confidence, track)

    def class_name(self, code: int) -> str:
        """Name a class by its code."""
        return "no right answer" if code == NO_ANSWER else str(self.classes[int(self.known.classes[code])])


def per_class(run: Run, level: float = 0.95) -> Iterator[Look]:
    """Look at each class: what the classifier and each monitor make of it."""
    known = run.known
    for said in run.said:
        found = per_label(
            known.label, known.predicted, said.alarm, said.cancelled, is_ood=known.is_ood, level=level
        )
        rows: list[tuple[Cell, ...]] = [
            (run.class_name(r.number), r.n, r.accuracy, r.alarm_rate, r.fpr, r.fnr) for r in found
        ]
        columns = ("label", "n", "classifier right", "alarms", "cancelled though right", "kept though wrong")
        yield Look(f"{said.monitor}, class by class", columns, rows)


def at_share(run: Run, shares: Sequence[float], level: float = 0.95) -> Iterator[Look]:
    """Look at what the alarms would be worth if another share of the instances were OOD."""
    seen = float(run.known.is_ood.mean())
    for share in shares:
        rows: list[tuple[Cell, ...]] = []
        for said in run.said:
            counts = Counts(**oracle.tally(oracle.specific(said.alarm, run.known.is_ood)), wording=SPECIFIC)
            (found,) = at_prevalence(counts, [share], level)
            rows.append((said.monitor, found.mcc, found.precision, found.f1, found.error, found.alarm_rate))
        columns = ("monitor", "MCC", "precision", "F1", "error", "alarms")
        notes = (f"re-weighted from FPR and FNR; in the run {seen:.2%} were OOD",)
        yield Look(f"OOD detection if {share:.4g} of the instances were OOD", columns, rows, notes)


def costs(run: Run, prices: Mapping[str, Any]) -> Iterator[Look]:
    """Look at what the decisions cost, in the user's own prices."""
    made = Costs.of(prices)
    rows: list[tuple[Cell, ...]] = []
    classes = [str(run.classes[int(c)]) for c in run.known.classes]
    for said in run.said:
        tally = CostTally.of(
            made, classes, run.known.label, run.known.predicted, said.cancelled, said.decision
        )
        rows.append((said.monitor, tally.mean, tally.mean_without, tally.mean_perfect, tally.saved))
    columns = ("monitor", "cost an instance", "without it", "perfect monitor", "share saved")
    yield Look("Expected cost", columns, rows)


def confidence(run: Run) -> Iterator[Look]:
    """Look at the classifier's own confidence on ID instances, and at what scores sort out."""
    id_rows = ~run.known.is_ood
    hits = run.known.label == run.known.predicted
    if run.confidence is not None:
        sure, correct = run.confidence[id_rows], hits[id_rows]
        rows: list[tuple[Cell, ...]] = [
            (f"{b.low:.1f} to {b.high:.1f}", b.n, b.confidence, _right(b)) for b in reliability(sure, correct)
        ]
        notes = (
            f"expected calibration error: {_text(ece(sure, correct))} (equal width), "
            f"{_text(ece(sure, correct, equal='mass'))} (equal mass); AUROC of right against wrong: "
            f"{_text(confidence_auroc(sure, correct))}",
        )
        columns = ("confidence", "n", "mean confidence", "right")
        yield Look("The classifier's confidence on ID instances", columns, rows, notes)
    ranked: list[tuple[Cell, ...]] = []
    for said in run.said:
        if said.score is not None:
            curve = RiskCoverage.of(said.score, run.known.should_cancel)
            ranked.append((said.monitor, curve.area(), curve.best_area(), curve.excess_area()))
    columns = ("monitor", "area under risk-coverage", "best possible", "excess")
    yield Look("Accepting by score: risk against coverage", columns, ranked)


def ranking(run: Run) -> Iterator[Look]:
    """Look at how well scores tell OOD from ID whatever the threshold, and alarms at theirs."""
    rows: list[tuple[Cell, ...]] = []
    for said in run.said:
        counts = Counts(**oracle.tally(oracle.specific(said.alarm, run.known.is_ood)), wording=SPECIFIC)
        flagged = (balanced_accuracy(counts), trimmed_accuracy(said.alarm, run.known.is_ood, seed=0))
        if said.score is None:
            rows.append((said.monitor, *flagged, *[None] * 5))
            continue
        apart = Separation(said.score[~run.known.is_ood], said.score[run.known.is_ood])
        either = (apart.aupr(), apart.aupr_id())
        rows.append(
            (said.monitor, *flagged, apart.auroc(), *either, apart.fpr_at_tpr(), apart.detection_error())
        )
    columns = (
        "monitor",
        "balanced acc.",
        "trimmed acc.",
        "AUROC",
        "AUPR OOD",
        "AUPR ID",
        "FPR at 95",
        "least error",
    )
    notes = (
        "trimmed: as many ID as OOD instances, drawn by seed 0; least error: mean of FPR and FNR at the best "
        "threshold",
    )
    yield Look("OOD detection by alarms and by scores", columns, rows, notes)


def along_time(run: Run) -> Iterator[Look]:
    """Look at how far apart false alarms are."""
    known = run.known
    order = np.argsort(known.position, kind="stable")
    episode = np.full(len(order), -1) if known.episode is None else known.episode
    rows: list[tuple[Cell, ...]] = []
    for said in run.said:
        found = FalseAlarms.of(episode[order], known.is_ood[order], said.alarm[order])
        rows.append((said.monitor, found.quiet, found.alarms, found.mean_time, found.mean_time_low()))
    columns = ("monitor", "quiet instances", "false alarms", "mean time between", "at least (95 %)")
    yield Look("False alarms along the stream, in quiet instances", columns, rows)


def pair(run: Run, first: str, second: str) -> Iterator[Look]:
    """Look at two monitors on the same instances: where is one right and the other wrong?"""
    said = {one.monitor: one for one in run.said}
    for name in (first, second):
        if name not in said:
            raise ExperimentError(f"--pair '{name}' is not in the run; {suggestion(name, said)}")
    known, rows, methods = run.known, [], []
    for task in ("specific", "overall"):
        outcomes = [
            oracle.specific(said[name].alarm, known.is_ood)
            if task == "specific"
            else oracle.outcomes(known.should_cancel, said[name].cancelled)
            for name in (first, second)
        ]
        found = paired(right(outcomes[0]), right(outcomes[1]), group=run.track)
        counts = (found.both, found.first, found.second, found.neither)
        rows.append((task, *counts, found.p))
        methods.append(found.method)
    columns = ("task", "both right", f"only {first}", f"only {second}", "neither", "p of no difference")
    grouped = "whole tracks" if run.track is not None else "instances"
    notes = (f"p by {methods[0]} of {grouped} (McNemar's test where each instance stands alone)",)
    yield Look(
        f"{first} and {second} on the same instances", columns, cast(list[tuple[Cell, ...]], rows), notes
    )


def _right(found: Bin) -> Bounded:
    return Bounded(found.accuracy, found.accuracy_low, found.accuracy_high)


def _text(measure: Measure) -> str:
    return f"{measure.value:.3f}" if measure.defined else f"undefined ({measure.reason})"


LOOKS: Mapping[str, Callable[[Run], Iterator[Look]]] = {
    "classes": per_class,
    "scores": ranking,
    "confidence": confidence,
    "time": along_time,
}
"""Those that need nothing but the run."""
