"""How often monitors alarm where nobody knows what is right: in all, by class or condition, along time.

A fleet's logs have neither labels nor `is_ood`. Where instances stand alone a rate has its Wilson interval;
where they share tracks, whole tracks are drawn (`farm.statistics.bounds`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from farm.api.arrays import IntArray
from farm.errors import ExperimentError, suggestion
from farm.gate.drift import NO_REFERENCE, Reference, drifts, n_tracks
from farm.gate.few_labels import FewLabels
from farm.gate.watching import WatchedLog
from farm.judging import JudgedRun, VerdictTable
from farm.judging.record import Record, plain
from farm.measures import Bounded
from farm.measures.measure import share
from farm.statistics.by_track import shares_by_track
from farm.store.logs import CONDITION, condition_columns
from farm.store.readouts import Readouts

LEVEL = 0.95
STRETCHES = 4
"""Into so many parts, all of one length, the time is cut."""
MOST_VALUES = 50
"""A condition has no more values than these."""
PARTS = ("class", "time")
"""What rates are told by, unless something else is asked for."""
FAULTS = ("category", "faultload", "severity")
"""What else may be a condition, of a run as of a log."""
JUDGED_BY = ("label", "is_ood")
RUN = ("run", "workload", "classifier")
ABOUT = (
    *(*RUN, "faultload", "category", "severity", "severity_range", "part"),
    *("monitor", "ranked", "yardstick", "policy", "fallback", "n", "n_ood", "ood_share", "failure"),
)
"""What a record still tells where labels are left aside."""


def alarm_records(
    readouts: Readouts, by: Sequence[str] = PARTS, reference: Reference | None = None
) -> list[Record]:
    """Return each monitor's alarm rate with its ends, then those of parts; what else is known is left aside.

    Parameters
    ----------
    readouts
        A run, or a log.
    by
        What parts are by: `class` (as predicted), `time`, what is told of faults, or a condition in which
        instances of a run were taken, or that was read with the log.
    reference
        What scores and alarms are held against.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> alarm, predicted = np.arange(100) % 10 == 0, np.arange(100) % 2
    >>> made = make_readouts({"odin": alarm}, is_ood=None, label=None, predicted=predicted)
    >>> own = [record for record in alarm_records(made) if record["monitor"] == "odin"]
    >>> [(record["part"], record["of"], record["alarm_rate"], round(record["high"], 2)) for record in own[:3]]
    [('all', None, 0.1, 0.17), ('class', '0', 0.2, 0.33), ('class', '1', 0.0, 0.07)]
    """
    hidden = [name for name in JUDGED_BY if name in readouts.instances]
    judged = JudgedRun.of(readouts.instances.drop(columns=hidden), readouts.alarms, readouts.run)
    wholes = judged.records
    if readouts.instances[hidden].notna().any(axis=None):
        known = _ood(readouts.instances) | {"undefined": {}}
        wholes = [{name: whole[name] for name in ABOUT} | known for whole in wholes]
    drift = _drifts(readouts, judged, reference)
    watched = _watched(readouts, judged, reference)
    records: list[Record] = []
    for part, of, rows in _parts(readouts, judged.table, by):
        own = judged.table.take(rows)
        rates = alarm_rates(own)
        for whole in wholes:
            about = whole if part["part"] == "all" else {name: whole[name] for name in RUN}
            about = {**about, **part, "of": of, "monitor": whole["monitor"], "n": len(own)}
            if (rate := rates.get(whole["monitor"])) is not None:
                ends = {"alarm_rate": rate.value, "low": rate.low, "high": rate.high}
                found = {"n_tracks": n_tracks(own), **plain(ends)}
                told = drift(whole["monitor"]) if part["part"] == "all" else {"undefined": {}}
                reasons = about.get("undefined", {}) | found["undefined"] | told["undefined"]
                along = watched(whole["monitor"]) if part["part"] == "all" else {}
                records.append({**about, **found, **told, **along, "undefined": reasons})
            elif part["part"] == "all":
                records.append(about)
    return records


def _ood(instances: pd.DataFrame) -> Record:
    """Say how many instances are OOD, where that is known of all."""
    is_ood = instances.get("is_ood")
    if is_ood is None or is_ood.isna().any():
        return {}
    return {"n_ood": int(is_ood.sum()), "ood_share": float(is_ood.mean())}


def _drifts(readouts: Readouts, judged: JudgedRun, reference: Reference | None) -> Callable[[str], Record]:
    """Return what tells a monitor's fields of drift; yardsticks have none, unless there is nothing else."""

    def without(why: str) -> Record:
        return {"drift": None, "against": None, "undefined": {"drift": why}}

    if reference is None:
        return lambda _: without(NO_REFERENCE)
    reference.check([readouts])
    rates, before = alarm_rates(judged.table), alarm_rates(reference.table)
    asked = {name: rates[name] for name in _asked(judged)}
    found = drifts(judged.table, reference, asked, before, LEVEL)
    return lambda monitor: found[monitor].record if monitor in found else without("it is a yardstick")


