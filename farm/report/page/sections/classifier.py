"""The classifier itself, on clean images: is it as often right as it is sure, and what does it mix up?"""

from __future__ import annotations

from functools import partial

import numpy as np
from markupsafe import Markup

from farm.measures.calibration import reliability
from farm.report.cells import percent
from farm.report.figures import confusion
from farm.report.figures import reliability as reliability_figure
from farm.report.page.book import FigureBook
from farm.report.page.boxes import of_boxes
from farm.report.page.findings import Findings, ReportedRun
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection

MOST_CLASSES = 100
"""Of more no matrix can be read."""


def classifier(found: Findings, book: FigureBook) -> PageSection | None:
    """Return the section: the first run of each classifier on each workload."""
    first: dict[tuple[str, str], ReportedRun] = {}
    for one in found.sets:
        first.setdefault((one.set.workload, one.set.classifier), one.run)
    made = [_one(f"{name} on {workload}", run, book) for (workload, name), run in first.items()]
    drawn = [one for one in made if one is not None]
    if not drawn:
        return None
    return PageSection("classifier", "The classifier", join(drawn))


def _one(name: str, run: ReportedRun, book: FigureBook) -> Markup | None:
    table = run.judged.table
    rows = ~table.is_ood & ~table.unlabelled & (table.label >= 0)
    if not rows.any():
        return None
    label, predicted = table.label[rows], table.predicted[rows]
    right = label == predicted
    figures = []
    if run.confidence is not None:
        bins = reliability(run.confidence[rows], right)
        draw = partial(reliability_figure, bins)
        caption = (
            "On the diagonal a classifier is as often right as it says. Below it, it is too sure of itself."
        )
        figures.append(book.add(f"reliability-{name}", draw, f"Reliability of {name}", caption))
    if table.n_classes <= MOST_CLASSES:
        counts = np.zeros((table.n_classes, table.n_classes), dtype=np.int64)
        np.add.at(counts, (label, predicted), 1)
        # Classes are coded as they came; people look for them in their own order.
        order = np.argsort(table.classes, kind="stable")
        names = [run.class_name(int(code)) for code in order]
        draw = partial(confusion, counts[np.ix_(order, order)], names)
        figures.append(book.add(f"confusion-{name}", draw, f"What {name} mixes up"))
    told = f"{percent(float(right.mean()))} % of {int(rows.sum()):,} clean images are right ({run.folder})."
    boxes = of_boxes(name, run, ~table.is_ood, book)
    return join(tag("h3", name), tag("p", told), tag("div", figures, class_="pair"), boxes)
