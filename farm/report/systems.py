"""A comparison of whole systems for people, as a sentence and tables; for programs, as JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from farm.comparing.sets import NO_FAULT
from farm.comparing.systems import System, SystemComparison
from farm.comparing.systems.wording import notes, sentence
from farm.judging.inspection import Look, LookCell
from farm.measures import Bounded, Measure
from farm.report.frames import render_frame
from farm.report.looks import render_looks
from farm.statistics.wording import p_cell

TITLE = "Systems, in a thousand decisions"
DIGITS = 1
"""Behind the point, of what is counted in a thousand decisions."""
HEADINGS = {"hazard": "hazards", "acted": "acted upon", "fallback": "by a fallback", "cost": "cost"}


def render_systems(
    found: SystemComparison, format: str, *, table: str | None = None, width: int = 100
) -> str:
    """Write a comparison of systems as `table`, `json`, `csv`, `markdown` or `latex`.

    `table` is `values` or `pairs`, to have that one alone; of CSV it is `values` where none is named.
    """
    if format == "csv" or table:
        frame = found.pairs_frame if table == "pairs" else found.values_frame
        return render_frame(frame, format, title=TITLE, width=width)
    if format == "json":
        return json.dumps(to_record(found), indent=2, allow_nan=False) + "\n"
    return render_looks([Look(sentence(found), (), []), *system_looks(found)], format, width=width)


def system_looks(found: SystemComparison) -> Iterator[Look]:
    """Return the tables: systems, their differences, and what they do fault by fault."""
    priced = [name for name in HEADINGS if found.by == "cost" or name != "cost"]
    rows: list[tuple[LookCell, ...]] = [
        (
            one.design.name,
            *(one.value(name) for name in priced),
            one.design.policy or "",
            one.design.fallback or "",
        )
        for one in found.systems
    ]
    columns = ("system", *(HEADINGS[name] for name in priced), "policy", "fallback")
    systems = Look(TITLE, columns, rows, tuple(notes(found)), DIGITS)
    # What a system without a value lacks is among the notes.
    yield replace(systems, rows=[row for row, one in zip(rows, found.systems, strict=True) if _valued(one)])
    measures = dict.fromkeys(each.measure for each in found.pairs)
    for name in measures:
        pairs = [each for each in found.pairs if each.measure == name]
        rows = [(f"{one.first} - {one.second}", one.difference, _p(one.p)) for one in pairs]
        title = f"Differences of {HEADINGS[name]} in a thousand decisions"
        yield Look(title, ("systems", "difference", "p"), rows, (), DIGITS)
    valued = [one for one in found.systems if _valued(one)]
    for name in measures:
        rows = [
            (fault, *(one.by_fault.get(fault, {}).get(name) for one in valued))
            for fault in (NO_FAULT, *found.faults)
            if any(fault in one.by_fault for one in valued)
        ]
        columns = ("instances", *(one.design.name for one in valued))
        title = f"{HEADINGS[name].capitalize()} in a thousand decisions under each fault alone"
        yield Look(title, columns, rows, (), DIGITS)


def _valued(one: System) -> bool:
    return one.hazard.value.defined


def _p(p: Measure) -> LookCell:
    return p_cell(p.value) if p.defined else p


def to_record(found: SystemComparison) -> dict[str, Any]:
    """Return everything as JSON; what is undefined is null, and `undefined` says why."""
    return {
        "answer": sentence(found),
        "by": found.by,
        "alpha": found.alpha,
        "prevalence": found.prevalence,
        "share": found.share,
        "n": found.n,
        "tracks": found.n_tracks,
        "replicates": found.replicates,
        "systems": [
            {
                "design": asdict(one.design),
                **{name: _bounded(each) for name in HEADINGS if (each := one.value(name)) is not None},
                "by_fault": {fault: _all_bounded(own) for fault, own in one.by_fault.items()},
            }
            for one in found.systems
        ],
        "differences": [
            {
                "measure": each.measure,
                "first": each.first,
                "second": each.second,
                **_bounded(each.difference),
                "p": each.p.json,
            }
            for each in found.pairs
        ],
        "notes": list(notes(found)),
    }


def _all_bounded(values: Mapping[str, Bounded]) -> dict[str, Any]:
    return {name: _bounded(each) for name, each in values.items()}


def _bounded(value: Bounded) -> dict[str, Any]:
    ends = {name: getattr(value, name) for name in ("value", "low", "high")}
    why = value.value.reason or value.low.reason
    return {name: each.json for name, each in ends.items()} | {"undefined": why}
