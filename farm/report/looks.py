"""Small tables with intervals, for a terminal, a page or a program."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from farm.inspection import Cell, Look
from farm.measures.bounded import Bounded
from farm.measures.measure import Measure

NOTHING = "\N{EN DASH}"


def render_looks(looks: Sequence[Look], format: str, *, width: int = 100) -> str:
    """Write looks as `table`, `json` or `csv`."""
    if format == "json":
        return json.dumps([_record(look) for look in looks], indent=2, allow_nan=False) + "\n"
    if format == "csv":
        return "\n".join(_csv(look) for look in looks)
    console = Console(width=width, file=io.StringIO())
    with console.capture() as capture:
        for look in looks:
            table = Table(title=look.title, title_justify="left", box=None, header_style="dim")
            for i, column in enumerate(look.columns):
                table.add_column(column, justify="left" if i == 0 else "right")
            for row in look.rows:
                table.add_row(*map(_text, row))
            console.print(table)
            for note in (*look.notes, *_reasons(look)):
                console.print(note, style="dim", highlight=False)
            console.print()
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _text(cell: Cell, between: str = "\n") -> str:
    """Write a cell; an interval stands below its value."""
    if isinstance(cell, Bounded):
        if not cell.value.defined:
            return NOTHING
        low, high = cell.low, cell.high
        ends = f"{between}{low.value:.3f}{NOTHING}{high.value:.3f}" if low.defined and high.defined else ""
        return f"{cell.value.value:.3f}{ends}"
    if isinstance(cell, Measure):
        return f"{cell.value:.4g}" if cell.defined else NOTHING
    return "" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell)


def _reasons(look: Look) -> list[str]:
    """Say once why what is undefined is so."""
    found: dict[str, int] = {}
    for row in look.rows:
        for cell in row:
            measure = cell.value if isinstance(cell, Bounded) else cell
            if isinstance(measure, Measure) and not measure.defined:
                found[str(measure.reason)] = found.get(str(measure.reason), 0) + 1
    return [f"{NOTHING} {reason}" for reason in list(found)[:5]]


def _value(cell: Cell) -> Any:
    if isinstance(cell, Bounded):
        ends = {name: getattr(cell, name) for name in ("value", "low", "high")}
        return {name: m.json for name, m in ends.items()} | {"undefined": cell.value.reason}
    if isinstance(cell, Measure):
        return {"value": cell.json, "undefined": cell.reason}
    return cell


def _record(look: Look) -> dict[str, Any]:
    rows = [dict(zip(look.columns, map(_value, row), strict=True)) for row in look.rows]
    return {"title": look.title, "rows": rows, "notes": list(look.notes)}


def _csv(look: Look) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", *look.columns])
    for row in look.rows:
        writer.writerow([look.title, *(_text(cell, " ") for cell in row)])
    return text.getvalue()
