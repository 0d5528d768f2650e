"""The fields of a record that follow from counts, and how measures become JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from farm import measures
from farm.measures import Counts, Measure, undefined
from farm.measures.tally import Tally
from farm.oracle import ORACLE
from farm.records.notes import Noted

Fields: TypeAlias = dict[str, Any]
"""Names to JSON values, or to a `Measure`, which `plain` turns into one."""

_NEED_LABELS = (
    "overall",
    "classifier_mcc",
    "classifier_accuracy",
    "system_mcc",
    "relative_change",
    "accepted_accuracy",
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
    "system_mcc",
    "relative_change",
    "coverage",
    "accepted_accuracy",
    "safety_gain",
    "residual_hazard",
    "availability_cost",
    "false_alarms_per_1000",
    "detection_delay",
    "monitor_time_us",
    "classifier_time_us",
    "monitor_bytes",
    "asked_acceptance",
    "realised_acceptance",
)
"""The fields that may be undefined, in a record's order."""
RANKED = ("auroc", "aupr", "fpr_at_95_tpr")
"""Those that need scores."""


def size(counted: Tally, why_no_ood: str | None) -> Fields:
    """Say how many instances there are, and what share of them is OOD."""
    if why_no_ood:
        return {"n": counted.n, "n_ood": None, "ood_share": None}
    return {"n": counted.n, "n_ood": counted.n_ood, "ood_share": counted.n_ood / counted.n}


def detection(monitor: str, counted: Tally, why_no_ood: str | None) -> Fields:
    """Give what follows from the alarms; `why_no_ood` says why ID and OOD cannot be told apart, if so."""
    alarm_rate: Measure = Measure(counted.alarms / counted.n)
    if not why_no_ood:
        return {"specific": _task(counted.specific), "alarm_rate": alarm_rate}
    # The perfect monitor's alarms are `is_ood` itself.
    why = undefined(why_no_ood)
    return {"specific": why, "alarm_rate": why if monitor == ORACLE else alarm_rate}


def classification(monitor: str, counted: Tally) -> Fields:
    """Give what follows from labels, predictions and decisions."""
    if counted.unlabelled:
        some = f"the label is missing for {counted.unlabelled} of {counted.n} instances"
        why = undefined("no labels were given" if counted.unlabelled == counted.n else some)
        coverage = measures.coverage(counted.decided, counted.n)
        # The perfect monitor's decisions follow from the labels.
        return dict.fromkeys(_NEED_LABELS, why) | {"coverage": why if monitor == ORACLE else coverage}
    return {"overall": _task(counted.overall), **counted.classification()}


def size_and_acceptance(monitor: Noted, in_distribution: Tally, why_no_ood: str | None) -> Fields:
    """Give a monitor's size, and the share of ID instances that it was asked to accept and did accept."""
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
        else measures.ratio(accepted, in_distribution.n, "no ID instances"),
    }


def failed(reason: str) -> Fields:
    """Give the fields of a monitor that failed."""
    return dict.fromkeys(MEASURED, undefined(f"failed: {reason}"))


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


def _task(counts: Counts) -> Fields:
    """Give the counts and measures of one task."""
    own = {"tp": counts.tp, "fp": counts.fp, "tn": counts.tn, "fn": counts.fn}
    return own | plain(measures.detection_measures(counts))
