"""Records for people and for machines: one function, five formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from farm.errors import ParameterError, suggestion
from farm.report.cells import TableCell, csv_cell, markup_free
from farm.report.latex import latex
from farm.report.output import Styled
from farm.report.sheet import Records, Sheet
from farm.report.sheets import sheets


def render(
    records: Records,
    format: str = "table",
    *,
    width: int = 100,
    colour: bool = False,
    everything: bool = False,
) -> str:
    """Write judged records.

    Parameters
    ----------
    records
        What `judge` gives; those of several runs may stand one after the other.
    format
        `table` for a terminal, `markdown`, `latex`: what a person needs to see. `json`, `csv`: everything.
    width, colour
        Of the terminal; other formats have neither.
    everything
        Of tables: all columns, yardsticks in rows of their own, and the whole legend.

    Examples
    --------
    >>> print(render([{"n": 3, "specific": {"mcc": None, "undefined": {"mcc": "no alarm"}}}], "csv"), end="")
    n,specific.mcc,specific.undefined
    3,,mcc: no alarm
    """
    if format == "table":
        # Only a terminal's tables need rich.
        from farm.report import terminal

        text = terminal.text(records, width, colour=colour, everything=everything)
        return Styled(text + _guarantees(records, format, width))
    if format in _PAGES:
        return _PAGES[format](records, everything=everything) + _guarantees(records, format, width)
    if format not in _WRITERS:
        raise ParameterError(f"format '{format}' is unknown; {suggestion(format, FORMATS)}")
    return _WRITERS[format](records)


def _guarantees(records: Records, format: str, width: int) -> str:
    """Return what became of guarantees; nothing where no monitor has one."""
    if not any("guarantees" in record for record in records):
        return ""
    from farm.report.guarantees import below_records  # which needs rich as well

    return below_records(records, format, width)


def to_json(records: Records) -> str:
    """Write records as they are."""
    return json.dumps(list(records), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def to_csv(records: Records) -> str:
    """Write one line a record; nested fields are named `specific.mcc`, and null is empty."""
    flat = [_flat(record) for record in records]
    # Where a block is null its fields are known from other records, and stay empty.
    nested = {name.partition(".")[0] for row in flat for name in row if "." in name}
    columns = [name for name in dict.fromkeys(name for row in flat for name in row) if name not in nested]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if name == "undefined":
            flat[prefix + name] = "; ".join(f"{field}: {reason}" for field, reason in value.items())
        elif isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for number, item in enumerate(value, 1):
                flat |= _flat(item, f"{prefix}{name}.{number}.")
        elif isinstance(value, list | tuple):
            flat[prefix + name] = " ".join(str(csv_cell(item)) for item in value)
        else:
            flat[prefix + name] = csv_cell(value)
    return flat


def markdown(records: Records, *, everything: bool = False) -> str:
    """Return a heading and a table for each sheet, then the footnotes and what the words mean."""
    report = sheets(records, everything=everything)
    blocks = [_markdown_table(sheet) for sheet in report.sheets]
    if report.notes:
        blocks.append(
            "".join(f"- {_mark(i)} {markup_free(note)}\n" for i, note in enumerate(report.notes, 1))
        )
    blocks.append("".join(f"- {line}\n" for line in report.legend))
    return "\n".join(blocks)


def _markdown_table(sheet: Sheet) -> str:
    headings = [
        sheet.corner,
        *(f"{column.group} {column.heading} {column.unit}".strip() for column in sheet.columns),
    ]
    lines = [
        f"### {markup_free(sheet.title)}",
        "",
        *(f"{markup_free(line)}\n" for line in sheet.said),
        sheet.subtitle,
        "",
        _markdown_row(headings),
        _markdown_row([":--", *("--:" for _ in sheet.columns)]),
        *(_markdown_row(_markdown_cell(cell) for cell in (row.name, *row.cells)) for row in sheet.rows),
        *(["", markup_free(sheet.below)] if sheet.below else []),
    ]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: TableCell) -> str:
    below = f" ({cell.below})" if cell.below else ""
    return markup_free(cell.text + below) + ("" if cell.note is None else _mark(cell.note))


def _mark(note: int) -> str:
    return f"<sup>{note}</sup>"


_WRITERS: dict[str, Callable[[Records], str]] = {"json": to_json, "csv": to_csv}
_PAGES = {"latex": latex, "markdown": markdown}
FORMATS = ("table", *_WRITERS, *_PAGES)
"""The names that `render` knows."""
