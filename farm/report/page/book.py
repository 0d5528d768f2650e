"""The figures of a page: each stands in it as SVG, and beside it as files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from farm.report.figures import as_svg, save
from farm.report.page.html import slug, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png")
FEWEST = 24
"""Fewer figures are drawn sooner than another process has begun."""
AT_ONCE = 4


@dataclass(frozen=True)
class _Job:
    """A figure that is to be drawn, perhaps by another process."""

    name: str
    make: Callable[[], Figure]
    title: str
    folder: Path | None

    def drawn(self) -> str:
        """Draw it: return it for the page, and write its files."""
        figure = self.make()
        svg = _readable(as_svg(figure, title=self.title, prefix=f"figure-{self.name}"))
        if self.folder is not None:
            (self.folder / f"{self.name}.svg").write_text(_alone(svg), encoding="utf-8")
            save(figure, self.folder / f"{self.name}.png")
        return svg


class FigureBook:
    """Puts figures into a page, and where there is a folder writes each there as SVG and PNG.

    Figures are drawn when the page is filled: many of them by so many processes. A script that asks for
    several must not run its own main part when it is imported.
    """

    def __init__(self, folder: Path | None = None, *, processes: int = 1) -> None:
        self._folder, self._processes = folder, processes
        self._jobs: dict[str, _Job] = {}

    def add(self, name: str, make: Callable[[], Figure], title: str, caption: object = "") -> Markup:
        """Return the place of a figure; `title` says what it shows to whoever does not see it.

        `make` draws it, here or in another process. A name that was there before gets a number.
        """
        name = self._free(slug(name))
        self._jobs[name] = _Job(name, make, title, self._folder)
        return tag("figure", _place(name), tag("figcaption", caption) if caption else None, class_="drawn")

    def filled(self, html: str) -> str:
        """Draw all figures, and return the page with each in its place."""
        drawn = dict(zip(self._jobs, self._drawn(list(self._jobs.values())), strict=True))
        return re.sub("\0(.*?)\0", lambda found: drawn[found[1]], html)

    def _drawn(self, jobs: Sequence[_Job]) -> Iterator[str]:
        if self._processes == 1 or len(jobs) < FEWEST:
            yield from map(_Job.drawn, jobs)
            return
        with ProcessPoolExecutor(self._processes, mp_context=get_context("spawn")) as pool:
            yield from pool.map(_Job.drawn, jobs, chunksize=AT_ONCE)

    def _free(self, name: str) -> str:
        number = 1
        found = name
        while found in self._jobs:
            number += 1
            found = f"{name}-{number}"
        return found


def _place(name: str) -> Markup:
    """Mark the place of a figure; nothing else on a page has such a character."""
    return Markup(f"\0{name}\0")


def _readable(svg: str) -> str:
    """Let a picture become no smaller than its letters can be read; what is narrower scrolls."""
    return re.sub(r"max-width:(\d+)px", lambda m: f"{m[0]};min-width:{int(m[1]) * 7 // 10}px", svg, count=1)


def _alone(svg: str) -> str:
    """Return a picture of a page as a file of its own, in its own colours and letters."""
    return re.sub(r"var\(--[\w-]+, (#\w+)\)", r"\1", svg).replace(
        "font-family:inherit", "font-family:sans-serif"
    )