def _watched(readouts: Readouts, judged: JudgedRun, reference: Reference | None) -> Callable[[str], Record]:
    """Return what tells what is known of a monitor at all moments together; nothing without a reference."""
    if reference is None:
        return lambda _: {}
    asked = _asked(judged)
    log, labels = WatchedLog(judged.table, reference, asked, LEVEL), FewLabels.of(readouts)

    def told(monitor: str) -> Record:
        if monitor not in asked:
            return {"anytime": None}
        hazard = None if labels is None else labels.record(monitor, LEVEL)
        return {"anytime": log.record(monitor) | {"residual_hazard": hazard}}

    return told


def _asked(judged: JudgedRun) -> list[str]:
    """Return the monitors to look after: no yardsticks, unless there is nothing else."""
    yardsticks = {each.name for each in judged.monitors if each.yardstick}
    return [name for name in judged.table.said if name not in yardsticks] or list(judged.table.said)


def alarm_rates(table: VerdictTable, level: float = LEVEL) -> dict[str, Bounded]:
    """Return each monitor's share of instances with an alarm, by its name, with its interval."""
    n = len(table)
    rates = {
        name: share(int(said.alarm.sum()), n, "no instances", level) for name, said in table.said.items()
    }
    if not table.shares_tracks:
        return rates
    found = shares_by_track([table.said[name].alarm for name in rates], table.track_code, level)
    return {name: Bounded(rate.value, *ends) for (name, rate), ends in zip(rates.items(), found, strict=True)}


def _parts(
    readouts: Readouts, table: VerdictTable, by: Sequence[str]
) -> Iterator[tuple[Record, str | None, IntArray]]:
    """Return what there is a rate of: the part, and by what it is; its name, and its rows."""
    yield {"part": "all"}, None, np.arange(len(table))
    for what in dict.fromkeys(by):
        if what in PARTS:
            cut = _by_class if what == "class" else _along_time
            yield from (({"part": what}, of, rows) for of, rows in cut(readouts, table))
        else:
            about = {"part": "condition", "by": what}
            yield from ((about, of, rows) for of, rows in _by_condition(readouts, what))


def _by_class(readouts: Readouts, table: VerdictTable) -> Iterator[tuple[str, IntArray]]:
    names = readouts.run.get("classes")
    for code in np.argsort(table.classes).tolist():
        rows = np.flatnonzero(table.predicted == code)
        if len(rows):
            number = int(table.classes[code])
            yield str(names[number]) if names else str(number), rows


def _along_time(readouts: Readouts, table: VerdictTable) -> Iterator[tuple[str, IntArray]]:
    along = np.argsort(table.position, kind="stable")
    ends = np.linspace(0, len(along), min(STRETCHES, len(along)) + 1).astype(np.int64).tolist()
    given = readouts.instances.get("timestamp")
    dated = given is not None and pd.api.types.is_datetime64_any_dtype(given)
    moments = given.to_numpy()[along] if given is not None and dated else None
    for start, end in pairwise(ends):
        numbered = f"instances {start + 1} to {end}"
        yield numbered if moments is None else _span(moments[start], moments[end - 1]), along[start:end]


def _span(first: Any, last: Any) -> str:
    """Write from when to when; the day of the end where it is another.

    Examples
    --------
    >>> _span(np.datetime64("2026-11-19T09:30:05"), np.datetime64("2026-11-19T17:05:59"))
    '2026-11-19 09:30:05 to 17:05:59'
    >>> _span(np.datetime64("2026-11-19T09:30:05"), np.datetime64("2026-11-21T17:05:59"))
    '2026-11-19 09:30 to 2026-11-21 17:05'
    """
    one, other = pd.Timestamp(first), pd.Timestamp(last)
    if one.date() == other.date():
        return f"{one:%Y-%m-%d %H:%M:%S} to {other:%H:%M:%S}"
    return f"{one:%Y-%m-%d %H:%M} to {other:%Y-%m-%d %H:%M}"


def _by_condition(readouts: Readouts, name: str) -> Iterator[tuple[str | None, IntArray]]:
    """Return each value of a condition with its rows; None is called what has none."""
    column = name if name in FAULTS else CONDITION.format(name)
    if column not in readouts.instances:
        where = readouts.run.get("folder") or "the run"
        known = [*PARTS, *FAULTS, *condition_columns(readouts.instances.columns)]
        known += (readouts.run.get("log") or {}).get("ignored_columns", ())
        raise ExperimentError(f"--by '{name}' is no column of {where}; {suggestion(name, known)}")
    codes, values = pd.factorize(readouts.instances[column], sort=True)
    if len(values) > MOST_VALUES:
        raise ExperimentError(
            f"--by '{name}': there are {len(values)} values, such as '{values[0]}'; expected at most "
            f"{MOST_VALUES}, as a condition has: group them in a column of their own, of the log or of the "
            "workload's index"
        )
    for code, value in enumerate(values.tolist()):
        yield str(value), np.flatnonzero(codes == code)
    if (codes < 0).any():
        yield None, np.flatnonzero(codes < 0)
