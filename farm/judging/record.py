"""A judged run written down as records: what is in one, and how measures become JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Protocol, TypeAlias

from farm.judging.guarantees import faults_of
from farm.judging.intervals import BOUNDED, Ends, Intervals, Task
from farm.judging.notes import Noted, image_size
from farm.judging.promises import ID, RealisedPromise
from farm.measures import Counts, Measure, ratio, undefined
from farm.measures.boxes import LOCALIZATION
from farm.measures.certainty import CERTAINTY
from farm.measures.detection import detection_measures
from farm.measures.oracle import ORACLE
from farm.measures.parts import Group, Part
from farm.measures.tally import Tally

FindEnds: TypeAlias = Callable[[Task, str, Measure], Ends | None]
"""From a task and a measure of it with its value to the ends of the interval; None where it has none."""
Record: TypeAlias = dict[str, Any]
Fields: TypeAlias = dict[str, Any]
"""Names to JSON values, or to a `Measure`, which `plain` turns into one."""

_NEED_LABELS = (
    "overall",
    "classifier_mcc",
    "classifier_accuracy",
    "system_mcc",
    "relative_change",
    "accepted_accuracy",
    "risk",
    "safety_gain",
    "residual_hazard",
    "availability_cost",
)

MEASURED = (
    "specific",
    "overall",
    "alarm_rate",
    "auroc",
    "aupr",
    "fpr_at_95_tpr",
    "classifier_mcc",
    "classifier_accuracy",
    *CERTAINTY,
    *LOCALIZATION,
    "system_mcc",
    "relative_change",
    "coverage",
    "accepted_accuracy",
    "risk",
    "safety_gain",
    "residual_hazard",
    "availability_cost",
    "false_alarms_per_1000",
    "detection_delay",
    "cancellation_delay",
    "monitor_time_us",
    "classifier_time_us",
    "monitor_bytes",
    "asked_acceptance",
    "realised_acceptance",
)
"""The fields that may be undefined, in a record's order where all readouts were in memory."""
RANKED = ("auroc", "aupr", "fpr_at_95_tpr")
"""Those that need scores."""


class JudgedParts(Protocol):
    """What a run must be able to tell, part by part."""

    measured: ClassVar[Sequence[str]]
    """The fields that may be undefined, in a record's order."""

    @property
    def parts(self) -> Sequence[Part]:
        """What is to be told of, in the records' order."""

    @property
    def monitors(self) -> Sequence[Noted]:
        """In the order of the run; the oracle is the last."""

    @property
    def why_no_ood(self) -> str | None:
        """Why ID and OOD cannot be told apart; None if they can."""

    def tally(self, monitor: str, part: Part | None) -> Tally:
        """Return what was counted on a part; where it is None, on all ID instances."""

    def intervals(self, part: Part) -> Intervals:
        """Return what tells how sure measures are on a part."""

    def ranking(self, monitor: str, part: Part) -> Fields:
        """Return what follows from scores."""

    def certainty(self, part: Part) -> Fields:
        """Return what follows from the classifier's own probabilities, where labels are known."""

    def localization(self, part: Part) -> Fields:
        """Return what follows from the classifier's boxes."""

    def along_time(self, monitor: str, part: Part) -> Fields:
        """Return what follows from the order of the stream."""

    def times(self, monitor: str, part: Part) -> Fields | None:
        """Return quantiles of a monitor's times, the oracle's being the classifier's; None without any."""


def records(
    judged: JudgedParts,
    run: Mapping[str, Any],
    *,
    bounded: Collection[str] = BOUNDED,
    parts: Sequence[Part] | None = None,
    promises: Sequence[RealisedPromise] = (),
) -> list[Record]:
    """Write one record for each part, or each of some parts, and each monitor.

    Intervals take most of the time: `bounded` are the measures that have one. `promises` are those of all
    monitors' guarantees; a monitor without any has no field of them.
    """
    parts = judged.parts if parts is None else parts
    intervals = {part: judged.intervals(part) if bounded else None for part in parts}
    size, faults = image_size(run), faults_of(parts)
    return [
        {
            "run": run.get("folder"),
            "workload": _name(run, "workload"),
            "classifier": _name(run, "classifier"),
            **asdict(part.group),
            "severity_range": part.group.severity_range and list(part.group.severity_range),
            "part": part.name,
            "monitor": monitor.name,
            "ranked": monitor.ranked,
            "yardstick": monitor.yardstick,
            "policy": monitor.policy,
            "fallback": monitor.fallback,
            "image_size": size and list(size),
            **_size(judged.tally(ORACLE, part), judged.why_no_ood),
            **_independent(intervals[part]),
            **plain(_fields(judged, monitor, part, _ends(intervals[part], monitor.name, bounded))),
            **_guarantees(promises, monitor.name, _places(part, faults)),
            "failure": monitor.failure,
        }
        for part in parts
        for monitor in judged.monitors
    ]


def _places(part: Part, faults: Mapping[Group, str]) -> list[str]:
    """Name what the instances of a part are: ID, or under a fault."""
    fault = [faults[part.group]] if part.group in faults else []
    return {"id": [ID], "ood": fault, "all": [ID, *fault]}[part.name]


def _guarantees(promises: Sequence[RealisedPromise], monitor: str, here: Collection[str]) -> Fields:
    """Return what became of a monitor's promises at some places, where it made any."""
    own = [each for each in promises if each.promise.monitor == monitor]
    return {"guarantees": [each.record() for each in own if each.where in here]} if own else {}


