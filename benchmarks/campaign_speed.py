"""What a campaign costs beside its cells, and what a second worker brings.

`python benchmarks/campaign_speed.py [overhead] [workers] [finished] [monitors]`; all parts by default.
Rendered signs and a trained LeNet, which an earlier run left in the cache, one torch thread a process.

overhead   cells of about a second, in a campaign and in a bare loop in one process; the campaign's own part
           is what it takes more, with and without the start of its process.
workers    the same campaign with one worker and with two, in turn.
finished   a campaign of 1,000 small cells is run once, and then again with nothing to compute.
monitors   one stream with each of eight monitors alone and with all of them, and without any.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

os.environ.setdefault("OMP_NUM_THREADS", "1")

FARM = [sys.executable, "-c", "from farm.cli import main; raise SystemExit(main())"]
MONITORS = ["oob", "oob-pca", "max-softmax", "energy", "knn", "mahalanobis", "patterns", "gen"]
ROUNDS = 3


def campaign(name: str, cells: int, length: int, batch_size: int, monitors: list[str]) -> dict[str, Any]:
    """Return a campaign whose cells differ in the severity of their noise."""
    severities = [round(1 + 4 * i / max(cells - 1, 1), 4) for i in range(cells)]
    return {
        "name": name,
        "workload": "signs",
        "classifier": "lenet",
        "monitors": monitors,
        "faultloads": ["gaussian-noise"],
        "severities": severities,
        "stream": {"ood_share": 0.5, "length": length},
        "batch_size": batch_size,
        "seed": 0,
        "limits": {"seconds": 600},
    }


def write(folder: Path, values: Mapping[str, Any]) -> Path:
    """Write a campaign's file."""
    path = folder / f"{values['name']}.yaml"
    path.write_text(yaml.safe_dump(dict(values)), encoding="utf-8")
    return path


def run(file: Path, out: Path, *more: str) -> float:
    """Run a campaign as a person does; give the seconds it took."""
    started = time.perf_counter()
    command = [*FARM, "run", str(file), "--out", str(out), "--quiet", *more]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


BARE = """
import sys, time
from pathlib import Path
from farm.campaign.spec import load
from farm.run.execution import assemble
from farm.run.loading import importable
from farm.run.shared import Recent

cells = load(sys.argv[1], [])[0].cells()
kept, out = Recent(8), Path(sys.argv[2])
with importable(Path()):
    begun = time.perf_counter()
    for number, cell in enumerate(cells):
        if number == 1:
            begun = time.perf_counter()
        ready = assemble(cell.experiment, Path(), kept=kept)
        ready.run().save(out / str(number))
    print((time.perf_counter() - begun) / (len(cells) - 1))
"""


def bare(file: Path, out: Path) -> float:
    """Run the same cells one after the other in one process; give the seconds of a cell after the first."""
    told = subprocess.run(
        [sys.executable, "-c", BARE, str(file), str(out)], check=True, capture_output=True, text=True
    )
    return float(told.stdout.split()[-1])


def overhead(folder: Path) -> None:
    """Compare a campaign's cells with bare ones."""
    few, many = 4, 24
    length, size = 2400, 1
    files = [write(folder, campaign(f"overhead-{n}", n, length, size, MONITORS[:5])) for n in (few, many)]
    run(files[0], folder / "warm")
    alone, slope, start = [], [], []
    for number in range(ROUNDS):
        alone.append(bare(files[0], folder / f"bare-{number}"))
        short = run(files[0], folder / f"few-{number}")
        long = run(files[1], folder / f"many-{number}")
        slope.append((long - short) / (many - few))
        start.append(short - few * slope[-1])
    cell, own = statistics.median(alone), statistics.median(slope)
    print(f"a cell alone {cell:.3f} s, in a campaign {own:.3f} s: {own / cell - 1:+.1%} (asked: at most 5 %)")
    print(f"a campaign's start: {statistics.median(start):.1f} s, once")


def workers(folder: Path) -> None:
    """Compare two workers with one."""
    file = write(folder, campaign("workers", 40, 2400, 1, MONITORS[:5]))
    run(write(folder, campaign("warm", 2, 100, 1, MONITORS[:5])), folder / "warm-workers")
    ratios = []
    for number in range(ROUNDS):
        one = run(file, folder / f"one-{number}", "--workers", "1")
        two = run(file, folder / f"two-{number}", "--workers", "2")
        ratios.append(one / two)
        print(f"40 cells: one worker {one:.1f} s, two {two:.1f} s: {one / two:.2f} times")
    print(f"two workers: {statistics.median(ratios):.2f} times one (asked: at least 1.8)")


def finished(folder: Path) -> None:
    """Run a finished campaign of 1,000 cells again."""
    values = campaign("finished", 1000, 40, 40, ["max-softmax", "energy"])
    file = write(folder, values)
    first = run(file, folder / "thousand", "--workers", "2")
    again = [run(file, folder / "thousand") for _ in range(ROUNDS)]
    print(f"1,000 cells: {first:.0f} s at first, {statistics.median(again):.2f} s again (asked: at most 3 s)")


def monitors(folder: Path) -> None:
    """Compare all monitors on one stream with each alone."""

    def seconds(name: str, chosen: list[str]) -> float:
        file = write(folder, campaign(f"m-{name}", 6, 4000, 64, chosen))
        run(file, folder / f"m-{name}-warm")
        return min(run(file, folder / f"m-{name}-{i}") for i in range(ROUNDS))

    none = seconds("none", ["never"])
    alone = {name: seconds(name, [name]) - none for name in MONITORS}
    together = seconds("all", MONITORS) - none
    apart = sum(alone.values())
    print(f"8 monitors on one stream take {together:.2f} s beside it, each alone {apart:.2f} s in all")
    one_by_one = none * len(MONITORS) + apart
    print(f"in {len(MONITORS)} campaigns of one monitor: {one_by_one:.1f} s, in one: {none + together:.1f} s")


PARTS: Mapping[str, Callable[[Path], None]] = {
    "overhead": overhead,
    "workers": workers,
    "finished": finished,
    "monitors": monitors,
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for part in sys.argv[1:] or PARTS:
            PARTS[part](Path(place))
