"""A small real system: scanned digits and a LeNet trained for a few epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from farm.api import Classifier, Monitor, NoCache, Observation, Workload
from farm.fitting import Material, ObservedSplit
from farm.testbed import Testbed

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
    classifier = bed.classifier({"name": "lenet", "epochs": 4}, workload)
    material = Material(
        classes=workload.classes,
        seed=0,
        train=ObservedSplit(classifier, workload.train, LAYERS),
        validation=ObservedSplit(classifier, workload.validation, LAYERS),
    )
    rows = np.arange(len(workload.test))
    test = classifier.observe(workload.test.images.read(rows), LAYERS, ids=workload.test.ids)
    return Small(bed, workload, classifier, material, test)


@pytest.fixture(scope="session")
def fitted(small: Small) -> Callable[[Monitor], Monitor]:
    def fit(monitor: Monitor) -> Monitor:
        return monitor.fit(small.material, small.classifier)

    return fit
