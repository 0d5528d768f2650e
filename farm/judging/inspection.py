"""Closer looks at one run: class by class, at another share of OOD instances, by costs, by confidence.

Each look is a small table. What is undefined in it is None, with the reason below the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from farm.api.arrays import NO_ANSWER, BoolArray
from farm.errors import DataError, ExperimentError, suggestion
from farm.judging.intervals import WORDS
from farm.judging.notes import class_names, noted
from farm.judging.table import VerdictTable
from farm.measures import SPECIFIC, Bounded, Counts, Measure, Separation, oracle
from farm.measures.calibration import confidence_auroc, ece, reliability
from farm.measures.cost import Costs, CostTally
from farm.measures.decision import balanced_accuracy, trimmed_accuracy
from farm.measures.detection import rates
from farm.measures.episodes import Episodes
from farm.measures.per_class import per_label
from farm.measures.prevalence import at_prevalence
from farm.measures.ranking import RiskCoverage
from farm.statistics.by_track import share_by_track
from farm.statistics.paired import paired, right
from farm.store.readouts import Readouts

LookCell: TypeAlias = "str | int | float | Bounded | Measure | None"


@dataclass(frozen=True)
class Look:
    """A table with its title; cells are text, numbers, or measures with or without their interval."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[LookCell, ...]]
    notes: tuple[str, ...] = ()
    digits: int = 3
    """Behind the point, of values that have an interval."""


@dataclass(frozen=True)
class InspectedRun:
    """A run's table, and its classes' names; without any, classes are called by their numbers."""

    table: VerdictTable
    classes: Sequence[str] = ()
    yardsticks: frozenset[str] = frozenset()
    run: Mapping[str, Any] = field(default_factory=dict)
    """What is noted of it."""

    @classmethod
    def of(cls, readouts: Readouts) -> InspectedRun:
        """Align what monitors said with the instances; monitors that failed are left out."""
        table = VerdictTable.of(readouts.instances, readouts.alarms, readouts.run)
        yardsticks = frozenset(each.name for each in noted(readouts.run, table.said) if each.yardstick)
        return cls(table, readouts.run.get("classes") or (), yardsticks, readouts.run)

    @property
    def unknown(self) -> Mapping[str, str | None]:
        """Why `is_ood` or labels are not known of all instances; None where they are."""
        return {"is_ood": self.table.why_no_ood, "label": self.table.why_no_label}

    @property
    def interval_note(self) -> str:
        """Say how intervals of shares are made."""
        return f"95 % interval: {WORDS['tracks' if self.table.shares_tracks else 'instances',]}"

    def bounded(self, share: Bounded, hit: BoolArray, of: BoolArray, level: float) -> Bounded:
        """Return the share of instances that are hit; where any share tracks, its interval is of tracks."""
        if not (self.table.shares_tracks and share.value.defined):
            return share
        return Bounded(share.value, *share_by_track(hit[of], self.table.track_code[of], level))

    def check_known(self, look: str, *needed: str) -> None:
        """Raise where a look has not what it needs."""
        for column in needed:
            if why := self.unknown[column]:
                instead = "`farm judge` tells what can be told without it"
                raise DataError(f"{look} needs '{column}' of all instances: {why}; {instead}")

    def class_name(self, code: int) -> str:
        """Name a class by its code."""
        if code == NO_ANSWER:
            return "no right answer"
        number = int(self.table.classes[code])
        return str(self.classes[number] if self.classes else number)


def per_class(run: InspectedRun, level: float = 0.95) -> Iterator[Look]:
    """Look at each class: what the classifier and each monitor make of it."""
    run.check_known("--look classes", "label")
    table = run.table
    for monitor in [name for name in table.said if name not in run.yardsticks] or table.said:
        judged = table.said[monitor]
        found = per_label(
            table.label,
            table.predicted,
            judged.alarm,
            judged.cancelled,
            is_ood=None if table.why_no_ood else table.is_ood,
            level=level,
        )
        rows: list[tuple[LookCell, ...]] = []
        for one in found:
            own = table.label == one.number
            right, wrong = own & ~judged.should_cancel, own & judged.should_cancel
            shares = (
                run.bounded(one.accuracy, right, own, level),
                run.bounded(one.alarm_rate, judged.alarm, own, level),
                run.bounded(one.fpr, judged.cancelled, right, level),
                run.bounded(one.fnr, ~judged.cancelled, wrong, level),
            )
            rows.append((run.class_name(one.number), one.n, *shares))
        columns = ("label", "n", "classifier right", "alarms", "cancelled though right", "kept though wrong")
        yield Look(f"{monitor}, class by class", columns, rows, (run.interval_note,))


