"""The study's small network: its layers, its dropout, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from farm.api import NoCache
from farm.errors import ParameterError
from farm.run.testbed import Testbed
from farm.testing.fakes import tiny_workload
from models.cnn import Cnn, CnnModule
from tests.wording import refused


@pytest.mark.parametrize(
    ("shape", "flat"), [((3, 32, 32), 32 * 14 * 14), ((3, 64, 64), 32 * 30 * 30), ((1, 9, 16), 32 * 2 * 6)]
)
def test_its_layers_have_the_sources_sizes(shape, flat) -> None:
    torch.manual_seed(0)
    module = CnnModule(shape, 43, 32, 128, 0.0)
    sizes = {name: tuple(one.shape) for name, one in module.named_parameters() if name.endswith("weight")}
    assert sizes == {
        "conv1.weight": (32, shape[0], 3, 3),
        "conv2.weight": (32, 32, 3, 3),
        "fc1.weight": (128, flat),
        "fc2.weight": (43, 128),
    }
    assert module(torch.rand(2, *shape)).shape == (2, 43)


def test_it_computes_what_its_description_says() -> None:
    torch.manual_seed(0)
    module, images = CnnModule((3, 12, 10), 5, 4, 6, 0.6).eval(), torch.rand(3, 3, 12, 10)
    x = torch.relu(F.conv2d(images, module.conv1.weight, module.conv1.bias))
    x = torch.relu(F.conv2d(x, module.conv2.weight, module.conv2.bias))
    x = F.max_pool2d(x, 2).flatten(1)
    x = torch.relu(x @ module.fc1.weight.T + module.fc1.bias)
    torch.testing.assert_close(module(images), x @ module.fc2.weight.T + module.fc2.bias)


def test_dropout_comes_after_each_hidden_layer_and_is_absent_at_0() -> None:
    names = list(dict(CnnModule((3, 32, 32), 5, 4, 6, 0.6).named_children()))
    before = [names[names.index(f"dropout{i}") - 1] for i in (1, 2, 3)]
    assert before == ["relu1", "relu2", "relu3"]
    plain = list(dict(CnnModule((3, 32, 32), 5, 4, 6, 0.0).named_children()))
    assert plain == [name for name in names if not name.startswith("dropout")]


@pytest.mark.parametrize("recipe", [{"epochs": 6}, {"epochs": 10, "dropout": 0.3}])
def test_it_learns_and_never_stops_early(recipe) -> None:
    bed = Testbed(seed=0, cache=NoCache())
    workload = bed.workload({"name": "digits", "size": 8, "channels": 1})
    classifier = bed.classifier(Cnn(**recipe, learning_rate=1e-2), workload)
    seen = classifier.observe(workload.test.images.read(np.arange(len(workload.test))))
    assert (seen.predicted == workload.test.labels).mean() > 0.85
    assert len(classifier.notes["validation_loss"]) == recipe["epochs"]
    assert classifier.capabilities.members == ("dropout" in recipe)


def test_patience_is_as_said() -> None:
    bed = Testbed(seed=0, cache=NoCache())
    # Steps this large leave no loss lower than the first.
    classifier = bed.classifier(Cnn(epochs=5, filters=2, learning_rate=5.0, patience=1), tiny_workload())
    assert len(classifier.notes["validation_loss"]) < 5


def test_images_below_8_pixels_are_refused() -> None:
    with refused(ParameterError):
        Testbed(seed=0).untrained(Cnn(), tiny_workload(size=7))


@pytest.mark.parametrize(
    "parameter",
    [{"filters": 0}, {"hidden": 1}, {"dropout": 1.0}, {"loss": "hinge"}, {"epochs": 0}, {"patience": 0}],
)
def test_mistakes_are_told(parameter) -> None:
    with refused(ParameterError):
        Cnn(**parameter)
