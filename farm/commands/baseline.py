"""`farm baseline save` and `compare`: keep what monitors say of a stream, and see later what became of it."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from farm.baseline import compare_with_baseline, load_baseline, save_baseline
from farm.baseline.baseline import load_runs
from farm.baseline.comparing import DEFAULT
from farm.baseline.kept import run_name
from farm.baseline.saving import default_path
from farm.campaign.folder import CampaignFolder
from farm.report.baseline import render_baseline


def save(options: argparse.Namespace) -> int:
    """Save a run, or a campaign's cells, and tell what became another if a baseline is renewed."""
    runs = load_runs([options.run])
    folder = CampaignFolder(options.run)
    name = folder.record()["name"] if folder.is_campaign(folder.path) else run_name(runs[0])
    renewed = save_baseline(runs, Path(options.out) if options.out else default_path(name))
    for line in renewed.changes:
        print(line)
    kept = renewed.baseline
    n = sum(one.stream.n for one in kept.runs)
    size = f"{renewed.nbytes / 1000:.0f} kB" if renewed.nbytes >= 1000 else f"{renewed.nbytes} bytes"
    said = "saved to"
    if renewed.replaced:
        said = "replaced, with the changes above:" if renewed.changes else "replaced; no measure changed:"
    print(
        f"farm: {said} {renewed.path} ({len(kept.monitors)} monitors, {n:,} instances, {size})",
        file=sys.stderr,
    )
    return 0


def compare(options: argparse.Namespace) -> int:
    """Print how a run differs from its baseline; the exit code says nothing of it, `farm check` does."""
    found = compare_with_baseline(
        load_runs([options.run]),
        load_baseline(options.baseline),
        measures=options.measure or DEFAULT,
        monitors=options.monitor,
        level=options.level,
        replicates=options.replicates,
        seed=options.seed,
    )
    width = min(shutil.get_terminal_size((100, 24)).columns, 140)
    sys.stdout.write(render_baseline(found, options.format, width=width))
    return 0
