"""What safety costs: decisions lost for hazards avoided, and time and memory for what a monitor is worth."""

from __future__ import annotations

from functools import partial

import pandas as pd
from markupsafe import Markup

from farm.comparing.conclusions import where
from farm.report.figures import trade_off, worth_against_cost
from farm.report.page.book import FigureBook
from farm.report.page.findings import OVERALL, Findings, ReportedSet
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection


def trade(found: Findings, book: FigureBook) -> PageSection | None:
    """Return the section."""
    made = [_category(found, book, name, sets) for name, sets in found.categories.items()]
    drawn = [one for one in made if one is not None]
    cost = _cost(found, book)
    if not drawn and cost is None:
        return None
    intro = tag(
        "p",
        "Safety gain is the share of decisions that were wrong and cancelled; availability cost the share "
        "that were right and cancelled. What the classifier gets wrong is the most that can be gained.",
    )
    body = join(intro if drawn else None, tag("div", drawn, class_="pair"), cost)
    return PageSection("trade", "Safety and its price", body)


def _category(found: Findings, book: FigureBook, name: str, sets: list[ReportedSet]) -> Markup | None:
    measures = ("availability_cost", "safety_gain")
    frame = pd.DataFrame(
        [
            {
                "monitor": m,
                **{each: found.mean(sets, each, m) for each in measures},
                "yardstick": m in found.yardsticks,
            }
            for m in found.monitors
        ]
    )
    if frame[list(measures)].isna().all(axis=None):
        return None
    errors = [error for one in sets if (error := _error_rate(one)) is not None]
    error_rate = sum(errors) / len(errors) if errors else float("nan")
    draw = partial(trade_off, frame, error_rate=error_rate)
    title = f"{where(name)}: safety gain against availability cost"
    return tag("div", tag("h3", where(name)), book.add(f"trade-{name}", draw, title))


def _error_rate(one: ReportedSet) -> float | None:
    """Return the share of wrong decisions, the mean over a set's runs, as gains and costs are."""
    known = [
        [r["classifier_accuracy"] for r in run.values() if r["classifier_accuracy"] is not None]
        for run in one.set.records
    ]
    rates = [1 - accuracies[0] for accuracies in known if accuracies]
    return sum(rates) / len(rates) if rates else None


def _cost(found: Findings, book: FigureBook) -> Markup | None:
    rows = []
    for monitor in found.monitors:
        records = [run[monitor] for one in found.sets for run in one.set.records if monitor in run]
        times = [r["monitor_time_us"]["median"] for r in records if r["monitor_time_us"]]
        sizes = [r["monitor_bytes"] for r in records if r["monitor_bytes"] is not None]
        rows.append(
            {
                "monitor": monitor,
                "time_us": pd.Series(times, dtype=float).median(),
                "nbytes": pd.Series(sizes, dtype=float).median(),
                "mcc": found.mean(found.sets, OVERALL, monitor),
            }
        )
    frame = pd.DataFrame(rows)
    if frame["mcc"].isna().all() or frame[["time_us", "nbytes"]].isna().all(axis=None):
        return None
    draw = partial(worth_against_cost, frame)
    caption = "Time: the median that a monitor adds an image (in batches: its share). Memory: what it keeps."
    drawn = book.add("cost", draw, "Overall MCC against time and memory of each monitor", caption)
    return join(tag("h3", "Time and memory"), drawn)
