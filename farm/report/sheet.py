"""What a table is before anybody draws it, and what stands above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from farm.measures.oracle import ORACLE
from farm.report.cells import Notes, TableCell, percent

Records: TypeAlias = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Column:
    """A heading and its unit, the name of the columns it belongs to, and who writes its cells."""

    group: str
    heading: str
    unit: str
    write: Callable[[Mapping[str, Any], Notes], TableCell]


@dataclass(frozen=True)
class Row:
    """A monitor's cells; `apart` if it is no monitor but something to compare with."""

    name: TableCell
    cells: tuple[TableCell, ...]
    apart: bool = False


@dataclass(frozen=True)
class Sheet:
    """One table."""

    title: str
    subtitle: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    below: str = ""
    """A sentence under it."""
    corner: str = "monitor"
    """What its rows are."""
    said: tuple[str, ...] = ()
    """Sentences above it."""


@dataclass(frozen=True)
class Sheets:
    """All tables of a report, with the footnotes they share."""

    sheets: tuple[Sheet, ...]
    notes: tuple[str, ...]
    legend: tuple[str, ...]


def grouped(records: Records, fields: Sequence[str]) -> list[list[Mapping[str, Any]]]:
    """Gather records that agree on some fields, in the order in which they come."""
    split: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        split.setdefault(repr([record.get(field) for field in fields]), []).append(record)
    return list(split.values())


def split_apart(records: Records) -> tuple[Records, Records]:
    """Return the monitors' records, and those of what they are to be compared with; all where none is."""
    split: tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]] = ([], [])
    for record in records:
        split[record["yardstick"] or record["monitor"] == ORACLE].append(record)
    return split if split[0] else (records, [])


def title(record: Mapping[str, Any]) -> str:
    """Return what was tried: the workload, the classifier and the fault."""
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


def subtitle(record: Mapping[str, Any]) -> str:
    """Return which instances a table is of."""
    n, n_ood = record["n"], record["n_ood"]
    if n_ood is None:
        return f"all instances, ID and OOD not told apart: n = {n:,}"
    if record["part"] == "id":
        return f"ID instances only: n = {n:,}"
    return f"all instances: n = {n:,}, of them {n_ood:,} OOD ({percent(n_ood / n)} %)"
