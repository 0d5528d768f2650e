"""`farm run` on a campaign: its plan, its cells, and what became of them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farm.campaign.board import suitable_board
from farm.campaign.plan import Plan, PlannedCell, check_components, make_plan
from farm.campaign.progress import Estimator
from farm.campaign.running import Executor, LocalExecutor, Summary, run_plan
from farm.campaign.spec import Campaign
from farm.protocols import protocol as protocol_named
from farm.report.output import with_descriptions
from farm.run.loading import importable
from farm.store.amounts import in_bytes, in_words
from farm.store.campaign_folder import CampaignFolder

if TYPE_CHECKING:
    from farm.gate.answer import Answer

SHOWN = 30
"""Cells, and failures, that are listed one by one; JSON has all of them."""


def run_campaign(campaign: Campaign, home: Path, options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Compute what a campaign's folder lacks; with `--dry-run` only say what that is.

    Returns the exit code, and what became of it as JSON.
    """
    folder = CampaignFolder(options.out or Path("runs") / campaign.name)
    folder.check(campaign.name)
    if options.dry_run:
        _tell_plan(campaign, home, folder, options)
        return 0, {}
    # Only now: a plan needs none of what judges.
    from farm.commands.results import print_answers
    from farm.commands.run_report import answers_of

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
    answers: list[Answer] = []
    why_not: str | None = None
    if campaign.protocol is not None:
        problems = _tell_protocol(campaign.protocol, folder, options) if summary.done else []
        summary = replace(summary, failures=[*summary.failures, *problems])
    elif summary.done:
        answers, why_not = answers_of(folder.path)
    if options.format == "table":
        print_answers(answers, [])
        if why_not:
            print(f"{why_not}\n")
    _tell(summary, folder, time.perf_counter() - started, protocol=campaign.protocol is not None)
    told = {"folder": str(folder.path), "answer": [asdict(each) for each in answers], **asdict(summary)}
    return 1 if summary.failures else 0, told


def _tell_plan(campaign: Campaign, home: Path, folder: CampaignFolder, options: argparse.Namespace) -> None:
    """Say what there is to compute; of a protocol also how much that is, and what of it is not there."""
    plan, workers = make_plan(campaign, home, folder, retry_failed=options.retry_failed), options.workers or 1
    said = campaign.protocol
    lacking = check_components([one.cell.experiment for one in plan.todo], home, whole=said is None)
    sizes: dict[str, Any] = {}
    if said is not None:
        from farm.run.costs import Costs  # not before: it measures, and so needs all that computes

        with importable(home):
            cells = [(one.cell.label, one.cell.experiment) for one in plan.cells]
            protocol, costs = protocol_named(said["protocol"]), Costs(home)
            sizes = protocol.size_record(cells, costs)
            lacking += protocol.lacking(said, cells, costs)
    if options.format == "json":
        more = {"sizes": {**sizes, "lacking": lacking}} if sizes else {}
        print(json.dumps({**_as_json(plan, folder, workers), **more}, indent=2))
        return
    lines = list(_plan_lines(plan, campaign, folder, workers))
    if said is not None:
        lines += protocol_named(said["protocol"]).size_lines(sizes, workers)
        lines += [f"needed for a run: {one}" for one in lacking]
    print("\n".join([*lines, *_cell_lines(plan)]))


def _tell_protocol(said: Mapping[str, Any], folder: CampaignFolder, options: argparse.Namespace) -> list[str]:
    """Write what a protocol's campaign found, print the beginning, and return what was wrong with data."""
    from farm.commands.results import print_looks

    of = protocol_named(said["protocol"])
    results = of.results(folder.path)
    written = results.write(folder.path)
    if options.format == "table":
        print_looks(of.tables(results, short=True), "table")
        print(f"All results are in {written}.\n")
    return list(getattr(results, "problems", ()))


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
    if plan.todo:
        seconds, nbytes, basis = _estimate(plan, workers)
        if seconds is None:
            yield f"time and disk: {basis}"
        else:
            disk = "" if nbytes is None else f", {in_bytes(nbytes)} of disk"
            at_once = "" if workers == 1 else f" with {workers} workers"
            yield f"estimated: {in_words(seconds)}{at_once}{disk} ({basis})"


def _estimate(plan: Plan, workers: int) -> tuple[float | None, int | None, str]:
    """Return the seconds and the disk that are left, where anything is known, and where that is from."""
    if not plan.todo:
        return 0.0, 0, "nothing is left to compute"
    estimator, todo = Estimator(plan.finished), [cell.cell.label for cell in plan.todo]
    return estimator.seconds(todo, workers=workers), estimator.nbytes(todo), estimator.basis


def _cell_lines(plan: Plan) -> Iterator[str]:
    """List the cells that are not simply there."""
    for name, reason in plan.damaged.items():
        yield f"  damaged  {name}: {reason}"
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
    seconds, nbytes, basis = _estimate(plan, workers)
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
        "estimate": {"seconds": seconds, "nbytes": nbytes, "basis": basis},
    }


def _tell(summary: Summary, folder: CampaignFolder, seconds: float, *, protocol: bool) -> None:
    """Say what became of it, and what to do next."""
    for line in summary.failures[:SHOWN]:
        print(f"farm: failed: {line}", file=sys.stderr)
    if (more := len(summary.failures) - SHOWN) > 0:
        where = "in the cells' records and in the folder's `failed`"
        print(f"farm: failed: ... and {more} more, {where}", file=sys.stderr)
    print(
        f"{summary.done} of {summary.cells} cells are there, {summary.computed} of them computed now, in "
        f"{seconds:.0f} s." + (" Next:" if summary.done else "")
    )
    told = []
    if summary.failures:
        told.append(
            (f"less {folder.logs}/*.log", "what failed cells printed; --retry-failed tries them again")
        )
    if summary.done and protocol:
        told += [
            (f"farm compare {folder.path}", "all tables"),
            (f"farm report {folder.path}", "a page to look at: tables and figures"),
        ]
    elif summary.done:
        told += [
            (f"farm compare {folder.path} --by category", "which monitor is better, on which faults"),
            (
                f"farm report {folder.path}",
                "a page to look at: figures, and the images that monitors failed on",
            ),
        ]
    if summary.done:
        told += [
            (f"farm export {folder.path} --format parquet", "all readouts in one file"),
            (f"farm verify {folder.path}", "are all cells whole, and made alike"),
        ]
    if told:
        print(with_descriptions(told))
