"""Small residual networks: sizes that they take, and images that do not look at one another."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from farm.api import NoCache
from farm.errors import ParameterError
from farm.run.testbed import Testbed
from models.residual import ResidualModule, ResidualSmall
from tests.wording import refused


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 8, 12), (3, 32, 32), (1, 28, 28), (3, 96, 96), (3, 64, 17)])
@pytest.mark.parametrize("width", [1, 4, 6])
def test_it_takes_images_from_8_to_96_pixels(shape, width) -> None:
    torch.manual_seed(0)
    module = ResidualModule(shape, 5, width)
    assert module(torch.rand(2, *shape)).shape == (2, 5)
    assert module.fc.in_features == 4 * width


def test_it_learns() -> None:
    bed = Testbed(seed=0, cache=NoCache())
    workload = bed.workload({"name": "digits", "size": 16, "channels": 1})
    classifier = bed.classifier(ResidualSmall(epochs=5, width=8), workload)
    seen = classifier.observe(workload.test.images.read(np.arange(len(workload.test))))
    assert (seen.predicted == workload.test.labels).mean() > 0.85
    assert not classifier.capabilities.members


def test_in_training_too_no_image_depends_on_another() -> None:
    torch.manual_seed(0)
    module, images = ResidualModule((3, 16, 16), 5, 4).train(), torch.rand(6, 3, 16, 16)
    torch.testing.assert_close(module(images)[:2], module(images[:2]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("parameter", [{"width": 0}, {"loss": "hinge"}, {"patience": 0}])
def test_mistakes_are_told(parameter) -> None:
    with refused(ParameterError):
        ResidualSmall(**parameter)
