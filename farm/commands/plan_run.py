"""What a run's own rates say: how sure they are, and how many more instances would make them surer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from farm.gate.alarm_rates import alarm_rates
from farm.judging import JudgedRun, VerdictTable
from farm.judging.inspection import Look, LookCell
from farm.judging.notes import Noted
from farm.measures import Bounded, undefined
from farm.measures.detection import detection_measures
from farm.measures.oracle import ORACLE
from farm.measures.parts import Group
from farm.report.cells import DASH
from farm.statistics.planning import check_half_width, instances_for_half_width, onsets_for_delay_bound
from farm.store.readouts import Readouts

KINDS = {"fpr": "ID ", "fnr": "OOD ", "alarm_rate": ""}
"""Which instances a rate is a share of."""
WORDS = {"fpr": "FPR", "fnr": "FNR", "alarm_rate": "alarm rate"}


def of_run(readouts: Readouts, half_width: float | None, level: float) -> dict[str, Any]:
    """Return every rate of a run with its interval, and what it would take to narrow it."""
    if half_width is not None:
        check_half_width(half_width)
    judged = JudgedRun.of(readouts.instances, readouts.alarms, readouts.run)
    found = _alarm_rates(judged, level) if judged.why_no_ood else _rates(judged, level)
    rates = [_planned(rate, half_width, level) for rate in found]
    sentences, by_tracks = [], any(rate["intervals_by"] == "tracks" for rate in rates)
    if half_width is not None:
        measures = dict.fromkeys(rate["measure"] for rate in rates)
        sentences += [_needed(rates, measure, half_width, level) for measure in measures]
    return {
        "question": "run",
        "run": readouts.run["folder"],
        "half_width": half_width,
        "level": level,
        "rates": rates,
        "sentences": [
            *sentences,
            *_along_time(judged.points),
            *(_grouped(judged.table) if by_tracks else []),
        ],
    }


@dataclass(frozen=True)
class _Rate:
    """A monitor's rate with its interval, and of how many instances it is."""

    monitor: str
    measure: str
    rate: Bounded
    n: int | None
    unit: str | None = None
    """What counts as independent: `instances`, whose interval is Wilson's, or `tracks`."""
    group: Group | None = None


def _rates(judged: JudgedRun, level: float) -> Iterator[_Rate]:
    """Return each monitor's FPR, once, and its FNR fault by fault: they compare across any shares of OOD."""
    parts = [part for part in judged.parts if part.name == "all"]
    intervals = [judged.intervals(part, level) for part in parts]
    # All groups share the ID instances.
    for measure, asked in (("fpr", parts[:1]), ("fnr", parts)):
        for part, own in zip(asked, intervals, strict=False):
            group = part.group if measure == "fnr" else None
            for monitor in judged.monitors[:-1]:  # the last one is the perfect one
                name = monitor.name
                if monitor.failure is not None:
                    yield _failed(monitor, measure, group)
                    continue
                counts = judged.tally(name, part).specific
                value = detection_measures(counts)[measure]
                ends = own.ends(name, "specific", measure, value) if value.defined else (value, value)
                n = counts.fp + counts.tn if measure == "fpr" else counts.positive
                yield _Rate(name, measure, Bounded(value, *ends), n, own.unit, group)


def _alarm_rates(judged: JudgedRun, level: float) -> Iterator[_Rate]:
    """Return each monitor's alarm rate, of all instances, where ID and OOD ones are not known apart."""
    rates, n = alarm_rates(judged.table, level), len(judged.table)
    unit = "tracks" if judged.table.has_tracks else "instances"
    for monitor in judged.monitors[:-1]:
        if monitor.failure is not None:
            yield _failed(monitor, "alarm_rate")
        else:
            yield _Rate(monitor.name, "alarm_rate", rates[monitor.name], n, unit)


def _failed(monitor: Noted, measure: str, group: Group | None = None) -> _Rate:
    return _Rate(
        monitor.name, measure, Bounded.nowhere(undefined(f"failed: {monitor.failure}")), None, None, group
    )


def _planned(found: _Rate, half_width: float | None, level: float) -> dict[str, Any]:
    """Add how wide a rate's interval is, and how many more instances would make it narrow enough."""
    value, low, high = (each.json for each in (found.rate.value, found.rate.low, found.rate.high))
    half, more = None, None
    if found.n is not None and value is not None and low is not None and high is not None:
        half = (high - low) / 2
        if half_width is not None and found.unit == "instances":
            more = max(instances_for_half_width(half_width, value, level) - found.n, 0)
        elif half_width is not None:
            # Where there are more tracks such as these, it is narrower by the root of their number.
            more = max(math.ceil(found.n * ((half / half_width) ** 2 - 1)), 0)
    return {
        "monitor": found.monitor,
        "measure": found.measure,
        "faultload": found.group and found.group.faultload,
        "severity": found.group and found.group.severity,
        "n": found.n,
        "value": value,
        "low": low,
        "high": high,
        "half_width": half,
        "more": more,
        "intervals_by": found.unit,
        "reason": found.rate.low.reason,
    }


