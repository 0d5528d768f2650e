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
from farm.report.page.findings import OVERALL, Findings, ReportedSet
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection

MOST_MONITORS = 6
"""More curves in a panel cannot be told apart; those that are best on the whole are drawn."""


def severity(found: Findings, book: FigureBook) -> PageSection | None:
    """Return the section, category by category; None where no fault has two severities."""
    drawn = [one for name, sets in found.categories.items() if (one := _category(found, book, name, sets))]
    if not drawn:
        return None
    monitors = _monitors(found)
    few = f" The {len(monitors)} best monitors are drawn." if len(monitors) < len(found.monitors) else ""
    return PageSection(
        "severity",
        "Severity",
        join(
            tag("p", f"Overall MCC as a fault grows; lines are 95 % intervals where there is one run.{few}"),
            drawn,
        ),
    )


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
    title = f"{where(name)}: overall MCC of the monitors by severity"
    return join(
        tag("h3", where(name)),
        book.add(f"severity-{name}", partial(severity_curves, frame, measure="overall MCC"), title),
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
            value = one.value(OVERALL, monitor)
            if math.isnan(value):
                continue
            low = high = float("nan")
            if len(one.set.streams) == 1 and (record := one.record(monitor)):
                low, high = (record["overall"][end] for end in ("mcc_low", "mcc_high"))
            yield {
                "faultload": fault,
                "severity": level,
                "monitor": monitor,
                "value": value,
                "low": float("nan") if low is None else low,
                "high": float("nan") if high is None else high,
            }
