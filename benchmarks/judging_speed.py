"""How long judging takes, and what memory it needs, with all readouts in memory and part by part.

`python benchmarks/judging_speed.py`. Made-up readouts of five monitors, as a run leaves them, on one
thread. One million of them at once: the best time of several rounds counts, since whatever else the machine
does only ever adds. Memory is the most that the process held while it judged, less what it held before; what
Python and its arrays asked for is told as well. One million and five, with `--long` fifty, made and judged
part by part: the time a million takes must stay the same, and so must memory.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from farm.judging import Record, judge
from farm.judging.by_parts import ByParts, judge_folder
from farm.store.readouts import Readouts

SECONDS, MEGABYTES = 1.0, 500.0
"""What one million readouts may take in memory."""
MILLION = 1_000_000
PART = 250_000
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
RUN = {"monitors": [{"name": name, "calibration": {"asked_acceptance": 0.95}} for name in MONITORS]}
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


class Memory:
    """Watches how much the process holds, some hundred times a second; NaN where the system does not tell."""

    def __enter__(self) -> Memory:
        libc = ctypes.CDLL(None)
        if hasattr(libc, "malloc_trim"):
            libc.malloc_trim(0)  # what is free already does not count as held
        self._before = self._most = held()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.003):
            self._most = max(self._most, held())

    @property
    def extra(self) -> float:
        """How many MB were held at most beside those held before."""
        return self._most - self._before


def held() -> float:
    """Return what the process holds, in MB."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return float("nan")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def traced(call: Callable[[], object]) -> float:
    """Return how many MB a call asked for at most."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return most


def at_once(folder: Path, rounds: int) -> None:
    """Judge one million readouts in memory, and the same part by part from their folder."""
    Readouts(*readouts(0, 0, MILLION), RUN).save(folder)
    records = in_memory(folder, rounds)
    started = time.perf_counter()
    with Memory() as memory:
        parted = judge_folder(folder)
    seconds = time.perf_counter() - started
    print(f"its folder by parts: {seconds:.2f} s and {memory.extra:.0f} MB, reading included")
    for name in ("auroc", "aupr", "fpr_at_95_tpr"):
        both = [pair for pair in zip(records, parted, strict=True) if pair[0][name] is not None]
        off = [(abs(whole[name] - part[name]), part[f"{name}_error"]) for whole, part in both]
        assert all(error <= stated + 1e-12 for error, stated in off), name
        most, stated = (max(column) for column in zip(*off, strict=True))
        print(f"  {name}: off by {most:.1e} at most, stated {stated:.1e} at most")


def in_memory(folder: Path, rounds: int) -> list[Record]:
    """Judge a folder's readouts all at once."""
    loaded = Readouts.load(folder)
    with Memory() as memory:
        records = judge(loaded.instances, loaded.alarms, RUN)
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        judge(loaded.instances, loaded.alarms, RUN)
        best = min(best, time.perf_counter() - started)
    asked = traced(lambda: judge(loaded.instances, loaded.alarms, RUN))
    print(f"one million in memory: {best:.2f} s (at most {SECONDS:.0f}); beside the readouts")
    print(f"  {memory.extra:.0f} MB held and {asked:.0f} MB asked for (at most {MEGABYTES:.0f})")
    return records


def by_parts(millions: int) -> None:
    """Judge many readouts that are made part by part; making them takes no part in the time."""
    judged, taken = ByParts(RUN), 0.0
    with Memory() as memory:
        for instances, alarms in _parts(millions * MILLION):
            started = time.perf_counter()
            judged.add(instances, alarms)
            taken += time.perf_counter() - started
        started = time.perf_counter()
        stated = max(record["auroc_error"] or 0.0 for record in judged.records())
        last = time.perf_counter() - started
    print(f"{millions} million by parts: {taken / millions:.2f} s a million, {last:.2f} s for the records,")
    print(f"  {memory.extra:.0f} MB with the readouts of a part; AUROC to {stated:.1e}", flush=True)


def _parts(n: int) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    for start in range(0, n, PART):
        yield readouts(0, start, min(PART, n - start))


def main() -> None:
    """Time it all, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--long", action="store_true", help="fifty million, too")
    options = parser.parse_args()
    for millions in (1, 5, 50) if options.long else (1, 5):
        by_parts(millions)
    with tempfile.TemporaryDirectory() as folder:
        at_once(Path(folder) / "run", options.rounds)


if __name__ == "__main__":
    main()
