"""What commands read: folders of runs, those of campaigns, and logs; also lists of prices."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from farm.api import read_text
from farm.errors import ExperimentError
from farm.judging.readouts import load_runs
from farm.store.readouts import Readouts


def loaded(
    paths: Iterable[Path | str],
    conditions: Sequence[str] = (),
    *,
    hint: str = "",
    probabilities: bool = False,
) -> list[Readouts]:
    """Load runs with some conditions of logs; tell which columns of logs are not used, and what could."""
    runs = load_runs(paths, conditions, probabilities=probabilities)
    for run in runs:
        if unused := (run.run.get("log") or {}).get("ignored_columns"):
            print(f"farm: {run.run['folder']}: columns not used: {', '.join(unused)}{hint}", file=sys.stderr)
    return runs


def prices_in(path: str) -> dict[str, Any]:
    """Return the prices that a user wrote down, whatever they hold."""
    from farm.config.yaml_reading import parse_yaml
    from farm.measures.cost import EXAMPLE

    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"--costs {path} cannot be read: {error}; expected {EXAMPLE}") from error
    values = parse_yaml(text, path)
    if not isinstance(values, dict):
        held = "is empty" if values is None else f"holds a {type(values).__name__}"
        raise ExperimentError(f"--costs {path} {held}; expected {EXAMPLE}")
    return values
