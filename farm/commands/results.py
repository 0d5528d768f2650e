"""`farm compare` and `farm judge`: from readouts to tables. Neither imports torch."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farm.errors import DataError, ExperimentError
from farm.logs import read_log
from farm.readouts import Readouts
from farm.records import judge as judge_frames
from farm.report.tables import render
from farm.run_folders import run_folders

if TYPE_CHECKING:
    from farm.comparison import Conclusion


def compare(options: argparse.Namespace) -> int:
    """Compare the monitors of one or more runs, and draw the critical-difference diagram if asked to."""
    from farm.comparison import compare_runs
    from farm.report.comparison import render_comparison

    if options.cd:
        _check_picture(Path(options.cd))
    comparison = compare_runs(
        [_load(str(folder)) for folder in run_folders(options.runs)],
        measure=options.measure,
        by=options.by,
        alpha=options.alpha,
        undefined=options.undefined,
        only=options.monitor,
        replicates=options.replicates,
        seed=options.seed,
        rope=options.rope,
    )
    style = "latex" if options.latex else options.format
    width, colour = _terminal()
    sys.stdout.write(render_comparison(comparison, style, width=width, colour=colour))
    if options.cd:
        _draw(comparison.conclusions, options.cd)
    return 0


def _check_picture(path: Path) -> None:
    """Check that a diagram can be written there, before there is any work to lose."""
    from farm.report.critical_difference import FORMATS

    if path.exists():
        raise DataError(f"{path} exists already; expected a new file: remove it or choose another name")
    if path.suffix.lower() not in FORMATS:
        raise ExperimentError(f"--cd {path}: suffix '{path.suffix}'; expected {', '.join(FORMATS)}")
    if not path.absolute().parent.is_dir():
        raise DataError(f"--cd {path}: {path.parent} is no folder; expected one")


def _draw(conclusions: Sequence[Conclusion], out: str) -> None:
    """Draw the ranks over all sets, or of the one category there is."""
    from farm.report.critical_difference import draw_critical_difference
    from farm.statistics.table import Undefined

    last = conclusions[-1]
    if isinstance(last.ranks, Undefined):
        raise ExperimentError(f"--cd {out}: nothing to draw; {last.ranks.reason}")
    draw_critical_difference(last.ranks, Path(out), about=last.category)
    print(f"farm: drawn to {out}", file=sys.stderr)


def judge(options: argparse.Namespace) -> int:
    """Judge runs, or a user's own logs."""
    records, ignored = [], []
    for place in map(str, run_folders(options.readouts)):
        if Path(place).is_dir():
            run = _load(place)
            records += judge_frames(run.instances, run.alarms, run.run)
            continue
        log = read_log(place)
        records += judge_frames(*log)
        if unused := log.run["log"]["ignored_columns"]:
            ignored.append(f"{place}: columns not used: {', '.join(unused)}")
    print_records(records, options.format)
    for line in ignored:
        print(f"farm: {line}", file=sys.stderr)
    return 0


def _load(folder: str) -> Readouts:
    readouts = Readouts.load(folder)
    return replace(readouts, run={**readouts.run, "folder": folder})


def print_records(records: Sequence[dict[str, Any]], style: str) -> None:
    """Print records; a table takes the terminal's width and, in a terminal, colours."""
    width, colour = _terminal()
    sys.stdout.write(render(records, style, width=width, colour=colour))


def _terminal() -> tuple[int, bool]:
    return min(shutil.get_terminal_size((100, 24)).columns, 120), sys.stdout.isatty()
