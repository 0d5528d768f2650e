"""What watching costs: a classifier with one monitor, beside the bare eager forward pass of its network.

`python benchmarks/monitor_speed.py`. LeNet at 32 x 32, one torch thread, one monitor at a time. What is
timed is all that an image goes through: the forward pass with the layers that the monitor asks for, the
checks, the score and the comparison with the threshold. Both sides are run in turn within one process, and
medians are compared, since other work on the machine comes and goes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch.nn import functional as F

from farm.api import Classifier, Images, Monitor
from farm.run.testbed import Testbed
from farm.store.threads import limited_threads

OUTPUTS = (
    "max-softmax",
    "max-logit",
    "entropy",
    "margin",
    "energy",
    "temperature-scaling",
    "gen",
    "kl-matching",
    "openmax",
)
LIMITS = {
    **dict.fromkeys(OUTPUTS, 1.20),
    "oob": 1.30,
    "oob-pca": 1.30,
    "patterns": 1.30,
    "oob-isomap": 1.60,
}
"""How many times the bare pass an image may take when images come one at a time."""
LIMIT_IN_BATCHES = 1.05


def main() -> None:
    """Time every monitor, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="signs", help="a name, or a mapping in YAML")
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--monitors", nargs="*", default=[*LIMITS])
    options = parser.parse_args()

    bed = Testbed(seed=0)
    workload = bed.workload(options.workload)
    classifier = bed.classifier("lenet", workload)
    images = workload.test.images.read(np.arange(64))
    with limited_threads(1):
        print("| monitor | one image | at most | in batches of 64 | at most | KB a class |")
        print("|---|---:|---:|---:|---:|---:|")
        for name in options.monitors:
            (monitor,) = bed.fit([name], classifier, workload)
            one, many = (_ratio(classifier, monitor, images[:n], options.rounds) for n in (1, 64))
            size = monitor.nbytes / len(workload.classes) / 1000
            limit = LIMITS.get(name, float("nan"))
            print(f"| {name} | {one:.2f} | {limit:.2f} | {many:.3f} | {LIMIT_IN_BATCHES:.2f} | {size:.1f} |")
        nothing = [_ratio(classifier, None, images[:n], options.rounds) for n in (1, 64)]
        print(f"| (observing alone) | {nothing[0]:.2f} | | {nothing[1]:.3f} | | |")
        (odin,) = bed.fit([{"name": "odin", "magnitude": 0.0014}], classifier, workload)
        for n in (1, 64):
            observation = classifier.observe(images[:n])
            shown = _interleaved(
                [lambda o=observation: odin.judge(o), lambda x=images[:n]: _minimal_odin(classifier, x)],
                options.rounds,
            )
            print(
                f"\nodin, {n} at a time: {shown[0] / shown[1]:.3f} of a minimal implementation (at most 1.05)"
            )


def _ratio(classifier: Classifier, monitor: Monitor | None, images: Images, rounds: int) -> float:
    ids = np.array([f"{i:016x}" for i in range(len(images))])
    layers = monitor.needs.layers if monitor else ()

    def bare() -> object:
        with torch.inference_mode():
            return classifier.differentiable(torch.from_numpy(images))

    def watched() -> object:
        seen = classifier.observe(images, layers, ids=ids, track=ids)
        return monitor.judge(seen) if monitor else seen

    alone, together = _interleaved([bare, watched], rounds)
    return together / alone


def _minimal_odin(classifier: Classifier, images: Images) -> torch.Tensor:
    """Two forward passes, one backward, and nothing else."""
    pixels = torch.tensor(images, requires_grad=True)
    loss = F.log_softmax(classifier.differentiable(pixels) / 1000, dim=1).amax(dim=1).sum()
    (gradient,) = torch.autograd.grad(loss, pixels)
    with torch.inference_mode():
        nudged = pixels + 0.0014 * gradient.sign()
        return F.softmax(classifier.differentiable(nudged).double() / 1000, dim=1).amax(dim=1)


def _interleaved(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the median time of each call, in seconds; each is run in blocks, in turn with the others."""
    times: list[list[int]] = [[] for _ in calls]
    for _ in range(rounds // 10 + 1):
        for call, taken in zip(calls, times, strict=True):
            call()
            for _ in range(10):
                start = time.perf_counter_ns()
                call()
                taken.append(time.perf_counter_ns() - start)
    return [float(np.median(taken)) / 1e9 for taken in times]


if __name__ == "__main__":
    main()
