"""How long twenty passes with dropout take, as a multiple of one pass without.

`python benchmarks/passes_speed.py`. Networks with random weights on rendered signs, on one thread, once for
batches of 64 images and once one at a time; the best time of several rounds counts, since whatever else the
machine does only ever adds. With it come multiply-adds, which no machine changes; bounds are of these: beside
a backbone as small as this one, masks and calls take time of their own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from farm.api import Classifier, Images, NoCache, StrArray
from farm.run.testbed import Testbed
from models.what_and_where import PLACES, WhatAndWhere

MOST = {"last-layer": 1.3, "after-backbone": 2.0, "head": 2.0}
"""What multiply-adds passes may cost, in passes of the network without dropout."""
SIGNS = {"name": "signs", "train_groups": 2, "validation_groups": 1, "test_groups": 2}


def seconds(
    made: Mapping[str, Classifier], images: Images, ids: StrArray, batch: int, rounds: int
) -> dict[str, float]:
    """Return what all images take each variant, batch by batch; all take turns, since machines get slower."""
    best = dict.fromkeys(made, float("inf"))
    for _ in range(rounds):
        for variant, classifier in made.items():
            started = time.process_time()
            for at in range(0, len(images), batch):
                classifier.observe(images[at : at + batch], ids=ids[at : at + batch])
            best[variant] = min(best[variant], time.process_time() - started)
    return best


def flops(classifier: Classifier, images: Images, ids: StrArray) -> int:
    """Count the multiply-adds of a batch, twice each."""
    with FlopCounterMode(display=False) as counted:
        classifier.observe(images, ids=ids)
    total: int = counted.get_total_flops()
    return total


def main() -> None:
    """Time each variant, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--images", type=int, default=128)
    options = parser.parse_args()
    torch.set_num_threads(1)
    bed = Testbed(seed=0, cache=NoCache())
    signs = bed.workload(SIGNS)
    images, ids = signs.test.images.read(np.arange(options.images)), signs.test.ids[: options.images]
    print("variant          networks  multiply-adds  time, 64 at once  time, one at a time")
    for networks in ("two", "one"):
        made = {
            variant: bed.untrained(WhatAndWhere(networks=networks, variant=variant), signs)
            for variant in PLACES
        }
        costs = [
            {variant: flops(classifier, images, ids) for variant, classifier in made.items()},
            *(seconds(made, images, ids, batch, options.rounds) for batch in (64, 1)),
        ]
        for variant in PLACES:
            operations, together, alone = (cost[variant] / cost["vanilla"] for cost in costs)
            most = f"  (at most {MOST[variant]:g})" if variant in MOST else ""
            print(f"{variant:15}  {networks:8}  {operations:13.2f}  {together:16.2f}  {alone:19.2f}{most}")


if __name__ == "__main__":
    main()
