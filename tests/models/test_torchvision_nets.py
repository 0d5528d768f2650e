"""torchvision's networks, which a fake with the same interface stands in for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from farm.api import Context, NoCache, SavedClassifier
from farm.errors import ParameterError, RequirementError
from farm.run.testbed import Testbed
from farm.testing.fakes import tiny_workload
from models.torchvision_nets import Resnet50, Vgg16
from tests.wording import refused


class FakeVgg(nn.Module):
    """Parts and names of torchvision's VGG-16; fewer channels."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        first = nn.Conv2d(3, 64, 3, padding=1)
        self.features = nn.Sequential(first, nn.ReLU(inplace=True), nn.MaxPool2d(32), nn.Conv2d(64, 8, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            *(nn.Linear(8 * 49, 16), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(16, num_classes))
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class FakeResnet(nn.Module):
    """Parts and names of torchvision's ResNet-50; fewer layers."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(64), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(64, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.avgpool(self.maxpool(self.relu(self.bn1(self.conv1(x))))).flatten(1))


@pytest.fixture
def torchvision(monkeypatch) -> Iterator[None]:
    package, models = ModuleType("torchvision"), ModuleType("torchvision.models")
    package.__version__ = "0.19.0"
    models.vgg16 = lambda *, weights=None, progress=True, num_classes=1000: FakeVgg(num_classes)
    models.resnet50 = lambda *, weights=None, progress=True, num_classes=1000: FakeResnet(num_classes)
    package.models = models
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)


def workload(channels: int = 3, size: int = 8):
    bed = Testbed(seed=0, cache=NoCache())
    if channels == 3:
        return tiny_workload(size=size, tracks=(2, 1, 1))
    return bed.workload({"name": "digits", "size": size, "channels": channels})


@pytest.mark.parametrize("kind", [Vgg16, Resnet50])
def test_it_is_trained_kept_and_made_again(torchvision, kind) -> None:
    tiny, source = workload(), kind(epochs=2, batch_size=31)  # of 32 images, one is left alone
    assert len(tiny.train) == 32
    first, second = (Testbed(seed=4, cache=NoCache()).classifier(source, tiny) for _ in range(2))
    assert first.digest == second.digest
    assert set(first.notes) == {"loss", "validation_loss", "best_epoch", "train_accuracy"}
    again = source.restore(SavedClassifier("tiny", tiny.classes, tiny.shape, first.state))
    images = tiny.test.images.read(np.arange(6))
    assert again.digest == first.digest
    np.testing.assert_array_equal(again.observe(images).logits, first.observe(images).logits)
    assert first.capabilities.members == (kind is Vgg16)


@pytest.mark.parametrize("kind", [Vgg16, Resnet50])
@pytest.mark.parametrize(("channels", "size"), [(1, 8), (1, 64), (3, 64)])
def test_it_takes_grey_and_colour_of_any_size(torchvision, kind, channels, size) -> None:
    some = workload(channels, size)
    classifier = Testbed(seed=0).untrained(kind(), some)
    seen = classifier.observe(some.test.images.read(np.arange(2)), ["last-hidden"])
    assert seen.probabilities.shape == (2, len(some.classes))
    assert classifier._preprocessing.size == ((32, 32) if size < 32 else None)


def test_small_images_keep_their_pixels_in_the_first_layers_of_a_resnet(torchvision) -> None:
    small, large = (Testbed(seed=0).untrained(Resnet50(), workload(3, n))._module for n in (32, 64))
    assert small.conv1.stride == (1, 1)
    assert isinstance(small.maxpool, nn.Identity)
    assert large.conv1.stride == (2, 2)
    assert isinstance(large.maxpool, nn.MaxPool2d)


def test_batches_of_one_image_cannot_be_normalised(torchvision) -> None:
    with refused(ParameterError):
        Testbed(seed=0, cache=NoCache()).classifier(Resnet50(epochs=1, batch_size=1), workload())


def test_the_version_of_torchvision_is_in_the_key(torchvision) -> None:
    assert Vgg16()._key(workload(), Context())["torchvision"] == "0.19.0"


@pytest.mark.parametrize("kind", [Vgg16, Resnet50])
def test_without_torchvision_the_extra_is_named(kind, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.delitem(sys.modules, "torchvision.models", raising=False)
    with refused(RequirementError):
        kind().check(Context())
    with refused(RequirementError):
        Testbed(seed=0, cache=NoCache()).classifier(kind(), workload())


def test_a_torchvision_that_breaks_on_import_is_told(tmp_path, monkeypatch) -> None:
    (tmp_path / "torchvision").mkdir()
    broken = "raise RuntimeError('operator torchvision::nms does not exist')"
    (tmp_path / "torchvision" / "__init__.py").write_text(broken)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("torchvision", "torchvision.models"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with refused(RequirementError):
        Vgg16().check(Context())


@pytest.mark.parametrize("kind", [Vgg16, Resnet50])
def test_the_real_ones_have_the_parts_that_are_changed(kind) -> None:
    try:
        import torchvision.models  # noqa: F401
    except Exception as error:  # noqa: BLE001 - missing, or built for another torch
        pytest.skip(f"torchvision cannot be imported: {error}")
    for channels, size in ((1, 8), (3, 64)):
        some = workload(channels, size)
        classifier = Testbed(seed=0).untrained(kind(), some)
        images = some.test.images.read(np.arange(2))
        assert classifier.observe(images).logits.shape == (2, len(some.classes))
    assert torch.is_tensor(
        classifier._module.state_dict()[{"vgg16": "features.0.weight"}.get(kind.function, "conv1.weight")]
    )
