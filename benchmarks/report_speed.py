"""How long a report takes and how large it is: 79 benchmark sets of 2,000 instances, ten monitors, images.

python benchmarks/report_speed.py [--sets 79] [--monitors 10]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from farm.api import generator
from farm.store.pictures import Pictures, shown_frame
from farm.store.readouts import Readouts
from farm.testing import make_readouts

CATEGORIES = ("shift", "noise", "anomaly", "adversarial", "novelty")
N, SIZE, CLASSES, EACH = 2000, 32, 43, 6


def made_run(number: int, monitors: int) -> Readouts:
    """Return a run of a fault, whose pictures are as hard to compress as photographs of signs."""
    rng = generator(number, "report speed")
    category = CATEGORIES[number % len(CATEGORIES)]
    is_ood = np.arange(N) % 4 == 0
    hard = rng.normal(size=N) + is_ood * (1 + number % 5) / 3
    label = rng.integers(0, CLASSES, N)
    predicted = np.where(hard > 1.6, (label + 1) % CLASSES, label)
    said: dict[str, Any] = {}
    for which in range(monitors):
        score = hard * (which % 5) / 3 + rng.normal(size=N)
        score -= np.quantile(score[~is_ood], 0.95)
        said[f"monitor-{which}"] = {"score": score, "monitor_time_us": np.full(N, 5.0 + which)}
    run = make_readouts(
        said,
        is_ood=is_ood,
        label=np.where(is_ood & (category == "novelty"), -1, label),
        predicted=predicted,
        category=category,
        faultload=f"fault-{number // 2}",
        severity=2.0 if number % 2 else 5.0,
        confidence=1 / (1 + np.exp(hard - 2.5)),
        id=[f"i{k}" for k in range(N)],
        track=[f"t{k // 5}" for k in range(N)],
        classifier_time_us=np.full(N, 100.0),
        run={
            "name": "speed",
            "workload": {"name": "signs"},
            "classifier": {"name": "lenet"},
            "classes": [f"class {k}" for k in range(CLASSES)],
            "experiment": {"name": "speed"},
        },
    )
    return replace(run, pictures=_pictures(run, rng))


def _pictures(run: Readouts, rng: np.random.Generator) -> Pictures:
    told = "the likeliest class is 'x' with probability 0.6 (logit 3.2), the second 'y' with probability 0.3"
    instances = run.instances
    right = instances["label"] == instances["predicted"]
    rows: list[tuple[Any, ...]] = []
    for monitor, own in run.alarms.groupby("monitor", sort=False):
        own = own.reset_index()
        for why, chosen in (("missed", ~right & ~own["alarm"]), ("cancelled", right & own["alarm"])):
            for side in (instances["is_ood"], ~instances["is_ood"]):
                worst = own[chosen & side].sort_values("score", ascending=why == "missed")["position"][:EACH]
                rows += [(0, int(p), monitor, why, rank, told) for rank, p in enumerate(worst)]
    shown = shown_frame(rows)
    positions = np.unique(shown["position"])
    shown["picture"] = np.searchsorted(positions, shown["position"])
    coarse = rng.integers(0, 255, (len(positions), 8, 8, 3))
    smooth = coarse.repeat(SIZE // 8, axis=1).repeat(SIZE // 8, axis=2) + rng.normal(0, 12, (SIZE, SIZE, 3))
    return Pictures(np.clip(smooth, 0, 255).astype(np.uint8), shown)


def main() -> None:
    """Make the runs, report on them as the command does, and print time, size and figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=79)
    parser.add_argument("--monitors", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        runs = [made_run(k, options.monitors).save(folder / f"{k:03d}") for k in range(options.sets)]
        started = time.perf_counter()
        code = "import sys; from farm.cli import main; sys.exit(main(sys.argv[1:]))"
        asked = ["report", *map(str, runs), "--out", str(folder / "r.html")]
        subprocess.run([sys.executable, "-c", code, *asked], check=True)
        seconds = time.perf_counter() - started
        size = (folder / "r.html").stat().st_size
        figures = len(list((folder / "r-figures").iterdir()))
    print(json.dumps({"seconds": round(seconds, 1), "bytes": size, "figure_files": figures}))


if __name__ == "__main__":
    main()
