"""The command line: `farm run`, `compare`, `judge`, `list`, `describe`.

`farm --help` answers at once, since the parsers import nothing; each command imports what it needs when it
is called. Exit codes: 0 done, 1 something failed while it ran, 2 the user's mistake, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import os
import reprlib
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

from farm.commands.parsing import data, gate, judging, monitors, running, tuning
from farm.errors import FarmError, UserError, noting_ctrl_c
from farm.report.output import visible_layouts, visible_streams

_OF_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)
"""What the system says of names, wherever one is first looked for: no file can be meant."""

_SHORT = reprlib.Repr()
_SHORT.maxstring = 60


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give its exit code."""
    with visible_streams():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    module, function = options.command.split(":")
    try:
        with noting_ctrl_c(), visible_layouts():
            code: int = getattr(import_module(module), function)(options)
        sys.stdout.flush()
        return code
    except FarmError as error:
        if options.debug:
            raise
        print(f"farm: {' '.join(str(error).split())}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        if options.debug:
            raise
        print("farm: interrupted; nothing half-done was left behind", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output (head, less) has gone; that is no failure of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if options.debug:
            raise
        if isinstance(error, OSError) and error.errno in _OF_NAMES:
            name = _SHORT.repr(str(error.filename))
            print(f"farm: {name}: {error.strerror}; expected the name of a file or folder", file=sys.stderr)
            return UserError.exit_code
        what = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"farm: unexpected failure: {what}; run again with --debug and report it", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="farm",
        description="Find out whether a runtime safety monitor makes an image classifier safer, "
        "against which faults, how surely, and at what cost.",
        epilog="Begin with: farm run quickstart; with your own network and images: farm try --help",
    )
    parser.add_argument("--version", action="version", version=f"farm-testbed {version('farm-testbed')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    for add in (
        running.add_try,
        running.add_run,
        running.add_campaigns,
        tuning.add_tune,
        running.add_cache,
        running.add_streams,
        monitors.add_guard,
        judging.add_judging,
        judging.add_report,
        judging.add_serve,
        gate.add_check,
        gate.add_baseline,
        monitors.add_own,
        judging.add_looking,
        data.add_scenarios,
        data.add_crops,
        monitors.add_catalogue,
        running.add_bench,
    ):
        add(commands)
    return parser
