"""The three novelty sets on real images: they load, are split by track, and have the right counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from farm.api import FunctionClassifier, check_workload
from farm.config.experiment import listed
from farm.run.testbed import Testbed

SIZES = {"gtsrb": (43, 12_626), "btsc": (62, 2_520), "cifar10": (10, 10_000)}


@pytest.fixture(scope="module")
def bed(data_folder) -> Testbed:
    return Testbed(seed=0, folder=data_folder)


@pytest.fixture(scope="module")
def workloads(bed):
    return {name: bed.workload({"name": "npz", "path": f"{name}.npz", "copies": "drop"}) for name in SIZES}


@pytest.mark.parametrize("name", SIZES)
def test_real_workloads_load_and_keep_every_rule(workloads, name):
    workload = workloads[name]
    check_workload(workload)
    assert (len(workload.classes), len(workload.test)) == SIZES[name]


def test_no_track_is_on_both_sides(workloads):
    gtsrb = workloads["gtsrb"]
    tracks = {group.rpartition("track-")[2] for group in gtsrb.train.groups}
    assert not tracks & {group.rpartition("track-")[2] for group in gtsrb.validation.groups}
    assert len(tracks) > 400


@pytest.mark.parametrize(
    ("entry", "ours", "n", "left_out"),
    [
        ("gtsrb-btsc", "gtsrb", 992, 1528),
        ("gtsrb-cifar10", "gtsrb", 10_000, 0),
        ("cifar10-gtsrb", "cifar10", 12_626, 0),
    ],
)
def test_a_novelty_set_has_exactly_the_images_of_other_classes(bed, workloads, entry, ours, n, left_out):
    workload = workloads[ours]
    k = len(workload.classes)
    classifier = FunctionClassifier(lambda images: np.full((len(images), k), 1 / k), workload.classes)
    fault = listed({"list": "authors-novelty", "entry": entry}, Path())
    stream = bed.stream(workload, classifier, fault)
    assert stream.n_ood == n
    assert stream.length == n + len(workload.test)
    (told,) = stream.provenance["faults"]
    assert told["notes"]["left_out"] == left_out
    batch = next(bed.stream(workload, classifier, fault, order="sequential", ood_share=1.0).batches(50))
    assert (batch.labels == -1).all()
    assert set(batch.category) == {"novelty"}
