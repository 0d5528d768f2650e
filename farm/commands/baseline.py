"""`farm baseline save` and `compare`: keep what monitors say of a stream, and see later what became of it."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from farm.commands.loading import loaded
from farm.gate.baseline import compare_with_baseline, load_baseline, save_baseline
from farm.gate.baseline.comparison import DEFAULT
from farm.gate.baseline.entry import run_name
from farm.gate.baseline.saving import default_path
from farm.report.baseline import render_baseline
from farm.store.campaign_folder import CampaignFolder


def save(options: argparse.Namespace) -> int:
    """Save a run, or a campaign's cells, and tell what became another if a baseline is renewed."""
    runs = loaded(options.run)
    folder = CampaignFolder(options.run[0])
    name = folder.record()["name"] if folder.is_campaign(folder.path) else run_name(runs[0])
    renewed = save_baseline(runs, Path(options.out) if options.out else default_path(name))
    for line in renewed.changes:
        print(line)
    n = sum(one.stream.n for one in renewed.baseline.runs)
    size = f"{renewed.nbytes / 1000:.0f} kB" if renewed.nbytes >= 1000 else f"{renewed.nbytes} bytes"
    what = "saved to"
    if renewed.replaced:
        what = "replaced, with the changes above:" if renewed.changes else "replaced; no measure changed:"
    print(
        f"farm: {what} {renewed.path} ({len(renewed.baseline.monitors)} monitors, {n:,} instances, {size})",
        file=sys.stderr,
    )
    return 0


def compare(options: argparse.Namespace) -> int:
    """Print how a run differs from its baseline; the exit code says nothing of it, `farm check` does."""
    comparison = compare_with_baseline(
        loaded(options.run),
        load_baseline(options.baseline),
        measures=options.measure or DEFAULT,
        monitors=options.monitor,
        level=options.level,
        replicates=options.replicates,
        seed=options.seed,
    )
    width = min(shutil.get_terminal_size((100, 24)).columns, 140)
    sys.stdout.write(render_baseline(comparison, options.format, width=width))
    return 0
