"""The page of an evaluation of uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from farm.config.specs import NO_FAULT
from farm.protocols.uncertainty import comparison_tables, tables, trust_tables, wording
from farm.protocols.uncertainty.asked import MERGED_ID
from farm.protocols.uncertainty.measured import BOXES, CLASSES, Task
from farm.protocols.uncertainty.reliabilities import least_calibrated, reliability_frame
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.summary import COMPARED
from farm.protocols.uncertainty.wording import NAMES
from farm.report import figures
from farm.report.page.book import FigureBook
from farm.report.page.document import document
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection, lacking_results
from farm.report.page.tables import folded_table, look_table
from farm.statistics.wording import counted, listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REFERENCE = (
    "F. Diet, M. Kassem Sbeyti, M. Karg, Prediction accuracy and reliability: classification and object "
    "localization under distribution shift, 2024."
)
DRAWN: dict[Task, tuple[str, str]] = {CLASSES: ("accuracy", "ece"), BOXES: ("iou", "ece")}
"""What figures show of each task: what it is worth, and how far it can be believed."""
AXES: dict[Task, tuple[str, str]] = {
    CLASSES: ("Confidence", "Accuracy"),
    BOXES: ("Predicted quantile", "Share of targets below"),
}

HOW: dict[Task, str] = {
    CLASSES: "Ten bins; below the dotted line a network is too sure.",
    BOXES: "The mean of the four sides; a line flatter than the dotted one is of a network that is too sure.",
}


def page(results: Results, book: FigureBook | None = None) -> str:
    """Return the whole page; figures are also written where the book says."""
    book = FigureBook() if book is None else book
    about = ", ".join(
        (
            counted(len(results.streams.kinds), "network"),
            counted(len(results.spec.shift_names), "shift"),
            counted(results.spec.repetitions, "repetition"),
            counted(len(results.frame), "result"),
        )
    )
    return book.filled(document(f"Uncertainty: {results.spec.name}", about, list(_sections(results, book))))


def _sections(results: Results, book: FigureBook) -> Iterator[PageSection]:
    yield PageSection("answer", "Answer", _answer(results))
    yield PageSection("test-data", "Without a shift", _test_data(results, book))
    for task, name in ((CLASSES, "Classes under shift"), (BOXES, "Boxes under shift")):
        if results.shifts_of(task):
            yield PageSection(task, name, _under_shift(results, task, book))
    yield PageSection("calibration", "After calibration", _calibrated(results, book))
    if not results.monitors.empty:
        yield PageSection(
            "monitors", "Uncertainty as a monitor", join(map(look_table, trust_tables.monitored(results)))
        )
    yield PageSection("networks", "The networks", _networks(results))
    yield PageSection("method", "The method", _method(results))


def _answer(results: Results) -> Markup:
    lead, *told = [
        *wording.falls(results),
        *wording.better_variants(results, CLASSES, "accuracy"),
        *wording.better_variants(results, BOXES, "iou"),
        *wording.stability(results),
        *wording.conformal(results),
        wording.scope(results),
    ]
    return join(
        tag("p", results.spec.description) if results.spec.description else None,
        tag("p", tag("strong", lead), class_="lead"),
        [tag("p", line) for line in told],
        lacking_results(wording.lacking(results), tables.MOST_REASONS),
        look_table(comparison_tables.concluded(results)) if results.spec.backbones else None,
    )


def _test_data(results: Results, book: FigureBook) -> Markup:
    """Draw what variants are worth and how far they can be believed: the source's Figures 10 and 11."""
    frame = _points(results, [(task, one) for task in DRAWN for one in DRAWN[task]], [NO_FAULT])
    draw = partial(
        figures.means_with_spread, frame, x="variant", group="backbone", panel="measure", measure=None
    )
    return join(
        book.add("test-data", draw, "Worth and calibration error of each variant on the test data"),
        look_table(tables.performance(results)),
        look_table(tables.on_test_data(results)),
    )


def _under_shift(results: Results, task: Task, book: FigureBook) -> Markup:
    shifts = [NO_FAULT, *results.shifts_of(task)]
    if task == CLASSES and results.spec.merged is not None:
        shifts.insert(1, MERGED_ID)
    frame = _points(results, [(task, one) for one in DRAWN[task]], shifts)
    shown = [
        book.add(f"{task}-{backbone}", _by_shift(frame[frame["backbone"] == backbone], "variant"), title)
        for backbone in dict.fromkeys(frame["backbone"])
        for title in [f"{NAMES[task, DRAWN[task][0]]} and calibration error of {backbone} under each shift"]
    ]
    words = "None is the test data; merged, its instances of the classes that are merged."
    return join(
        tag("p", words) if MERGED_ID in shifts else None,
        shown,
        _over_networks(results, task, shifts, book),
        _reliability(results, task, book),
        [look_table(tables.by_shift(results, *one)) for one in tables.SHOWN if one[0] == task],
        [
            folded_table(look)
            for one in COMPARED
            if one[0] == task
            for look in comparison_tables.compared(results, *one)
        ],
    )


