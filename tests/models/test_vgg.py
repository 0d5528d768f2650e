"""VGG-like networks: sizes that they take, and members by dropout."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from farm.api import NoCache
from farm.errors import ParameterError, RequirementError
from farm.run.testbed import Testbed
from farm.testing.fakes import tiny_workload
from models.vgg import VggModule, VggSmall
from tests.wording import refused


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 8, 12), (3, 32, 32), (1, 28, 28), (3, 96, 96), (3, 64, 17)])
@pytest.mark.parametrize("classes", [2, 11])
def test_it_takes_images_from_8_to_96_pixels(shape, classes) -> None:
    torch.manual_seed(0)
    module = VggModule(shape, classes, 4, 0.5)
    assert module(torch.rand(2, *shape)).shape == (2, classes)
    assert module.fc1.in_features <= 8 * 4 * 8 * 8


def test_it_learns() -> None:
    bed = Testbed(seed=0, cache=NoCache())
    workload = bed.workload({"name": "digits", "size": 8, "channels": 1})
    classifier = bed.classifier(VggSmall(epochs=20), workload)
    seen = classifier.observe(workload.test.images.read(np.arange(len(workload.test))), members=7)
    assert (seen.predicted == workload.test.labels).mean() > 0.9
    # Passes differ, and their mean is right as well.
    assert (seen.members.mean(axis=0).argmax(axis=1) == workload.test.labels).mean() > 0.9
    assert len(np.unique(seen.members[:, 0], axis=0)) == 7


def test_without_dropout_it_has_no_members() -> None:
    bed = Testbed(seed=0, cache=NoCache())
    workload = tiny_workload()
    classifier = bed.untrained(VggSmall(dropout=0), workload)
    assert not classifier.capabilities.members
    with refused(RequirementError):
        classifier.observe(workload.test.images.read(np.arange(2)), members=3)


def test_images_below_8_pixels_are_refused() -> None:
    with refused(ParameterError):
        Testbed(seed=0).untrained(VggSmall(), tiny_workload(size=7))


@pytest.mark.parametrize("parameter", [{"width": 0}, {"dropout": 1.0}, {"loss": "hinge"}, {"epochs": 0}])
def test_mistakes_are_told(parameter) -> None:
    with refused(ParameterError):
        VggSmall(**parameter)
