"""Which records make which table, row by row and column by column, before anybody draws it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from farm.oracle import ORACLE
from farm.report.cells import (
    DASH,
    Cell,
    Notes,
    acceptance_cell,
    error_cell,
    latency_cell,
    number,
    percent,
    value_cell,
)

LEGEND = (
    "specific: an OOD instance is positive, an alarm flags it. overall: a wrong decision is positive, "
    "cancelling it flags it.",
    "error: share of wrong verdicts, below it its 95 % Wilson interval. coverage: share of decisions "
    "accepted; accuracy: share of right ones among them.",
    "time: median that the monitor adds an instance (in batches: its share), below it in per cent of the "
    "classifier's. ID kept: share of ID instances without an alarm, asked for → realised.",
    "system MCC: all classes, a cancelled decision being one more outcome, which on ID data is never right; "
    "change: from the classifier alone.",
    "MCC, coverage, accuracy: higher is better. error, FPR, FNR, time: lower is better. FPR and FNR compare "
    "across sets, MCC and error only at an equal share of OOD.",
)
LEGEND_TIME = (
    "delay: instances from an onset to the first alarm at or after it; a missed onset counts as infinite. "
    "bound: of the 95th percentile, with 95 % confidence. false alarms: on ID instances outside of faults. "
    "Both are of alarms, whatever a policy makes of them."
)
LEGEND_FALLBACK = (
    "fallback: what takes a cancelled decision's place. Coverage, accuracy, hazard and system MCC are then "
    "of the decisions acted upon, the fallback's among them; overall MCC and error still judge the "
    "cancelling alone."
)
LEGEND_ORACLE = "oracle: the perfect monitor, a bound to compare with; it is not ranked."


@dataclass(frozen=True)
class Column:
    """A heading and its unit, the name of the columns it belongs to, and who writes its cells."""

    group: str
    heading: str
    unit: str
    write: Callable[[Mapping[str, Any], Notes], Cell]


@dataclass(frozen=True)
class Row:
    """A monitor's cells; `apart` if it is no monitor but something to compare with."""

    name: Cell
    cells: tuple[Cell, ...]
    apart: bool = False


@dataclass(frozen=True)
class Sheet:
    """One table."""

    title: str
    subtitle: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Sheets:
    """All tables of a report, with the footnotes they share."""

    sheets: tuple[Sheet, ...]
    notes: tuple[str, ...]
    legend: tuple[str, ...]


MAIN = (
    Column("specific", "MCC", "", value_cell("specific.mcc", number)),
    Column("specific", "error", "%", error_cell("specific")),
    Column("specific", "FPR", "%", value_cell("specific.fpr", percent)),
    Column("specific", "FNR", "%", value_cell("specific.fnr", percent)),
    Column("overall", "MCC", "", value_cell("overall.mcc", number)),
    Column("overall", "error", "%", error_cell("overall")),
    Column("overall", "coverage", "%", value_cell("coverage", percent)),
    Column("overall", "accuracy", "%", value_cell("accepted_accuracy", percent)),
    Column("cost", "time", "", latency_cell),
    Column("cost", "ID kept", "%", acceptance_cell),
)
SYSTEM = (
    Column("system", "MCC", "", value_cell("system_mcc", number)),
    Column("system", "change", "%", value_cell("relative_change", lambda change: f"{change:+.1f}")),
    Column("system", "coverage", "%", value_cell("coverage", percent)),
    Column("system", "accuracy", "%", value_cell("accepted_accuracy", percent)),
)


def _delay(field: str) -> Callable[[Mapping[str, Any], Notes], Cell]:
    return value_cell(f"detection_delay.{field}", lambda delay: f"{delay:g}")


_FALSE_ALARMS = value_cell("false_alarms_per_1000", lambda rate: f"{rate:.1f}")
TIME = (
    Column("along time", "false alarms", "per 1000", _FALSE_ALARMS),
    Column("along time", "onsets", "", _delay("n")),
    Column("along time", "missed", "", _delay("missed")),
    Column("delay", "median", "", _delay("median")),
    Column("delay", "95 %", "", _delay("p95")),
    Column("delay", "bound", "", _delay("p95_bound")),
)


RUN = ("run", "workload", "classifier")
GROUP = ("faultload", "category", "severity", "severity_range")


