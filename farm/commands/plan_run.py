"""What a run's own rates say: how sure they are, and how many more instances would make them surer."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from farm.measures import wilson
from farm.oracle import ORACLE
from farm.readouts import Readouts
from farm.records import judge
from farm.report.cells import DASH
from farm.statistics.planning import instances_for_half_width, onsets_for_delay_bound

KINDS = {"fpr": "ID", "fnr": "OOD"}
"""Which instances a rate is a share of."""


def of_run(folder: str, half_width: float | None, level: float) -> dict[str, Any]:
    """Give every rate of a run with its interval, and what it would take to narrow it."""
    readouts = Readouts.load(folder)
    records = judge(readouts.instances, readouts.alarms, {**readouts.run, "folder": folder})
    rates = [_planned(rate, half_width, level) for rate in _rates(records)]
    sentences = []
    if half_width is not None:
        sentences += [_needed(rates, measure, half_width, level) for measure in KINDS]
    return {
        "question": "run",
        "run": folder,
        "half_width": half_width,
        "level": level,
        "rates": rates,
        "sentences": [*sentences, *_along_time(records), *_grouped(readouts.instances)],
    }


def _rates(records: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give each monitor's FPR, once, and its FNR fault by fault: they compare across any shares of OOD."""
    judged = [r for r in records if r["part"] == "all" and r["monitor"] != ORACLE]
    # All groups share the ID instances.
    once = {record["monitor"]: record for record in judged}.values()
    for measure, of in (("fpr", once), ("fnr", judged)):
        for record in of:
            counts = record["specific"] or {}
            yield {
                "monitor": record["monitor"],
                "measure": measure,
                "faultload": record["faultload"] if measure == "fnr" else None,
                "severity": record["severity"] if measure == "fnr" else None,
                "wrong": counts.get("fp" if measure == "fpr" else "fn"),
                "right": counts.get("tn" if measure == "fpr" else "tp"),
                "reason": record["undefined"].get("specific"),
            }


def _planned(rate: Mapping[str, Any], half_width: float | None, level: float) -> dict[str, Any]:
    """Add a rate's interval, and how many more instances would make it narrow enough."""
    wrong, right = rate["wrong"], rate["right"]
    n = None if wrong is None else wrong + right
    found = {name: rate[name] for name in ("monitor", "measure", "faultload", "severity")} | {"n": n}
    unknown = dict.fromkeys(("value", "low", "high", "half_width", "more"))
    if not n:
        return found | unknown | {"reason": rate["reason"] or f"no {KINDS[rate['measure']]} instances"}
    low, high = (bound.value for bound in wilson(wrong, n, level))
    more = None if half_width is None else max(instances_for_half_width(half_width, wrong / n, level) - n, 0)
    known = {"value": wrong / n, "low": low, "high": high, "half_width": (high - low) / 2, "more": more}
    return found | known | {"reason": None}


def _needed(rates: Sequence[Mapping[str, Any]], measure: str, half_width: float, level: float) -> str:
    """Say how many more instances of a kind the rate that needs most of them asks for."""
    kind, so_well = KINDS[measure], within(half_width, level)
    own = [rate for rate in rates if rate["measure"] == measure and rate["more"] is not None]
    if not own:
        return f"No {measure.upper()} is known, so nothing can be said of how many {kind} instances it takes."
    most = max(own, key=lambda rate: int(rate["more"]))
    if not most["more"]:
        return f"Every {measure.upper()} is known {so_well}."
    what = f"{most['more']} more {kind} instances"
    if len({(rate["faultload"], rate["severity"]) for rate in own}) > 1:
        what = f"up to {what} a fault (most of {_fault(most)})"
    beside = f"beside the {most['n']} there are; {most['monitor']} needs most"
    return f"To know every {measure.upper()} {so_well}: {what}, {beside}."


def _along_time(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    delays = {r["monitor"]: r["detection_delay"] for r in records if r["part"] == "all"}
    for monitor, delay in delays.items():
        if delay is None or monitor == ORACLE:
            continue
        n, missed = delay["n"], delay["missed"]
        what = f"{monitor}'s detection delay (95 % of all, with 95 % confidence)"
        if missed > 0.05 * n:
            yield f"{what} has no bound: {missed} of {n} onsets were missed, more than it may leave out."
        elif (needed := onsets_for_delay_bound(missed)) > n:
            but = "if none is missed" if not missed else f"if no more than those {missed} are missed"
            yield f"To bound {what}: {needed - n} more onsets beside the {n} there are, {but}."


def _grouped(instances: pd.DataFrame) -> list[str]:
    """Say where instances come in tracks: neighbouring frames tell less than as many images on their own."""
    n, tracks = len(instances), instances["track"].nunique() if "track" in instances else len(instances)
    if tracks == n:
        return []
    return [
        f"The {n} instances come from {tracks} tracks. Those of one track are alike, so the true intervals "
        "are wider than these; plan for more instances, and for new tracks."
    ]


def print_rates(rates: Sequence[Mapping[str, Any]], half_width: float | None) -> None:
    """Print a line for each rate."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for heading in ("monitor", "rate", "fault"):
        table.add_column(heading, overflow="fold")
    headings = ["instances", "seen %", "interval %", "±", "more needed"]
    for heading in headings if half_width is not None else headings[:-1]:
        table.add_column(heading, justify="right", overflow="fold")
    for rate in rates:
        cells = [rate["monitor"], rate["measure"].upper(), _fault(rate) if rate["measure"] == "fnr" else ""]
        if rate["value"] is None:
            table.add_row(*cells, str(rate["n"] or 0), DASH, rate["reason"])
            continue
        value, low, high, half = (
            f"{100 * rate[name]:.2f}" for name in ("value", "low", "high", "half_width")
        )
        cells += [str(rate["n"]), value, f"{low}{DASH}{high}", half]
        table.add_row(*cells, *([] if rate["more"] is None else [str(rate["more"])]))
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    Console(file=sys.stdout, highlight=False, width=width).print(table)


def _fault(rate: Mapping[str, Any]) -> str:
    severity = "" if rate["severity"] is None else f" {rate['severity']:g}"
    return f"{rate['faultload'] or ''}{severity}"


def within(half_width: float, level: float) -> str:
    """Say how well a rate is to be known."""
    return f"to within ±{100 * half_width:g} percentage points ({percent(level)} Wilson interval)"


def percent(share: float) -> str:
    """Write a share in per cent.

    Examples
    --------
    >>> percent(0.07), percent(0.999)
    ('7 %', '99.9 %')
    """
    return f"{100 * share:g} %"
