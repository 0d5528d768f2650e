"""`farm compare --systems`: which whole design is safer, and which is cheaper."""

from __future__ import annotations

import argparse
import shutil
import sys

from farm.commands.loading import loaded, prices_in
from farm.errors import ExperimentError

WITHOUT_EFFECT = {
    "measure": "overall.mcc",
    "false_alarms": None,
    "by": "faultload",
    "control": None,
    "undefined": "zero",
    "rope": None,
    "cd": None,
    "out": None,
}
"""The options of `farm compare` that have none beside `--systems`, and their defaults."""
WITH_SYSTEMS_ALONE = ("costs", "prevalence")


def check_options(options: argparse.Namespace) -> None:
    """Raise where an option has no effect, with `--systems` or without."""
    if options.systems:
        given = [name for name, default in WITHOUT_EFFECT.items() if getattr(options, name) != default]
        given += [] if options.table in (None, "values", "pairs") else [f"table {options.table}"]
        where = "beside --systems; leave it out"
    else:
        given = [name for name in WITH_SYSTEMS_ALONE if getattr(options, name) is not None]
        where = "without --systems; give that, or leave it out"
    if given:
        raise ExperimentError(f"--{given[0].replace('_', '-')} has no effect {where}")


def compare_systems(options: argparse.Namespace) -> int:
    """Compare the systems of one or more runs."""
    from farm.comparing.systems import compare_systems as compare
    from farm.measures.cost import Costs
    from farm.report.systems import render_systems

    found = compare(
        loaded(options.runs),
        costs=Costs.of(prices_in(options.costs)) if options.costs else None,
        prevalence=options.prevalence,
        only=options.monitor,
        alpha=options.alpha,
        replicates=options.replicates,
        seed=options.seed,
    )
    width = min(shutil.get_terminal_size((100, 24)).columns, 140)
    sys.stdout.write(
        render_systems(found, "latex" if options.latex else options.format, table=options.table, width=width)
    )
    return 0
