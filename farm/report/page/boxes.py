"""What a page tells of a classifier's boxes: measures, a few images with them, and their calibration."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from markupsafe import Markup

from farm.api.arrays import BoolArray
from farm.measures.boxes import BOX_ECE, BOX_IOU, BOX_MAE, BOX_NLL, LOCALIZATION, Boxes
from farm.measures.localization import iou
from farm.report.figures import BoxedImage, box_reliability, boxes_on_images
from farm.report.page.book import FigureBook
from farm.report.page.findings import ReportedRun
from farm.report.page.html import join, tag

SHOWN = 4
"""Images of clean ones, and as many of faulty ones."""
WORDS = {
    BOX_MAE: "{:.3g} pixels off a side",
    BOX_IOU: "IoU {:.3f}",
    BOX_NLL: "negative log-likelihood {:.3g}",
    BOX_ECE: "calibration error {:.3f}",
}


def of_boxes(name: str, run: ReportedRun, clean: BoolArray, book: FigureBook) -> Markup | None:
    """Return what a run's classifier says of where objects are, on its clean images; None without boxes."""
    every = run.judged.table.boxes
    if every is None:
        return None
    boxes, figures = every.take(clean), []
    if images := list(_images(run, every)):
        title = f"Where {name} sees objects"
        caption = "Clean images come first, and then faulty ones."
        figures.append(book.add(f"boxes-{name}", partial(boxes_on_images, images), title, caption))
    if boxes.spread is not None and boxes.measure(BOX_ECE).defined:
        caption = (
            "On the diagonal boxes are as often off as their spread says. A line flatter than it is too sure."
        )
        draw = partial(box_reliability, boxes.tables())
        figures.append(book.add(f"box-reliability-{name}", draw, f"Calibration of boxes of {name}", caption))
    told = tag("p", _measured(boxes, run.judged.table.image_size))
    return join(told, tag("div", figures, class_="pair") if figures else None)


def _measured(boxes: Boxes, size: tuple[int, int] | None) -> str:
    """Say what boxes are worth, and once why something has no value."""
    found = boxes.measures()
    of = f" of {size[0]} x {size[1]}" if size else ""
    told = [WORDS[name].format(found[name].value) for name in LOCALIZATION if found[name].defined]
    why = dict.fromkeys(str(found[name].reason) for name in LOCALIZATION if not found[name].defined)
    values = f"Boxes on {len(boxes):,} clean images{of} pixels: {', '.join(told)}." if told else ""
    reasons = f"Of boxes not all can be told: {'; '.join(why)}." if why else ""
    return " ".join(filter(None, (values, reasons)))


def _images(run: ReportedRun, boxes: Boxes) -> Iterator[BoxedImage]:
    """Return samples that the run kept, clean ones first."""
    table, pictures = run.judged.table, run.pictures
    if pictures is None or table.image_size is None:
        return
    rows = {int(position): row for row, position in enumerate(table.position.tolist())}
    for why in ("id", "ood"):
        own = pictures.shown[(pictures.shown["why"] == why) & (pictures.shown["rank"] < SHOWN)]
        once = own.drop_duplicates("rank").sort_values("rank")
        for picture, position in zip(once["picture"], once["position"], strict=True):
            row = rows[int(position)]
            overlap = float(iou(boxes.predicted[[row]], boxes.target[[row]])[0])
            word = run.class_name(int(table.predicted[row]))
            says = (
                f"{word}, {boxes.lost[row] or 'no box'}"
                if np.isnan(overlap)
                else f"{word}, IoU {overlap:.2f}"
            )
            pixels = np.asarray(pictures.images[int(picture)])
            yield BoxedImage(pixels, table.image_size, boxes.target[row], boxes.predicted[row], says)
