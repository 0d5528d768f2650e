"""`farm status`, `farm export` and `farm verify`: what there is to know of a campaign, or of one run."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import asdict

from farm.campaign.folder import CampaignFolder
from farm.campaign.status import read_status, render
from farm.errors import ExperimentError

BETWEEN_LOOKS = 2.0
"""Seconds between two looks with `--watch`."""


def status(options: argparse.Namespace) -> int:
    """Print how far a campaign is; with `--watch` until nobody is at work on it."""
    folder = CampaignFolder(options.folder)
    if options.watch:
        return _watch(folder, options.format)
    found, alive = read_status(folder)
    if options.format == "json":
        print(json.dumps({**found.to_json(), "alive": alive}, indent=2, allow_nan=False))
    else:
        print(render(found, alive))
    return 0


def _watch(folder: CampaignFolder, style: str) -> int:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console()
    if style != "table" or not console.is_terminal:
        raise ExperimentError("--watch draws in a terminal; without one leave it out, and ask again later")
    try:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                found, alive = read_status(folder)
                live.update(Text(render(found, alive)), refresh=True)
                if not alive:
                    return 0
                time.sleep(BETWEEN_LOOKS)
    except KeyboardInterrupt:
        return 0  # the campaign goes on; only the looking ends


def export(options: argparse.Namespace) -> int:
    """Write all readouts to one file."""
    from farm.campaign.export import export as write

    made = write(options.folder, options.format, options.out)
    for monitor, n in (made.failed or {}).items():
        cells = f"{n} of {made.cells} cells"
        print(f"farm: monitor '{monitor}' failed in {cells}: it has no rows there", file=sys.stderr)
    if made.unfinished:
        total = made.cells + made.unfinished
        print(f"farm: {made.unfinished} of {total} cells are not there, nor in the file", file=sys.stderr)
    print(
        f"{made.rows} rows of {made.cells} cell{'' if made.cells == 1 else 's'} were written to {made.path}"
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
    told = ", ".join(f"{counts[kind]} {kind}" for kind in ("damaged", "missing", "failed") if counts[kind])
    whole = "everything is there and whole" + (", with what is said above" if findings else "")
    print(f"{options.folder}: {told or whole}")
    if bad:
        print("what is damaged or missing is computed by `farm run` of the campaign", file=sys.stderr)
    return int(bad)
