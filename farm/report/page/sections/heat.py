"""The heat map: monitors by faults, any of several measures, each value leading to its cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from markupsafe import Markup

from farm.comparing.measures import measured
from farm.comparing.sets import NO_SEVERITY
from farm.report.cells import DASH, number, percent
from farm.report.figures import heat_colour, heat_map
from farm.report.page.book import FigureBook
from farm.report.page.findings import OVERALL, Findings, ReportedSet
from farm.report.page.html import join, slug, tag
from farm.report.page.section import PageSection
from farm.report.page.tables import Cell, table

STEPS = 20
"""Shades of a measure's colours."""


@dataclass(frozen=True)
class Shown:
    """A measure of the heat map: what it is called, and what it means."""

    name: str
    title: str
    meaning: str
    in_percent: bool = False


SHOWN = (
    Shown(OVERALL, "overall MCC", "does cancelling help? 1 is perfect, 0 is chance"),
    Shown("specific.mcc", "specific MCC", "are faulty images found? 1 is perfect, 0 is chance"),
    Shown("auroc", "AUROC", "are faulty images found, whatever the threshold? 0.5 is chance"),
    Shown("specific.fpr", "false alarms", "share of clean images that raise an alarm, in %", in_percent=True),
    Shown("specific.fnr", "missed faults", "share of faulty images that raise none, in %", in_percent=True),
    Shown("accepted_accuracy", "right if accepted", "share of right decisions, in %", in_percent=True),
    Shown("coverage", "accepted", "share of decisions that are accepted, in %", in_percent=True),
)


def heat(found: Findings, book: FigureBook) -> PageSection | None:
    """Return the section, a table a measure; which one shows is chosen without a script."""
    shown = [one for one in SHOWN if _has_values(found, one)]
    if not shown or not found.monitors:
        return None
    severities = _severities(found.cells)
    body = join(
        tag("p", "Each row is a fault, each column a monitor. A value leads to the details of that cell."),
        tag(
            "div",
            _choice("measure", "Measure", [(one.title, slug(one.title)) for one in shown]),
            _choice("severity", "Severity", [("all", "all"), *((each, slug(each)) for each in severities)])
            if len(severities) > 1
            else None,
            tag("style", Markup(_rules(shown, severities))),
            [_panel(found, one) for one in shown],
            class_="heat",
        ),
        _drawn(found, book),
    )
    return PageSection("heat", "All faults", body)


def heat_rules() -> str:
    """Return the colours of all shades as rules of a style sheet."""
    rules = []
    for step in range(STEPS + 1):
        back, ink = heat_colour(step / STEPS, 0.0, 1.0)
        rules.append(f".heat td.h{step}{{background:{back};color:{ink}}}")
    return "".join(rules)


def _has_values(found: Findings, one: Shown) -> bool:
    values = (each.value(one.name, m) for each in found.cells for m in found.monitors)
    return any(not math.isnan(value) for value in values)


def _severities(sets: Sequence[ReportedSet]) -> list[str]:
    names = {one.set.severity for one in sets} - {NO_SEVERITY}
    return sorted(names, key=_as_number)


def _as_number(name: str) -> tuple[bool, float, str]:
    """Order severities as numbers, and what is none behind."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name


def _choice(name: str, legend: str, options: Sequence[tuple[str, str]]) -> Markup:
    radios = [
        tag(
            "label",
            tag("input", type="radio", name=f"heat-{name}", id=f"heat-{name}-{key}", checked=not place),
            f" {title}",
        )
        for place, (title, key) in enumerate(options)
    ]
    return tag("fieldset", tag("legend", legend), radios, class_="choice")


def _rules(shown: Sequence[Shown], severities: Sequence[str]) -> str:
    """Return the rules that show what is chosen: a panel of a measure, rows of a severity."""
    rules = [
        f".heat:has(#heat-measure-{slug(one.title)}:checked) .panel.of-{slug(one.title)}{{display:block}}"
        for one in shown
    ]
    rules += [
        f".heat:has(#heat-severity-{key}:checked) tbody tr:not(.severity-{key}){{display:none}}"
        for key in map(slug, severities)
    ]
    return "".join(rules)


def _panel(found: Findings, one: Shown) -> Markup:
    """Return the table of one measure: categories together, the hardest faults first."""
    better = "higher is better" if measured(one.name).higher_is_better else "lower is better"
    rows: list[list[Cell]] = []
    attributes: list[dict[str, object]] = []
    for category, sets in found.categories.items():
        for each in sorted(sets, key=lambda own: _mean(found, own, one)):
            name = tag("a", found.label(each), href=f"#{each.id}")
            rows.append([Cell(name, category), *(_cell(each, one, monitor) for monitor in found.monitors)])
            attributes.append({"class_": f"severity-{slug(each.set.severity)}"})
    made = table(
        ["fault", *found.monitors],
        rows,
        caption=f"{one.title}: {one.meaning} ({better})",
        of_rows=attributes,
    )
    return tag("div", made, class_=f"panel of-{slug(one.title)}")


def _mean(found: Findings, each: ReportedSet, one: Shown) -> float:
    values = [each.value(one.name, m) for m in found.monitors if m not in found.yardsticks]
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return math.inf
    return float(np.mean(known)) * (1 if measured(one.name).higher_is_better else -1)


def _cell(each: ReportedSet, one: Shown, monitor: str) -> Cell:
    value = each.value(one.name, monitor)
    if math.isnan(value):
        why = each.why_not(one.name, monitor)
        return Cell(tag("abbr", DASH, title=why, tabindex="0", aria_label=f"none: {why}"))
    told = percent(value) if one.in_percent else number(value)
    # An MCC below 0 is as useless as 0.
    share = value if measured(one.name).higher_is_better else 1.0 - value
    step = round(STEPS * min(max(share, 0.0), 1.0))
    return Cell(tag("a", told, href=f"#{each.id}"), value=round(value, 4), colour=f"h{step}")


def _drawn(found: Findings, book: FigureBook) -> Markup:
    """Return the same as a picture, for papers and slides."""
    ordered = [each for sets in found.categories.values() for each in sets]
    values = pd.DataFrame(
        [[each.value(OVERALL, m) for m in found.monitors] for each in ordered],
        index=[found.label(each) for each in ordered],
        columns=list(found.monitors),
    )
    draw = partial(heat_map, values, measure="overall MCC", low=0.0, high=1.0)
    drawn = book.add("heat", draw, "Overall MCC of each monitor on each fault, as in the table above")
    return tag("details", tag("summary", "The same as a picture"), drawn)
