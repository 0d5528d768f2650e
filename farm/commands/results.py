"""`farm compare` and `farm judge`: from readouts to tables. Neither imports torch."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from farm.logs import read_log
from farm.readouts import Readouts
from farm.records import judge as judge_frames
from farm.report.tables import render


def compare(options: argparse.Namespace) -> int:
    """Judge each run and print all records together."""
    records = []
    for folder in options.runs:
        readouts = Readouts.load(folder)
        run = {**readouts.run, "folder": folder}
        records += judge_frames(readouts.instances, readouts.alarms, run)
    print_records(records, options.format)
    return 0


def judge(options: argparse.Namespace) -> int:
    """Judge a user's own log."""
    log = read_log(options.log)
    print_records(judge_frames(*log), options.format)
    if ignored := log.run["log"]["ignored_columns"]:
        print(f"farm: {options.log}: columns not used: {', '.join(ignored)}", file=sys.stderr)
    return 0


def print_records(records: Sequence[dict[str, Any]], style: str) -> None:
    """Print records; a table takes the terminal's width and, in a terminal, colours."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    sys.stdout.write(render(records, style, width=width, colour=sys.stdout.isatty()))
