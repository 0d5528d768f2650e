"""`farm run`: an experiment from its file to judged readouts, or a run once more; campaigns are elsewhere."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from farm.campaign.spec import Campaign, load
from farm.errors import DataError, ExperimentError
from farm.experiment_files import find_experiment
from farm.files import check_free, numbered_folder
from farm.progress import shown_progress
from farm.readouts import Readouts

OF_CAMPAIGNS = ("dry_run", "workers", "cluster", "retry_failed")


def run(options: argparse.Namespace) -> int:
    """Run the experiment, write the readouts, judge them, and say what to do next."""
    started = time.perf_counter()
    if options.workers is not None and options.workers < 1:
        raise ExperimentError(f"--workers is {options.workers}; expected at least 1")
    experiment, folder = load(options.experiment, options.set)
    if isinstance(experiment, Campaign):
        from farm.commands.run_campaign import run_campaign

        if options.readouts_only:
            raise ExperimentError(
                "--readouts-only is for a single experiment; a campaign is judged afterwards"
            )
        return run_campaign(experiment, folder, options)
    for option in OF_CAMPAIGNS:
        if getattr(options, option) not in (None, False):
            raise ExperimentError(
                f"--{option.replace('_', '-')} is for campaigns, and {options.experiment} is one experiment; "
                "give it a list, such as seeds: [0, 1], or leave the option out"
            )
    from farm.experiment import (
        run_experiment,
    )  # it brings torch along, which campaigns leave to their workers

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
    print(f"\nThe run was written to {out} in {time.perf_counter() - started:.0f} s.")
    repeated = find_experiment(options.experiment)
    if repeated.suffix == ".json":
        return max(_compare_with(repeated.parent, readouts, options.set), 1 if failures else 0)
    print("Next:")
    print(f"  farm compare {out}       which monitor is better, and how surely")
    print(f"  farm judge {out} --format json       every measure, for a script")
    print("  farm describe monitor oob-isomap       what a monitor is, and its parameters")
    print(f"  farm run {options.experiment} --set seed=1       the same with other images and weights")
    return 1 if failures else 0


def _compare_with(folder: Path, readouts: Readouts, changed: list[str]) -> int:
    """Say whether a run that was repeated gave the same; where settings were changed, that says nothing."""
    from farm.repetition import differences, explanations

    first = Readouts.load(folder)
    told = differences(first, readouts)
    if not told:
        print(f"The readouts are those of {folder} bit for bit, times apart.")
        return 0
    print(f"The readouts are not those of {folder}:")
    for line in told:
        print(f"  {line}")
    reasons = [f"set on the command line: {', '.join(changed)}"] if changed else []
    for line in (reasons + explanations(first.run, readouts.run)) or ["nothing recorded explains it"]:
        print(f"  it may be since: {line}")
    return 0 if changed else 1


def save_numbered(readouts: Readouts, parent: Path, name: str) -> Path:
    """Save under the first free number, even where another run takes it in the same moment."""
    while True:
        folder = numbered_folder(parent, name)
        try:
            return readouts.save(folder)
        except DataError:
            if not folder.exists():
                raise
