"""Tables for a terminal."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from farm.report.cells import Cell
from farm.report.sheets import Column, Sheet, sheets

WIDE = 96
"""From this width on a sheet is one table; below, its first group of columns is one, the rest another."""

# Rules under the heading and before what stands apart, and no other line.
_RULES = box.Box("    \n    \n ── \n    \n ── \n    \n    \n    \n")

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def renderable(records: Sequence[Mapping[str, Any]], width: int) -> RenderableType:
    """Give what a rich console prints."""
    report = sheets(records)
    pieces: list[RenderableType] = []
    for before, sheet in zip((None, *report.sheets), report.sheets, strict=False):
        if before is None or before.title != sheet.title:
            pieces.append(Text(sheet.title, style="bold"))
        pieces += [Text(sheet.subtitle), *_tables(sheet, width)]
    pieces += [Text(f"{_mark(i)} {note}", style="dim") for i, note in enumerate(report.notes, start=1)]
    pieces += [Text(), *(Text(line, style="dim") for line in report.legend)]
    return Group(*pieces)


def text(records: Sequence[Mapping[str, Any]], width: int = 100, *, colour: bool = False) -> str:
    """Give the tables as text, with escape codes if `colour` is asked for."""
    console = Console(width=width, file=io.StringIO(), color_system="standard" if colour else None)
    with console.capture() as capture:
        console.print(renderable(records, width))
    lines = capture.get().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _tables(sheet: Sheet, width: int) -> list[Table]:
    groups = list(dict.fromkeys(column.group for column in sheet.columns))
    shown = [groups] if width >= WIDE else [groups[:1], groups[1:]]
    return [_table(sheet, names) for names in shown if names]


def _table(sheet: Sheet, groups: Sequence[str]) -> Table:
    picked = [i for i, column in enumerate(sheet.columns) if column.group in groups]
    table = Table(box=_RULES, padding=0, header_style="bold")
    table.add_column("\nmonitor", overflow="fold", min_width=8)
    for before, i in zip([None, *picked], picked, strict=False):
        column = sheet.columns[i]
        first = before is None or sheet.columns[before].group != column.group
        table.add_column(_heading(column, named=first), justify="right", no_wrap=True)
    for number, row in enumerate(sheet.rows):
        rule = number + 1 < len(sheet.rows) and sheet.rows[number + 1].apart and not row.apart
        cells = [_text(row.name), *(_text(row.cells[i]) for i in picked)]
        table.add_row(*cells, style="dim" if row.apart else "", end_section=rule)
    return table


def _heading(column: Column, *, named: bool) -> str:
    return f"{column.group if named else ''}\n{column.heading}\n{column.unit}"


def _text(cell: Cell) -> Text:
    made = Text(cell.text + ("" if cell.note is None else _mark(cell.note)))
    return made.append(f"\n{cell.below}", style="dim") if cell.below else made


def _mark(note: int) -> str:
    return str(note).translate(_SUPERSCRIPT)
