"""A campaign of tiny cells, and how tests run it as a person does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import yaml

from farm.store.campaign_folder import CampaignFolder
from farm.store.readouts import TIME_COLUMNS, Readouts, checked_record

T = TypeVar("T")
FARM = [sys.executable, "-c", "from farm.cli import main; raise SystemExit(main())"]
SOON = 300.0
"""Seconds within which anything happens, however busy the machine is; only what is broken takes as long."""
FAULTS = ("gaussian-noise", "brightness", "contrast", "impulse-noise")


def campaign(**changes: Any) -> dict[str, Any]:
    """Give a campaign of 4 faults x 2 severities x 2 seeds with two monitors, as its file would say it."""
    return {
        "name": "tiny",
        "workload": {"name": "farm.testing.fakes:TinySource", "as": "tiny"},
        "classifier": {"name": "farm.testing.fakes:TinyModel", "as": "means"},
        "monitors": ["max-softmax", {"name": "energy", "as": "second"}],
        "faultloads": list(FAULTS),
        "severities": [1, 3],
        "seeds": [0, 1],
        "batch_size": 16,
        **changes,
    }


def written(folder: Path, values: Mapping[str, Any], name: str = "campaign.yaml") -> Path:
    """Write a campaign's file."""
    path = folder / name
    path.write_text(yaml.safe_dump(dict(values)), encoding="utf-8")
    return path


def farm(*arguments: str | Path, cwd: Path, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [*FARM, *map(str, arguments)],
        cwd=cwd,
        env=environment(cache),
        capture_output=True,
        text=True,
        timeout=SOON,
        check=False,
    )


def wait_until(happened: Callable[[], T]) -> T:
    """Wait for something, and give what it is."""
    deadline = time.monotonic() + SOON
    while not (found := happened()):
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
    return found


def environment(cache: Path | None = None) -> dict[str, str]:
    """Give the environment of a process, with a cache of its own where one is given."""
    own = {} if cache is None else {"FARM_CACHE": str(cache)}
    return {**os.environ, "OMP_NUM_THREADS": "1", **own}


def cells(folder: Path) -> dict[str, Readouts]:
    """Load all planned cells by their titles; each must be whole."""
    campaign = CampaignFolder(folder)
    found = {}
    for cell in campaign.record()["cells"]:
        path = campaign.cells / cell["target"]
        if path.exists():
            found[cell["title"]] = Readouts.load(path)
    return found


def check_whole(folder: Path) -> int:
    """Check that whatever looks like a cell is one; give how many there are."""
    campaign = CampaignFolder(folder)
    names = [name for names in campaign.cell_folders().values() for name in names]
    for name in names:
        checked_record(campaign.cells / name)
    return len(names)


def check_same(first: Mapping[str, Readouts], second: Mapping[str, Readouts]) -> None:
    """Check that two campaigns' readouts are the same bit for bit, times apart."""
    assert list(first) == list(second)
    for title, one in first.items():
        other = second[title]
        for left, right in ((one.instances, other.instances), (one.alarms, other.alarms)):
            pd.testing.assert_frame_equal(_timeless(left), _timeless(right), check_exact=True, obj=title)


def _timeless(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=[name for name in TIME_COLUMNS if name in frame])


def monitors_of(readouts: Readouts) -> Sequence[str]:
    """Name the monitors that have rows, in order."""
    return list(dict.fromkeys(readouts.alarms["monitor"]))