def _over_networks(results: Results, task: Task, shifts: Sequence[str], book: FigureBook) -> Markup:
    """Draw each backbone over all its variants: the source's Figures 12 and 13."""
    frame = _points(results, [(task, one) for one in DRAWN[task]], shifts, over=["backbone"])
    return join(
        book.add(
            f"{task}-over-networks",
            _by_shift(frame, "backbone"),
            "The same over all variants of each backbone",
            "Means over all variants and repetitions of a backbone.",
        ),
        [folded_table(tables.accumulated(results, task, one)) for one in DRAWN[task]],
    )


def _reliability(results: Results, task: Task, book: FigureBook) -> Markup:
    streams = [NO_FAULT, *least_calibrated(results, task)]
    frame = reliability_frame(results, task, streams)
    x, y = AXES[task]
    caption = (
        f"On the test data, and under the shifts with the highest mean calibration errors: "
        f"{listed(streams[1:])}. {HOW[task]}"
    )
    draw = partial(figures.reliabilities, frame, x=x, y=y)
    return book.add(f"{task}-reliability", draw, f"Reliability of {task}, network by network", caption)


def _calibrated(results: Results, book: FigureBook) -> Markup:
    """Draw how often conformal sets and boxes hold what is right, beside what was asked."""
    asked = results.spec.coverage
    wanted: list[tuple[Task, str]] = [(CLASSES, "coverage sets"), (BOXES, "coverage boxes")]
    frame = _points(results, wanted, [NO_FAULT, *results.spec.shift_names])
    frame = frame.assign(network=frame["backbone"] + " " + frame["variant"])
    return join(
        book.add(
            "coverage",
            _by_shift(frame, "network"),
            "How often conformal sets and boxes hold what is right, under each shift",
            f"Asked for {100 * asked:g} %, which is promised of data like those they were fitted on alone.",
        ),
        map(look_table, trust_tables.conformal(results)),
        map(folded_table, trust_tables.calibrated(results)),
    )


def _networks(results: Results) -> Markup:
    looks = [comparison_tables.stability(results), tables.rates_used(results)]
    if not results.members.empty:
        looks.append(trust_tables.members(results))
    lines = wording.without_value(results)
    return join(
        map(look_table, looks),
        tag("h3", "Results without a value") if lines else None,
        tag("ul", [tag("li", line) for line in lines[: tables.MOST_REASONS]]) if lines else None,
    )


def _method(results: Results) -> Markup:
    told = [tag("p", tag("strong", f"{title}. "), text) for title, text in wording.METHOD]
    return join(
        told,
        tag("p", wording.scope(results)),
        tag("h3", "Reference"),
        tag("p", REFERENCE, class_="note"),
    )


def _by_shift(frame: pd.DataFrame, group: str) -> Callable[[], Figure]:
    return partial(figures.means_with_spread, frame, x="shift", group=group, panel="measure", measure=None)


def _points(
    results: Results,
    wanted: Sequence[tuple[Task, str]],
    shifts: Sequence[str],
    over: Sequence[str] = ("backbone", "variant"),
) -> pd.DataFrame:
    """Return means as figures take them, measure by measure and shift by shift."""
    rows = []
    for task, measure in wanted:
        own = results.frame[(results.frame["task"] == task) & (results.frame["measure"] == measure)]
        own = own[own["value"].map(np.isfinite)]
        for shift in shifts:
            there = own[own["shift"] == shift]
            for of, found in there.groupby(list(over), sort=False):
                values = found["value"].to_numpy(dtype=float)
                spread = float(values.std(ddof=1)) if len(values) > 1 else np.nan
                named_by = dict(zip(over, of, strict=True))
                label = NAMES.get((task, measure), measure)
                rows.append(
                    {**named_by, "shift": shift, "measure": label, "mean": values.mean(), "sd": spread}
                )
    columns = [*over, "shift", "measure", "mean", "sd"]
    return pd.DataFrame(rows, columns=columns)
