"""How monitors fare as faults grow: a curve a monitor, a panel a fault."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd
from markupsafe import Markup

from farm.comparing.conclusions import where
from farm.report.figures import severity_curves
from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings, ReportedSet
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection

MOST_MONITORS = 6
"""More curves in a panel cannot be told apart; those that are best on the whole are drawn."""


def severity(found: Findings, book: FigureBook) -> PageSection | None:
    """Return the section, category by category; None where no fault has two severities."""
    drawn = [one for name, sets in found.categories.items() if (one := _category(found, book, name, sets))]
    if not drawn:
        return None
    told = "How many of the classifier's mistakes a monitor cancels as a fault grows."
    if all(len(one.set.streams) == 1 for one in found.cells):
        told += " Whiskers are 95 % intervals."
    if len(found.monitors) - len(found.yardsticks) > MOST_MONITORS:
        told += f" The {MOST_MONITORS} best monitors on the whole are drawn."
    return PageSection("severity", "Severity", join(tag("p", told), drawn))


def _monitors(found: Findings) -> list[str]:
    return [m for m in found.monitors if m not in found.yardsticks][:MOST_MONITORS] or list(
        found.monitors[:1]
    )


def _category(found: Findings, book: FigureBook, name: str, sets: Sequence[ReportedSet]) -> Markup | None:
    frame = pd.DataFrame(_rows(found, sets))
    if frame.empty:
        return None
    several = frame.groupby("faultload")["severity"].nunique()
    frame = frame[frame["faultload"].isin(several[several > 1].index)]
    if frame.empty:
        return None
    title = f"{where(name)}: share of wrong decisions that each monitor cancels, by severity"
    return join(
        tag("h3", where(name)),
        book.add(
            f"severity-{name}", partial(severity_curves, frame, measure="Wrong decisions cancelled"), title
        ),
    )


def _rows(found: Findings, sets: Sequence[ReportedSet]) -> Iterator[dict[str, object]]:
    for one in sets:
        try:
            level = float(one.set.severity)
        except ValueError:  # none, or a ramp
            continue
        around = {(each.set.workload, each.set.classifier) for each in found.sets}
        fault = one.set.faultload
        if len(around) > 1:
            fault = f"{fault} on {one.set.workload} with {one.set.classifier}"
        for monitor in _monitors(found):
            value = one.value("overall.recall", monitor)
            if math.isnan(value):
                continue
            low: float | None = None
            high: float | None = None
            if len(one.set.streams) == 1 and (record := one.record(monitor)):
                low, high = (
                    None if end is None else 1 - end
                    for end in (record["overall"]["fnr_high"], record["overall"]["fnr_low"])
                )
            yield {
                "faultload": fault,
                "severity": level,
                "monitor": monitor,
                "value": value,
                "low": float("nan") if low is None else low,
                "high": float("nan") if high is None else high,
            }
