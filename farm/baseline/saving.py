"""Keeping runs as a baseline, and telling what became another when one is renewed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from farm.baseline.baseline import Baseline
from farm.baseline.renewed import changes
from farm.baseline.saved import check_replaceable, read_saved, to_text
from farm.baseline.summary import summary
from farm.errors import DataError
from farm.files import write_text
from farm.readouts import Readouts


@dataclass(frozen=True)
class Renewed:
    """Where a baseline was saved, and what it took the place of."""

    path: Path
    baseline: Baseline
    nbytes: int
    replaced: bool
    changes: tuple[str, ...]
    """Against the one that it replaced, measure by measure."""


def save_baseline(runs: Readouts | Sequence[Readouts], path: Path | str) -> Renewed:
    """Save runs as one text file; a baseline that is there is replaced, anything else is not."""
    path = Path(path)
    replaced = check_replaceable(path)
    runs = [runs] if isinstance(runs, Readouts) else list(runs)
    baseline = Baseline.of(runs, str(path))
    if not baseline.monitors:
        raise DataError("no run has a monitor to keep; expected at least one that is ranked and did not fail")
    record = {}
    for run, kept in zip(runs, baseline.runs, strict=True):
        head = kept.record
        bits = {name: head.pop(name) for name in ("mistakes", "monitors")}
        record[kept.name] = {**head, "measures": summary(run, kept.ranked), **bits}
    told: tuple[str, ...] = ()
    if replaced:
        try:
            told = tuple(changes(read_saved(path)["runs"], record))
        except DataError as error:
            told = (f"what changed cannot be told: {error}",)
    text = to_text(record)
    write_text(path, text)
    return Renewed(path, baseline, len(text.encode()), replaced, told)


def default_path(name: str) -> Path:
    """Give where a baseline of this name is saved if nothing else is asked for.

    Examples
    --------
    >>> default_path("signs: fog, 3").as_posix()
    'baselines/signs-fog-3.yaml'
    """
    return Path("baselines") / (re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.") + ".yaml")
