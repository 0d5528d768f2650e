"""What is to be seen in a figure, for tests."""

from __future__ import annotations

from xml.etree.ElementTree import Element, fromstring

import pandas as pd
from matplotlib.text import Text

from farm.report.figures import as_svg

STRANGE = ["<img src=x onerror=alert(1)>", r"$\alpha$", "_hidden", "long-" * 16, "two\nlines\x1b[31m"]
"""Names that are nothing but names."""


def words(figure) -> list[str]:
    """Return all that is written and not empty."""
    return [
        text.get_text() for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()
    ]


def strokes(axes, n):
    """Return the lines that were drawn through so many points."""
    return [line for line in axes.lines if len(line.get_xdata()) == n]


def svg(figure, **options) -> Element:
    """Return it as a page has it, parsed."""
    return fromstring(as_svg(figure, **{"title": "a figure"} | options))


def written(root: Element) -> list[str]:
    return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def fits(figure) -> bool:
    """Say whether all that is written lies within the figure."""
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    boxes = [t.get_window_extent() for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()]
    return all(b.x0 >= -1 and b.y0 >= -1 and b.x1 <= width + 1 and b.y1 <= height + 1 for b in boxes)


def overlaps(figure, names) -> list[tuple[str, str]]:
    """Return the pairs among some words that lie on each other."""
    figure.draw_without_rendering()
    texts = (text for text in figure.findobj(Text) if text.get_visible() and text.get_text() in names)
    found = [(text.get_text(), text.get_window_extent()) for text in texts]
    return [(a, b) for i, (a, one) in enumerate(found) for b, other in found[:i] if one.overlaps(other)]


def intervals(names, **columns) -> pd.DataFrame:
    """Return a row a monitor; each column's numbers also have ends 0.05 below and above."""
    frame = pd.DataFrame({"monitor": names})
    for name, values in columns.items():
        frame[name] = values
        frame[f"{name}_low"], frame[f"{name}_high"] = frame[name] - 0.05, frame[name] + 0.05
    return frame
