"""Exported programs: torch.export and TorchScript, with their preprocessing; nothing is claimed untried."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from farm.errors import ComponentFailure, DataError, ExperimentError, ParameterError, UserError
from farm.run.testbed import Testbed
from tests.wording import refused

EXPORTED = "models.exported:Exported"


@pytest.fixture(scope="module")
def bed(tmp_path_factory) -> Testbed:
    return Testbed(seed=0, folder=tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def workload(bed):
    return bed.workload({"name": "digits", "size": 8, "channels": 1})


@pytest.fixture
def images(workload):
    return workload.test.images.read(np.arange(5))


def net(*last: nn.Module, dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(5)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(dropout), nn.Linear(144, 10), *last
    ).eval()


class Detached(nn.Module):
    """Logits that do not hang on the image."""

    def __init__(self):
        super().__init__()
        self.net = net()

    def forward(self, images):
        return self.net(images.detach())


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net()

    def forward(self, images):
        return self.net(images), images


def save_export(module, path, batch=None, example=None) -> None:
    example = torch.zeros(batch or 2, 1, 8, 8) if example is None else example
    dynamic = None if batch else ({0: torch.export.Dim("n")},)
    torch.export.save(torch.export.export(module, (example,), dynamic_shapes=dynamic), path)


def save_script(module, path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(module, torch.zeros(2, 1, 8, 8), check_trace=False).save(str(path))


SAVE = {"net.pt2": save_export, "net.ts": save_script, "net.pt": save_script}


def classifier(bed, workload, path, **parameters):
    return bed.classifier({"name": EXPORTED, "path": str(path), **parameters}, workload)


@pytest.mark.parametrize("name", SAVE)
def test_it_gives_what_the_module_gave(bed, workload, images, tmp_path, name) -> None:
    module = net()
    SAVE[name](module, tmp_path / name)
    made = classifier(bed, workload, tmp_path / name)
    seen = made.observe(images)
    expected = module(torch.from_numpy(images.copy())).detach()
    np.testing.assert_allclose(seen.logits, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen.probabilities, expected.double().softmax(1), rtol=1e-4)
    assert made.capabilities.logits
    assert made.capabilities.gradients
    assert bool(made.capabilities.layers) == (name == "net.pt2")
    assert made.nbytes == sum(p.nbytes for p in module.parameters())
    pixels = torch.from_numpy(images.copy()).requires_grad_()
    (gradient,) = torch.autograd.grad(made.differentiable(pixels)[:, 3].sum(), pixels)
    again = torch.from_numpy(images.copy()).requires_grad_()
    (wanted,) = torch.autograd.grad(module(again)[:, 3].sum(), again)
    torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["net.pt2", "net.ts"])
def test_gradients_are_claimed_only_where_they_flow(bed, workload, images, tmp_path, name) -> None:
    SAVE[name](Detached().eval(), tmp_path / name)
    made = classifier(bed, workload, tmp_path / name)
    assert made.capabilities.logits
    assert not made.capabilities.gradients
    with refused(UserError):
        bed.fit(["odin"], made, workload)


def test_normalisation_size_and_class_order(bed, workload, images, tmp_path) -> None:
    save_export(net(), tmp_path / "net.pt2")
    plain = classifier(bed, workload, tmp_path / "net.pt2")
    names = list(workload.classes)[::-1]
    turned = classifier(bed, workload, tmp_path / "net.pt2", classes=names)
    np.testing.assert_array_equal(turned.observe(images).logits, plain.observe(images).logits[:, ::-1])
    normalised = classifier(bed, workload, tmp_path / "net.pt2", mean=[0.5], std=[0.25])
    expected = net()(torch.from_numpy((images - np.float32(0.5)) / np.float32(0.25))).detach()
    np.testing.assert_allclose(normalised.observe(images).logits, expected, rtol=1e-4, atol=1e-4)
    larger = bed.workload({"name": "digits", "size": 16, "channels": 1})
    shrunk = classifier(bed, larger, tmp_path / "net.pt2", size=[8, 8])
    assert shrunk.observe(larger.test.images.read(np.arange(3))).probabilities.shape == (3, 10)
    assert len({c.digest for c in (plain, turned, normalised, shrunk)}) == 4
    assert classifier(bed, workload, tmp_path / "net.pt2").digest == plain.digest


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_fixed_batch_size_is_kept_to(bed, workload, images, tmp_path, batch) -> None:
    save_export(net(), tmp_path / "fixed.pt2", batch)
    save_export(net(), tmp_path / "free.pt2")
    fixed, free = (classifier(bed, workload, tmp_path / f"{n}.pt2") for n in ("fixed", "free"))
    for n in (1, 2, 5):
        seen = fixed.observe(images[:n]).logits
        np.testing.assert_allclose(seen, free.observe(images[:n]).logits, rtol=1e-4, atol=1e-5)
    assert fixed.capabilities.gradients


def test_probabilities_make_a_black_box(bed, workload, images, tmp_path) -> None:
    save_export(net(nn.Softmax(1)), tmp_path / "net.pt2")
    made = classifier(bed, workload, tmp_path / "net.pt2", outputs="probabilities")
    assert not made.capabilities.logits
    assert not made.capabilities.gradients
    expected = net()(torch.from_numpy(images.copy())).softmax(1).detach()
    np.testing.assert_allclose(made.observe(images).probabilities, expected, rtol=1e-4)
    with refused(UserError):
        made.differentiable(torch.zeros(1, 1, 8, 8))
    with refused(ExperimentError):
        classifier(bed, workload, tmp_path / "net.pt2")
    save_export(net(), tmp_path / "logits.pt2")
    with refused(ComponentFailure):
        classifier(bed, workload, tmp_path / "logits.pt2", outputs="probabilities")


def test_a_program_in_training_mode_is_noticed(bed, workload, tmp_path) -> None:
    save_export(net(dropout=0.5).train(), tmp_path / "net.pt2")
    with refused(ExperimentError):
        classifier(bed, workload, tmp_path / "net.pt2")


@pytest.mark.parametrize("name", ["net.pt2", "net.ts"])
def test_damaged_files_are_told_before_they_run(bed, workload, tmp_path, name) -> None:
    SAVE[name](net(), tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    for content in (b"", b"no program", whole[: len(whole) // 2], whole[:-30]):
        (tmp_path / name).write_bytes(content)
        with refused(DataError):
            classifier(bed, workload, tmp_path / name)
    weights = net()[0].weight.detach().numpy().tobytes()
    at = whole.index(weights[:16])
    (tmp_path / name).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with refused(DataError):
        classifier(bed, workload, tmp_path / name)


def test_files_that_hold_no_program(bed, workload, tmp_path) -> None:
    torch.save(net().state_dict(), tmp_path / "weights.pt")
    with refused(DataError):
        classifier(bed, workload, tmp_path / "weights.pt")
    np.savez(tmp_path / "arrays.pt2", a=np.zeros(1))
    (tmp_path / "arrays.pt2.npz").rename(tmp_path / "arrays.pt2")
    with refused(DataError):
        classifier(bed, workload, tmp_path / "arrays.pt2")
    with refused(DataError):
        classifier(bed, workload, "gone.pt2")


def test_programs_that_do_not_fit(bed, workload, tmp_path) -> None:
    save_export(net(), tmp_path / "net.pt2")
    larger = bed.workload({"name": "digits", "size": 16, "channels": 1})
    with refused(DataError):
        classifier(bed, larger, tmp_path / "net.pt2")
    colour = bed.workload({"name": "digits", "size": 8, "channels": 3})
    with refused(DataError):
        classifier(bed, colour, tmp_path / "net.pt2")
    save_export(net(nn.Linear(10, 4)), tmp_path / "four.pt2")
    with refused(ComponentFailure):
        classifier(bed, workload, tmp_path / "four.pt2")
    save_export(Two().eval(), tmp_path / "two.pt2")
    with refused(DataError):
        classifier(bed, workload, tmp_path / "two.pt2")


def test_a_monitor_of_hidden_layers_is_told(bed, workload, tmp_path) -> None:
    save_script(net(), tmp_path / "net.ts")
    made = classifier(bed, workload, tmp_path / "net.ts")
    with refused(UserError):
        bed.fit(["oob"], made, workload)
    assert bed.fit(["odin", "max-softmax"], made, workload)


@pytest.mark.parametrize(
    "parameters",
    [
        {"outputs": "scores"},
        {"device": "abacus"},
        {"size": [8]},
        {"size": [8, 8.5]},
        {"mean": [0.1, 0.2]},
    ],
)
def test_mistakes_in_parameters(bed, workload, tmp_path, parameters) -> None:
    save_script(net(), tmp_path / "net.ts")
    with refused(ParameterError):
        classifier(bed, workload, tmp_path / "net.ts", **parameters)
