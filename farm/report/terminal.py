"""Judged records as tables for a terminal."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from farm.report.cells import TableCell
from farm.report.output import Styled
from farm.report.sheet import Records, Sheet
from farm.report.sheets import sheets

# Rules under the heading and before what stands apart, and no other line.
_RULES = box.Box("    \n    \n ── \n    \n ── \n    \n    \n    \n")

_NO_BREAK = "\N{NO-BREAK SPACE}"
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def renderable(records: Records, width: int, *, everything: bool = False) -> RenderableType:
    """Return what a rich console prints."""
    report = sheets(records, everything=everything)
    pieces: list[RenderableType] = []
    for before, sheet in zip((None, *report.sheets), report.sheets, strict=False):
        if before is None or before.title != sheet.title:
            pieces.append(Text(sheet.title, style="bold"))
        pieces += [*map(Text, sheet.said), Text(sheet.subtitle), *_tables(sheet, width)]
        pieces += [Paragraph(sheet.below, "dim"), Text()] if sheet.below else []
    pieces += [Text(f"{_mark(i)} {note}", style="dim") for i, note in enumerate(report.notes, start=1)]
    pieces += [Text()] if report.notes else []
    pieces += [Text(line, style="dim") for line in report.legend]
    return Group(*pieces)


def sentences(told: Sequence[str], warnings: Sequence[str] = ()) -> RenderableType:
    """Return the answer's sentences, each in a paragraph of its own, after the warnings."""
    pieces = [Paragraph(f"Warning: {warning}.", "yellow") for warning in warnings]
    pieces += [Paragraph(sentence, "bold") for sentence in told]
    return Group(*(piece for each in pieces for piece in (each, Text())))


@dataclass(frozen=True)
class Paragraph:
    """Text whose lines break between words, but not between a number and its per cent sign."""

    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        whole = re.sub(r"(?<=\d) (?=%)", _NO_BREAK, self.text)
        for line in textwrap.wrap(whole, options.max_width, break_on_hyphens=False):
            yield Text(line.replace(_NO_BREAK, " "), style=self.style)


def text(records: Records, width: int = 100, *, colour: bool = False, everything: bool = False) -> str:
    """Return the tables as text, with escape codes if `colour` is asked for."""
    return printed(renderable(records, width, everything=everything), width=width, colour=colour)


def printed(*pieces: RenderableType, width: int, colour: bool = False) -> str:
    """Return what a console of this width shows, with escape codes if `colour` is asked for."""
    console = text_console(io.StringIO(), width=width, color_system="standard" if colour else None)
    with console.capture() as capture:
        for piece in pieces:
            console.print(piece)
    return Styled("\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n")


def text_console(stream: TextIO, **options: Any) -> Console:
    """Return a console to which names are text: neither markup nor emoji."""
    return Console(file=stream, markup=False, emoji=False, highlight=False, **options)


def _tables(sheet: Sheet, width: int) -> list[Table]:
    """Return one table where it fits; else the first group of columns is one, the rest another."""
    groups = list(dict.fromkeys(column.group for column in sheet.columns))
    whole = _table(sheet, groups)
    console = text_console(io.StringIO(), width=10 * width)
    if Measurement.get(console, console.options, whole).maximum <= width:
        return [whole]
    return [_table(sheet, names) for names in (groups[:1], groups[1:]) if names]


def _table(sheet: Sheet, groups: Sequence[str]) -> Table:
    picked = [i for i, column in enumerate(sheet.columns) if column.group in groups]
    table = Table(box=_RULES, padding=0, header_style="bold")
    # Where no group has a name, there is no line for them.
    above = "\n" if any(groups) else ""
    table.add_column(f"{above}{sheet.corner}", overflow="fold", min_width=8)
    for before, i in zip([None, *picked], picked, strict=False):
        column = sheet.columns[i]
        first = before is None or sheet.columns[before].group != column.group
        name = f"{column.group if first else ''}{above}"
        table.add_column(f"{name}{column.heading}\n{column.unit}", justify="right", no_wrap=True)
    for number, row in enumerate(sheet.rows):
        rule = number + 1 < len(sheet.rows) and sheet.rows[number + 1].apart and not row.apart
        cells = [_text(row.name), *(_text(row.cells[i]) for i in picked)]
        table.add_row(*cells, style="dim" if row.apart else "", end_section=rule)
    return table


def _text(cell: TableCell) -> Text:
    made = Text(cell.text + ("" if cell.note is None else _mark(cell.note)))
    return made.append(f"\n{cell.below}", style="dim") if cell.below else made


def _mark(note: int) -> str:
    return str(note).translate(_SUPERSCRIPT)
