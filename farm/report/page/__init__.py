"""A page of HTML that tells what runs found: one file, which needs no network and no script to be read."""

from farm.report.page.book import FigureBook
from farm.report.page.document import document, page
from farm.report.page.findings import Findings, find, findings_of
from farm.report.page.section import PageSection, SectionMaker
from farm.report.page.sections import SECTIONS

__all__ = [
    "SECTIONS",
    "FigureBook",
    "Findings",
    "PageSection",
    "SectionMaker",
    "document",
    "find",
    "findings_of",
    "page",
]