def sheets(records: Sequence[Mapping[str, Any]]) -> Sheets:
    """Arrange records: the monitors on all instances, group by group, then the system on ID data."""
    notes = Notes()
    several = len({record.get("run") for record in records}) > 1
    made: list[Sheet] = []
    for run in _split(records, RUN):
        parts = [
            {part: [r for r in group if r["part"] == part] for part in ("all", "id")}
            for group in _split(run, GROUP)
        ]
        shown = [_sheet(MAIN, group["all"], notes) for group in parts]
        shown += [
            replace(_sheet(TIME, group["all"], notes), subtitle="faults that begin, instances until noticed")
            for group in parts[:1]  # it is told of the whole stream, in every group
            if any(record.get("detection_delay") for record in group["all"])
        ]
        # ID instances are the same in every group. Where they cannot be told apart, everything is shown.
        shown += dict.fromkeys(_system_sheet(group["id"] or group["all"], notes) for group in parts)
        of_run = f"{run[0].get('run')}: " if several else ""
        made += [replace(sheet, title=of_run + sheet.title) for sheet in shown]
    oracle = any(record["monitor"] == ORACLE for record in records)
    timed = any(record.get("detection_delay") for record in records)
    fallen_back = any(record.get("fallback") not in (None, "none") for record in records)
    legend = (
        *LEGEND,
        *([LEGEND_TIME] if timed else []),
        *([LEGEND_FALLBACK] if fallen_back else []),
        *([LEGEND_ORACLE] if oracle else []),
    )
    return Sheets(tuple(made), tuple(notes.texts), legend)


def _split(records: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[list[Mapping[str, Any]]]:
    """Gather records that agree on some fields, in the order in which they come."""
    split: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        split.setdefault(repr([record.get(field) for field in fields]), []).append(record)
    return list(split.values())


def _sheet(columns: tuple[Column, ...], records: Sequence[Mapping[str, Any]], notes: Notes) -> Sheet:
    rows = sorted((_row(record, columns, notes) for record in records), key=lambda row: row.apart)
    return Sheet(_title(records[0]), _subtitle(records[0]), columns, tuple(rows))


def _system_sheet(records: Sequence[Mapping[str, Any]], notes: Notes) -> Sheet:
    sheet = _sheet(SYSTEM, records, notes)
    # A monitor that failed has no measures at all, the classifier's included.
    alone = next((record for record in records if record["failure"] is None), records[0])
    mcc = value_cell("classifier_mcc", number)(alone, notes)
    accuracy = value_cell("classifier_accuracy", percent)(alone, notes)
    baseline = Row(Cell("classifier alone"), (mcc, Cell(""), Cell(percent(1.0)), accuracy))
    return Sheet(sheet.title, sheet.subtitle, sheet.columns, (baseline, *sheet.rows))


def _row(record: Mapping[str, Any], columns: tuple[Column, ...], notes: Notes) -> Row:
    name, failure = str(record["monitor"]), record["failure"]
    if failure is not None:
        failed = Cell(name, "failed", notes.number(f"{name} failed: {failure}"))
        return Row(failed, tuple(Cell(DASH) for _ in columns))
    recovery = _recovery(record)
    note = notes.number(recovery) if recovery else None
    cells = tuple(column.write(record, notes) for column in columns)
    return Row(Cell(name, "not ranked" if name == ORACLE else "", note), cells, apart=name == ORACLE)


def _recovery(record: Mapping[str, Any]) -> str:
    """Say what follows an alarm, where it is not just that the decision is cancelled."""
    usual = {"policy": "cancel", "fallback": "none"}
    told = {what: record.get(what) or default for what, default in usual.items()}
    return "; ".join(f"{what}: {one}" for what, one in told.items() if one != usual[what])


def _title(record: Mapping[str, Any]) -> str:
    workload = record["workload"] or "workload without a name"
    classifier = record["classifier"] or "classifier without a name"
    return " · ".join([workload, classifier, *([] if record["part"] == "id" else _fault(record))])


def _fault(record: Mapping[str, Any]) -> list[str]:
    # The faultload `novelty` is of the category novelty: once is enough.
    names = dict.fromkeys(str(record[field]) for field in ("category", "faultload") if record[field])
    words = [" / ".join(names)]
    if record["severity"] is not None:
        words.append(f"severity {record['severity']:g}")
    elif record.get("severity_range"):
        low, high = record["severity_range"]
        words.append(f"severity {low:g} to {high:g}")
    return [word for word in words if word]


def _subtitle(record: Mapping[str, Any]) -> str:
    n, n_ood = record["n"], record["n_ood"]
    if n_ood is None:
        return f"all instances, ID and OOD not told apart: n = {n}"
    if record["part"] == "id":
        return f"ID instances only: n = {n}"
    return f"all instances: n = {n}, of them {n_ood} OOD ({percent(n_ood / n)} %)"
