"""Tables of alarm rates: of logs of which nothing tells what is right, and of drift against a reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from farm.measures.oracle import ORACLE
from farm.report.cells import DASH, Notes, TableCell, interval_cell
from farm.report.sheet import Column, Records, Row, Sheet, grouped, split_apart, subtitle, title

LEGEND_ALARMS = (
    "alarms: share of instances with an alarm, and its 95 % interval: Wilson's, or where instances share "
    "tracks one of whole tracks."
)
LEGEND_UNKNOWN = " Without labels and is_ood nothing tells which alarms are right."
LEGEND_DRIFT = (
    "drift: of all thresholds, at the one where the shares of scores above it differ most from the "
    "reference's, by how much (Kolmogorov-Smirnov); whole tracks are drawn anew, and p is corrected for the "
    "number of monitors."
)
LEGEND_ANYTIME = (
    "evidence 1 in N, and at all moments: who looks after each instance and stops at will sees as much in at "
    "most one of N logs whose scores have not moved, and bounds that are wrong in at most 5 % of logs."
)
ABREAST = 3
"""So many monitors' alarm rates stand beside each other."""


def alarm_legend(records: Records) -> str:
    """Say what the rates are; of logs that were judged without anything to judge by, what is not known."""
    return LEGEND_ALARMS + (LEGEND_UNKNOWN if any("specific" in record for record in records) else "")


def alarm_sheets(records: Records, notes: Notes, *, everything: bool = False) -> Iterator[Sheet]:
    """Show how often monitors alarm, beside each other: in all, then part by part."""
    monitors = [r for r in records if r["part"] == "all" and r["monitor"] != ORACLE]
    whole = monitors if everything else split_apart(monitors)[0]
    parts = [{r["monitor"]: r for r in part} for part in grouped(records, ("part", "by", "of"))]
    said = tuple(_sentences(whole))
    for start in range(0, len(whole), ABREAST):
        columns = [Column("", "instances", "", _alarms_of("n"))]
        if any(r.get("n_tracks") for r in whole):
            columns.append(Column("", "tracks", "", _alarms_of("n_tracks")))
        names = [r["monitor"] for r in whole[start : start + ABREAST]]
        columns += [Column("", name, "alarms %", _alarm_cell(name)) for name in names]
        rows = (
            Row(
                TableCell(_part_words(next(iter(part.values())))),
                tuple(c.write(part, notes) for c in columns),
            )
            for part in parts
        )
        sheet = Sheet(title(whole[0]), subtitle(whole[0]), tuple(columns), tuple(rows), corner="")
        yield replace(sheet, said=said) if not start else sheet


def _sentences(whole: Records) -> Iterator[str]:
    """Say what became of scores and alarms against a reference, and what is known at all moments together."""
    yield from (r["against"]["sentence"] for r in whole if r.get("against"))
    watched = [r["anytime"] for r in whole if r.get("anytime")]
    yield from (each["sentence"] for each in watched)
    if watched and (together := watched[0]["together"]) and together["sentence"]:
        yield together["sentence"]
    hazards = [each["residual_hazard"] for each in watched if each["residual_hazard"]]
    yield from (each["sentence"] for each in hazards)
    yield from dict.fromkeys(each["assumption"] for each in hazards)


def _part_words(record: Mapping[str, Any]) -> str:
    """Say what a part of a log is."""
    of = record["of"]
    if record["part"] == "condition":
        return f"{record['by']} {'not given' if of is None else of}"
    return {"all": "all", "class": f"predicted {of}", "time": f"{of}"}[record["part"]]


def _alarms_of(field: str) -> Callable[[Mapping[str, Any], Notes], TableCell]:
    """Make a writer of a number that all monitors' records of a part have."""

    def cell(part: Mapping[str, Any], _: Notes) -> TableCell:
        found = next((record[field] for record in part.values() if record.get(field)), None)
        return TableCell(DASH if found is None else f"{found:,}")

    return cell


def _alarm_cell(monitor: str) -> Callable[[Mapping[str, Any], Notes], TableCell]:
    """Make a writer of one monitor's alarm rate on a part, with its interval."""
    write = interval_cell("alarm_rate", "low", "high")

    def cell(part: Mapping[str, Any], notes: Notes) -> TableCell:
        if monitor not in part:
            return TableCell(DASH)
        if failure := part[monitor].get("failure"):
            return TableCell("failed", note=notes.number(f"{monitor} failed: {failure}"))
        return write(part[monitor], notes)

    return cell
