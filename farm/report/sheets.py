"""Which records make which table, row by row and column by column, before anybody draws it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from farm.judging.intervals import WORDS
from farm.measures.boxes import BOX_ECE, BOX_IOU, BOX_MAE, BOX_NLL
from farm.measures.certainty import BRIER_MEAN, BRIER_SUM, CONFIDENCE_AUROC
from farm.measures.delays import SHORT_WORDS, Outcome
from farm.measures.oracle import ORACLE
from farm.measures.probability_sums import CLASSIFIER_ECE, CLASSIFIER_NLL
from farm.report.alarm_sheets import LEGEND_ANYTIME, LEGEND_DRIFT, alarm_legend, alarm_sheets
from farm.report.cells import (
    DASH,
    Notes,
    TableCell,
    acceptance_cell,
    latency_cell,
    mcc_cell,
    number,
    percent,
    rate_cell,
    value_cell,
)
from farm.report.sheet import Column, Records, Row, Sheet, Sheets, grouped, split_apart, subtitle, title

LEGEND = (
    "specific: an OOD instance is positive, an alarm flags it. overall: a wrong decision is positive, "
    "cancelling it flags it.",
    "AUROC: chance that an OOD instance scores higher than an ID one; FPR95: FPR where the threshold catches "
    "95 % of OOD instances.",
    "error: share of wrong verdicts. Below MCC, error, FPR and FNR is the 95 % interval. coverage: share of "
    "decisions accepted; accuracy: share of right ones among them.",
    "time: median that the monitor adds an instance (in batches: its share), below it in per cent of the "
    "classifier's. ID kept: share of ID instances without an alarm, asked for → realised.",
    "system MCC: all classes, a cancelled decision being one more outcome, which on ID data is never right; "
    "change: from the classifier alone.",
    "MCC, coverage, accuracy: higher is better. error, FPR, FNR, time: lower is better. FPR and FNR compare "
    "across sets, MCC and error only at an equal share of OOD.",
)
LEGEND_TIME = (
    "delay: instances from an onset to the first alarm at or after it, of the fault's own episodes; a missed "
    "onset counts as infinite. bound: of the 95th percentile, with 95 % confidence. No delay has an onset at "
    "which an alarm stood already, whose first alarm is on an ID instance, or that the end left open. "
    "after: missed, with an alarm on the next instance. false alarms: on ID instances outside of faults, of "
    "the whole stream. cancelled: the same of what a policy cancels."
)
LEGEND_FALLBACK = (
    "fallback: what takes a cancelled decision's place. Coverage, accuracy, hazard and system MCC are then "
    "of the decisions acted upon, the fallback's among them; overall MCC and error still judge the "
    "cancelling alone."
)
LEGEND_ORACLE = "oracle: the perfect monitor, a bound to compare with; it is not ranked."
SHORT_LEGEND = "specific: OOD found; FPR95: FPR if 95 % are. overall: wrong decisions cancelled."
SHORT_LEGEND_BELOW = "{}accuracy: of those accepted. More: --all."
SHORT_INTERVAL = "below MCC: 95 % interval by {}; "
SHORT_LEGEND_TIME = "delay: instances from onset to alarm; bound: of its 95th percentile, 95 % sure."
SHORT_LEGEND_FALLBACK = "coverage, accuracy: of decisions acted upon, the fallback's among them."


_BY_SCORES = (
    Column("specific", "AUROC", "", value_cell("auroc", number)),
    Column("specific", "FPR95", "%", value_cell("fpr_at_95_tpr", percent)),
)
_ACCEPTED = (
    Column("overall", "coverage", "%", value_cell("coverage", percent)),
    Column("overall", "accuracy", "%", value_cell("accepted_accuracy", percent)),
)
SHORT = (
    Column("specific", "MCC", "", value_cell("specific.mcc", number)),
    *_BY_SCORES,
    Column("specific", "FPR", "%", value_cell("specific.fpr", percent)),
    Column("specific", "FNR", "%", value_cell("specific.fnr", percent)),
    Column("overall", "MCC", "", mcc_cell("overall")),
    *_ACCEPTED,
    Column("cost", "time", "", lambda record, notes: replace(latency_cell(record, notes), below="")),
)
MAIN = (
    Column("specific", "MCC", "", mcc_cell("specific")),
    Column("specific", "error", "%", rate_cell("specific.error")),
    Column("specific", "FPR", "%", rate_cell("specific.fpr")),
    Column("specific", "FNR", "%", rate_cell("specific.fnr")),
    *_BY_SCORES,
    Column("overall", "MCC", "", mcc_cell("overall")),
    Column("overall", "error", "%", rate_cell("overall.error")),
    *_ACCEPTED,
    Column("cost", "time", "", latency_cell),
    Column("cost", "ID kept", "%", acceptance_cell),
)
SYSTEM = (
    Column("system", "MCC", "", value_cell("system_mcc", number)),
    Column("system", "change", "%", value_cell("relative_change", lambda change: f"{change:+.1f}")),
    Column("system", "coverage", "%", value_cell("coverage", percent)),
    Column("system", "accuracy", "%", value_cell("accepted_accuracy", percent)),
)


def _count(signal: str, field: str) -> Callable[[Mapping[str, Any], Notes], TableCell]:
    return value_cell(f"{signal}.{field}", lambda n: f"{n:,}")


def _delay(signal: str, field: str) -> Callable[[Mapping[str, Any], Notes], TableCell]:
    """Write a delay in instances, and below it in seconds where the stream has a frame rate."""
    instances = value_cell(f"{signal}.{field}", lambda delay: f"{delay:g}")

    def cell(record: Mapping[str, Any], notes: Notes) -> TableCell:
        seconds = (record[signal] or {}).get(f"{field}_seconds")
        return replace(instances(record, notes), below="" if seconds is None else f"{seconds:.3g} s")

    return cell


_DELAYS = (("median", "median"), ("95 %", "p95"), ("bound", "p95_bound"))
TIME = (
    Column("along time", "false alarms", "per 1000", value_cell("false_alarms_per_1000", "{:.1f}".format)),
    Column("along time", "onsets", "", _count("detection_delay", "n")),
    Column("along time", "missed", "", _count("detection_delay", "missed")),
    *(Column("delay", heading, "", _delay("detection_delay", field)) for heading, field in _DELAYS),
)
ASIDE = tuple(
    Column("no delay", SHORT_WORDS[outcome], "", _count("detection_delay", outcome.value))
    for outcome in (Outcome.STANDING, Outcome.ON_ID, Outcome.AFTER, Outcome.OPEN)
)
CANCELLED = (
    Column("cancelled", "missed", "", _count("cancellation_delay", "missed")),
    Column("cancelled", "open", "", _count("cancellation_delay", "open")),
    *(
        Column("cancelled", heading, "", _delay("cancellation_delay", field))
        for heading, field in _DELAYS[:2]
    ),
)

RUN = ("run", "workload", "classifier")
GROUP = ("faultload", "category", "severity", "severity_range")


def sheets(records: Records, *, everything: bool = False) -> Sheets:
    """Arrange records: the monitors on all instances, group by group.

    With `everything` yardsticks have rows of their own, there are more columns and a sheet of the system on
    ID data, and the legend explains all of them.
    """
    notes = Notes()
    several = len({record.get("run") for record in records}) > 1
    made: list[Sheet] = []
    counted = any("low" in record for record in records)
    judged = any(all("low" not in record for record in run) for run in grouped(records, RUN))
    for run in grouped(records, RUN):
        of_run = f"{run[0].get('run')}: " if several else ""
        if any("low" in record for record in run):
            shown = list(alarm_sheets(run, notes, everything=everything))
            made += [replace(sheet, title=of_run + sheet.title) for sheet in shown]
            continue
        parts = [
            {part: [r for r in group if r["part"] == part] for part in ("all", "id")}
            for group in grouped(run, GROUP)
        ]
        shown = []
        for part in parts:
            shown.append(_sheet(MAIN, part["all"], notes) if everything else _short_sheet(part["all"], notes))
            own = part["all"] if everything else split_apart(part["all"])[0]
            if any((record.get("detection_delay") or {}).get("n") for record in own):
                shown.append(_time_sheet(own, notes, everything=everything))
        if everything:
            # ID instances are the same in every group. Where they cannot be told apart, all are shown.
            shown += dict.fromkeys(_system_sheet(group["id"] or group["all"], notes) for group in parts)
        made += [replace(sheet, title=of_run + sheet.title) for sheet in shown]
    units = tuple(sorted({unit for record in records if (unit := record.get("intervals_by"))}))
    oracle = judged and any(record["monitor"] == ORACLE for record in records)
    timed = any(record.get("detection_delay") for record in records)
    fallen_back = any(record.get("fallback") not in (None, "none") for record in records)
    legend = (
        *((LEGEND if everything else _short_legend(units)) if judged else []),
        *([f"interval: 95 %, {WORDS[units]}."] if judged and everything and units else []),
        *([alarm_legend(records)] if counted else []),
        *([LEGEND_DRIFT] if any(record.get("against") for record in records) else []),
        *([LEGEND_ANYTIME] if any(record.get("anytime") for record in records) else []),
        *([LEGEND_TIME if everything else SHORT_LEGEND_TIME] if timed else []),
        *([LEGEND_FALLBACK if everything else SHORT_LEGEND_FALLBACK] if fallen_back else []),
        *([LEGEND_ORACLE] if oracle and everything else []),
    )
    return Sheets(tuple(made), tuple(notes.texts), legend)


def _time_sheet(records: Records, notes: Notes, *, everything: bool) -> Sheet:
    """Show how soon the monitors noticed the episodes of one fault; what is nowhere needed has no column."""
    blocks = [record["detection_delay"] or {} for record in records]
    policies = {record.get("policy") or "cancel" for record in records}
    outcomes = (Outcome.STANDING, Outcome.ON_ID, Outcome.AFTER, Outcome.OPEN)
    aside = [
        column
        for column, outcome in zip(ASIDE, outcomes, strict=True)
        if everything or any(block.get(outcome.value) for block in blocks)
    ]
    columns = (*TIME, *aside, *(CANCELLED if everything or policies != {"cancel"} else ()))
    empty = max(block.get("empty", 0) for block in blocks)
    below = f"Planned episodes without any OOD instance: {empty:,}; they have no onset." if empty else ""
    told = "faults that begin, instances until noticed"
    return replace(_sheet(columns, records, notes), subtitle=told, below=below)


def _short_legend(units: Sequence[str]) -> tuple[str, str]:
    interval = SHORT_INTERVAL.format(" or ".join(units)) if units else ""
    return SHORT_LEGEND, SHORT_LEGEND_BELOW.format(interval)


def _sheet(columns: tuple[Column, ...], records: Records, notes: Notes) -> Sheet:
    rows = sorted((_row(record, columns, notes) for record in records), key=lambda row: row.apart)
    return Sheet(title(records[0]), subtitle(records[0]), columns, tuple(rows))


def _short_sheet(records: Records, notes: Notes) -> Sheet:
    """Show the monitors, and in a sentence below what they are to be compared with."""
    monitors, apart = split_apart(records)
    if not apart:
        return _sheet(SHORT, records, notes)
    alone = next((record for record in records if record["classifier_accuracy"] is not None), None)
    told = [_accepted(record) for record in apart]
    if alone is not None and not any(record["coverage"] == 1.0 for record in apart):
        told.insert(0, f"classifier alone 100.0 % ({percent(alone['classifier_accuracy'])} % right)")
    worth = ", ".join(filter(None, told))
    below = f"For comparison, accepted: {worth}." if worth else ""
    return replace(_sheet(SHORT, monitors, notes), below=below)


def _accepted(record: Mapping[str, Any]) -> str:
    """Say how many decisions a yardstick accepts and how many of them are right, if anything is known."""
    if record["failure"] is not None:
        return f"{record['monitor']} failed"
    accepted, right = record["coverage"], record["accepted_accuracy"]
    if accepted is None:
        return ""
    told = f"{record['monitor']} {percent(accepted)} %"
    return told if right is None else f"{told} ({percent(right)} % right)"


_CERTAINTY = {
    BRIER_SUM: "Brier score {:.3g}",
    BRIER_MEAN: "{:.3g} a class",
    CONFIDENCE_AUROC: "AUROC of right predictions by confidence {:.3g}",
    CLASSIFIER_ECE: "calibration error {:.3g}",
    CLASSIFIER_NLL: "negative log-likelihood {:.3g}",
}
_BOXES = {
    BOX_MAE: "{:.3g} pixels off",
    BOX_IOU: "IoU {:.3g}",
    BOX_NLL: "negative log-likelihood {:.3g}",
    BOX_ECE: "calibration error {:.3g}",
}
"""How the classifier's own measures are told, in their order."""


