"""What whole runs cost in seconds of the processor: quickstart, and the cells of a campaign."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from farm.errors import FarmError, one_line
from farm.store.readouts import Readouts
from farm.testing.speed import Cost

ROUNDS, CELLS = 3, 40
COMMAND = "from farm.cli import main; raise SystemExit(main())"
CLOCK = "import time; time.perf_counter_ns = time.process_time_ns; "
LIBRARIES = (
    *("torch", "numpy", "pandas", "pyarrow.parquet", "safetensors.numpy"),
    *("pydantic", "yaml", "rich.console", "threadpoolctl"),
)
"""What a run imports that is not its own."""
CAMPAIGN: Mapping[str, Any] = {
    "name": "speed",
    "workload": "signs",
    "classifier": "lenet",
    "monitors": ["oob", "oob-pca", "oob-isomap", "odin", "max-softmax"],
    "faultloads": ["gaussian-noise"],
    "severities": [round(1 + 4 * i / CELLS, 3) for i in range(CELLS)],
    "stream": {"ood_share": 0.5, "length": 200},
    "batch_size": 64,
}


def run_costs() -> Iterator[Cost]:
    """Measure both; each is run once before, so that all is in the cache that can be."""
    with tempfile.TemporaryDirectory() as folder:
        for measure in (_quickstart, _campaign):
            try:
                yield measure(Path(folder))
            except (subprocess.CalledProcessError, FarmError) as error:
                yield Cost(measure.__name__.removeprefix("_"), None, why=one_line(error))


def _quickstart(folder: Path) -> Cost:
    """Compare a whole run with its imports and with what classifier and monitors take of its stream."""
    run = ["run", "quickstart", "--quiet", "--out"]
    _farm(*run, str(folder / "first"))
    # Their own clock is the processor's here: others' work must not count as theirs.
    _farm(*run, str(folder / "timed"), "--readouts-only", before=CLOCK)
    told = Readouts.load(folder / "timed")
    passes = (told.instances["classifier_time_us"].sum() + told.alarms["monitor_time_us"].sum()) / 1e6
    ratios = []
    for number in range(ROUNDS):
        imports = _seconds([sys.executable, "-c", "import " + ", ".join(LIBRARIES)])
        ratios.append(_farm(*run, str(folder / f"run-{number}")) / (imports + passes))
    name = "second run of quickstart, over its imports and passes"
    return _cost(name, ratios, 1.5)


def _campaign(folder: Path) -> Cost:
    file = folder / "speed.yaml"
    file.write_text(json.dumps(dict(CAMPAIGN)), encoding="utf-8")
    _farm("run", str(file), "--out", str(folder / "filled"), "--quiet")
    seconds = [
        _farm("run", str(file), "--out", str(folder / f"campaign-{number}"), "--quiet") / CELLS
        for number in range(ROUNDS)
    ]
    name = f"seconds of computing a cell, campaign of {CELLS} cells of 200 instances"
    return _cost(name, seconds, 0.5)


def _cost(case: str, values: list[float], goal: float) -> Cost:
    ratio = statistics.median(values)
    return Cost(case, ratio, min(values), max(values), goal, ratio <= goal)


def _farm(*arguments: str, before: str = "") -> float:
    return _seconds([sys.executable, "-P", "-c", before + COMMAND, *arguments])


def _seconds(command: list[str]) -> float:
    """Return the processor's seconds of a process and of those that it started."""
    before = _of_children()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
