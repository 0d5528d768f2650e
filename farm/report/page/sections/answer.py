"""The answer, first and in plain words: which monitor helps, how surely, where it is worst, what failed."""

from __future__ import annotations

import math
from collections.abc import Iterator

from markupsafe import Markup

from farm.comparing.conclusions import where
from farm.gate.answer import Answer
from farm.report.cells import number
from farm.report.page.book import FigureBook
from farm.report.page.findings import OVERALL, Findings, ReportedSet
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection
from farm.statistics.wording import listed

MOST_FAILURES = 20
SHORT = {
    "good": "{} surely helps on",
    "fair": "{} seems to help, not surely, on",
    "bad": "surely no monitor helps on",
    "open": "no monitor is shown to help on",
    "unknown": "nothing tells whether any monitor helps on",
}


def answer(found: Findings, book: FigureBook) -> PageSection:  # noqa: ARG001 - it draws nothing
    """Return the section that people read if they read one."""
    body = join(
        tag("p", _question(found), class_="lead"),
        _short(found),
        tag("div", [_card(found, one) for one in found.answers], class_="cards"),
        _untold(found),
        _failed(found),
        _warned(found),
    )
    return PageSection("answer", "Answer", body)


def _question(found: Findings) -> str:
    names = dict.fromkeys(one.set.classifier for one in found.sets if one.run.run.get("classifier"))
    classifiers = " ".join(["classifier", listed(list(names))] if names else ["classifier"])
    workloads = listed(list(dict.fromkeys(one.set.workload for one in found.sets)))
    return (
        f"Does a safety monitor make the {classifiers} on {workloads} safer, against which "
        "faults, how surely, and at what cost?"
    )


def _short(found: Findings) -> Markup | None:
    """Return the answers in a line, where there are several."""
    if len(found.answers) < 2:
        return None
    groups: dict[str, list[str]] = {}
    for one in found.answers:
        kind, _ = _verdict(one)
        groups.setdefault(SHORT[kind if one.helps is not None else "unknown"].format(one.monitor), []).append(
            one.category
        )
    told = "; ".join(f"{what} {listed(categories)}" for what, categories in groups.items())
    return tag("p", tag("strong", f"In short: {told}."), class_="lead")


def _card(found: Findings, one: Answer) -> Markup:
    kind, told = _verdict(one)
    begin, colon, rest = one.sentence.partition(". ")
    return tag(
        "article",
        tag("h3", where(one.category), tag("span", told, class_=f"badge {kind}")),
        tag("p", tag("strong", begin + "." * bool(colon)), f" {rest}"),
        _worst(found, one),
        class_=f"card {kind}",
    )


def _verdict(one: Answer) -> tuple[str, str]:
    """Return how an answer looks, and what it is in few words."""
    if one.helps is None:
        return "open", "not known"
    if one.helps:
        return ("good", "surely helps") if one.sure else ("fair", "seems to help")
    return ("bad", "surely does not help") if one.sure else ("open", "not shown to help")


def _worst(found: Findings, one: Answer) -> Markup | None:
    """Say on which fault the best monitor is worst."""
    sets = found.categories.get(one.category)
    if one.monitor is None or not sets:
        return None
    known = [(each.value(OVERALL, one.monitor), each) for each in sets]
    valued: list[tuple[float, ReportedSet]] = [pair for pair in known if not math.isnan(pair[0])]
    if len(sets) < 2 or not valued:
        return tag("p", tag("a", "Look closer", href=f"#{sets[0].id}"))
    value, worst = min(valued, key=lambda pair: pair[0])
    return tag(
        "p",
        f"It is worst on {found.label(worst)}: overall MCC {number(value)}. ",
        tag("a", "Look closer", href=f"#{worst.id}"),
    )


def _untold(found: Findings) -> Markup | None:
    """Say which monitors can be told apart, and which cannot."""
    if not found.cells:
        return None
    items = [tag("li", one.sentence) for one in found.conclusions[OVERALL]]
    return join(tag("h3", "Which monitors can be told apart, by overall MCC"), tag("ul", items))


def _failed(found: Findings) -> Markup | None:
    items = [tag("li", tag("strong", what), f": {why}") for what, why in found.failures[:MOST_FAILURES]]
    if (more := len(found.failures) - MOST_FAILURES) > 0:
        items.append(tag("li", f"and {more} more"))
    if found.unfinished:
        items.append(tag("li", f"{found.unfinished}."))
    if not items:
        return None
    return tag("div", tag("h3", "What failed"), tag("ul", items), class_="warning", id="failed")


def _warned(found: Findings) -> Markup | None:
    if not found.warnings:
        return None
    return tag(
        "div",
        tag("h3", "The classifier may not be what was meant"),
        tag("ul", list(_once(found))),
        class_="warning",
    )


def _once(found: Findings) -> Iterator[Markup]:
    """Return each warning with the runs that it is true of."""
    told: dict[str, list[str]] = {}
    for folder, warning in found.warnings:
        told.setdefault(warning, []).append(folder)
    for warning, folders in told.items():
        yield tag("li", tag("strong", ", ".join(folders)), f": {warning}")
