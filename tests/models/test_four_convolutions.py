"""Four convolutions: the source's layers, images of any size, logits that are means over an image."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from farm.api import NoCache
from farm.errors import ParameterError
from farm.run.testbed import Testbed
from models.four_convolutions import FourConvolutions, FourConvolutionsModule
from tests.wording import refused


def test_its_layers_are_those_of_the_source() -> None:
    """Filters [64, 128, 256, 14] on CURE-TSD, batch normalisation, and no dense layer."""
    module = FourConvolutionsModule((3, 64, 64), 14, 64)
    convolutions = [part for part in module.modules() if isinstance(part, nn.Conv2d)]
    assert [part.out_channels for part in convolutions] == [64, 128, 256, 14]
    norms = [part for part in module.modules() if isinstance(part, nn.BatchNorm2d)]
    assert [part.num_features for part in norms] == [64, 128, 256]
    assert not [part for part in module.modules() if isinstance(part, nn.Linear)]


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 8, 8), (3, 17, 23), (3, 64, 64)])
def test_it_takes_images_of_any_size(shape) -> None:
    assert FourConvolutionsModule(shape, 5, 4).eval()(torch.rand(2, *shape)).shape == (2, 5)


def test_a_logit_is_the_mean_of_its_map() -> None:
    torch.manual_seed(0)
    module = FourConvolutionsModule((3, 16, 16), 5, 4).eval()
    images = torch.rand(2, 3, 16, 16)
    maps = module.features(images)
    assert maps.shape == (2, 5, 2, 2)
    torch.testing.assert_close(module(images), maps.sum(dim=(2, 3)) / 4)


def test_it_learns() -> None:
    bed = Testbed(seed=0, cache=NoCache())
    workload = bed.workload({"name": "digits", "size": 16, "channels": 1})
    classifier = bed.classifier(FourConvolutions(epochs=4, width=8, augment=False), workload)
    seen = classifier.observe(workload.test.images.read(np.arange(len(workload.test))))
    assert (seen.predicted == workload.test.labels).mean() > 0.8
    assert classifier.capabilities.gradients
    assert not classifier.capabilities.members


@pytest.mark.parametrize("parameter", [{"width": 0}, {"epochs": 0}])
def test_mistakes_are_told(parameter) -> None:
    with refused(ParameterError):
        FourConvolutions(**parameter)
