"""What commands read: folders of runs, those of campaigns, and logs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

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
