"""One section of a page, and what makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markupsafe import Markup

from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings
from farm.report.page.html import tag


@dataclass(frozen=True)
class PageSection:
    """A part of a page that links can lead to, by an id that stays."""

    id: str
    title: str
    """As the contents call it."""
    body: Markup


SectionMaker: TypeAlias = Callable[[Findings, FigureBook], PageSection | None]
"""What makes a section of what was found; None where there is nothing to tell."""


def lacking_results(lines: Sequence[str], most: int) -> Markup | None:
    """Say, before anybody compares, what is missing: at most so many lines; None where nothing is."""
    if not lines:
        return None
    shown = [tag("li", line) for line in lines[:most]]
    if (more := len(lines) - most) > 0:
        shown.append(tag("li", f"and {more} more"))
    return tag("div", tag("h3", "Not all results are there"), tag("ul", shown), class_="warning")
