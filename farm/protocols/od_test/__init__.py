"""OD-test: methods learn from one set of outliers and are judged on all others.

Shafaei, Schmidt & Little, "Does Your Model Know the Digit 6 Is Not a Cat? A Less Biased Evaluation of
Outlier Detectors", 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from farm.judging.inspection import Look
    from farm.protocols.od_test.sizes import Cells
    from farm.report.page import FigureBook
    from farm.run.costs import Costs


def as_campaign(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a file says as the values of a campaign."""
    from farm.protocols.od_test import spec

    return spec.as_campaign(values, folder)


def size_record(cells: Cells, costs: Costs) -> dict[str, Any]:
    """Return what a campaign of these cells is, and what it takes, as JSON."""
    from farm.protocols.od_test.sizes import Sizes

    return Sizes(cells, costs).record()


def size_lines(told: Mapping[str, Any], workers: int) -> list[str]:
    """Say in a few lines what `size_record` tells."""
    from farm.protocols.od_test import wording

    return list(wording.size_lines(told, workers))


def write_results(folder: Path) -> Path:
    """Write what is there of a campaign's results beside its cells."""
    from farm.protocols.od_test.results import Results

    return Results.of(folder).write(folder)


def result_tables(folder: Path, *, short: bool = False) -> list[Look]:
    """Return what a campaign's folder says; `short` is the beginning alone."""
    from farm.protocols.od_test.results import Results
    from farm.protocols.od_test.tables import looks

    made = list(looks(Results.of(folder)))
    return made[:1] if short else made


def result_page(folder: Path, book: FigureBook) -> str:
    """Return a campaign's page."""
    from farm.protocols.od_test.page import page
    from farm.protocols.od_test.results import Results

    return page(Results.of(folder), book)
