"""The figures of a page: each stands in it as SVG, and beside it as files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from farm.report.figures import as_svg, save
from farm.report.page.html import slug, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png")


class FigureBook:
    """Puts figures into a page, and where there is a folder writes each there as SVG and PNG."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder, self._names = folder, set[str]()

    def add(self, name: str, figure: Figure, title: str, caption: object = "") -> Markup:
        """Return a figure as HTML; `title` says what it shows to whoever does not see it.

        A name that was there before gets a number.
        """
        name = self._free(slug(name))
        drawn = as_svg(figure, title=title, prefix=f"figure-{name}")
        if self._folder is not None:
            (self._folder / f"{name}.svg").write_text(_alone(drawn), encoding="utf-8")
            save(figure, self._folder / f"{name}.png")
        return tag("figure", Markup(drawn), tag("figcaption", caption) if caption else None, class_="drawn")

    def _free(self, name: str) -> str:
        number = 1
        found = name
        while found in self._names:
            number += 1
            found = f"{name}-{number}"
        self._names.add(found)
        return found


def _alone(svg: str) -> str:
    """Return a picture of a page as a file of its own, in its own colours and letters."""
    return re.sub(r"var\(--[\w-]+, (#\w+)\)", r"\1", svg).replace(
        "font-family:inherit", "font-family:sans-serif"
    )
