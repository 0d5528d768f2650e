"""How cost grows: time and memory of monitors against batch, classes, neurons, points; of steps and faults.

`python benchmarks/growth.py` prints a table of fitted exponents (cost ~ size^exponent, least squares on
logarithms) beside what the algorithm implies. Features and logits are random: they cost what real ones do. A
fixed part, which each call has whatever the size, only makes an exponent smaller.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from farm import registry
from farm.api import Capabilities, Classifier, Head, Images, Monitor, RawOutputs
from farm.run.fitting import Material
from farm.run.system import SystemUnderTest
from farm.run.testbed import Testbed
from farm.store.threads import limited_threads

ROUNDS = 15
Row = tuple[str, str, list[int], list[float], float]


class Random(Classifier):
    """Random logits and features, so many classes and neurons."""

    name, nbytes, digest = "random", 0, "random"

    def __init__(self, classes: int, neurons: int) -> None:
        self.classes = tuple(map(str, range(classes)))
        self.capabilities = Capabilities(logits=True, layers=("last-hidden",), head=True)
        self._rng = np.random.default_rng(0)
        self._head = self._rng.normal(size=(classes, neurons)).astype(np.float32)

    @property
    def head(self) -> Head:
        """The last layer."""
        return Head(self._head, np.zeros(len(self._head), np.float32))

    def draw(self, n: int) -> None:
        """Draw the outputs of the next passes, which give the first of them each time."""
        hidden = np.abs(self._rng.normal(size=(n, self._head.shape[1]))).astype(np.float32)
        self._drawn = hidden @ self._head.T, hidden

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        logits, hidden = (array[: len(images)] for array in self._drawn)
        return RawOutputs(logits=logits, activations={"last-hidden": hidden})


class Rows:
    """Observations that can be read again and again, with the predictions for labels."""

    def __init__(self, classifier: Random, n: int) -> None:
        pixels = np.zeros((256, 1, 2, 2), np.float32)
        self._seen = []
        for _ in range(-(-n // 256)):
            classifier.draw(256)
            self._seen.append(classifier.observe(pixels, ["last-hidden"]))

    def __iter__(self) -> Any:
        return iter([(seen, seen.predicted) for seen in self._seen])


def fitted(name: str, classes: int, neurons: int, points: int, parameters: Any) -> tuple[Monitor, Random]:
    """Fit a monitor on random data."""
    classifier = Random(classes, neurons)
    rows: Any = Rows(classifier, points)
    monitor = registry.monitor(name, **parameters)
    monitor.fit(Material(classifier.classes, 0, rows, rows), classifier)
    return monitor, classifier


def of_score(
    name: str, batch: int, classes: int, neurons: int, points: int, parameters: Any
) -> tuple[float, float]:
    """Return the seconds that a batch's scores take, and the bytes of the fitted state."""
    monitor, classifier = fitted(name, classes, neurons, points, parameters)
    images = np.zeros((batch, 1, 2, 2), np.float32)

    classifier.draw(batch)
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        monitor.score(classifier.observe(images, ["last-hidden"]))
        times.append(time.perf_counter() - start)
    return min(times), float(monitor.nbytes)


CASES: Sequence[tuple[str, str, str, Sequence[int], dict[str, Any], float, float | None]] = (
    # monitor, what grows, argument, sizes, the rest, implied exponent of time, and of memory
    ("max-softmax", "instances", "batch", (64, 256, 1024, 4096), {"classes": 100, "neurons": 64}, 1, 0),
    ("oob-all", "instances", "batch", (64, 256, 1024, 4096), {"classes": 20, "neurons": 128}, 1, 0),
    ("knn", "instances", "batch", (64, 256, 1024), {"classes": 20, "neurons": 128}, 1, 0),
    ("patterns", "instances", "batch", (64, 256, 1024, 4096), {"classes": 20, "neurons": 128}, 1, 0),
    ("max-softmax", "classes", "classes", (30, 100, 300, 1000, 3000), {"batch": 256, "neurons": 64}, 1, 0),
    ("energy", "classes", "classes", (30, 100, 300, 1000, 3000), {"batch": 256, "neurons": 64}, 1, 0),
    ("mahalanobis", "classes", "classes", (10, 30, 100, 300), {"batch": 256, "neurons": 64}, 1, 1),
    ("oob-pca", "classes", "classes", (10, 30, 100, 300), {"batch": 256, "neurons": 64}, 1, 1),
    ("patterns", "classes", "classes", (10, 30, 100, 300), {"batch": 256, "neurons": 64}, 1, 1),
    ("oob-all", "neurons", "neurons", (64, 256, 1024, 4096), {"batch": 64, "classes": 10}, 1, 1),
    ("knn", "neurons", "neurons", (64, 256, 1024, 4096), {"batch": 64, "classes": 10}, 1, 1),
    ("patterns", "neurons", "neurons", (64, 256, 1024, 4096), {"batch": 64, "classes": 10}, 1, 1),
    ("mahalanobis", "neurons", "neurons", (64, 128, 256, 512, 1024), {"batch": 64, "classes": 10}, 2, 2),
    ("vim", "neurons", "neurons", (64, 128, 256, 512, 1024), {"batch": 64, "classes": 10}, 2, 2),
    ("knn", "points", "points", (512, 2048, 8192), {"batch": 64, "classes": 10, "neurons": 128}, 1, 1),
    (
        "oob-isomap",
        "points",
        "points",
        (512, 1024, 2048, 4096),
        {"batch": 64, "classes": 4, "neurons": 64},
        1,
        2,
    ),
)


