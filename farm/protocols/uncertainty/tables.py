"""The tables of an evaluation of uncertainty, for terminals, pages and programs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from farm.config.specs import NO_FAULT
from farm.judging.inspection import Look, LookCell
from farm.measures import Measure
from farm.protocols.uncertainty import wording
from farm.protocols.uncertainty.asked import DROPOUT, MERGED_ID, OWN, RATES, VANILLA
from farm.protocols.uncertainty.cells import DIGITS, begun, bounded_cell, mean_cell
from farm.protocols.uncertainty.compared import Kind
from farm.protocols.uncertainty.comparison_tables import compared, concluded, conclusion, stability
from farm.protocols.uncertainty.measured import BOXES, CLASSES, Task
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.summary import COMPARED
from farm.protocols.uncertainty.trust_tables import calibrated, conformal, members, monitored
from farm.protocols.uncertainty.wording import NAMES, named

MOST_REASONS = 12
SHOWN: tuple[tuple[Task, str], ...] = (
    *((CLASSES, name) for name in ("accuracy", "ece", "brier", "nll")),
    *((BOXES, name) for name in ("iou", "ece", "nll", "mae")),
)
"""The measures that are told shift by shift, in the order of the source's Tables 5 and 6."""
QUARTILES = ("least", "lower quartile", "median", "upper quartile", "greatest")


def looks(results: Results) -> Iterator[Look]:
    """Return all tables, the most important first."""
    yield from short(results)
    yield rates_used(results)
    for task, measure in SHOWN:
        yield by_shift(results, task, measure)
    yield on_test_data(results)
    for task, measure in ((CLASSES, "accuracy"), (CLASSES, "ece"), (BOXES, "iou"), (BOXES, "ece")):
        yield accumulated(results, task, measure)
    for task, measure in COMPARED:
        yield from compared(results, task, measure)
    yield stability(results)
    yield from calibrated(results)
    yield from conformal(results)
    yield from monitored(results)
    if not results.members.empty:
        yield members(results)
    if lines := wording.without_value(results):
        yield Look("Results without a value", (), [], tuple(f"{line}." for line in lines[:MOST_REASONS]))


def short(results: Results) -> Iterator[Look]:
    """Return the beginning: what networks are worth on the test data, and what of the source holds."""
    if lines := wording.lacking(results):
        yield Look("Not all results are there", (), [], tuple(f"{line}." for line in lines[:MOST_REASONS]))
    yield performance(results)
    if results.spec.backbones:
        yield concluded(results)
    yield conclusion(results)


def performance(results: Results) -> Look:
    """Return what single networks are worth on the test data, of all classes and of merged ones: Table 3."""
    merged = results.spec.merged is not None
    kinds = [kind for kind in results.streams.kinds if kind[1] in (VANILLA, OWN)] or results.streams.kinds
    columns: list[tuple[str, Task, str, str]] = []
    for measure in ("accuracy", "nll"):
        shown = measure if measure == "accuracy" else measure.upper()
        columns.append((f"{shown}, all classes", CLASSES, measure, NO_FAULT))
        if merged:
            columns.append((f"{shown}, merged", CLASSES, measure, MERGED_ID))
    columns += [
        (measure.upper() if measure == "mae" else "IoU", BOXES, measure, NO_FAULT)
        for measure in ("mae", "iou")
    ]
    rows: list[tuple[LookCell, ...]] = [
        (
            named(kind),
            *(bounded_cell(results, kind, shift, task, measure) for _, task, measure, shift in columns),
        )
        for kind in kinds
    ]
    names = ("network", *(name for name, *_ in columns))
    return Look("Test data without any shift (Table 3)", names, rows, (wording.OF_IMAGES,), digits=DIGITS)


