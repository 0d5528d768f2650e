"""`farm status`, `farm export` and `farm verify`: what there is to know of a campaign, or of one run."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import asdict

from farm.campaign.status import read_status, render
from farm.errors import ExperimentError
from farm.store.campaign_folder import CampaignFolder

BETWEEN_LOOKS = 2.0
"""Seconds between two looks with `--watch`."""


def status(options: argparse.Namespace) -> int:
    """Print how far a campaign is; with `--watch` until nobody is at work on it."""
    folder = CampaignFolder(options.folder)
    if options.watch:
        return _watch(folder, options.format)
    current, alive = read_status(folder)
    if options.format == "json":
        print(json.dumps({**current.to_json(), "alive": alive}, indent=2, allow_nan=False))
    else:
        print(render(current, alive))
    return 0


def _watch(folder: CampaignFolder, style: str) -> int:
    from rich.live import Live
    from rich.text import Text

    from farm.report.terminal import text_console

    console = text_console(sys.stdout)
    if style != "table" or not console.is_terminal:
        raise ExperimentError("--watch draws in a terminal; without one leave it out, and ask again later")
    try:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                current, alive = read_status(folder)
                live.update(Text(render(current, alive)), refresh=True)
                if not alive:
                    return 0
                time.sleep(BETWEEN_LOOKS)
    except KeyboardInterrupt:
        return 0  # the campaign goes on; only the looking ends


def export(options: argparse.Namespace) -> int:
    """Write all readouts to one file."""
    from farm.campaign.export import export as write

    done = write(options.folder, options.format, options.out)
    for monitor, n in (done.failed or {}).items():
        cells = f"{n} of {done.cells} cells"
        print(f"farm: monitor '{monitor}' failed in {cells}: it has no rows there", file=sys.stderr)
    if done.unfinished:
        total = done.cells + done.unfinished
        print(f"farm: {done.unfinished} of {total} cells are not there, nor in the file", file=sys.stderr)
    print(
        f"{done.rows} rows of {done.cells} cell{'' if done.cells == 1 else 's'} were written to {done.path}"
    )
    return 0


def verify(options: argparse.Namespace) -> int:
    """Print what is wrong or remarkable; 1 where something is damaged or missing."""
    from farm.campaign.verify import verify as check

    findings = check(options.folder)
    bad = any(finding.bad for finding in findings)
    if options.format == "json":
        print(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
        return int(bad)
    for finding in findings:
        print(f"{finding.kind + ':':9} {finding.where}: {finding.what}")
    counts = Counter(finding.kind for finding in findings)
    wrong = ", ".join(f"{counts[kind]} {kind}" for kind in ("damaged", "missing", "failed") if counts[kind])
    whole = "everything is there and whole" + (", with what is said above" if findings else "")
    print(f"{options.folder}: {wrong or whole}")
    if bad:
        print("what is damaged or missing is computed by `farm run` of the campaign", file=sys.stderr)
    return int(bad)
