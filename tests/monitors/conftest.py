"""A small real system: scanned digits and a LeNet trained for a few epochs; and pytorch-ood, where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest

from farm.api import Classifier, Monitor, NoCache, Observation, Workload
from farm.run.fitting import Material, ObservedSplit
from farm.run.testbed import Testbed
from farm.store.threads import limited_threads
from tests.monitors.own_networks import AnyNetworks
from tests.monitors.stand_in import torchvision_at_hand
from tests.one_thread import one_thread  # noqa: F401 - a fixture of this folder

LAYERS = ("last-hidden", "conv2")


class Small(NamedTuple):
    bed: Testbed
    workload: Workload
    classifier: Classifier
    material: Material
    test: Observation


@pytest.fixture(scope="session")
def small() -> Small:
    bed = Testbed(seed=0, cache=NoCache())
    workload = bed.workload({"name": "digits", "size": 16, "channels": 1})
    noise = np.random.default_rng(0).random((60, *workload.shape), dtype=np.float32)
    with limited_threads(1):  # a fixture of the whole session comes before that of a file
        classifier = bed.classifier({"name": "lenet", "epochs": 4}, workload)
        material = Material(
            classes=workload.classes,
            seed=0,
            train=ObservedSplit(classifier, workload.train, LAYERS),
            validation=ObservedSplit(classifier, workload.validation, LAYERS),
            outliers=[classifier.observe(noise, LAYERS)],
            networks=AnyNetworks(workload.shape, workload.classes),
        )
        rows = np.arange(len(workload.test))
        test = classifier.observe(workload.test.images.read(rows), LAYERS, ids=workload.test.ids)
    return Small(bed, workload, classifier, material, test)


@pytest.fixture(scope="session")
def fitted(small: Small) -> Callable[[Monitor], Monitor]:
    def fit(monitor: Monitor) -> Monitor:
        return monitor.fit(small.material, small.classifier)

    return fit


@pytest.fixture(scope="module")
def pytorch_ood(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let pytorch-ood be imported where it is installed, though torchvision may not be."""
    with torchvision_at_hand(tmp_path_factory.mktemp("torchvision")):
        yield
