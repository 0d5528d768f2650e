"""Tables of a page: what `farm judge` prints, as HTML that sorts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from farm.judging.inspection import Look, LookCell
from farm.measures.measure import Bounded, Measure
from farm.report.cells import DASH, TableCell, interval
from farm.report.looks import undefined_because
from farm.report.page.html import join, tag
from farm.report.sheet import Sheet, Sheets

LARGE = 100
MOST_ROWS = 12
"""A longer table may be folded."""
FEWEST_SORTED = 3
"""Rows below which there is nothing to sort."""


@dataclass(frozen=True)
class Cell:
    """What stands in a cell, what is below it, and the number that it sorts by."""

    content: object
    below: object = ""
    value: float | None = None
    colour: str = ""
    """A class of the style sheet that colours it."""


def table(
    headings: Sequence[object],
    rows: Sequence[Sequence[Cell]],
    *,
    caption: object = "",
    above: Markup | None = None,
    sorts: bool = True,
    class_: str = "",
    of_rows: Sequence[dict[str, object]] = (),
) -> Markup:
    """Return a table whose first column names the rows; a click on a heading sorts it where scripts run.

    `above` is a row of headings over several columns each, and `of_rows` are attributes of the rows.
    """
    sorts = sorts and len(rows) >= FEWEST_SORTED
    head = tag("tr", [tag("th", heading, scope="col") for heading in headings])
    attributes = of_rows or [{} for _ in rows]
    body = [tag("tr", _cells(row), **own) for row, own in zip(rows, attributes, strict=True)]
    made = tag(
        "table",
        tag("caption", caption) if caption else None,
        tag("thead", above, head),
        tag("tbody", body),
        class_=class_ or None,
        data_sorts=sorts,
    )
    # Where it is too wide it scrolls by itself, with the keyboard too.
    return tag("div", made, class_="wide", tabindex="0", role="group", aria_label=_label(caption))


def _label(caption: object) -> str:
    told = Markup(str(caption)).striptags() if isinstance(caption, Markup) else str(caption)
    return told or "table"


def _cells(row: Sequence[Cell]) -> Iterable[Markup]:
    for place, cell in enumerate(row):
        inside = join(cell.content, tag("small", cell.below) if cell.below else None)
        if not place:
            yield tag("th", inside, scope="row", data_value=cell.value)
        else:
            yield tag("td", inside, data_value=cell.value, class_=cell.colour or None)


def sheets_of(sheets: Sheets, *, titled: bool = True) -> Markup:
    """Return tables of judged records, with their footnotes."""
    made = [_sheet(sheet, titled=titled) for sheet in sheets.sheets]
    notes = tag("ol", [tag("li", note) for note in sheets.notes], class_="notes") if sheets.notes else None
    return join(made, notes, [tag("p", line, class_="note") for line in sheets.legend])


def _sheet(sheet: Sheet, *, titled: bool) -> Markup:
    groups: list[list[object]] = []
    for column in sheet.columns:
        if groups and groups[-1][0] == column.group:
            groups[-1][1] = int(str(groups[-1][1])) + 1
        else:
            groups.append([column.group, 1])
    above = tag("tr", tag("td"), [tag("th", name, colspan=n, scope="colgroup") for name, n in groups])
    headings = [sheet.corner or "part", *(f"{each.heading} {each.unit}".strip() for each in sheet.columns)]
    rows = [[_of_sheet(cell) for cell in (row.name, *row.cells)] for row in sheet.rows]
    caption = sheet.subtitle if not titled else f"{sheet.title}: {sheet.subtitle}"
    return join(
        [tag("p", line) for line in sheet.said],
        table(headings, rows, caption=caption, above=above),
        tag("p", sheet.below, class_="note") if sheet.below else None,
    )


def _of_sheet(cell: TableCell) -> Cell:
    mark = tag("sup", cell.note) if cell.note is not None else None
    return Cell(join(cell.text, mark), cell.below, cell.value)


def look_table(look: Look, *, titled: bool = True) -> Markup:
    """Return a look with its notes, and with the reasons of what is undefined in it.

    Measures of a column none of which is large all have as many digits, so that they can be read down it.
    """
    columns = zip(*look.rows, strict=True)
    forms = [f".{look.digits}f" if _small(column) else ".4g" for column in columns]
    rows = [
        [_of_look(cell, form, look.digits) for cell, form in zip(row, forms, strict=True)]
        for row in look.rows
    ]
    notes = (*look.notes, *undefined_because(look))
    return join(
        table(look.columns, rows, caption=look.title if titled else "") if look.columns else None,
        [tag("p", note, class_="note") for note in notes],
    )


def folded_table(look: Look) -> Markup:
    """Return a look's table; a long one, which says what a figure shows, opens on a click."""
    if len(look.rows) <= MOST_ROWS:
        return look_table(look)
    return tag("details", tag("summary", f"{look.title}, as a table"), look_table(look, titled=False))


def _small(column: Iterable[LookCell]) -> bool:
    return all(abs(cell.value) < LARGE for cell in column if isinstance(cell, Measure) and cell.defined)


def _of_look(cell: LookCell, form: str, digits: int) -> Cell:
    if isinstance(cell, Bounded):
        if not cell.value.defined:
            return Cell(DASH)
        low, high = cell.low, cell.high
        below = interval(low.value, high.value, digits) if low.defined and high.defined else ""
        return Cell(f"{cell.value.value:.{digits}f}", below, cell.value.value)
    if isinstance(cell, Measure):
        return Cell(format(cell.value, form), value=cell.value) if cell.defined else Cell(DASH)
    if isinstance(cell, int | float):
        return Cell(f"{cell:,}", value=cell)
    return Cell("" if cell is None else cell)
