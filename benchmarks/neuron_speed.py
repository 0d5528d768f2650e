"""How long neuron k-activation takes of a whole layer, and what memory it needs.

`python benchmarks/neuron_speed.py`. Made-up values of a layer in a mapped file: features that instances
share, so that neurons are on together, as they are in a network, and many cells stay empty. On one thread,
with a curve of ten points; the best time of several rounds counts, since whatever else the machine does only
ever adds. Memory is the most that the process held meanwhile, less what it held before.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from judging_speed import Memory
from threadpoolctl import threadpool_limits

from farm.measures.neuron_activation import NeuronCoverage, neuron_coverage

SECONDS, MEGABYTES = 6.0, 1000.0
"""What 10,000 instances of 256 neurons may take, three at a time."""
FEATURES = 4


def layer(instances: int, neurons: int) -> np.ndarray:
    """Make up the values of a layer before its ReLU."""
    rng = np.random.default_rng((0, instances, neurons))
    features = rng.normal(size=(instances, FEATURES)) @ rng.normal(size=(FEATURES, neurons))
    return (features + rng.normal(size=neurons)).astype(np.float32)


def measured(values: np.ndarray, k: int, rounds: int) -> tuple[NeuronCoverage, float, float]:
    """Return what is found, the seconds it took and the MB it held."""
    with Memory() as memory:
        found = neuron_coverage(values, k)
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        neuron_coverage(values, k)
        best = min(best, time.perf_counter() - started)
    return found, best, memory.extra


def main() -> None:
    """Time it for each k, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--neurons", type=int, default=256)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        path = Path(folder, "layer.npy")
        np.save(path, layer(options.instances, options.neurons))
        values = np.load(path, mmap_mode="r")
        for k in (1, 2, 3):
            found, seconds, megabytes = measured(values, k, options.rounds)
            most = f" (at most {SECONDS:g} s and {MEGABYTES:g} MB at the default size)" if k == 3 else ""
            print(
                f"k = {k}: {found.occupied:,} of {found.total:,} cells; "
                f"{seconds:.2f} s, {megabytes:.0f} MB{most}",
                flush=True,
            )


if __name__ == "__main__":
    main()
