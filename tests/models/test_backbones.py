"""Where dropout goes in torchvision's networks, which fakes with the same parts stand in for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from farm.api import Context, NoCache, SavedClassifier
from farm.errors import DataError, ParameterError, RequirementError
from farm.run.testbed import Testbed
from farm.testing.fakes import tiny_workload
from models._backbones import BACKBONES, SmallBackbone
from models.what_and_where import WhatAndWhere
from tests.models.boxed import with_boxes
from tests.wording import refused

WIDTH = 6


class Bottleneck(nn.Module):
    """As torchvision has it: one ReLU that runs three times."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(64, 64, 1, bias=False), nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn1(self.conv1(out)))
        out = out + x
        return self.relu(out)


class FakeResnet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(64), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = nn.Sequential(Bottleneck())
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(64, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer1(self.maxpool(self.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def convolved(channels: int, wider: int, groups: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(channels, wider, 3, padding=1, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(wider), nn.SiLU(inplace=True))


class MBConv(nn.Module):
    """As torchvision has it: only what widens has a swish before the depthwise convolution."""

    def __init__(self, widens: bool) -> None:
        super().__init__()
        wide = 2 * WIDTH if widens else WIDTH
        first = [convolved(WIDTH, wide)] if widens else []
        self.block = nn.Sequential(
            *first, convolved(wide, wide, groups=wide), nn.Identity(), nn.Conv2d(wide, WIDTH, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        result = self.block(x)
        result += x
        return result


class FakeEfficientNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            convolved(3, WIDTH), nn.Sequential(MBConv(False)), nn.Sequential(MBConv(True), MBConv(True))
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(0.2, inplace=True), nn.Linear(WIDTH, 1000))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class Permute(nn.Module):
    def __init__(self, *order: int) -> None:
        super().__init__()
        self.order = order

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(self.order)


class CNBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(WIDTH, WIDTH, 7, padding=3, groups=WIDTH),
            Permute(0, 2, 3, 1),
            nn.LayerNorm(WIDTH),
            nn.Linear(WIDTH, 4 * WIDTH),
            nn.GELU(),
            nn.Linear(4 * WIDTH, WIDTH),
            Permute(0, 3, 1, 2),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x) + x


class FakeConvNext(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        stem = nn.Sequential(nn.Conv2d(3, WIDTH, 4, stride=4))
        self.features = nn.Sequential(stem, nn.Sequential(CNBlock(), CNBlock()))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.GroupNorm(1, WIDTH), nn.Flatten(1), nn.Linear(WIDTH, 1000))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)))


FAKES = {"resnet50": FakeResnet, "efficientnet-b0": FakeEfficientNet, "convnext-tiny": FakeConvNext}
AFTER = {
    "resnet50": ["layer1.0.relu.1"],
    "efficientnet-b0": [f"features.2.{i}.block.0.2.1" for i in (0, 1)],
    "convnext-tiny": [f"features.1.{i}.block.4.1" for i in (0, 1)],
}
"""Where the dropouts are expected: behind ReLU, behind the swish of what widens, behind GELU."""


@pytest.fixture
def torchvision(monkeypatch) -> Iterator[None]:
    package, models = ModuleType("torchvision"), ModuleType("torchvision.models")
    package.__version__ = "0.19.0"
    models.resnet50, models.efficientnet_b0, models.convnext_tiny = FAKES.values()
    models.resnet = SimpleNamespace(Bottleneck=Bottleneck)
    models.efficientnet = SimpleNamespace(MBConv=MBConv)
    models.convnext = SimpleNamespace(CNBlock=CNBlock)
    package.models = models
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)


@pytest.fixture(scope="module")
def tiny():
    return with_boxes(tiny_workload(size=8, tracks=(2, 1, 1)))


def bed(folder=Path()) -> Testbed:
    return Testbed(seed=4, cache=NoCache(), folder=folder)


@pytest.mark.parametrize("name", FAKES)
def test_dropout_stands_where_the_source_has_it(torchvision, name) -> None:
    made = BACKBONES[name]().make((3, 64, 64), 0.3).parts["backbone"]
    found = {part: one.p for part, one in made.named_modules() if isinstance(one, nn.Dropout)}
    assert found == dict.fromkeys(AFTER[name], 0.3)
    plain = BACKBONES[name]().make((3, 64, 64), 0)
    assert not any(isinstance(one, nn.Dropout) for one in plain.parts["backbone"].modules())
    # The names of weights are those of torchvision, with dropout and without.
    whole = {key for key in FAKES[name]().state_dict() if not key.startswith(BACKBONES[name].last)}
    assert set(made.state_dict()) == set(plain.parts["backbone"].state_dict()) == whole
    assert plain.parts["backbone"].eval()(torch.rand(2, 3, 64, 64)).shape == (2, plain.width)


