"""What heat maps of occlusion cost beside the passes of the classifier alone, at 32 x 32 pixels and stride 2.

python benchmarks/occlusion_speed.py [--images 40] [--rounds 7] [--model lenet]

In each round the maker and the bare network see as many images in the same batches, one after the other, in
one process on one thread. The goal: the maker takes at most 1.2 times as long.
"""

from __future__ import annotations

import argparse
import json
import time
from unittest import mock

import numpy as np
import torch

from farm.api import Observation, Silent
from farm.config.experiment import OcclusionSpec
from farm.run.occlusion import occlusion_maps
from farm.run.testbed import Testbed
from farm.store.threads import limited_threads

GOAL = 1.2


def main() -> None:
    """Measure both in turn, and tell the ratio of their medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--model", default="lenet")
    options = parser.parse_args()
    asked = OcclusionSpec(images=options.images, window=8, stride=2)
    bed = Testbed(seed=0)
    workload = bed.workload("signs")
    classifier = bed.classifier(options.model, workload)
    stream = bed.stream(workload, classifier)
    monitors = bed.fit(["max-softmax"], classifier, workload)
    readouts = bed.run(stream, classifier, monitors, workload, pictures=None)
    network = classifier.differentiable  # alone, without what is checked around it

    def made() -> float:
        started = time.process_time()
        occlusion_maps(readouts, stream, classifier, asked, Silent())
        return time.process_time() - started

    # A network takes longer over some pixels than over others, so that both see the same.
    batches: list[torch.Tensor] = []
    observe = classifier.observe

    def noted(images: np.ndarray) -> Observation:
        batches.append(torch.from_numpy(images.copy()))
        return observe(images)

    with mock.patch.object(classifier, "observe", noted):
        made()
    buffer = torch.empty_like(batches[0])

    def bare() -> float:
        taken = 0.0
        with torch.inference_mode():
            for batch in batches:
                images = buffer[: len(batch)].copy_(batch)  # near at hand, as those of the maker are
                started = time.process_time()
                network(images)
                taken += time.process_time() - started
        return taken

    with limited_threads(1):
        times = [(bare(), made()) for _ in range(options.rounds + 1)][1:]
    alone, maker = np.median(times, axis=0)
    told = {"images": sum(map(len, batches)), "batches": len(batches), "bare_s": alone, "maker_s": maker}
    told |= {"ratio": np.median([two / one for one, two in times]), "goal": GOAL}
    print(json.dumps({name: round(float(value), 4) for name, value in told.items()}, indent=2))


if __name__ == "__main__":
    main()
