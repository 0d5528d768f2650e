"""How to repeat it: the exact experiment, where it ran, and the command that runs it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

import yaml
from markupsafe import Markup

from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection
from farm.report.page.tables import Cell, table

MOST_RUNS = 200


def repeat(found: Findings, book: FigureBook) -> PageSection:  # noqa: ARG001 - it draws nothing
    """Return the section."""
    return PageSection(
        "repeat", "How to repeat it", join(_runs(found), _environment(found), _experiment(found))
    )


def _runs(found: Findings) -> Markup:
    rows = []
    for one in found.runs[:MOST_RUNS]:
        run = one.run
        again = None
        if run.get("experiment") is not None:
            again = tag("code", f"farm run {shlex.quote(f'{one.folder}/run.json')}")
        n = len(one.judged.table)
        seed, seconds = run.get("seed"), run.get("seconds")
        rows.append(
            [
                Cell(one.title, "" if one.title == one.folder else one.folder),
                Cell(f"{n:,}", value=n),
                Cell("" if seed is None else seed, value=seed),
                Cell("" if seconds is None else f"{seconds:.0f} s", value=seconds),
                Cell(again or "a log"),
            ]
        )
    repeatable = any(one.run.get("experiment") is not None for one in found.runs)
    told = "Each run can be repeated by itself, and says whether it gave the same, bit for bit."
    more = len(found.runs) - MOST_RUNS
    return join(
        tag("p", told) if repeatable else None,
        table(["run", "instances", "seed", "took", "repeat it with"], rows, caption="Runs on this page"),
        tag("p", f"and {more:,} more runs", class_="note") if more > 0 else None,
    )


def _environment(found: Findings) -> Markup | None:
    """Return where the runs were computed; what differs between them is told with all its values."""
    told: dict[str, dict[str, None]] = {}
    for one in found.runs:
        for name, value in _surroundings(one.run):
            told.setdefault(name, {})[value] = None
    if not told:
        return None
    rows = [[Cell(name), Cell("; ".join(values))] for name, values in told.items()]
    return join(
        tag("h3", "Environment"),
        table(["what", "value"], rows, caption="Where the runs were computed", sorts=False),
    )


def _surroundings(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = [(name, str(value)) for name, value in (run.get("versions") or {}).items() if value is not None]
    found += [(name, str(value)) for name, value in (run.get("hardware") or {}).items() if value is not None]
    if engine := (run.get("classifier") or {}).get("engine"):
        found.append(("engine", engine["name"] + (f" ({engine['reason']})" if engine["reason"] else "")))
    found += [
        (title, str(run[key]))
        for key, title in (
            ("threads", "threads"),
            ("batch_size", "images in a batch"),
            ("testbed_commit", "commit of the testbed"),
            ("experiment_commit", "commit of the experiment"),
        )
        if run.get(key) is not None
    ]
    return found


def _experiment(found: Findings) -> Markup | None:
    """Return what was run as YAML: a campaign as it was asked for, else the first run with all defaults."""
    campaigns = list(found.campaigns)
    made = [one.run["experiment"] for one in found.runs if one.run.get("experiment") is not None]
    if not campaigns and not made:
        return None
    if campaigns:
        title = "The campaign: save it as a file, and run that"
    elif len({json.dumps(one, sort_keys=True) for one in made}) == 1:
        title = "The experiment, with all defaults"
    else:
        title = "The experiment of the first run, with all defaults"
    text = "---\n".join(
        yaml.safe_dump(dict(one), sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)
        for one in campaigns or made[:1]
    )
    return join(tag("h3", title), tag("pre", tag("code", text), tabindex="0"))
