"""The document around the sections: head, contents, style, script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from markupsafe import Markup

from farm.report.figures import DARK
from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection, SectionMaker
from farm.report.page.sections import SECTIONS
from farm.report.page.sections.heat import heat_rules

GENERATOR = "farm-testbed report"
"""How a page of ours is known by its head."""


def page(found: Findings, book: FigureBook | None = None, makers: Sequence[SectionMaker] = SECTIONS) -> str:
    """Return the whole page; an evaluation method gives `makers` of its own, or some beside ours."""
    book = FigureBook() if book is None else book
    made = [section for maker in makers if (section := maker(found, book)) is not None]
    runs, sets = len(found.runs), len(found.sets)
    n = sum(len(one.judged.table) for one in found.runs)
    about = ", ".join(
        (
            f"{runs:,} run{'' if runs == 1 else 's'}",
            f"{sets:,} benchmark set{'' if sets == 1 else 's'}",
            f"{len(found.monitors)} monitor{'' if len(found.monitors) == 1 else 's'}",
            f"{n:,} images",
        )
    )
    if found.earlier is not None:
        about += f"; compared with {found.earlier}"
    return book.filled(document(f"Safety monitors: {found.names}", about, made))


def document(
    title: str, about: object, sections: Sequence[PageSection], *, refresh: int | None = None
) -> str:
    """Return a document of some sections; with `refresh` it is loaded again every so many seconds."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=content_policy()),
        tag("meta", http_equiv="refresh", content=refresh) if refresh else None,
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"{GENERATOR} {version('farm-testbed')}"),
        tag("title", title),
        tag("style", Markup(_text("style.css") + _dark_figures() + heat_rules())),
    )
    contents = [tag("li", tag("a", one.title, href=f"#{one.id}")) for one in sections]
    body = tag(
        "body",
        tag("a", "To the content", href="#content", class_="skip"),
        tag("header", tag("h1", title), tag("p", about)),
        tag("nav", tag("ul", contents), aria_label="Contents") if len(sections) > 1 else None,
        tag(
            "main",
            [tag("section", tag("h2", one.title), one.body, id=one.id) for one in sections],
            id="content",
        ),
        tag("footer", tag("p", f"Made by farm-testbed {version('farm-testbed')}.")),
        tag("script", Markup(_text("script.js"))),
    )
    return str(join(Markup("<!DOCTYPE html>\n"), tag("html", head, body, lang="en"), "\n"))


def content_policy() -> str:
    """Return what a document may do: fetch nothing, and run no script but ours, whatever names hold."""
    digest = base64.b64encode(hashlib.sha256(_text("script.js").encode()).digest()).decode()
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def _dark_figures() -> str:
    """Return the colours of figures in the dark, but for those that the style sheet has itself."""
    own = _text("style.css")
    rules = "".join(f"{name}:{colour};" for name, colour in DARK.items() if f"{name}:" not in own)
    return f"@media screen and (prefers-color-scheme: dark){{:root{{{rules}}}}}"


@cache
def _text(name: str) -> str:
    """Return a file that lies beside this one."""
    return (files("farm.report.page") / name).read_text(encoding="utf-8")
