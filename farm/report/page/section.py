"""One section of a page, and what makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from markupsafe import Markup

from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings


@dataclass(frozen=True)
class PageSection:
    """A part of a page that links can lead to, by an id that stays."""

    id: str
    title: str
    """As the contents call it."""
    body: Markup


SectionMaker: TypeAlias = Callable[[Findings, FigureBook], PageSection | None]
"""What makes a section of what was found; None where there is nothing to tell."""