def at_share(run: InspectedRun, shares: Sequence[float], level: float = 0.95) -> Iterator[Look]:
    """Look at what the alarms would be worth if another share of the instances were OOD."""
    run.check_known("--ood-share", "is_ood")
    seen = float(run.table.is_ood.mean())
    for share in shares:
        rows: list[tuple[LookCell, ...]] = []
        for monitor, judged in run.table.said.items():
            counts = Counts(**oracle.tally(judged.specific), wording=SPECIFIC)
            rates_at = partial(_rates, run, counts, judged.alarm)
            (found,) = at_prevalence(counts, [share], level, rates_at=rates_at)
            rows.append((monitor, found.mcc, found.precision, found.f1, found.error, found.alarm_rate))
        columns = ("monitor", "MCC", "precision", "F1", "error", "alarms")
        notes = (f"re-weighted from FPR and FNR; in the run {seen:.2%} were OOD", run.interval_note)
        yield Look(f"OOD detection if {share:.4g} of the instances were OOD", columns, rows, notes)


def costs(run: InspectedRun, prices: Mapping[str, Any]) -> Iterator[Look]:
    """Look at what the decisions cost, in the user's own prices."""
    run.check_known("--costs", "label")
    made = Costs.of(prices)
    rows: list[tuple[LookCell, ...]] = []
    table = run.table
    classes = class_names({"classes": run.classes}, int(table.classes.max()))
    label, predicted = table.number(table.label), table.number(table.predicted)
    for monitor, judged in table.said.items():
        decision = None if judged.decision is None else table.number(judged.decision)
        tally = CostTally.of(made, classes, label, predicted, judged.cancelled, decision)
        rows.append((monitor, tally.mean, tally.mean_without, tally.mean_perfect, tally.saved))
    columns = ("monitor", "cost an instance", "without it", "perfect monitor", "share saved")
    yield Look("Expected cost", columns, rows)


def confidence(run: InspectedRun) -> Iterator[Look]:
    """Look at the classifier's own confidence on ID instances, and at what scores sort out."""
    run.check_known("--look confidence", "is_ood", "label")
    id_rows = ~run.table.is_ood
    hits = run.table.label == run.table.predicted
    if run.table.confidence is not None:
        sure, correct = run.table.confidence[id_rows], hits[id_rows]
        rows: list[tuple[LookCell, ...]] = []
        for place, b in enumerate(reliability(sure, correct)):
            own = id_rows & (run.table.confidence <= b.high) & ((run.table.confidence > b.low) | (place == 0))
            accuracy = Bounded(b.accuracy, b.accuracy_low, b.accuracy_high)
            bounded = run.bounded(accuracy, hits, own, 0.95)
            rows.append((f"{b.low:.1f} to {b.high:.1f}", b.n, b.confidence, bounded))
        notes = (
            run.interval_note,
            f"expected calibration error: {_text(ece(sure, correct))} (equal width), "
            f"{_text(ece(sure, correct, equal='mass'))} (equal mass); AUROC of right against wrong: "
            f"{_text(confidence_auroc(sure, correct))}",
        )
        columns = ("confidence", "n", "mean confidence", "right")
        yield Look("The classifier's confidence on ID instances", columns, rows, notes)
    ranked: list[tuple[LookCell, ...]] = []
    for monitor, judged in run.table.said.items():
        if judged.score is not None:
            curve = RiskCoverage.of(judged.score, run.table.should_cancel)
            ranked.append((monitor, curve.area(), curve.best_area(), curve.excess_area()))
    columns = ("monitor", "area under risk-coverage", "best possible", "excess")
    yield Look("Accepting by score: risk against coverage", columns, ranked)