def test_a_relu_that_runs_three_times_drops_three_times(torchvision) -> None:
    made = BACKBONES["resnet50"]().make((3, 64, 64), 0.3).parts["backbone"]
    calls = []
    made.get_submodule("layer1.0.relu.1").register_forward_hook(lambda *_: calls.append(1))
    made.eval()(torch.rand(1, 3, 64, 64))
    assert len(calls) == 3


@pytest.mark.parametrize("name", FAKES)
def test_it_is_trained_with_dropout_everywhere_and_made_again(torchvision, tiny, name) -> None:
    source = WhatAndWhere(
        backbone=name, variant="everywhere", passes=3, epochs=1, batch_size=8, neurons=4, networks="one"
    )
    made = bed().classifier(source, tiny)
    images = tiny.test.images.read(np.arange(6))
    seen = made.observe(images, ids=tiny.test.ids[:6], members=3)
    assert len({one.tobytes() for one in seen.members}) == 3
    assert (seen.outputs["box_spread"] > 0).any()
    again = source.restore(SavedClassifier("tiny", tiny.classes, tiny.shape, made.state))
    assert again.digest == made.digest
    found = again.observe(images, ids=tiny.test.ids[:6])
    np.testing.assert_array_equal(found.outputs["box"], seen.outputs["box"])


@pytest.mark.parametrize("name", FAKES)
@pytest.mark.parametrize("channels", [1, 3])
def test_it_takes_grey_and_colour(torchvision, name, channels) -> None:
    made = BACKBONES[name]().make((channels, 64, 96), 0)
    assert made.parts["backbone"].eval()(torch.rand(2, channels, 64, 96)).shape == (2, made.width)
    assert BACKBONES[name]().size((channels, 8, 40)) == (32, 40)


@pytest.mark.parametrize("name", FAKES)
@pytest.mark.parametrize("networks", ["one", "two"])
def test_weights_of_torchvision_are_what_training_begins_with(
    torchvision, tiny, tmp_path, monkeypatch, name, networks
) -> None:
    torch.manual_seed(8)
    theirs = FAKES[name]()
    if name == "resnet50":  # images of less than 64 pixels have another first convolution
        theirs.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    torch.save(theirs.state_dict(), tmp_path / "theirs.pt")
    begun = []

    def train(module, *_):
        begun.append({key: values.clone() for key, values in module.state_dict().items()})
        return {}

    monkeypatch.setattr("models.training.train", train)
    source = WhatAndWhere(backbone=name, weights="theirs.pt", networks=networks, neurons=4)
    source.check(Context(folder=tmp_path))
    bed(tmp_path).classifier(source, tiny)
    kept = [k for k in theirs.state_dict() if not k.startswith(BACKBONES[name].last)]
    assert len(begun) == {"one": 1, "two": 2}[networks]
    for state in begun:
        for key in kept:
            same = [
                torch.equal(values, theirs.state_dict()[key])
                for own, values in state.items()
                if own.endswith(key)
            ]
            assert any(same), key


def test_weights_that_do_not_fit_are_told(torchvision, tiny, tmp_path) -> None:
    torch.save(FakeConvNext().state_dict(), tmp_path / "other.pt")
    with refused(DataError):
        bed(tmp_path).classifier(WhatAndWhere(backbone="efficientnet-b0", weights="other.pt"), tiny)
    with refused(DataError):
        WhatAndWhere(backbone="efficientnet-b0", weights="none.pt").check(Context(folder=tmp_path))
    with refused(ParameterError):
        WhatAndWhere(weights="other.pt")


def test_without_torchvision_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.delitem(sys.modules, "torchvision.models", raising=False)
    with refused(RequirementError):
        WhatAndWhere(backbone="convnext-tiny").check(Context())


def test_the_version_of_torchvision_is_in_the_key(torchvision, tiny) -> None:
    source = WhatAndWhere(backbone="resnet50")
    assert source._key(tiny, Context())["torchvision"] == "0.19.0"


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 16, 40), (3, 32, 32), (3, 64, 64)])
def test_the_small_one_has_sixteen_places_of_any_size(shape) -> None:
    found = SmallBackbone().make(shape, 0.2)
    parts = nn.Sequential(*found.parts.values())
    assert parts(torch.rand(2, *shape)).shape == (2, found.width) == (2, 512)
    assert sum(isinstance(part, nn.Dropout) for part in parts) == 3


@pytest.mark.parametrize("name", FAKES)
def test_the_real_ones_have_these_parts(name) -> None:
    try:
        import torchvision.models  # noqa: F401
    except Exception as error:  # noqa: BLE001 - missing, or built for another torch
        pytest.skip(f"torchvision cannot be imported: {error}")
    blocks = {"resnet50": 16, "efficientnet-b0": 15, "convnext-tiny": 18}[name]
    made = BACKBONES[name]().make((3, 64, 64), 0.3)
    drops = [part for part in made.parts["backbone"].modules() if isinstance(part, nn.Dropout)]
    assert len(drops) == blocks
    assert made.parts["backbone"].eval()(torch.rand(1, 3, 64, 64)).shape == (1, made.width)
