"""What was seen of a selection: a measure's mean over benchmark sets, the counts behind it, and of how many.

A measure of ID instances alone, such as the false alarm rate, is of these and of no others; so are its n and
the number that would decide it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from farm.api.arrays import BoolArray
from farm.comparing import BenchmarkSet
from farm.comparing.classifier_sums import BRIER, OF_PREDICTIONS, value_of
from farm.comparing.joint_tracks import (
    ALARM_RATE,
    AUROC,
    confidence_of,
    form_by_name,
    scores_of,
    task_of,
    totals,
)
from farm.comparing.measures import ACCURACY
from farm.comparing.sets import each_once
from farm.gate.measures import GATED, SIDES
from farm.judging import VerdictTable
from farm.measures import OVERALL, SPECIFIC, Counts, Measure, auroc, detection, undefined
from farm.measures.boxes import LOCALIZATION
from farm.measures.calibration import confidence_auroc
from farm.measures.certainty import CONFIDENCE_AUROC
from farm.measures.measure import defined_or
from farm.measures.oracle import tally
from farm.statistics.resampling import FEWEST


@dataclass(frozen=True)
class Size:
    """How much a measure is of."""

    n: int
    """Instances; the ID instances that sets of one run share count once."""
    n_ood: int
    n_tracks: int
    too_few: str | None
    """Why there are too few tracks for any bound, if so."""


def mean_over(sets: Sequence[BenchmarkSet], name: str, monitor: str) -> Measure:
    """Return the mean over sets of the mean over their streams, all of which must have a value.

    The measure is the area under the ROC curve, or one that follows from decisions or predictions.
    """
    means = []
    for one in sets:
        values = [_value(stream, name, monitor) for stream in one.streams]
        if gap := next((value for value in values if not value.defined), None):
            where = f" on {one.name}" if len(sets) > 1 else ""
            return undefined(f"{gap.reason}{where}")
        means.append(sum(value.value for value in values) / len(values))
    return Measure(float(np.mean(means)))


def counts_of(sets: Sequence[BenchmarkSet], name: str, monitor: str) -> Mapping[str, int] | None:
    """Count true and false positives and negatives of the measure's task, or alarms; None of scores."""
    if name == AUROC or task_of(name) in OF_PREDICTIONS:
        return None
    if name in (ACCURACY, CONFIDENCE_AUROC):
        found = each_once(sets)
        wrong = np.concatenate([s.should_cancel[rows & _counting(s, name)] for _, s, rows in found])
        return {"right": int((~wrong).sum()), "wrong": int(wrong.sum())}
    if name == ALARM_RATE:
        return {
            "alarms": sum(int(stream.said[monitor].alarm[rows].sum()) for _, stream, rows in each_once(sets))
        }
    codes = []
    for _, stream, rows in each_once(sets):
        judged = stream.said[monitor]
        codes.append((judged.specific if task_of(name) == "specific" else judged.overall)[rows])
    return tally(np.concatenate(codes))


def size_of(sets: Sequence[BenchmarkSet], name: str) -> Size:
    """Say of how many instances and tracks a measure is."""
    share_of = GATED[name].sides
    n = {"id": 0, "ood": 0}
    tracks: set[tuple[str, str]] = set()
    too_few = None
    for one, stream, once in each_once(sets):
        for side in share_of if len(share_of) == 1 else SIDES:
            rows = (stream.is_ood if side == "ood" else ~stream.is_ood) & _counting(stream, name)
            own = np.unique(stream.track[rows]).tolist()
            n[side] += int((rows & once).sum())
            tracks.update((one.workload, track) for track in own)
            if too_few is None and name != CONFIDENCE_AUROC and (few := _too_few(len(own))):
                too_few = f"{one.name}: the {side.upper()} instances are of {few}"
                if stream.why_no_ood:
                    too_few = f"the instances of {one.workload} come in {few}"
        if too_few is None and name == CONFIDENCE_AUROC:
            rows, wrong = _counting(stream, name), stream.should_cancel
            for which, own in (("right", rows & ~wrong), ("wrong", rows & wrong)):
                if few := _too_few(len(np.unique(stream.track[own]))):
                    too_few = f"{one.name}: the {which} predictions are of {few}"
    return Size(n["id"] + n["ood"], n["ood"], len(tracks), too_few)


def _counting(stream: VerdictTable, name: str) -> BoolArray:
    """Say which instances count for a measure: of some, those that have a right answer."""
    if name == CONFIDENCE_AUROC or (task_of(name) in OF_PREDICTIONS and name not in LOCALIZATION):
        return stream.answered
    return np.ones(len(stream), dtype=np.bool_)


def _too_few(tracks: int) -> str | None:
    if not 0 < tracks < FEWEST:
        return None
    return f"{tracks} track{'s' if tracks > 1 else ''}; a bound needs at least {FEWEST}"


def _value(stream: VerdictTable, name: str, monitor: str) -> Measure:
    if name == AUROC:
        return auroc(scores_of(stream, monitor), stream.is_ood)
    if name == CONFIDENCE_AUROC:
        return confidence_auroc(confidence_of(stream), ~stream.should_cancel[stream.answered])
    task, (_, dot, rate) = task_of(name), name.rpartition(".")
    if task in OF_PREDICTIONS and task != BRIER:
        return value_of(stream, name)
    counts = totals(stream, task, monitor)
    if dot:
        tn, fp, fn, tp = counts.astype(np.int64).tolist()
        wording = SPECIFIC if task == "specific" else OVERALL
        measure: Measure = getattr(detection, rate)(Counts(tp=tp, fp=fp, tn=tn, fn=fn, wording=wording))
        return measure
    # Only the accuracy of what was accepted is no share of all instances.
    return defined_or(
        float(form_by_name(name, stream.classifier_classes)(counts)),
        f"each of the {len(stream):,} instances was cancelled",
    )