def _needed(rates: Sequence[Mapping[str, Any]], measure: str, half_width: float, level: float) -> str:
    """Say how many more instances of a kind the rate that needs most of them asks for."""
    kind, own = KINDS[measure], [r for r in rates if r["measure"] == measure and r["more"] is not None]
    by = "" if any(rate["intervals_by"] == "tracks" for rate in own) else "Wilson "
    so_well = within(half_width, level, by=by)
    if not own:
        what = f"how many {kind}instances it takes"
        return f"No {WORDS[measure]} has an interval, so nothing can be said of {what}."
    most = max(own, key=lambda rate: int(rate["more"]))
    if not most["more"]:
        return f"Every {WORDS[measure]} is known {so_well}."
    what = f"{most['more']:,} more {kind}instances"
    if len({(rate["faultload"], rate["severity"]) for rate in own}) > 1:
        what = f"up to {what} a fault (most of {_fault(most)})"
    beside = f"beside the {most['n']:,} there are; {most['monitor']} needs most"
    return f"To know every {WORDS[measure]} {so_well}: {what}, {beside}."


def _along_time(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    own = (r for r in records if r["part"] == "all" and r["monitor"] != ORACLE)
    whole = [r for r in own if (r["detection_delay"] or {}).get("n")]
    several = len({(r["faultload"], r["severity"]) for r in whole}) > 1
    for record in whole:
        delay = record["detection_delay"]
        missed, n = delay["missed"], delay["found"] + delay["missed"]
        what = f"{record['monitor']}'s detection delay (95 % of all, with 95 % confidence)"
        if several:
            what += f" of {_fault(record)}"
        if missed > 0.05 * n:
            yield f"{what} has no bound: {missed} of {n} onsets were missed, more than it may leave out."
        elif (needed := onsets_for_delay_bound(missed)) > n:
            but = "if none is missed" if not missed else f"if no more than those {missed} are missed"
            yield f"To bound {what}: {needed - n:,} more onsets beside the {n:,} with a delay, {but}."


def _grouped(table: VerdictTable) -> Iterator[str]:
    """Say where instances come in tracks: neighbouring frames tell less than as many images on their own."""
    if table.shares_tracks:
        yield (
            f"The {len(table):,} instances come from {table.n_tracks:,} tracks, and intervals are of whole "
            "tracks: more instances means more such tracks."
        )


def rates_look(rates: Sequence[Mapping[str, Any]], half_width: float | None) -> Look:
    """Return a row for each rate, and below why some have no interval."""
    by_fault = any(rate["measure"] == "fnr" for rate in rates)
    rows: list[tuple[LookCell, ...]] = []
    for rate in rates:
        names = [rate["monitor"], WORDS[rate["measure"]], _fault(rate) if rate["measure"] == "fnr" else ""]
        seen, low, high, half = (
            DASH if rate[name] is None else f"{100 * rate[name]:.2f}"
            for name in ("value", "low", "high", "half_width")
        )
        cells = [
            DASH if rate["n"] is None else f"{rate['n']:,}",
            seen,
            DASH if rate["low"] is None else f"{low}{DASH}{high}",
            half,
        ]
        more = [] if half_width is None else [DASH if rate["more"] is None else f"{rate['more']:,}"]
        rows.append((*(names if by_fault else names[:2]), *cells, *more))
    columns = ("monitor", "rate", *(["fault"] if by_fault else []), "n", "seen %", "interval %", "±")
    reasons = dict.fromkeys(f"{DASH} {rate['reason']}" for rate in rates if rate["reason"])
    return Look("", columns + (() if half_width is None else ("more needed",)), rows, tuple(reasons))


def _fault(rate: Mapping[str, Any]) -> str:
    severity = "" if rate["severity"] is None else f" {rate['severity']:g}"
    return f"{rate['faultload'] or ''}{severity}"


def within(half_width: float, level: float, *, by: str = "Wilson ") -> str:
    """Say how well a rate is to be known."""
    return f"to within ±{100 * half_width:g} percentage points ({percent(level)} {by}interval)"


def percent(share: float) -> str:
    """Write a share in per cent.

    Examples
    --------
    >>> percent(0.07), percent(0.999)
    ('7 %', '99.9 %')
    """
    return f"{100 * share:g} %"
