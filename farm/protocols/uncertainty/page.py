"""The page of an evaluation of uncertainty."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from farm.judging.inspection import Look
from farm.protocols.uncertainty import tables, wording
from farm.protocols.uncertainty.results import Results
from farm.report.page.book import FigureBook
from farm.report.page.document import document
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection
from farm.report.page.tables import look_table
from farm.statistics.wording import counted

REFERENCE = (
    "F. Diet, M. Kassem Sbeyti, M. Karg, Prediction accuracy and reliability: classification and object "
    "localization under distribution shift, 2024."
)


def page(results: Results, book: FigureBook | None = None) -> str:
    """Return the whole page; figures are also written where the book says."""
    book = FigureBook() if book is None else book
    about = ", ".join(
        (
            counted(len(results.streams.kinds), "network"),
            counted(len(results.spec.shift_names), "shift"),
            counted(results.spec.repetitions, "repetition"),
            counted(len(results.frame), "result"),
        )
    )
    return book.filled(document(f"Uncertainty: {results.spec.name}", about, list(_sections(results))))


def _sections(results: Results) -> Iterator[PageSection]:
    yield PageSection("tables", "All tables", join([_told(look) for look in tables.looks(results)]))
    told = [tag("p", tag("strong", f"{title}. "), text) for title, text in wording.METHOD]
    yield PageSection(
        "method", "The method", join(told, tag("h3", "Reference"), tag("p", REFERENCE, class_="note"))
    )


def _told(look: Look) -> Markup:
    """Return a table; one without columns is sentences."""
    if look.columns:
        return look_table(look)
    return join(tag("h3", look.title), [tag("p", note) for note in look.notes])