def ranking(run: InspectedRun) -> Iterator[Look]:
    """Look at how well scores tell OOD from ID whatever the threshold, and alarms at theirs."""
    run.check_known("--look scores", "is_ood")
    rows: list[tuple[LookCell, ...]] = []
    for monitor, judged in run.table.said.items():
        counts = Counts(**oracle.tally(judged.specific), wording=SPECIFIC)
        flagged = (balanced_accuracy(counts), trimmed_accuracy(judged.alarm, run.table.is_ood, seed=0))
        if judged.score is None:
            rows.append((monitor, *flagged, *[None] * 5))
            continue
        apart = Separation(judged.score[~run.table.is_ood], judged.score[run.table.is_ood])
        either = (apart.aupr(), apart.aupr_id())
        rows.append((monitor, *flagged, apart.auroc(), *either, apart.fpr_at_tpr(), apart.detection_error()))
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


def along_time(run: InspectedRun) -> Iterator[Look]:
    """Look at how far apart false alarms are."""
    run.check_known("--look time", "is_ood")
    table = run.table
    order = np.argsort(table.position, kind="stable")
    episode = np.full(len(order), -1) if table.episode is None else table.episode
    rows: list[tuple[LookCell, ...]] = []
    episodes = Episodes(episode[order], table.is_ood[order])
    for monitor, judged in table.said.items():
        alarm = judged.alarm[order]
        found = episodes.false_alarms(alarm)
        least = found.mean_time_low()
        if run.table.shares_tracks and least.defined:
            # A bound on each side of a two-sided interval of 90 % is one of 95 %.
            _, most = share_by_track(alarm[episodes.quiet], table.track_code[order][episodes.quiet], 0.9)
            least = Measure(1 / most.value) if most.defined else most
        rows.append((monitor, found.quiet, found.alarms, found.mean_time, least))
    columns = ("monitor", "quiet instances", "false alarms", "mean time between", "at least (95 %)")
    by = (
        "of whole tracks"
        if run.table.shares_tracks
        else "exact for alarms that come independently of each other"
    )
    yield Look("False alarms along the stream, in quiet instances", columns, rows, (f"at least: {by}",))


def pair(run: InspectedRun, first: str, second: str) -> Iterator[Look]:
    """Look at two monitors on the same instances: where is one right and the other wrong?"""
    said = run.table.said
    for name in (first, second):
        if name not in said:
            raise ExperimentError(f"--pair '{name}' is not in the run; {suggestion(name, said)}")
    tracks = run.table.track if run.table.has_tracks else None
    rows, methods = [], []
    unknown = dict(zip(("specific", "overall"), run.unknown.values(), strict=True))
    if all(unknown.values()):
        run.check_known("--pair", "is_ood")
    for task in (task for task, why in unknown.items() if not why):
        outcomes = [getattr(said[name], task) for name in (first, second)]
        found = paired(right(outcomes[0]), right(outcomes[1]), group=tracks)
        counts = (found.both, found.first, found.second, found.neither)
        rows.append((task, *counts, found.p))
        methods.append(found.method)
    columns = ("task", "both right", f"only {first}", f"only {second}", "neither", "p of no difference")
    grouped = "whole tracks" if tracks is not None else "instances"
    notes = (
        f"p by {methods[0]} of {grouped} (McNemar's test where each instance stands alone)",
        *(f"no {task} verdicts: {why}" for task, why in unknown.items() if why),
    )
    yield Look(
        f"{first} and {second} on the same instances", columns, cast(list[tuple[LookCell, ...]], rows), notes
    )


def _rates(run: InspectedRun, counts: Counts, alarm: BoolArray, level: float) -> tuple[Bounded, Bounded]:
    """Return FPR and FNR of the alarms."""
    (fpr, fnr), is_ood = rates(counts, level), run.table.is_ood
    return run.bounded(fpr, alarm, ~is_ood, level), run.bounded(fnr, ~alarm, is_ood, level)


def _text(measure: Measure) -> str:
    return f"{measure.value:.3f}" if measure.defined else f"undefined ({measure.reason})"


LOOKS: Mapping[str, Callable[[InspectedRun], Iterator[Look]]] = {
    "classes": per_class,
    "scores": ranking,
    "confidence": confidence,
    "time": along_time,
}
"""Those that need nothing but the run."""