def _ends(intervals: Intervals | None, monitor: str, bounded: Collection[str]) -> FindEnds:
    """Return what finds the ends of one monitor's intervals, of those that are to have any."""

    def find(task: Task, name: str, value: Measure) -> Ends | None:
        if intervals is None or name not in bounded:
            return None
        return intervals.ends(monitor, task, name, value) if value.defined else (value, value)

    return find


def _fields(judged: JudgedParts, monitor: Noted, part: Part, ends: FindEnds) -> Fields:
    """Return every field that may be undefined; one that is, as a `Measure` with its reason."""
    if monitor.failure is not None:
        return dict.fromkeys(judged.measured, undefined(f"failed: {monitor.failure}"))
    name, why_no_ood, untimed = monitor.name, judged.why_no_ood, undefined("no times were given")
    counted = judged.tally(name, part)
    found = {
        **_detection(name, counted, why_no_ood, ends),
        **_classification(name, counted, judged.certainty(part), ends),
        **_size_and_acceptance(monitor, judged.tally(name, None), why_no_ood),
        **judged.localization(part),
        **judged.ranking(name, part),
        **judged.along_time(name, part),
        "monitor_time_us": (None if name == ORACLE else judged.times(name, part)) or untimed,
        "classifier_time_us": judged.times(ORACLE, part) or untimed,
    }
    return {field: found[field] for field in judged.measured}


def _size(counted: Tally, why_no_ood: str | None) -> Fields:
    """Say how many instances there are, and what share of them is OOD."""
    if why_no_ood:
        return {"n": counted.n, "n_ood": None, "ood_share": None}
    return {"n": counted.n, "n_ood": counted.n_ood, "ood_share": counted.n_ood / counted.n}


def _independent(intervals: Intervals | None) -> Fields:
    """Say how many tracks there are, and whether these or instances count as independent in intervals."""
    return {"n_tracks": intervals.n_tracks, "intervals_by": intervals.unit} if intervals else {}


def _detection(monitor: str, counted: Tally, why_no_ood: str | None, ends: FindEnds) -> Fields:
    """Return what follows from the alarms; `why_no_ood` says why ID and OOD cannot be told apart, if so."""
    alarm_rate: Measure = Measure(counted.alarms / counted.n)
    if not why_no_ood:
        return {"specific": _task("specific", counted.specific, ends), "alarm_rate": alarm_rate}
    # The perfect monitor's alarms are `is_ood` itself.
    why = undefined(why_no_ood)
    return {"specific": why, "alarm_rate": why if monitor == ORACLE else alarm_rate}


def _classification(monitor: str, counted: Tally, certainty: Fields, ends: FindEnds) -> Fields:
    """Return what follows from labels, predictions and decisions; `certainty` is that of the classifier."""
    if counted.unlabelled:
        some = f"the label is missing for {counted.unlabelled:,} of {counted.n:,} instances"
        why = undefined("no labels were given" if counted.unlabelled == counted.n else some)
        coverage = counted.decisions()["coverage"]
        # The perfect monitor's decisions follow from the labels.
        unknown = dict.fromkeys((*_NEED_LABELS, *certainty), why)
        return unknown | {"coverage": why if monitor == ORACLE else coverage}
    return {"overall": _task("overall", counted.overall, ends), **counted.classification(), **certainty}


def _size_and_acceptance(monitor: Noted, in_distribution: Tally, why_no_ood: str | None) -> Fields:
    """Return a monitor's size, and the share of ID instances that it was asked to accept and did accept."""
    nbytes = {"monitor_bytes": undefined("not given") if monitor.nbytes is None else int(monitor.nbytes)}
    if not monitor.calibration:
        why = undefined("no calibration")
        return nbytes | {"asked_acceptance": why, "realised_acceptance": why}
    asked = monitor.calibration.get("asked_acceptance")
    accepted = in_distribution.n - in_distribution.alarms
    return nbytes | {
        "asked_acceptance": undefined("none was asked for") if asked is None else Measure(float(asked)),
        "realised_acceptance": undefined(why_no_ood)
        if why_no_ood
        else ratio(accepted, in_distribution.n, "no ID instances"),
    }


def plain(fields: Mapping[str, Any]) -> Fields:
    """Turn measures into JSON, the reasons of those that are undefined gathered under `undefined`.

    Examples
    --------
    >>> plain({"mcc": undefined("no instances"), "error": Measure(0.5), "n": 2})
    {'mcc': None, 'error': 0.5, 'n': 2, 'undefined': {'mcc': 'no instances'}}
    """
    found = {name: field for name, field in fields.items() if isinstance(field, Measure)}
    values = dict(fields) | {name: measure.json for name, measure in found.items()}
    return values | {"undefined": {name: m.reason for name, m in found.items() if not m.defined}}


def _task(task: Task, counts: Counts, ends: FindEnds) -> Fields:
    """Return the counts and measures of one task, some with the ends of their intervals behind them."""
    fields: Fields = {"tp": counts.tp, "fp": counts.fp, "tn": counts.tn, "fn": counts.fn}
    for name, value in detection_measures(counts).items():
        fields[name] = value
        if (found := ends(task, name, value)) is not None:
            fields |= {f"{name}_low": found[0], f"{name}_high": found[1]}
    return plain(fields)


def _name(run: Mapping[str, Any], what: str) -> str | None:
    name = (run.get(what) or {}).get("name")
    return None if name is None else str(name)
