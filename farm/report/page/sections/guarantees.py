"""What calibrations promised, and what became of it: kept, broken, or void under a fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from farm.comparing.guarantees import realised_over
from farm.judging.promises import ID
from farm.report.guarantees import (
    COLUMNS,
    ON_ID,
    TITLE,
    VOID,
    beside,
    bound,
    by_promise,
    counted,
    entries,
    happened,
    promised,
    realised,
    why,
)
from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection
from farm.report.page.tables import Cell, table

VERDICTS = {"kept": "good", "broken": "bad"}
"""How a verdict looks; any other is open."""


def guarantees(found: Findings, book: FigureBook) -> PageSection | None:  # noqa: ARG001 - it draws nothing
    """Return the section; None where no monitor has a guarantee."""
    told = entries(realised_over([one.judged for one in found.runs]))
    if not told:
        return None
    rows, faults = by_promise(told)
    on_data = [own[ID] for own in rows]
    body = join(
        tag("p", _short(on_data), class_="lead"),
        _sentences(on_data),
        _broken(on_data),
        table(COLUMNS, [_on_id(each) for each in on_data], caption="Promised, and realised on ID instances"),
        [tag("p", note, class_="note") for note in beside(on_data)],
        tag("p", ON_ID, class_="note"),
        table(
            ("monitor", *faults),
            [_under_faults(own, faults) for own in rows],
            caption=f"{VOID}; in per cent",
        )
        if faults
        else None,
    )
    return PageSection("guarantees", TITLE, body)


def _short(on_data: Sequence[Mapping[str, Any]]) -> str:
    """Say how many promises are kept and how many are not."""
    verdicts = [each["verdict"] for each in on_data]
    n = len(verdicts)
    counts = {name: verdicts.count(name) for name in ("kept", "broken", "unknown")}
    words = {"kept": "not contradicted", "broken": "surely broken", "unknown": "not known"}
    told = ", ".join(f"{count} {words[name]}" for name, count in counts.items() if count)
    return f"Of {n} promise{'' if n == 1 else 's'} about ID instances: {told}."


def _sentences(on_data: Sequence[Mapping[str, Any]]) -> Markup:
    """Say in plain words what was promised, once for all monitors that promise the same."""
    said: dict[str, dict[str, None]] = {}
    for each in on_data:
        said.setdefault(each["guarantee"], {})[each["monitor"]] = None
    items = [
        tag("li", tag("strong", ", ".join(monitors)), f": {sentence}.") for sentence, monitors in said.items()
    ]
    return join(tag("h3", "What was promised"), tag("ul", items))


def _broken(on_data: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Say why promises are broken, or not known to be kept."""
    items = [tag("li", note) for note in map(why, on_data) if note]
    return (
        tag("div", tag("h3", "Not kept, or not known"), tag("ul", items), class_="warning") if items else None
    )


def _on_id(each: Mapping[str, Any]) -> list[Cell]:
    return [
        Cell(each["monitor"]),
        Cell(promised(each)),
        Cell(bound(each), value=each["at_most"]),
        _share(each),
        Cell(counted(each), value=each["n_units"]),
        Cell(tag("span", each["verdict"], class_=f"badge {VERDICTS.get(each['verdict'], 'open')}")),
    ]


def _under_faults(own: Mapping[str, Mapping[str, Any]], faults: Sequence[str]) -> list[Cell]:
    name = Cell(own[ID]["monitor"], happened(own[ID]))
    return [name, *(_share(own.get(fault)) for fault in faults)]


def _share(each: Mapping[str, Any] | None) -> Cell:
    """Write a share in per cent, where there is one."""
    return Cell(*realised(each), None if each is None else each["value"])
