"""Classifiers that people bring along."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from farm.api import PerInstance
from farm.errors import ComponentFailure, DataError, ExperimentError, ParameterError, UserError
from farm.run.testbed import Testbed
from tests.wording import refused

SOURCE = """
from typing import NamedTuple

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

class Boxes(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.trunk = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU())
        self.classes, self.corners, self.form = nn.Linear(16, 10), nn.Linear(16, 4), form

    def forward(self, images):
        shared = self.trunk(images)
        return self.form(self.classes(shared), self.corners(shared))

def boxes_by(form):
    torch.manual_seed(4)
    return Boxes(form)

class Both(NamedTuple):
    box: torch.Tensor
    logits: torch.Tensor

def make_keys():
    return boxes_by(lambda logits, box: {"box": box, "logits": logits, "more": box})

def make_pair():
    return boxes_by(lambda logits, box: (logits, box))

def make_named():
    return boxes_by(lambda logits, box: Both(box, logits))

def make_boxes():
    return boxes_by(lambda logits, box: box)

def make_wide():
    return boxes_by(lambda logits, box: (logits, logits))

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
        ({"gives": ["logits", "boxes"]}, ParameterError),
        ({"gives": []}, ParameterError),
        ({"gives": ["logits", "box"]}, ComponentFailure),
        ({"factory": "their_models:make_dict", "gives": ["logits", "box"]}, ComponentFailure),
        ({"factory": "their_models:make_pair"}, ComponentFailure),
        ({"factory": "their_models:make_wide", "gives": ["logits", "box"]}, ComponentFailure),
        ({"dropout_after": {"fc7": 0.1}}, ParameterError),
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


# Modules that say where, too ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["make_keys", "make_pair", "make_named"])
def test_boxes_come_by_their_key_or_by_their_place(bed, workload, form) -> None:
    made = bed.classifier(own(factory=f"their_models:{form}", gives=["logits", "box"]), workload)
    images = workload.test.images.read(np.arange(5))
    seen = made.observe(images, ["trunk.2"])
    trunk, state = seen.activations["trunk.2"], made.state
    box = trunk @ state["module.corners.weight"].T + state["module.corners.bias"]
    logits = trunk @ state["module.classes.weight"].T + state["module.classes.bias"]
    np.testing.assert_allclose(seen.outputs["box"], box, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen.logits, logits, rtol=1e-4, atol=1e-5)
    assert seen.outputs["box"].dtype == np.float32
    assert made.capabilities.boxes


def test_boxes_of_resized_images_come_in_the_pixels_of_the_workload(bed, workload) -> None:
    larger = bed.workload({"name": "digits", "size": 32, "channels": 1})
    recipe = own(factory="their_models:make_pair", gives=["logits", "box"])
    images = larger.test.images.read(np.arange(5))
    found = bed.classifier({**recipe, "size": [8, 8]}, larger)
    small = found._preprocessing(torch.from_numpy(images)).numpy()
    boxes = bed.classifier(recipe, workload).observe(small).outputs["box"]
    np.testing.assert_allclose(found.observe(images).outputs["box"], 4 * boxes, rtol=1e-5)


def test_boxes_alone_leave_all_classes_as_likely(bed, workload) -> None:
    made = bed.classifier(own(factory="their_models:make_boxes", gives=["box"]), workload)
    seen = made.observe(workload.test.images.read(np.arange(5)))
    assert seen.outputs["box"].shape == (5, 4)
    assert (seen.probabilities == np.float32(0.1)).all()
    assert seen.logits is None
    assert made.notes == {"classes": "it gives boxes alone: all classes are as likely"}
    with refused(UserError):
        bed.fit(["odin"], made, workload)
    with refused(UserError):
        made.differentiable(torch.zeros(1, 1, 8, 8))


@pytest.mark.parametrize("gives", [["logits", "box"], ["box"]])
def test_passes_drop_after_the_parts_that_are_named(bed, workload, gives) -> None:
    factory = "their_models:make_pair" if len(gives) == 2 else "their_models:make_boxes"
    recipe = own(factory=factory, gives=gives, dropout_after={"trunk": 0.5})
    images, ids = workload.test.images.read(np.arange(6)), workload.test.ids[:6]
    passes = bed.classifier({"name": "mc-dropout", "of": recipe, "passes": 4, "masks": "instance"}, workload)
    seen = passes.observe(images, ids=ids, members=4)
    hidden = bed.classifier(recipe, workload).observe(images, ["trunk"]).activations["trunk"]
    kept = PerInstance(0, "trunk 0", ids).bits(4, 16).swapaxes(0, 1) >= 2**15
    state = passes.state
    box = 2 * hidden * kept @ state["0 module.corners.weight"].T + state["0 module.corners.bias"]
    np.testing.assert_allclose(seen.outputs["box"], box.mean(axis=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen.outputs["box_spread"], box.std(axis=0, ddof=1), rtol=1e-4, atol=1e-5)
    assert passes.notes["box_spread_ddof"] == 1
    assert (len({one.tobytes() for one in seen.members}) == 4) == ("logits" in gives)


def test_what_it_gives_and_where_it_drops_is_in_the_digest(bed, workload) -> None:
    recipes = [
        own(factory="their_models:make_keys", **more)
        for more in (
            {"gives": ["logits"]},
            {"gives": ["logits", "box"]},
            {"gives": ["logits"], "dropout_after": {"trunk": 0.5}},
            {"gives": ["logits"], "dropout_after": {"trunk": 0.4}},
        )
    ]
    assert len({bed.classifier(recipe, workload).digest for recipe in recipes}) == 4
