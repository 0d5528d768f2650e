"""`farm bench`: what watching costs, measured here."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

from farm.run.progress import shown_progress
from farm.testing.speed import PARTS, Cost, SpeedCases
from farm.testing.speed_of_runs import run_costs

RUNS = "runs"


def bench(options: argparse.Namespace) -> int:
    """Measure the parts that are asked for, and print each case's ratio with its spread."""
    parts = options.only or [*PARTS, RUNS]
    costs: list[Cost] = []
    with shown_progress(quiet=options.quiet) as progress:
        cases = SpeedCases(options.large)
        within = cases.costs([part for part in parts if part != RUNS], rounds=options.rounds)
        costs += progress.track(within, "measuring")
        if RUNS in parts:
            costs += progress.track(run_costs(), "measuring whole runs")
    if options.format == "json":
        print(json.dumps([cost.record() for cost in costs], indent=2))
    else:
        print("\n".join(table(costs)))
    return 0


def table(costs: Iterable[Cost]) -> list[str]:
    """Return the rows of a table in Markdown."""
    lines = ["| case | ratio | spread | goal | |", "|---|--:|--:|--:|---|"]
    for cost in costs:
        if cost.ratio is None:
            lines.append(f"| {cost.case} | | | | left out: {cost.why} |")
            continue
        goal = "" if cost.goal is None else f"{cost.goal:.2f}"
        met = {None: "", True: "met", False: "**missed**"}[cost.met]
        lines.append(
            f"| {cost.case} | {cost.ratio:.2f} | {cost.low:.2f} to {cost.high:.2f} | {goal} | {met} |"
        )
    return lines
