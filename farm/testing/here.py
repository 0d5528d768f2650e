"""Where a check runs: within a test of pytest, or anywhere else. It decides the benchmark and the folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

from farm.testing.benchmark import Benchmark

FOLDER = "farm-failures"


def benchmark_here() -> Benchmark:
    """Give the benchmark of the test that runs; outside of any, the embedded one."""
    if (item := _item()) is not None:
        found = cast(Benchmark, item._request.getfixturevalue("farm_benchmark"))
        sys.modules["farm.testing.plugin"].check_same(item)
        return found
    from farm.testing.small_benchmark import small_benchmark

    return small_benchmark()


def new_folder() -> Path:
    """Make a folder that nothing is in yet: in the test's own temporary folder, or in the current one."""
    item = _item()
    parent = Path.cwd() if item is None else Path(item._request.getfixturevalue("tmp_path"))
    number = 1
    while True:
        try:
            (made := parent / FOLDER / str(number)).mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return made


def _item() -> Any:
    """Give the test that runs now, if it is one that can have fixtures."""
    plugin = sys.modules.get("farm.testing.plugin")
    item = plugin.running() if plugin else None
    return item if hasattr(item, "_request") else None
