"""`farm inspect`: closer looks at one run."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from farm import inspection
from farm.errors import ExperimentError
from farm.inspection import LOOKS, Look, Run
from farm.readouts import Readouts
from farm.report.looks import render_looks
from farm.yaml_reading import parse_yaml


def inspect(options: argparse.Namespace) -> int:
    """Print what was asked for."""
    if not (options.look or options.ood_share or options.costs or options.pair):
        asked = " ".join(f"--look {name}" for name in LOOKS)
        raise ExperimentError(f"nothing to look at; give {asked}, --ood-share P, --costs FILE or --pair A B")
    prices = _prices(options.costs) if options.costs else None
    run = Run.of(Readouts.load(options.run))
    looks: list[Look] = [look for name in options.look for look in LOOKS[name](run)]
    if options.ood_share:
        looks += inspection.at_share(run, options.ood_share)
    if options.pair:
        looks += inspection.pair(run, *options.pair)
    if prices is not None:
        looks += inspection.costs(run, prices)
    width = min(shutil.get_terminal_size((100, 24)).columns, 140)
    sys.stdout.write(render_looks(looks, options.format, width=width))
    return 0


def _prices(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"--costs {path} cannot be read: {error}") from error
    values = parse_yaml(text, path)
    if not isinstance(values, dict):
        raise ExperimentError(f"--costs {path} holds a {type(values).__name__}; expected keys and prices")
    return values
