"""`farm compare` and `farm judge`: from readouts to tables. Neither imports torch."""

from __future__ import annotations

import argparse
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
        records += judge_frames(readouts.instances, readouts.alarms, readouts.run)
    print_records(records, options.format)
    return 0


def judge(options: argparse.Namespace) -> int:
    """Judge a user's own log."""
    print_records(judge_frames(*read_log(options.log)), options.format)
    return 0


def print_records(records: Sequence[dict[str, Any]], style: str) -> None:
    """Print records; a table takes the terminal's width and colours."""
    sys.stdout.write(render(records, style))
