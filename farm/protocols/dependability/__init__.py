"""Dependability metrics: is a network robust, interpretable and correct, and are its data complete?

Cheng, Nührenberg, Huang and Yasuoka, "Towards dependability metrics for neural networks", 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from farm.config.experiment import Experiment
    from farm.gate.reported import Reported
    from farm.judging.inspection import Look
    from farm.report.page import FigureBook
    from farm.run.costs import Costs


def as_campaign(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a file says as the values of a campaign."""
    from farm.protocols.dependability import spec

    return spec.as_campaign(values, folder)


def size_record(cells: Iterable[tuple[Mapping[str, Any], Experiment]], costs: Costs) -> dict[str, Any]:
    """Return what a campaign of these cells is, and what it takes, as JSON."""
    from farm.protocols.dependability.sizes import Sizes

    return Sizes(list(cells), costs).record()


def size_lines(told: Mapping[str, Any], workers: int) -> list[str]:
    """Say in a few lines what `size_record` tells."""
    from farm.protocols.dependability import wording

    return list(wording.size_lines(told, workers))


def write_results(folder: Path) -> Path:
    """Write what is there of a campaign's results beside its cells."""
    from farm.protocols.dependability.results import Results

    return Results.of(folder).write(folder)


def result_tables(folder: Path, *, short: bool = False) -> list[Look]:
    """Return what a campaign's folder says; `short` is the beginning alone."""
    from farm.protocols.dependability import tables
    from farm.protocols.dependability.results import Results

    results = Results.of(folder)
    return list(tables.short(results) if short else tables.looks(results))


def result_page(folder: Path, book: FigureBook) -> str:
    """Return a campaign's page."""
    from farm.protocols.dependability.page import page
    from farm.protocols.dependability.results import Results

    return page(Results.of(folder), book)


def problems(folder: Path) -> list[str]:
    """Return what is wrong with data or files, so that something of a campaign could not be found."""
    from farm.protocols.dependability.results import Results

    return Results.of(folder).problems


def reported(folder: Path) -> Reported:
    """Return what criteria may ask for."""
    from farm.protocols.dependability.results import Results

    return Results.of(folder).reported
