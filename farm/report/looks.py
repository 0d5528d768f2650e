"""Small tables with intervals, for a terminal, a page or a program."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from farm.judging.inspection import Look, LookCell
from farm.measures.measure import Bounded, Measure
from farm.report.cells import DASH, csv_cell, interval, markup_free
from farm.report.latex import BOOKTABS, escape, with_minus
from farm.report.terminal import printed


def render_looks(looks: Sequence[Look], format: str, *, width: int = 100) -> str:
    """Write looks as `table`, `json`, `csv`, `markdown` or `latex`."""
    if format == "json":
        return json.dumps([_record(look) for look in looks], indent=2, allow_nan=False) + "\n"
    if format == "csv":
        return "\n".join(_csv(look) for look in looks)
    if format in _PAGES:
        return (BOOKTABS if format == "latex" else "") + "\n".join(embedded(look, format) for look in looks)
    pieces: list[RenderableType] = []
    for look in looks:
        notes = (Text(note, style="dim") for note in (*look.notes, *undefined_because(look)))
        pieces += [Text(look.title)] if look.title else []
        pieces += [*(look_tables(look, width) if look.columns else []), *notes, Text()]
    return printed(*pieces, width=width)


def embedded(look: Look, format: str) -> str:
    """Return a look as a part of a page in `markdown` or `latex`."""
    return _PAGES[format](look)


FEWEST_LETTERS = 12
"""So much of a name stays on one line, however narrow a table must be."""


def look_tables(look: Look, width: int) -> list[Table]:
    """Return a look without its title and notes, as a rich console of this width prints it.

    Where not all columns fit, however narrow, more tables follow with the rest: no number is cut.
    """
    rows = [[_text(cell, digits=look.digits) for cell in row] for row in look.rows]
    tables: list[Table] = []
    left = list(range(1, len(look.columns)))
    while left or not tables:
        n = len(left)
        while n > 1 and sum(_sizes(look, rows, [0, *left[:n]], width)) > width - 2 * (n + 1):
            n -= 1
        tables.append(_table(look, rows, [0, *left[:n]], width))
        left = left[n:]
    return tables


def _table(look: Look, rows: Sequence[Sequence[str]], columns: Sequence[int], width: int) -> Table:
    table = Table(box=None, header_style="dim")
    for i, size in zip(columns, _sizes(look, rows, columns, width), strict=True):
        justify: Literal["left", "right"] = "right" if i else "left"
        table.add_column(look.columns[i], justify=justify, overflow="ellipsis" if i else "fold", width=size)
    for row in rows:
        table.add_row(*(row[i] for i in columns))
    return table


def _sizes(look: Look, rows: Sequence[Sequence[str]], columns: Sequence[int], width: int) -> list[int]:
    chosen = [[row[i] for i in columns] for row in (look.columns, *rows)]
    return _widths(chosen, width - 2 * len(columns))


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return columns' widths: where all is too wide headings wrap, then cells, and names are broken last."""
    columns = list(zip(*rows, strict=True))
    found = [_longest("\n".join(column).split("\n")) for column in columns]
    cells = [_longest([*heading.split(), *"\n".join(own).split("\n")]) for heading, *own in columns]
    words = [_longest(" ".join(column).split()) for column in columns]
    for least in (cells, words, [min(words[0], FEWEST_LETTERS), *words[1:]]):
        while sum(found) > width and (wider := [i for i, size in enumerate(found) if size > least[i]]):
            found[max(wider, key=found.__getitem__)] -= 1
    return found


def _longest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _text(cell: LookCell, between: str = "\n", *, digits: int = 3) -> str:
    """Write a cell; an interval stands below its value."""
    if isinstance(cell, Bounded):
        if not cell.value.defined:
            return DASH
        low, high = cell.low, cell.high
        ends = between + interval(low.value, high.value, digits) if low.defined and high.defined else ""
        return f"{cell.value.value:.{digits}f}{ends}"
    if isinstance(cell, Measure):
        return f"{cell.value:.4g}" if cell.defined else DASH
    return "" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell)


def undefined_because(look: Look) -> list[str]:
    """Say once why what is undefined is so."""
    found: dict[str, int] = {}
    for row in look.rows:
        for cell in row:
            if (reason := _why_not(cell)) is not None:
                found[reason] = found.get(reason, 0) + 1
    return [f"{DASH} {reason}" for reason in list(found)[:5]]


def _why_not(cell: LookCell) -> str | None:
    """Return why a cell has no value, or no interval; None where it has all that it should."""
    if isinstance(cell, Bounded):
        return cell.value.reason or cell.low.reason
    return cell.reason if isinstance(cell, Measure) else None


def _value(cell: LookCell) -> Any:
    if isinstance(cell, Bounded):
        ends = {name: getattr(cell, name) for name in ("value", "low", "high")}
        return {name: m.json for name, m in ends.items()} | {"undefined": _why_not(cell)}
    if isinstance(cell, Measure):
        return {"value": cell.json, "undefined": cell.reason}
    return cell


def _record(look: Look) -> dict[str, Any]:
    rows = [dict(zip(look.columns, map(_value, row), strict=True)) for row in look.rows]
    return {"title": look.title, "rows": rows, "notes": list(look.notes)}


def _csv(look: Look) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", *map(csv_cell, look.columns)])
    for row in look.rows:
        told = (
            csv_cell(cell) if isinstance(cell, str) else _text(cell, " ", digits=look.digits) for cell in row
        )
        writer.writerow([csv_cell(look.title), *told])
    return text.getvalue()


def _on_one_line(cell: LookCell, digits: int) -> str:
    text, *ends = _text(cell, digits=digits).split("\n")
    return f"{text} ({ends[0]})" if ends else text


def _markdown(look: Look) -> str:
    lines = [markup_free(look.title), ""] if look.title else []
    if not look.columns:
        return "\n".join(lines)
    lines += [f"| {' | '.join(map(markup_free, look.columns))} |"]
    lines += [f"|{'|'.join([':--', *['--:'] * (len(look.columns) - 1)])}|"]
    lines += [
        f"| {' | '.join(markup_free(_on_one_line(cell, look.digits)) for cell in row)} |" for row in look.rows
    ]
    notes = [*look.notes, *undefined_because(look)]
    return "\n".join([*lines, *([""] if notes else []), *(f"- {markup_free(note)}" for note in notes)]) + "\n"


def _latex(look: Look) -> str:
    """Write a table that stands where it is written; the text around it needs nothing of it."""
    lines = [r"\par\smallskip\noindent{\small"]
    lines += [rf"{escape(look.title)}\par\noindent"] if look.title else []
    if not look.columns:
        return "\n".join([*lines, "}"]) + "\n"
    lines += [rf"\begin{{tabular}}{{l{'r' * (len(look.columns) - 1)}}}", r"\toprule"]
    rows = [look.columns, *([_on_one_line(cell, look.digits) for cell in row] for row in look.rows)]
    lines += [" & ".join(with_minus(escape(cell)) for cell in row) + r" \\" for row in rows]
    lines.insert(-len(look.rows) or len(lines), r"\midrule")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par{{\footnotesize {escape(note)}.}}" for note in (*look.notes, *undefined_because(look))]
    return "\n".join([*lines, r"\par}"]) + "\n"


_PAGES = {"markdown": _markdown, "latex": _latex}
