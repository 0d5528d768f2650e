"""Ranks by category of faults: critical-difference diagrams, overall and specific side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import pandas as pd
from markupsafe import Markup

from farm.comparing.conclusions import ALL, Conclusion, where
from farm.report.figures import critical_difference, specific_and_overall
from farm.report.page.book import FigureBook
from farm.report.page.findings import OVERALL, SPECIFIC, Findings, ReportedSet
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection
from farm.statistics.table import Undefined

TASKS = {OVERALL: "Overall: does cancelling help?", SPECIFIC: "Specific: are faulty images found?"}
_ENDS = ("mcc", "mcc_low", "mcc_high")


def ranks(found: Findings, book: FigureBook) -> PageSection | None:
    """Return the section, category by category, all sets last."""
    groups = dict(found.categories)
    if len(groups) > 1:
        groups[ALL] = list(found.sets)
    made = [_category(found, book, name, sets) for name, sets in groups.items()]
    intro = tag(
        "p",
        "A monitor may find faulty images well and still not help, where the classifier is right on them all "
        "the same. So each category is told twice.",
    )
    if not any(made):
        return None
    return PageSection("ranks", "Finding and helping", join(intro, made))


def _category(found: Findings, book: FigureBook, name: str, sets: Sequence[ReportedSet]) -> Markup | None:
    frame = _frame(found, sets)
    if frame.empty:
        return None
    draw = partial(specific_and_overall, frame)
    interval = "lines are 95 % intervals" if len(sets) == 1 else f"means over {len(sets)} sets"
    both = book.add(
        f"both-{name}",
        draw,
        f"{where(name)}: specific and overall MCC of each monitor",
        f"MCC: 1 is perfect, 0 is chance; {interval}.",
    )
    diagrams = [
        _diagram(book, task, one)
        for task in TASKS
        for one in found.conclusions[task]
        if one.category == name and len(sets) > 1
    ]
    return join(tag("h3", where(name)), both, tag("div", diagrams, class_="pair") if diagrams else None)


def _diagram(book: FigureBook, task: str, one: Conclusion) -> Markup:
    heading = tag("h4", TASKS[task])
    if isinstance(one.ranks, Undefined):
        return tag(
            "div", heading, tag("p", one.sentence), tag("p", f"No ranks: {one.ranks.reason}.", class_="note")
        )
    kind = task.partition(".")[0]
    draw = partial(critical_difference, one.ranks, about=one.category)
    drawn = book.add(
        f"ranks-{one.category}-{kind}", draw, f"Mean ranks of the monitors by {kind} MCC: {one.sentence}"
    )
    if one.ranks.too_few:
        return tag("details", tag("summary", f"{TASKS[task]} Mean ranks over too few sets to tell"), drawn)
    return tag("div", heading, drawn, tag("p", one.sentence))


def _frame(found: Findings, sets: Sequence[ReportedSet]) -> pd.DataFrame:
    """Return both MCCs of each monitor; of a single set with its intervals."""
    rows = []
    for monitor in found.monitors:
        row: dict[str, object] = {"monitor": monitor}
        record = sets[0].record(monitor) if len(sets) == 1 and len(sets[0].set.streams) == 1 else None
        for task in ("specific", "overall"):
            known = (
                {"mcc": found.mean(sets, f"{task}.mcc", monitor)} if record is None else record[task] or {}
            )
            ends = [float("nan") if known.get(name) is None else known[name] for name in _ENDS]
            row |= dict(zip((task, f"{task}_low", f"{task}_high"), ends, strict=True))
        rows.append(row)
    frame = pd.DataFrame(rows)
    known = [not (math.isnan(row["specific"]) and math.isnan(row["overall"])) for _, row in frame.iterrows()]
    return frame[known]