def _system_sheet(records: Records, notes: Notes) -> Sheet:
    sheet = _sheet(SYSTEM, records, notes)
    # A monitor that failed has no measures at all, the classifier's included.
    alone = next((record for record in records if record["failure"] is None), records[0])
    mcc = value_cell("classifier_mcc", number)(alone, notes)
    accuracy = value_cell("classifier_accuracy", percent)(alone, notes)
    baseline = Row(TableCell("classifier alone"), (mcc, TableCell(""), TableCell(percent(1.0)), accuracy))
    size = alone.get("image_size")
    images = f" (images of {' x '.join(map(str, size))} pixels)" if size else ""
    told = []
    for whose, measures in (("probabilities", _CERTAINTY), (f"boxes{images}", _BOXES)):
        values = [
            words.format(alone[name]) for name, words in measures.items() if alone.get(name) is not None
        ]
        told += [f"The classifier's {whose}: {', '.join(values)}."] if values else []
    return Sheet(sheet.title, sheet.subtitle, sheet.columns, (baseline, *sheet.rows), " ".join(told))


def _row(record: Mapping[str, Any], columns: tuple[Column, ...], notes: Notes) -> Row:
    name, failure = str(record["monitor"]), record["failure"]
    if failure is not None:
        failed = TableCell(name, "failed", notes.number(f"{name} failed: {failure}"))
        return Row(failed, tuple(TableCell(DASH) for _ in columns))
    recovery = _recovery(record)
    note = notes.number(recovery) if recovery else None
    cells = tuple(column.write(record, notes) for column in columns)
    return Row(TableCell(name, "not ranked" if name == ORACLE else "", note), cells, apart=name == ORACLE)


def _recovery(record: Mapping[str, Any]) -> str:
    """Say what follows an alarm, where it is not just that the decision is cancelled."""
    usual = {"policy": "cancel", "fallback": "none"}
    told = {what: record.get(what) or default for what, default in usual.items()}
    return "; ".join(f"{what}: {one}" for what, one in told.items() if one != usual[what])
