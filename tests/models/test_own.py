"""Classifiers that people bring along."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from farm.errors import ComponentFailure, DataError, ExperimentError, ParameterError, UserError
from farm.run.testbed import Testbed
from tests.wording import refused

SOURCE = """
import numpy as np
import torch
from torch import nn

def make_net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))

def make_sure():
    return nn.Sequential(make_net(), nn.Softmax(dim=1))

def make_list():
    return [1, 2]

def make_of_width(width):
    return nn.Linear(width, 10)

class Dict(nn.Module):
    def forward(self, images):
        return {"out": images}

def make_dict():
    return Dict()

def make_headless():
    return nn.Sequential(nn.Conv2d(1, 10, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())

def predict(images):
    seen.append(images.shape)
    scores = np.abs(images.reshape(len(images), -1)[:, :10]) + 0.1
    return scores / scores.sum(axis=1, keepdims=True)

def logits(images):
    return np.tile(np.arange(10.0), (len(images), 1))

seen = []
"""


@pytest.fixture
def bed(tmp_path, monkeypatch) -> Iterator[Testbed]:
    (tmp_path / "their_models.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Testbed(seed=0, folder=tmp_path)
    sys.modules.pop("their_models", None)


@pytest.fixture
def workload(bed):
    return bed.workload({"name": "digits", "size": 8, "channels": 1})


def net() -> nn.Module:
    torch.manual_seed(5)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))


def own(**parameters) -> dict[str, object]:
    return {"name": "module", "factory": "their_models:make_net", **parameters}


def test_a_module_with_weights_of_either_format(bed, workload, tmp_path) -> None:
    module = net()
    torch.save(module.state_dict(), tmp_path / "w.pt")
    save_file(module.state_dict(), tmp_path / "w.safetensors")
    images = workload.test.images.read(np.arange(4))
    expected = module(torch.from_numpy(images)).detach().numpy()
    for weights in ("w.pt", "w.safetensors"):
        seen = bed.classifier(own(weights=weights), workload).observe(images)
        np.testing.assert_allclose(seen.logits, expected, rtol=1e-5)


def test_own_class_order_normalisation_and_size(bed, workload) -> None:
    images = workload.test.images.read(np.arange(4))
    plain = bed.classifier(own(), workload).observe(images)
    names = list(workload.classes)[::-1]
    turned = bed.classifier(own(classes=names), workload).observe(images)
    np.testing.assert_allclose(turned.probabilities, plain.probabilities[:, ::-1], rtol=1e-12)
    normalised = bed.classifier(own(mean=[0.5], std=[0.25]), workload).observe(images)
    assert not np.allclose(normalised.logits, plain.logits)
    larger = bed.workload({"name": "digits", "size": 16, "channels": 1})
    seen = bed.classifier(own(size=[8, 8]), larger).observe(larger.test.images.read(np.arange(4)))
    assert seen.probabilities.shape == (4, 10)


def test_a_function_is_a_black_box(bed, workload) -> None:
    function = {"name": "function", "function": "their_models:predict", "size": [5, 4]}
    classifier = bed.classifier(function, workload)
    assert classifier.capabilities.layers == ()
    assert classifier.nbytes is None
    classifier.observe(workload.test.images.read(np.arange(3)))
    import their_models

    assert their_models.seen[-1] == (3, 1, 5, 4)


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ({"factory": "their_models:make_nett"}, ExperimentError),
        ({"factory": "no_such_module:f"}, ExperimentError),
        ({"factory": "make_net"}, ExperimentError),
        ({"factory": "their_models:make_list"}, ExperimentError),
        ({"weights": "missing.pt"}, DataError),
        ({"mean": [0.1, 0.2]}, ParameterError),
        ({"std": [0.0]}, ParameterError),
        ({"size": 8}, ParameterError),
        ({"size": [8]}, ParameterError),
        ({"classes": ["digit-0"]}, ParameterError),
        ({"classes": ["digit-0"] * 10}, ParameterError),
        ({"classes": ["digit-0", "digit-one", *(f"digit-{i}" for i in range(2, 10))]}, ParameterError),
        ({"size": [4, 4]}, ComponentFailure),
        ({"factory": "their_models.make_net"}, ExperimentError),
        ({"factory": "their_models.py:make_net"}, ExperimentError),
        ({"factory": "their_models:make_of_width"}, ExperimentError),
        ({"factory": "their_models:make_dict"}, ComponentFailure),
        ({"mean": [120]}, ParameterError),
        ({"std": [60]}, ParameterError),
    ],
)
def test_mistakes_are_told(bed, workload, parameters, kind) -> None:
    with refused(kind):
        bed.classifier(own() | parameters, workload)


def test_weights_that_cannot_be_trusted_or_do_not_fit(bed, workload, tmp_path) -> None:
    torch.save(net().state_dict(), tmp_path / "whole.pt")
    whole = (tmp_path / "whole.pt").read_bytes()
    (tmp_path / "cut.pt").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "cut.safetensors").write_bytes(b"\x10\x00")
    torch.save(net(), tmp_path / "pickled.pt")
    torch.save({"1.weight": torch.zeros(2, 2)}, tmp_path / "shape.pt")
    torch.save({"other": torch.zeros(1)}, tmp_path / "other.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    (tmp_path / "short.pt").write_bytes(b"junk")
    for name in (
        "cut.pt",
        "cut.safetensors",
        "pickled.pt",
        "shape.pt",
        "other.pt",
        "list.pt",
        "short.pt",
    ):
        with refused(DataError):
            bed.classifier(own(weights=name), workload)


def test_a_function_that_returns_logits_is_told_so(bed, workload) -> None:
    with refused(ComponentFailure):
        bed.classifier({"name": "function", "function": "their_models:logits"}, workload)


def test_a_monitor_of_hidden_layers_on_a_black_box_is_the_users_mistake(bed, workload) -> None:
    classifier = bed.classifier({"name": "function", "function": "their_models:predict"}, workload)
    with refused(UserError):
        bed.fit(["oob"], classifier, workload)
    with refused(UserError):
        bed.fit(["odin"], classifier, workload)
    assert bed.fit(["max-softmax"], classifier, workload)[0].nbytes == 0


def test_a_network_without_a_linear_layer_is_told_how_to_name_its_last_hidden_one(bed, workload) -> None:
    classifier = bed.classifier(own(factory="their_models:make_headless"), workload)
    with refused(UserError):
        bed.fit(["oob"], classifier, workload)
    named = bed.classifier(own(factory="their_models:make_headless", last_hidden="2"), workload)
    assert bed.fit(["oob"], named, workload)


def test_a_module_that_gives_probabilities_already_is_refused(bed, workload) -> None:
    with refused(ExperimentError):
        bed.classifier(own(factory="their_models:make_sure"), workload)


def test_a_functions_classes_are_a_permutation_too(bed, workload) -> None:
    function = {"name": "function", "function": "their_models:predict"}
    images = workload.test.images.read(np.arange(4))
    plain = bed.classifier(function, workload).observe(images)
    names = list(workload.classes)[::-1]
    turned = bed.classifier(function | {"classes": names}, workload).observe(images)
    np.testing.assert_allclose(turned.probabilities, plain.probabilities[:, ::-1], rtol=1e-12)
    with refused(ParameterError):
        bed.classifier(function | {"classes": [*names, "other"]}, workload)


def test_a_functions_digest_tells_its_source_and_settings_apart(bed, workload, tmp_path) -> None:
    def digest(**settings) -> str:
        function = {"name": "function", "function": "their_models:predict", **settings}
        return bed.classifier(function, workload).digest

    plain = digest()
    assert digest() == plain
    assert digest(version="2") != plain
    assert digest(classes=list(workload.classes)[::-1]) != plain
    (tmp_path / "their_models.py").write_text(SOURCE.replace("+ 0.1", "+ 0.2"))
    sys.modules.pop("their_models")
    assert digest() != plain


def test_what_was_observed_can_be_given_to_a_function_again(bed, workload) -> None:
    classifier = bed.classifier({"name": "function", "function": "their_models:predict"}, workload)
    first = classifier.observe(workload.test.images.read(np.arange(4)))
    np.testing.assert_array_equal(classifier.observe(first.images).probabilities, first.probabilities)
