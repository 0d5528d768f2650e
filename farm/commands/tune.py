"""`farm tune`: search for a classifier's parameters on validation data."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

from farm.commands.results import print_looks
from farm.run.progress import shown_progress
from farm.tuning.history import TABLE
from farm.tuning.report import as_json, looks
from farm.tuning.search import BEST, search
from farm.tuning.spec import load_tuning


def tune(options: argparse.Namespace) -> int:
    """Search, and print what is best."""
    tuning, experiment, home = load_tuning(options.experiment, options.set)
    out = Path(options.out or f"runs/{tuning.name}-tuning")
    with shown_progress(quiet=options.quiet) as progress, redirect_stdout(sys.stderr):
        found = search(tuning, experiment, home, out, progress=progress)
    if options.format == "json":
        sys.stdout.write(json.dumps(as_json(found, out), indent=2, allow_nan=False) + "\n")
        return 0
    print_looks(looks(found), "table")
    print(f"The parameters were written to {out / BEST}, and every trial to {out / TABLE}.")
    return 0
