"""What is measured of one monitor on one part of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from farm import measures
from farm.api.arrays import FloatArray, IntArray
from farm.errors import DataError
from farm.measures import Counts, Measure, Separation, undefined
from farm.oracle import ORACLE
from farm.records.parts import Part, Partition, partition
from farm.records.tallies import Tally, tallies, total
from farm.records.verdicts import Truth, Verdicts, decisions, truth, verdicts

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


@dataclass(frozen=True)
class Judged:
    """A monitor, what is noted of it, what it said and the counts of that; the last two only if it lasted."""

    name: str
    ranked: bool
    failure: str | None
    nbytes: int | None
    calibration: Mapping[str, Any] | None
    policy: str | None
    fallback: str | None
    said: Verdicts | None
    counted: list[Tally]


@dataclass(frozen=True)
class Judging:
    """A run with everything counted, ready to be measured part by part."""

    known: Truth
    partition: Partition
    monitors: list[Judged]
    """In the order of the run; the oracle is the last."""

    @classmethod
    def of(cls, instances: pd.DataFrame, alarms: pd.DataFrame, run: Mapping[str, Any]) -> Judging:
        """Align the tables, sort out the parts and count."""
        notes = {str(note["name"]): note for note in run.get("monitors") or ()}
        failed = [name for name, note in notes.items() if note.get("failure")]
        if failed:
            alarms = alarms[~alarms["monitor"].isin(failed)]
        known = truth(instances, decisions(alarms))
        parted = partition(instances, None if known.why_no_ood else known.is_ood)
        known = known.in_order(parted.order)
        positions = instances["position"].to_numpy(np.int64)[parted.order]
        said = {v.monitor: _coded(v, known, positions) for v in verdicts(alarms, positions)}
        if ORACLE in notes or ORACLE in said:
            raise DataError(f"monitor '{ORACLE}': that is the perfect monitor's name; expected another")
        notes |= {name: {} for name in said if name not in notes} | {ORACLE: {"ranked": False}}
        said[ORACLE] = Verdicts(ORACLE, alarm=known.is_ood, cancelled=known.should_cancel)
        monitors = [
            Judged(
                name=name,
                ranked=bool(note.get("ranked", True)),
                failure=note.get("failure") or (None if name in said else "it left no alarms"),
                nbytes=note.get("nbytes"),
                calibration=note.get("calibration"),
                policy=described(note.get("policy")),
                fallback=described(note.get("fallback")),
                said=said.get(name),
                counted=tallies(known, said[name], parted) if name in said else [],
            )
            for name, note in notes.items()
        ]
        return cls(known, parted, monitors)

    def size(self, part: Part) -> Fields:
        """Say how many instances a part has, and what share of them is OOD."""
        counted = total(self.monitors[-1].counted, part)
        if self.known.why_no_ood:
            return {"n": counted.n, "n_ood": None, "ood_share": None}
        return {"n": counted.n, "n_ood": counted.n_ood, "ood_share": counted.n_ood / counted.n}

    def measure(self, monitor: Judged, part: Part) -> Fields:
        """Give every field of `MEASURED`; one that is undefined as a `Measure` with its reason."""
        if monitor.failure is not None or monitor.said is None:
            return dict.fromkeys(MEASURED, undefined(f"failed: {monitor.failure}"))
        counted = total(monitor.counted, part)
        fields = self._detection(monitor, counted) | self._classification(monitor, counted)
        fields |= self._ranking(monitor.said, part) | self._acceptance(monitor)
        fields |= self._along_time(monitor.said, part)
        fields["monitor_time_us"] = self._times(monitor.said.time_us, part)
        fields["classifier_time_us"] = self._times(self.known.time_us, part)
        fields["monitor_bytes"] = undefined("not given") if monitor.nbytes is None else int(monitor.nbytes)
        return {name: fields[name] for name in MEASURED}

    def _detection(self, monitor: Judged, counted: Tally) -> Fields:
        no_ood = self.known.why_no_ood
        alarm_rate: Measure = Measure(counted.alarms / counted.n)
        if not no_ood:
            return {"specific": _task(counted.specific), "alarm_rate": alarm_rate}
        # The perfect monitor's alarms are `is_ood` itself.
        why = undefined(no_ood)
        return {"specific": why, "alarm_rate": why if monitor.name == ORACLE else alarm_rate}

    def _classification(self, monitor: Judged, counted: Tally) -> Fields:
        coverage = measures.coverage(counted.decided, counted.n)
        if counted.unlabelled:
            some = f"the label is missing for {counted.unlabelled} of {counted.n} instances"
            why = undefined("no labels were given" if counted.unlabelled == counted.n else some)
            # The perfect monitor's decisions follow from the labels.
            return dict.fromkeys(_NEED_LABELS, why) | {
                "coverage": why if monitor.name == ORACLE else coverage
            }
        alone = measures.multiclass_mcc(counted.classifier)
        system = measures.multiclass_mcc(counted.system)
        return {
            "overall": _task(counted.overall),
            "classifier_mcc": alone,
            "classifier_accuracy": measures.classifier_accuracy(counted.overall),
            "system_mcc": system,
            "relative_change": measures.relative_change(alone, system),
            "coverage": coverage,
            "accepted_accuracy": measures.accepted_accuracy(counted.right, counted.decided, counted.n),
            "safety_gain": measures.safety_gain(counted.overall),
            "residual_hazard": measures.residual_hazard(counted.overall),
            "availability_cost": measures.availability_cost(counted.overall),
        }

    def _ranking(self, said: Verdicts, part: Part) -> Fields:
        why_not = "no scores were given" if said.score is None else self.known.why_no_ood
        if said.score is None or why_not:
            return dict.fromkeys(("auroc", "aupr", "fpr_at_95_tpr"), undefined(str(why_not)))
        scores, is_ood = self.partition.take(said.score, part), self.partition.take(self.known.is_ood, part)
        return dict(Separation(scores[~is_ood], scores[is_ood]).measures())

    def _acceptance(self, monitor: Judged) -> Fields:
        """Give the share of ID instances that the monitor was asked to accept, and that it did accept."""
        if not monitor.calibration:
            return dict.fromkeys(("asked_acceptance", "realised_acceptance"), undefined("no calibration"))
        asked = monitor.calibration.get("asked_acceptance")
        in_distribution, no_ood = monitor.counted[0], self.known.why_no_ood
        accepted = in_distribution.n - in_distribution.alarms
        return {
            "asked_acceptance": undefined("none was asked for") if asked is None else Measure(float(asked)),
            "realised_acceptance": undefined(no_ood)
            if no_ood
            else measures.ratio(accepted, in_distribution.n, "no ID instances"),
        }

    def _along_time(self, said: Verdicts, part: Part) -> Fields:
        """Give how soon episodes were noticed, and how many alarms came outside of them."""
        if self.known.episode is None or part.name != "all":
            why = "the stream has no episodes" if self.known.episode is None else "told of part all"
            return dict.fromkeys(("false_alarms_per_1000", "detection_delay"), undefined(why))
        # The whole stream, whichever fault the part is about: a delay counts every instance that passes.
        along = np.argsort(self.known.position)
        episode, is_ood = self.known.episode[along], self.known.is_ood[along]
        alarm = said.alarm[along]
        delays = measures.Delays.of(episode, is_ood, alarm)
        delay = {
            "median": delays.quantile(0.5),
            "p95": delays.quantile(0.95),
            "p95_bound": delays.bound_of_p95(),
        }
        return {
            "false_alarms_per_1000": measures.false_alarms_per_1000(episode, is_ood, alarm),
            "detection_delay": {"n": delays.n, "missed": delays.missed, **plain(delay)},
        }

    def _times(self, times: FloatArray | None, part: Part) -> Measure | Fields:
        """Give quantiles over those instances that were timed."""
        taken = np.empty(0) if times is None else self.partition.take(times, part)
        taken = taken[~np.isnan(taken)]
        if not taken.size:
            return undefined("no times were given")
        median, p95, p99 = np.quantile(taken, (0.5, 0.95, 0.99)).tolist()
        return {"n": taken.size, "median": median, "p95": p95, "p99": p99}


def described(noted: Mapping[str, Any] | None) -> str | None:
    """Write what a run notes of a policy or a fallback in one line.

    Examples
    --------
    >>> described({"name": "m-of-n", "m": 2, "n": 5}), described({"name": "last"}), described(None)
    ('m-of-n (m 2, n 5)', 'last', None)
    """
    if noted is None:
        return None
    # A second classifier has more to it than the recipe that made it.
    recipe = dict(noted.get("recipe") or {}) if "recipe" in noted else dict(noted)
    recipe.pop("name", None)
    inside = ", ".join(f"{name} {value}" for name, value in recipe.items())
    return f"{noted['name']} ({inside})" if inside else str(noted["name"])


def _coded(said: Verdicts, known: Truth, positions: IntArray) -> Verdicts:
    """Give classes acted upon as codes, and check that what is not cancelled is what was predicted."""
    if said.decision is None:
        return said
    decision = known.code(said.decision)
    wrong = ~said.cancelled & (decision != known.predicted)
    if wrong.any():
        at = int(np.argmax(wrong))
        predicted = known.classes[known.predicted[at]]
        raise DataError(
            f"alarms of monitor '{said.monitor}': at position {positions[at]} the decision is "
            f"{said.decision[at]} and not cancelled; expected {predicted}, which was predicted"
        )
    return replace(said, decision=decision)


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
