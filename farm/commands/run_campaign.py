"""`farm run` on a campaign: its plan, its cells, and what became of them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from farm.campaign.board import suitable_board
from farm.campaign.checking import check_components
from farm.campaign.estimate import in_bytes, in_words
from farm.campaign.executor import Executor, LocalExecutor
from farm.campaign.folder import CampaignFolder
from farm.campaign.plan import Plan, PlannedCell, make_plan
from farm.campaign.running import Failed, Summary, estimate_of, run_plan
from farm.campaign.spec import Campaign

SHOWN = 30
"""Cells, and failures, that are listed one by one; JSON has all of them."""


def run_campaign(campaign: Campaign, home: Path, options: argparse.Namespace) -> int:
    """Compute what a campaign's folder lacks; with `--dry-run` only say what that is."""
    folder = CampaignFolder(options.out or Path("runs") / campaign.name)
    folder.check(campaign.name)
    if options.dry_run:
        plan = make_plan(campaign, home, folder, retry_failed=options.retry_failed)
        check_components([one.cell.experiment for one in plan.todo], home)
        if options.format == "json":
            print(json.dumps(_as_json(plan, folder, options.workers or 1), indent=2))
        else:
            print("\n".join([*_plan_lines(plan, campaign, folder, options.workers or 1), *_cell_lines(plan)]))
        return 0
    started = time.perf_counter()
    with folder.lock():
        plan = make_plan(campaign, home, folder, retry_failed=options.retry_failed)
        check_components([one.cell.experiment for one in plan.todo], home)
        with (
            closing(_executor(options, campaign)) as executor,
            closing(suitable_board(quiet=options.quiet)) as board,
        ):
            for line in _plan_lines(plan, campaign, folder, executor.workers):
                board.note(line)
            summary = run_plan(plan, campaign, home, folder, executor, board)
    _tell(summary, folder, time.perf_counter() - started)
    return 1 if summary.failures else 0


def _executor(options: argparse.Namespace, campaign: Campaign) -> Executor:
    if options.cluster is None:
        return LocalExecutor(options.workers or 1, campaign.threads)
    from farm.campaign.cluster import ClusterExecutor

    return ClusterExecutor(options.cluster, options.workers, campaign.threads)


def _plan_lines(plan: Plan, campaign: Campaign, folder: CampaignFolder, workers: int) -> Iterator[str]:
    """Say what there is to do, in a few lines."""
    counts = Counter(cell.state for cell in plan.cells)
    parts = [f"{counts['missing'] + counts['partial']} to compute"]
    if counts["partial"]:
        parts[0] += f" ({counts['partial']} of them only for some monitors)"
    if counts["done"]:
        parts.append(f"{counts['done']} there")
    if counts["failed"]:
        parts.append(f"{counts['failed']} failed before (--retry-failed tries them again)")
    yield f"campaign '{campaign.name}' in {folder.path}: {len(plan.cells)} cells: {', '.join(parts)}"
    if plan.new or plan.gone:
        yield f"since it was run last: {plan.new} new, {plan.gone} no more asked for"
    if plan.orphans:
        one = len(plan.orphans) == 1
        yield (
            f"{len(plan.orphans)} orphaned cell{'' if one else 's'} that the campaign does not ask for; "
            f"`farm cache prune {folder.path}` removes {'it' if one else 'them'}"
        )
    if plan.stale:
        why = list(dict.fromkeys(plan.stale.values()))
        more = f" (and {len(why) - 1} more)" if len(why) > 1 else ""
        yield (
            f"{len(plan.stale)} stale cell{'' if len(plan.stale) == 1 else 's'}, made with data that no "
            f"parameter names: {why[0]}{more}; computed again where asked for"
        )
    if plan.todo:
        told = estimate_of(plan, workers)
        if told.seconds is None:
            yield f"time and disk: {told.basis}"
        else:
            disk = "" if told.nbytes is None else f", {in_bytes(told.nbytes)} of disk"
            at_once = "" if workers == 1 else f" with {workers} workers"
            yield f"estimated: {in_words(told.seconds)}{at_once}{disk} ({told.basis})"


def _cell_lines(plan: Plan) -> Iterator[str]:
    """List the cells that are not simply there."""
    for name, reason in plan.damaged.items():
        yield f"  damaged  {name}: {reason}"
    for name, reason in list(plan.stale.items())[:SHOWN]:
        yield f"  stale    {name}: {reason}"
    listed = [cell for cell in plan.cells if cell.state != "done"]
    for cell in listed[:SHOWN]:
        yield f"  {cell.state:8} {cell.cell.title}: {_monitors(cell)}"
    if len(listed) > SHOWN:
        yield f"  ... and {len(listed) - SHOWN} more (--format json lists all)"


def _monitors(cell: PlannedCell) -> str:
    if cell.state == "failed":
        return cell.failures[""]
    if not cell.compute:
        return "all monitors are in other folders"
    return ", ".join(cell.compute)


def _as_json(plan: Plan, folder: CampaignFolder, workers: int) -> dict[str, object]:
    told = estimate_of(plan, workers)
    return {
        "folder": str(folder.path),
        "cells": [
            cell.record()
            | {"state": cell.state, "compute": list(cell.compute), "failures": dict(cell.failures)}
            for cell in plan.cells
        ],
        "new": plan.new,
        "gone": plan.gone,
        "orphans": list(plan.orphans),
        "damaged": dict(plan.damaged),
        "stale": dict(plan.stale),
        "estimate": {"seconds": told.seconds, "nbytes": told.nbytes, "basis": told.basis},
    }


def _tell(summary: Summary, folder: CampaignFolder, seconds: float) -> None:
    """Say what became of it, and what to do next."""
    for line in _failure_lines(summary.failures):
        print(f"farm: failed: {line}", file=sys.stderr)
    print(
        f"{summary.done} of {summary.cells} cells are there, {summary.computed} of them computed now, in "
        f"{seconds:.0f} s." + (" Next:" if summary.done else "")
    )
    if summary.failures:
        print(f"  less {folder.logs}/*.log       what failed cells printed; --retry-failed tries them again")
    if not summary.done:
        return
    print(f"  farm compare {folder.path} --by category       which monitor is better, on which faults")
    print(f"  farm export {folder.path} --format parquet       all readouts in one file")
    print(f"  farm verify {folder.path}       are all cells whole, and made alike")


def _failure_lines(failures: list[Failed]) -> Iterator[str]:
    for one in failures[:SHOWN]:
        yield f"{one.title}: {one.reason}"
    if len(failures) > SHOWN:
        yield f"... and {len(failures) - SHOWN} more, in the cells' records and in the folder's `failed`"
