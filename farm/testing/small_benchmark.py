"""The embedded benchmark: scanned digits, the small LeNet, and four kinds of faults; seconds, no download.

It is the system that `check_monitor` tries monitors on, so that whoever uses both trains it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from farm.config import load_experiment, parse_experiment
from farm.testing.benchmark import Benchmark
from farm.testing.small_system import CLASSIFIER, WORKLOAD

EXPERIMENT: Mapping[str, Any] = {
    "name": "small-benchmark",
    "description": "Scanned digits, a small LeNet, and as many faulted images of each of four kinds",
    "seed": 0,
    "workload": dict(WORKLOAD),
    "classifier": dict(CLASSIFIER),
    "faultload": [
        {"name": "textures"},  # novelty: no digit at all
        {"name": "gaussian-noise", "severity": 5},  # noise
        {"name": "fog", "severity": 3},  # shift
        {"name": "fgsm"},  # adversarial
    ],
    "monitors": ["max-softmax"],
    # Instances of a batch are timed together, and p99 of a time needs 299 measurements: this gives 449.
    "batch_size": 4,
}


@cache
def small_benchmark() -> Benchmark:
    """Give the embedded benchmark; it is made once a process, when it is first used.

    Examples
    --------
    >>> [fault["name"] for fault in small_benchmark().experiment.model_dump()["faultload"]]
    ['textures', 'gaussian-noise', 'fog', 'fgsm']
    """
    return Benchmark(parse_experiment(EXPERIMENT, "the small benchmark"))


def benchmark_of(experiment: Path | str | None, root: Path) -> Benchmark:
    """Give the benchmark that an experiment's file describes; the embedded one where there is none.

    Parameters
    ----------
    experiment
        A file, or the bare name of one that ships with the testbed.
    root
        What a relative path starts from.
    """
    if experiment is None:
        return small_benchmark()
    path = root / experiment
    is_path = isinstance(experiment, Path) or path.exists() or path.suffix in (".yaml", ".yml", ".json")
    return Benchmark(*load_experiment(str(path if is_path else experiment)))
