"""The data: a card for each workload, with samples of its images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings, ReportedRun
from farm.report.page.html import join, tag
from farm.report.page.images import sample_row
from farm.report.page.section import PageSection
from farm.report.page.tables import Cell, table


def data(found: Findings, book: FigureBook) -> PageSection | None:  # noqa: ARG001 - it draws nothing
    """Return the section: the first run of each workload tells of it."""
    first: dict[str, ReportedRun] = {}
    for one in found.sets:
        if {"hash", "card"} & set(one.run.run.get("workload") or ()):
            first.setdefault(one.set.workload, one.run)
    if not first:
        return None
    return PageSection("data", "The data", join([_card(name, run) for name, run in first.items()]))


def _card(name: str, run: ReportedRun) -> Markup:
    noted = run.run["workload"]
    card: Mapping[str, Any] = noted.get("card") or {}
    lines = []
    if card:
        channels, height, width = card["shape"]
        colour = "grey" if channels == 1 else "colour"
        lines.append(
            f"{len(card['classes'])} classes, images of {height} x {width} pixels (height x width), {colour}."
        )
        lines.append(f"Boxes: {'yes' if card['boxes'] else 'no'}; masks: {'yes' if card['masks'] else 'no'}.")
        lines += [f"Condition {key}: {_spread(spread)}." for key, spread in card["conditions"].items()]
    lines += [f"{key}: {value}" for key, value in (noted.get("notes") or {}).items()]
    return join(
        tag("h3", name),
        tag("p", " ".join(lines)),
        _splits(card, noted),
        _classes(card),
        _samples(run),
        tag("p", "Content hash: ", tag("code", noted.get("hash") or "not noted"), class_="note"),
    )


def _spread(spread: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in spread.items()
    )


def _splits(card: Mapping[str, Any], noted: Mapping[str, Any]) -> Markup | None:
    if not card:
        sizes = noted.get("sizes") or {}
        return tag("p", ", ".join(f"{n:,} {name} images" for name, n in sizes.items())) if sizes else None
    rows = [
        [
            Cell(each["name"]),
            *(
                Cell(f"{each[key]:,}", value=each[key])
                for key in ("images", "groups", "classes", "identical")
            ),
        ]
        for each in card["splits"]
    ]
    return table(
        ["split", "images", "groups", "classes", "identical images"],
        rows,
        caption="Splits share no group and no image.",
    )


def _classes(card: Mapping[str, Any]) -> Markup | None:
    if not card:
        return None
    rows = [
        [
            Cell(each["name"]),
            *(Cell(f"{each[split]:,}", value=each[split]) for split in ("train", "validation", "test")),
        ]
        for each in card["classes"]
    ]
    made = table(["class", "train", "validation", "test"], rows, caption="Images of each class")
    return tag("details", tag("summary", f"Images of each of the {len(rows)} classes"), made)


def _samples(run: ReportedRun) -> Markup | None:
    kept = run.pictures
    if kept is None:
        return None
    chosen = kept.shown[kept.shown["why"] == "id"]
    judged = run.judged.table
    rows = {int(position): row for row, position in enumerate(judged.position.tolist())}
    names = [run.class_name(int(judged.label[rows[int(position)]])) for position in chosen["position"]]
    if not names:
        return None
    images = [np.asarray(kept.images[int(row)]) for row in chosen["picture"]]
    return join(tag("h4", "Samples: test images as the stream had them"), sample_row(images, names))
