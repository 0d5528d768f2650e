"""What changed since an earlier run of the same streams, and whether that is more than noise."""

from __future__ import annotations

from collections import Counter

from markupsafe import Markup

from farm.gate.baseline.cells import CellChange
from farm.measures.measure import Measure
from farm.report.cells import DASH, percent
from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection
from farm.report.page.tables import Cell, table
from farm.statistics.wording import p_cell

MOST_ROWS = 400
HEADINGS: tuple[str, ...] = (
    "set",
    "monitor",
    "wrong verdicts before, %",
    "now, %",
    "newly right",
    "newly wrong",
)
HEADINGS += ("p", "verdict")


def changes(found: Findings, book: FigureBook) -> PageSection | None:  # noqa: ARG001 - it draws nothing
    """Return the section; None where nothing earlier was given."""
    if found.changes is None:
        return None
    rows = found.changes.rows
    counts = Counter(row.verdict for row in rows)
    of = f"{len(rows):,} pair{'' if len(rows) == 1 else 's'} of a set and a monitor"
    told = ", ".join(f"{n:,} {verdict}" for verdict, n in counts.most_common())
    links = {one.set.name: one.id for one in found.sets}
    meaning = (
        "Sure is what chance gives in one report of twenty, over all rows together (Holm). A verdict is "
        "right where a wrong decision was cancelled, or a right one was not."
    )
    body = join(
        tag("p", f"Against {found.earlier}, on the same images: of {of}, {told}.", class_="lead"),
        tag("p", meaning),
        table(HEADINGS, [_row(row, links) for row in rows[:MOST_ROWS]], caption="The surest changes first"),
        _note(f"and {len(rows) - MOST_ROWS:,} more rows, less sure", len(rows) > MOST_ROWS),
        _note(f"Only before: {'; '.join(found.changes.gone)}.", bool(found.changes.gone)),
        _note(f"Only now: {'; '.join(found.changes.new)}.", bool(found.changes.new)),
    )
    return PageSection("changes", "What changed", body)


def _note(text: str, wanted: bool) -> Markup | None:
    return tag("p", text, class_="note") if wanted else None


def _row(row: CellChange, links: dict[str, str]) -> list[Cell]:
    name = tag("a", row.set, href=f"#{links[row.set]}") if row.set in links else row.set
    verdicts = {"more often right, surely": "good", "less often right, surely": "bad"}
    return [
        Cell(name),
        Cell(row.monitor),
        _measure(row.before),
        _measure(row.now),
        Cell(f"{row.newly_right:,}", value=row.newly_right),
        Cell(f"{row.newly_wrong:,}", value=row.newly_wrong),
        Cell(p_cell(row.p), value=row.p),
        Cell(tag("span", row.verdict, class_=f"badge {verdicts.get(row.verdict, 'open')}")),
    ]


def _measure(value: Measure) -> Cell:
    return Cell(percent(value.value) if value.defined else DASH, value=value.json)
