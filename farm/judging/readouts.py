"""Judging readouts wherever they are: in memory, in a run's or a campaign's folder, or in somebody's log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from farm.api import check_regular
from farm.errors import DataError
from farm.judging import judge as judge_tables
from farm.judging.by_parts import judge_folder
from farm.judging.notes import why_not_judged
from farm.judging.record import Record
from farm.store.campaign_folder import run_folders
from farm.store.readouts import Readouts
from farm.store.records import read_record
from farm.store.run_form import SCHEMA, RunForm

IN_MEMORY = 10_000_000
"""Rows of alarms up to which a folder is judged at once; more are judged part by part."""


def judged_records(*readouts: Readouts | Path | str) -> list[Record]:
    """Judge every monitor, and the perfect one beside them: one record a group, part and monitor, as JSON.

    Parameters
    ----------
    readouts
        Runs' readouts, their folders, campaigns' folders, or logs. Folders larger than memory are judged part
        by part: intervals are missing there if instances have tracks.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> made = make_readouts({"mine": [False, True, True]}, is_ood=[False, False, True])
    >>> [round(record["specific"]["error"], 2) for record in judged_records(made) if record["part"] == "all"]
    [0.33, 0.0]
    """
    found: list[Record] = []
    for given in readouts:
        for place in [given] if isinstance(given, Readouts) else judged_folders([given]):
            if not isinstance(place, Readouts) and is_large(place):
                found += judge_folder(place)
                continue
            loaded = place if isinstance(place, Readouts) else load_run(place)
            found += judge_tables(loaded.instances, loaded.alarms, loaded.run)
    return found


def is_large(folder: Path) -> bool:
    """Whether a folder is to be judged part by part."""
    return alarm_rows(folder) > IN_MEMORY


def alarm_rows(folder: Path) -> int:
    """Return how many rows of alarms a folder has; 0 where that cannot be read, which loading will say."""
    try:
        check_regular(folder / "alarms.parquet")
        return int(pq.read_metadata(folder / "alarms.parquet").num_rows)
    except (OSError, ValueError):
        return 0


def load_run(folder: Path | str, conditions: Sequence[str] = (), *, probabilities: bool = False) -> Readouts:
    """Return what judging needs of a run's readouts or of a log, with their place in the record.

    With `probabilities` those of all classes are there, too, where the run kept them.
    """
    readouts = Readouts.load(folder, to_judge=True, conditions=conditions, probabilities=probabilities)
    return replace(readouts, run={**readouts.run, "folder": str(folder)})


def load_runs(
    paths: Iterable[Path | str], conditions: Sequence[str] = (), *, probabilities: bool = False
) -> list[Readouts]:
    """Return the readouts of what is to be judged of runs, campaigns and logs."""
    return [load_run(folder, conditions, probabilities=probabilities) for folder in judged_folders(paths)]


def judged_folders(paths: Iterable[Path | str]) -> list[Path]:
    """Put in the place of each campaign's folder those of its finished cells by which somebody is judged.

    Where it has none of these, all are there, and whoever judges one says why it cannot.
    """
    found: list[Path] = []
    for path in paths:
        folders = run_folders([path])
        found += [one for one in folders if not _is_left_out(one)] or folders
    return found


def _is_left_out(folder: Path) -> bool:
    """Whether nobody is judged by a run; what cannot be read is told where it is loaded."""
    with suppress(DataError, OSError):
        return (
            folder.is_dir() and why_not_judged(read_record(folder / "run.json", SCHEMA, RunForm)) is not None
        )
    return False
