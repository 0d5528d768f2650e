"""What the parsers of several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TypeAlias

FORMATS = ("table", "json", "csv", "latex", "markdown")
KINDS = {
    "monitors": "monitor",
    "models": "model",
    "networks": "network",
    "faultloads": "faultload",
    "schedules": "schedule",
    "workloads": "workload",
    "policies": "policy",
}
SCENARIO = "scenario"
"""What can be described beside components: a file."""

RUNS = "a folder that 'farm run' wrote, a run's or a campaign's; or a log of your own (CSV or Parquet)"
"""What a command reads."""

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""Where a command is added."""


def experiment(
    added: argparse.ArgumentParser, what: str = "an experiment file (YAML), or a shipped one by name"
) -> None:
    """Let a command take an experiment, and settings of it."""
    added.add_argument("experiment", metavar="FILE|NAME", help=what)
    added.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set one key, e.g. stream.ood_share=0.2 or monitors.0.tau=0.1; may be repeated",
    )
    added.add_argument("--quiet", action="store_true", help="show no progress")


def command(commands: Commands, name: str, target: str, text: str) -> argparse.ArgumentParser:
    """Add a command; `target` is the function that it calls."""
    added = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    added.add_argument("--debug", action="store_true", help="show the traceback of an error")
    added.set_defaults(command=target)
    return added


def plural(kind: str) -> str:
    """Return a kind as it is listed, whichever way it was written."""
    return next((plural for plural, singular in KINDS.items() if singular == kind), kind)


def everything(added: argparse.ArgumentParser) -> None:
    """Let a command's table show more than most want to see."""
    added.add_argument(
        "--all", action="store_true", help="tables with every column, the yardsticks, and a whole legend"
    )


def formatted(
    added: argparse.ArgumentParser, formats: Sequence[str], what: str = "how to print (default: table)"
) -> None:
    """Let a command print in one of some formats."""
    added.add_argument("--format", choices=formats, default="table", help=what)