def of_monitors(sizes: Sequence[int]) -> list[float]:
    """Return the seconds of a step with so many monitors."""
    bed = Testbed(seed=0)
    workload = bed.workload({"name": "digits", "size": 16, "channels": 1})
    classifier = bed.classifier({"name": "lenet", "epochs": 1}, workload)
    found = []
    for n in sizes:
        monitors = bed.fit([{"name": "energy", "as": f"energy {i}"} for i in range(n)], classifier, workload)
        system = SystemUnderTest(classifier, monitors)
        stream = bed.stream(workload, classifier, length=256)
        found.append(best(lambda: list(system.steps(stream, 64))))  # noqa: B023 - called at once
    return found


def of_pixels(sizes: Sequence[int]) -> list[float]:
    """Return the seconds of a fault on images of so many pixels."""
    rule, found = registry.faultload("gaussian-noise"), []
    for size in sizes:
        side = round(size**0.5)
        images = np.random.default_rng(0).random((16, 3, side, side), dtype=np.float32)
        ids = np.array([f"i{n}" for n in range(16)])
        labels, severity = np.zeros(16, np.int64), np.full(16, 3.0)
        found.append(best(lambda: rule.apply(images, labels, ids, severity)))  # noqa: B023
    return found


def best(run: Callable[[], object]) -> float:
    """Return the least time of several."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Fit cost ~ size^exponent."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def main() -> None:
    """Measure all, and print a table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter).parse_args()
    print("| of | against | sizes | time ~ | implied | memory ~ | implied |")
    print("|---|---|---|--:|--:|--:|--:|")
    with limited_threads(1):
        for name, what, argument, sizes, rest, time_implied, memory_implied in CASES:
            found = []
            for size in sizes:
                given = {"batch": 64, "classes": 10, "neurons": 64, "points": 2048, **rest, argument: size}
                if what == "classes":
                    given["points"] = 30 * size  # as many a class
                more = {"neurons": "all"} if name == "oob-all" else {}
                score = of_score(name.removesuffix("-all"), *given_values(given), more)
                found.append(score)
            seconds, nbytes = zip(*found, strict=True)
            kept = (
                f"{exponent(sizes, nbytes):.2f}"
                if memory_implied
                else "0"
                if max(nbytes) == min(nbytes)
                else "?"
            )
            print(
                f"| {name} | {what} | {sizes[0]:,} to {sizes[-1]:,} | {exponent(sizes, seconds):.2f} | "
                f"{time_implied} | {kept} | {memory_implied} |",
                flush=True,
            )
        counts, pixels = (1, 2, 4, 8, 16), (32**2, 64**2, 128**2, 256**2)
        grown = exponent(counts, of_monitors(counts)), exponent(pixels, of_pixels(pixels))
        print(f"| a step | monitors | 1 to 16 | {grown[0]:.2f} | 1 | | |")
        print(f"| gaussian-noise | pixels | 1,024 to 65,536 | {grown[1]:.2f} | 1 | | |")


def given_values(given: dict[str, int]) -> tuple[int, int, int, int]:
    """Return them in the order in which they are taken."""
    return given["batch"], given["classes"], given["neurons"], given["points"]


if __name__ == "__main__":
    main()