def rates_used(results: Results) -> Look:
    """Return at which rates dropout was trained, and how fast: Table 4."""
    rows: list[tuple[LookCell, ...]] = []
    for kind in results.streams.kinds:
        said = _recipe(results, kind)
        shown = [said.get(name) for name in (*RATES, "learning_rate", "box_learning_rate")]
        cells = [_number(value) for value in shown]
        if kind[1] not in DROPOUT:
            cells[:2] = [None, None]
        if any(cell is not None for cell in cells):
            rows.append((named(kind), *cells))
    columns = (
        "network",
        "dropout, classes",
        "dropout, boxes",
        "learning rate, classes",
        "learning rate, boxes",
    )
    return Look("Rates as used (Table 4)", columns, rows, digits=4)


def _recipe(results: Results, kind: Kind) -> dict[str, object]:
    """Return the parameters of a network, defaults filled in; those of an ensemble's networks."""
    own = next(own for network, own in results.streams.of.items() if network.kind == kind)
    classifier = next(iter(own.values())).run.get("classifier") or {}
    recipe = dict(classifier.get("recipe") or {})
    of = recipe.get("of")
    return dict(of) if isinstance(of, dict) else recipe


def _number(value: object) -> LookCell:
    return f"{value:g}" if isinstance(value, int | float) else None


def by_shift(results: Results, task: Task, measure: str) -> Look:
    """Return a measure of each network under each shift: the source's Tables 5 and 6, Figures 14 and 15."""
    shifts = [NO_FAULT, *results.shifts_of(task)]
    if task == CLASSES and results.spec.merged is not None:
        shifts.insert(1, MERGED_ID)
    rows = [
        (named(kind), *(mean_cell(results, kind, shift, task, measure) for shift in shifts))
        for kind in results.streams.kinds
    ]
    table = 5 if task == CLASSES else 6
    notes = [wording.higher_words(task, measure)]
    if task == CLASSES and results.spec.merged is not None:
        notes.append(_merged_note(results))
    if measure == "mae":
        notes.append(wording.image_sizes(results))
    title = f"{begun(NAMES[task, measure])} under shift (Table {table})"
    return Look(title, ("network", *shifts), rows, tuple(notes), digits=DIGITS)


def _merged_note(results: Results) -> str:
    assert results.spec.merged is not None
    return f"Classes are merged under {MERGED_ID}, {', '.join(results.spec.merged.shifts)}."


def on_test_data(results: Results) -> Look:
    """Return what networks are worth beside how far they can be believed: of Figures 10 and 11."""
    columns: list[tuple[Task, str]] = [
        (CLASSES, "accuracy"),
        (CLASSES, "ece"),
        (BOXES, "iou"),
        (BOXES, "ece"),
    ]
    rows = [
        (named(kind), *(mean_cell(results, kind, NO_FAULT, *column) for column in columns))
        for kind in results.streams.kinds
    ]
    names = ("network", *(NAMES[column] for column in columns))
    return Look("Worth and calibration on the test data (Figures 10 and 11)", names, rows, digits=DIGITS)


def accumulated(results: Results, task: Task, measure: str) -> Look:
    """Return a measure over all backbones and variants, shift by shift: the numbers of Figures 12 and 13."""
    rows: list[tuple[LookCell, ...]] = []
    merged = task == CLASSES and results.spec.merged is not None
    for shift in (NO_FAULT, *([MERGED_ID] if merged else []), *results.shifts_of(task)):
        values = [mean_cell(results, kind, shift, task, measure) for kind in results.streams.kinds]
        known = [one.value for one in values if isinstance(one, Measure) and one.defined]
        cells: list[LookCell] = (
            [*map(Measure, np.quantile(known, (0, 0.25, 0.5, 0.75, 1)).tolist())] if known else [None] * 5
        )
        rows.append((shift, *cells, len(known)))
    figure = 12 if task == CLASSES else 13
    title = f"{begun(NAMES[task, measure])} over all networks (Figure {figure})"
    notes = [_merged_note(results)] if merged else []
    return Look(title, ("shift", *QUARTILES, "networks"), rows, tuple(notes), digits=DIGITS)
