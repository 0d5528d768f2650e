"""Tables on what can be made of a network's uncertainty: calibration, conformal sets, monitors, members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from farm.config.specs import NO_FAULT
from farm.judging.inspection import Look, LookCell
from farm.measures import Measure, undefined
from farm.protocols.uncertainty.asked import ENSEMBLE, VANILLA
from farm.protocols.uncertainty.cells import DIGITS, begun, mean_cell
from farm.protocols.uncertainty.compared import mean_of
from farm.protocols.uncertainty.measured import BOXES, CLASSES, Task
from farm.protocols.uncertainty.post_hoc import BOX_BANDS, ISOTONIC, OF_SCALED, SCALED, SETS
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.wording import NAMES, named
from farm.statistics.wording import listed


def calibrated(results: Results) -> Iterator[Look]:
    """Return calibration errors before and after scaling, shift by shift."""
    methods: list[tuple[Task, str, Sequence[str]]] = [(CLASSES, name, SCALED) for name in OF_SCALED]
    methods.append((BOXES, "ece", (ISOTONIC,)))
    for task, measure, how in methods:
        shifts = [NO_FAULT, *results.shifts_of(task)]
        rows = [
            (
                f"{named(kind)}{': ' + name if name else ''}",
                *(mean_cell(results, kind, shift, task, f"{measure} {name}".strip()) for shift in shifts),
            )
            for kind in results.streams.kinds
            for name in ("", *how)
        ]
        yield Look(
            f"{begun(NAMES[task, measure])} after calibration on validation data",
            ("network", *shifts),
            rows,
            ("Lower is better. Under a shift calibration promises nothing.",),
            digits=DIGITS,
        )


def conformal(results: Results) -> Iterator[Look]:
    """Return how often conformal sets and boxes hold what is right, and how large they are."""
    asked = f"{100 * results.spec.coverage:g} %"
    for task, what, size, title in (
        (CLASSES, SETS, "size", "Sets of classes"),
        (BOXES, BOX_BANDS, "width", "Boxes"),
    ):
        shifts, found = [NO_FAULT, *results.shifts_of(task)], results.coverages(what)
        rows: list[tuple[LookCell, ...]] = []
        for kind in results.streams.kinds:
            rows.append(
                (
                    f"{named(kind)}: coverage",
                    *(mean_cell(results, kind, s, task, f"coverage {what}") for s in shifts),
                )
            )
            rows.append(
                (
                    f"{named(kind)}: {size}",
                    *(mean_cell(results, kind, s, task, f"{size} {what}") for s in shifts),
                )
            )
            below = [
                sum(
                    had.falls_short for (network, at), had in found.items() if (network.kind, at) == (kind, s)
                )
                for s in shifts
            ]
            rows.append((f"{named(kind)}: falls short", *(_count(n, results) for n in below)))
        grouped = ""
        if task == CLASSES and results.spec.merged is not None:
            grouped = (
                " Where classes are merged, a set holds a group with any of its classes, and is so large."
            )
        notes = (
            f"Fitted on validation data to hold it in {asked}. Size is in classes, width in pixels.{grouped}",
            "It falls short where less is covered than chance has on data of the validation data's "
            "kind; by chance that is so in one of 20 such tables.",
        )
        yield Look(
            f"{title} that should hold what is right in {asked}",
            ("network", *shifts),
            rows,
            notes,
            digits=DIGITS,
        )


def _count(n: int, results: Results) -> LookCell:
    repetitions = len(results.streams.seeds)
    if repetitions == 1:
        return "yes" if n else "no"
    return f"{n} of {repetitions}"


def monitored(results: Results) -> Iterator[Look]:
    """Return what each network's uncertainty is worth as a monitor, shift by shift."""
    frame = results.monitors
    if frame.empty:
        return
    shifts = [name for name in results.spec.shift_names if name in set(frame["shift"])]
    notes = []
    single = [named(kind) for kind in results.streams.kinds if kind[1] == VANILLA]
    if single and results.spec.of_members:
        notes.append(
            f"{listed(results.spec.of_members)}: not there for {listed(single)}, since one network that runs "
            "once tells no spread."
        )
    shares = sorted({f"{100 * share:.0f} %" for share in frame["ood_share"]})
    of_share = (
        f"Of the images {listed(shares)} are shifted, which MCC depends on: it compares networks, and not "
        "one shift with another."
    )
    for measure, title in (
        ("auroc", "AUROC of the test data against a shift"),
        ("specific_mcc", "MCC of alarms on what is shifted"),
        ("overall_mcc", "MCC of alarms on what is predicted wrongly"),
    ):
        # How often the test data raise an alarm is the same whatever they are joined with, but for those
        # that are of merged classes alone.
        first = ["false_alarm_rate"] if measure == "auroc" else []
        whole = next((name for name in shifts if not results.spec.is_merged(name)), shifts[0])
        rows: list[tuple[LookCell, ...]] = []
        for kind in results.streams.kinds:
            own = frame[(frame["backbone"] == kind[0]) & (frame["variant"] == kind[1])]
            for monitor in dict.fromkeys(own["monitor"]):
                asked = [(name, whole) for name in first] + [(measure, shift) for shift in shifts]
                of = own[own["monitor"] == monitor]
                cells = [_over_seeds(results, of.loc[of["shift"] == at, name].tolist()) for name, at in asked]
                rows.append((f"{named(kind)}: {monitor}", *cells))
        columns = ("monitor", *(["false alarms"] if first else []), *shifts)
        told = notes if first else [*notes, of_share]
        yield Look(f"Is the uncertainty a good monitor? {title}", columns, rows, tuple(told))


def _over_seeds(results: Results, values: list[Measure]) -> LookCell:
    return mean_of(values, len(results.streams.seeds)) if values else None


def members(results: Results) -> Look:
    """Return how far the single networks of ensembles differ among themselves, on the test data."""
    frame = results.members
    rows: list[tuple[LookCell, ...]] = []
    for backbone in dict.fromkeys(frame["backbone"]):
        for task, measure in ((CLASSES, "accuracy"), (CLASSES, "ece"), (BOXES, "mae"), (BOXES, "iou")):
            own = frame[
                (frame["backbone"] == backbone) & (frame["task"] == task) & (frame["measure"] == measure)
            ]
            values = [one.value for one in own["value"]]
            known = len(values) > 1 and not np.isnan(values).any()
            why = undefined("not all members are there, or one has no value")
            cells: list[LookCell] = [why] * 4
            if known:
                spread = float(
                    own.groupby("seed")["value"]
                    .agg(lambda each: np.std([v.value for v in each], ddof=1))
                    .mean()
                )
                cells = [Measure(one) for one in (float(np.mean(values)), spread, min(values), max(values))]
            ensemble = mean_cell(results, (backbone, ENSEMBLE), NO_FAULT, task, measure)
            rows.append((f"{backbone}, {NAMES[task, measure]}", *cells, ensemble))
    columns = ("of", "mean", "standard deviation", "least", "greatest", "ensemble")
    notes = (
        "Networks of one ensemble differ by their random numbers; standard deviations are within ensembles.",
    )
    return Look("The members of ensembles, one by one", columns, rows, notes, digits=DIGITS)
