"""Tables for a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from farm.report.cells import Cell
from farm.report.sheets import Sheet, sheets


def markdown(records: Sequence[Mapping[str, Any]]) -> str:
    """Give a heading and a table for each sheet, then the footnotes and what the words mean."""
    report = sheets(records)
    blocks = [_block(sheet) for sheet in report.sheets]
    if report.notes:
        blocks.append("".join(f"- {_mark(i)} {_escape(note)}\n" for i, note in enumerate(report.notes, 1)))
    blocks.append("".join(f"- {line}\n" for line in report.legend))
    return "\n".join(blocks)


def _block(sheet: Sheet) -> str:
    headings = [
        "monitor",
        *(f"{column.group} {column.heading} {column.unit}".rstrip() for column in sheet.columns),
    ]
    lines = [
        f"### {_escape(sheet.title)}",
        "",
        sheet.subtitle,
        "",
        _line(headings),
        _line([":--", *("--:" for _ in sheet.columns)]),
        *(_line(_text(cell) for cell in (row.name, *row.cells)) for row in sheet.rows),
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(cell: Cell) -> str:
    below = f" ({cell.below})" if cell.below else ""
    return _escape(cell.text + below) + ("" if cell.note is None else _mark(cell.note))


def _mark(note: int) -> str:
    return f"<sup>{note}</sup>"


def _escape(text: str) -> str:
    """Keep names from becoming markup."""
    for character in "\\|*_`<>#":
        text = text.replace(character, f"\\{character}")
    return text
