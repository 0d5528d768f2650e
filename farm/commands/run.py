"""`farm run`: an experiment from its file to judged readouts."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from farm.config import load_experiment
from farm.errors import DataError
from farm.experiment import run_experiment
from farm.files import check_free, numbered_folder
from farm.progress import shown_progress
from farm.readouts import Readouts


def run(options: argparse.Namespace) -> int:
    """Run the experiment, write the readouts, judge them, and say what to do next."""
    started = time.perf_counter()
    experiment, folder = load_experiment(options.experiment, options.set)
    out = Path(options.out) if options.out else None
    if out:
        check_free(out)  # now, not after the work is done
    with shown_progress(quiet=options.quiet) as progress:
        readouts = run_experiment(experiment, folder, progress=progress)
    out = readouts.save(out) if out else save_numbered(readouts, Path("runs"), experiment.name)
    failures = [m for m in readouts.run["monitors"] if m["failure"]]
    if not options.readouts_only:
        from farm.commands.results import print_records
        from farm.records import judge

        run_record = {**readouts.run, "folder": str(out)}
        print_records(judge(readouts.instances, readouts.alarms, run_record), "table")
    for monitor in failures:
        print(f"farm: failed: {monitor['failure']}", file=sys.stderr)
    print(f"\nThe run was written to {out} in {time.perf_counter() - started:.0f} s. Next:")
    print(f"  farm compare {out}       which monitor is better, and how surely")
    print(f"  farm judge {out} --format json       every measure, for a script")
    print("  farm describe monitor oob-isomap       what a monitor is, and its parameters")
    print(f"  farm run {options.experiment} --set seed=1       the same with other images and weights")
    return 1 if failures else 0


def save_numbered(readouts: Readouts, parent: Path, name: str) -> Path:
    """Save under the first free number, even where another run takes it in the same moment."""
    while True:
        folder = numbered_folder(parent, name)
        try:
            return readouts.save(folder)
        except DataError:
            if not folder.exists():
                raise
