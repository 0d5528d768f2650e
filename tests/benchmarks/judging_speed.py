"""How long judging takes and what memory it needs beside the readouts.

`python tests/benchmarks/judging_speed.py`. One million made-up readouts of five monitors, as a run leaves them,
judged on one thread: the best time of several rounds counts, since whatever else the machine does only ever
adds. Memory is the highest that the process held while it judged, less what it held before.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from farm.readouts import Readouts
from farm.records import judge

CLASSES = 43
FAULTS = {
    "btsc": ("novelty", np.nan),
    "snow": ("shift", 2.0),
    "fog": ("shift", 5.0),
    "rotation": ("shift", 30.0),
    "gaussian-noise": ("noise", 3.0),
    "impulse-noise": ("noise", 5.0),
    "fgsm": ("adversarial", 0.05),
    "pixel-trap": ("anomaly", 3.0),
}
MONITORS = ("odin", "max-softmax", "oob", "knn", "flicker")
EPISODE = 500
"""Every so many instances a fault begins, and lasts half as long."""


def readouts(seed: int, start: int, n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the instances from position `start` on, and what the monitors said of them."""
    rng = np.random.default_rng((seed, start))
    position = np.arange(start, start + n)
    inside = position % EPISODE >= EPISODE // 2
    is_ood = inside & (rng.random(n) < 0.9)
    fault = position // EPISODE % len(FAULTS)
    label = rng.integers(0, CLASSES, n)
    right = rng.random(n) < np.where(is_ood, 0.6, 0.97)
    predicted = np.where(right, label, rng.integers(0, CLASSES, n))
    names = np.array([*FAULTS, None], dtype=object)
    categories = np.array([category for category, _ in FAULTS.values()] + [None], dtype=object)
    severities = np.array([severity for _, severity in FAULTS.values()] + [np.nan])
    fault = np.where(is_ood, fault, len(FAULTS))
    ids = pd.Series([f"{at:016x}" for at in range(start, start + n)], dtype="str")
    instances = pd.DataFrame(
        {
            "position": position,
            "id": ids,
            "label": np.where(names[fault] == "btsc", -1, label),
            "predicted": predicted,
            "confidence": rng.random(n),
            "is_ood": is_ood,
            "category": pd.Series(categories[fault], dtype="str"),
            "faultload": pd.Series(names[fault], dtype="str"),
            "severity": severities[fault],
            "episode": np.where(inside, position // EPISODE, -1),
            "classifier_time_us": rng.lognormal(5, 0.2, n),
        }
    )
    said = []
    for number, name in enumerate(MONITORS):
        score = _scores(name, rng, is_ood, right)
        alarm = score > 1.5
        said.append(
            pd.DataFrame(
                {
                    "position": position,
                    "id": ids,
                    "monitor": pd.Series([name], dtype="str").repeat(n).array,
                    "score": score,
                    "alarm": alarm,
                    "cancelled": alarm,
                    "decision": np.where(alarm, -1, predicted),
                    "monitor_time_us": rng.lognormal(number, 0.3, n),
                }
            )
        )
    return instances, pd.concat(said, ignore_index=True)


def _scores(name: str, rng: np.random.Generator, is_ood: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Scores tie as those of the monitors do: by saturating, by counting, by saying yes or no."""
    plain = rng.normal(size=len(is_ood)) + 1.5 * is_ood + 0.5 * ~right
    if name == "max-softmax":
        return np.asarray(np.maximum(plain, 0).astype(np.float32), dtype=np.float64)
    if name == "oob":
        return np.asarray(np.clip(np.floor(4 * plain), 0, 40) / 4)
    if name == "flicker":
        return np.where(plain > 1.5, 2.0, 0.0)
    return np.asarray(plain if name == "odin" else plain.round(3))


def held() -> tuple[float, float]:
    """Give what the process holds and the most it ever held, in MB; NaN where the system does not tell."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan"), float("nan")
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
    return tuple(int(lines[name].split()[0]) / 1e3 for name in ("VmRSS", "VmHWM"))  # type: ignore[return-value]


def extra_memory(call: Callable[[], object]) -> float:
    """Give how many MB a call held at most beside what was held before it."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far is forgotten
    before, _ = held()
    call()
    return held()[1] - before


def main() -> None:
    """Time judging in memory, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    run = {"monitors": [{"name": name, "calibration": {"asked_acceptance": 0.95}} for name in MONITORS]}
    with tempfile.TemporaryDirectory() as folder:
        Readouts(*readouts(0, 0, options.instances), run).save(Path(folder) / "run")
        loaded = Readouts.load(Path(folder) / "run")
    frames = (loaded.instances, loaded.alarms, run)
    memory = extra_memory(lambda: judge(*frames))
    best = float("inf")
    for _ in range(options.rounds):
        started = time.perf_counter()
        records = judge(*frames)
        best = min(best, time.perf_counter() - started)
    tracemalloc.start()
    judge(*frames)
    traced = tracemalloc.get_traced_memory()[1] / 1e6
    print(
        f"{options.instances} readouts x {len(MONITORS)} monitors, {len(records)} records: {best:.2f} s, "
        f"{memory:.0f} MB beside the readouts ({traced:.0f} MB traced)"
    )


if __name__ == "__main__":
    main()
