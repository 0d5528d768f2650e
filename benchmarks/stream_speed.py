"""How fast a stream runs with a fault, beside the same stream without any.

`python benchmarks/stream_speed.py`. Faults are made ahead by a thread while the classifier works. Both
streams have the same length and are run in turn, several times; the best time of each counts, since whatever
else the machine does only ever adds.
"""

from __future__ import annotations

import argparse
import time

from farm.run.system import SystemUnderTest
from farm.run.testbed import Testbed
from farm.store.threads import limited_threads


def main() -> None:
    """Time both streams and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fault", default="gaussian-noise")
    parser.add_argument("--severity", type=float, default=3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()

    bed = Testbed(seed=0)
    workload = bed.workload("signs")
    classifier = bed.classifier("lenet", workload)
    monitors = bed.fit(["max-softmax", "oob"], classifier, workload)
    n = len(workload.test)
    plain = bed.stream(workload, classifier, length=n)
    fault = {"name": options.fault, "severity": options.severity}
    faulted = bed.stream(workload, classifier, fault, ood_share=1.0, length=n)
    best = {"without a fault": float("inf"), options.fault: float("inf")}
    with limited_threads(1):
        for _ in range(options.rounds):
            for name, stream in (("without a fault", plain), (options.fault, faulted)):
                system = SystemUnderTest(classifier, monitors)
                started = time.perf_counter()
                for _ in system.steps(stream, options.batch_size):
                    pass
                best[name] = min(best[name], time.perf_counter() - started)
    for name, seconds in best.items():
        print(f"{name:<20} {1e6 * seconds / n:7.1f} us an instance")
    print(f"speed with the fault: {best['without a fault'] / best[options.fault]:.2f} of that without")


if __name__ == "__main__":
    main()
