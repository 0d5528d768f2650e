"""Tables for a paper: LaTeX with the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from farm.report.cells import TableCell
from farm.report.sheet import Column, Records, Row, Sheet
from farm.report.sheets import sheets

BOOKTABS = "% needs \\usepackage{booktabs}\n"
"""The first line of a page."""
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\N{EN DASH}": "--",
        "→": r"$\to$",
        "µ": r"$\mu$",
        "·": r"\textperiodcentered{}",
    }
    | {character: f"\\{character}" for character in "&%$#_{}"}
)


def escape(text: str) -> str:
    r"""Write a text so that LaTeX prints it as it is.

    Examples
    --------
    >>> print(escape("oob_pca: 5 % & more"))
    oob\_pca: 5 \% \& more
    """
    return text.translate(_ESCAPES)


def with_minus(text: str) -> str:
    """Write the minus of numbers, and leave the hyphen of names.

    Examples
    --------
    >>> with_minus("-0.2 to -0.1"), with_minus("oob-pca-2")
    ('$-$0.2 to $-$0.1', 'oob-pca-2')
    """
    return re.sub(r"(?<![\w-])-(?=\d)", "$-$", text)


def latex(records: Records, *, everything: bool = False) -> str:
    """Return one table environment a sheet, over both columns of a page that has two."""
    report = sheets(records, everything=everything)
    legend = "".join(f"% {line}\n" for line in report.legend)
    return BOOKTABS + legend + "\n".join(_environment(sheet, report.notes) for sheet in report.sheets)


def _environment(sheet: Sheet, notes: Sequence[str]) -> str:
    used = sorted(
        {cell.note for row in sheet.rows for cell in (row.name, *row.cells) if cell.note is not None}
    )
    lines = [
        r"\begin{table*}[t]",
        r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{escape(sheet.title)}. {escape(sheet.subtitle[:1].upper() + sheet.subtitle[1:])}.}}",
        rf"\begin{{tabular}}{{l{'r' * len(sheet.columns)}}}",
        r"\toprule",
        *_heads(sheet.corner, sheet.columns),
        r"\midrule",
    ]
    for number, row in enumerate(sheet.rows):
        if row.apart and not sheet.rows[number - 1].apart:
            lines.append(r"\midrule")
        lines += _rows(row)
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\scriptsize {escape(line)}}}" for line in sheet.said]
    if sheet.below:
        lines.append(rf"\par\smallskip{{\scriptsize {escape(sheet.below)}}}")
    if used:
        said = "; ".join(f"{_mark(note)} {escape(notes[note - 1])}" for note in used)
        lines.append(rf"\par\smallskip{{\scriptsize {said}.}}")
    return "\n".join([*lines, r"\end{table*}", ""])


def _heads(corner: str, columns: Sequence[Column]) -> list[str]:
    headings = _line([corner, *(escape(f"{column.heading} {column.unit}".rstrip()) for column in columns)])
    if not any(column.group for column in columns):
        return [headings]
    above, rules, at = [""], [], 2
    for name, group in groupby(columns, key=lambda column: column.group):
        width = len(list(group))
        above.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(name)}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    return [_line(above), " ".join(rules), headings]


def _rows(row: Row) -> list[str]:
    """Return a row, and a smaller one for what stands below."""
    cells = (row.name, *row.cells)
    lines = [_line(_text(cell) for cell in cells)]
    if any(cell.below for cell in cells):
        lines.append(_line(rf"{{\scriptsize {escape(cell.below)}}}" if cell.below else "" for cell in cells))
    return lines


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _text(cell: TableCell) -> str:
    # A number's minus; a name's hyphen stays one.
    text = re.sub(r"^(\\text\w+\{\})?-(?=\d)", r"\1$-$", escape(cell.text))
    return text + ("" if cell.note is None else _mark(cell.note))


def _mark(note: int) -> str:
    return rf"\textsuperscript{{{note}}}"
