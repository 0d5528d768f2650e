"""Write a figure to a file, or into an HTML page."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from farm.errors import DataError, ExperimentError, ParameterError
from farm.report.figures import style
from farm.store.files import check_new_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = {
    # Each without the date or the version, which would make two files of one figure differ.
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
BORDER = 0.15
"""Inches of paper around what is drawn."""


def check_target(path: Path, option: str) -> None:
    """Check that a figure can be written there, before there is any work to lose."""
    check_new_file(path)
    if path.suffix.lower() not in FORMATS:
        raise ExperimentError(f"{option} {path}: suffix '{path.suffix}'; expected {', '.join(FORMATS)}")
    if not path.absolute().parent.is_dir():
        raise DataError(f"{option} {path}: {path.parent} is no folder; expected one")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, PNG or PDF, by the path's suffix; the same figure gives the same bytes.

    Examples
    --------
    >>> from farm.report.figures import roc
    >>> save(roc([]), Path("roc.gif"))
    Traceback (most recent call last):
    farm.errors.ParameterError: figure 'roc.gif': suffix '.gif'; expected .svg, .png, .pdf
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ParameterError(f"figure '{path}': suffix '{path.suffix}'; expected {', '.join(FORMATS)}")
    with style.applied():
        figure.savefig(
            path, format=suffix[1:], bbox_inches="tight", pad_inches=BORDER, metadata=FORMATS[suffix]
        )


def as_svg(figure: Figure, *, title: str, description: str = "", prefix: str = "figure") -> str:
    """Return a figure as an SVG element to be put into an HTML page.

    It scales with the page up to its natural size, its letters are the page's, and its colours are CSS
    variables (`farm.report.figures.style.VARIABLES`), which the page may set.

    Parameters
    ----------
    figure
        What to show.
    title, description
        What it is, and what is to be seen, for who cannot see it.
    prefix
        What all ids in it begin with: another one for each figure of a page.

    Examples
    --------
    >>> from farm.report.figures import roc
    >>> as_svg(roc([]), title="a < b", prefix="one")[:80]
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 36" role="img" aria-lab'
    """
    import matplotlib

    from farm.report.figures.compact import compact
    from farm.report.figures.drawn import Drawn

    beyond = isinstance(figure, Drawn) and figure.beyond
    drawn = io.BytesIO()
    with style.applied():
        matplotlib.rcParams["svg.fonttype"] = "none"
        figure.savefig(
            drawn,
            format="svg",
            facecolor="none",
            bbox_inches="tight" if beyond else None,
            pad_inches=BORDER,
            metadata={"Date": None},
        )
    return compact(drawn.getvalue(), title, description, prefix)
