"""ONNX files: run by onnxruntime, with further outputs as layers; a black box otherwise."""

from __future__ import annotations

import builtins
import importlib
import sys

import numpy as np
import pytest

from farm.errors import (
    ComponentFailure,
    DataError,
    ExperimentError,
    ParameterError,
    RequirementError,
    UserError,
)
from farm.run.testbed import Testbed
from tests.wording import refused

ONNX_FILE = "models.onnx_file:OnnxFile"
WEIGHTS = np.random.default_rng(0).normal(size=(64, 16)).astype(np.float32)
HEAD = np.random.default_rng(1).normal(size=(16, 10)).astype(np.float32)


@pytest.fixture(scope="module")
def bed(tmp_path_factory) -> Testbed:
    return Testbed(seed=0, folder=tmp_path_factory.mktemp("graphs"))


@pytest.fixture(scope="module")
def workload(bed):
    return bed.workload({"name": "digits", "size": 8, "channels": 1})


@pytest.fixture
def images(workload):
    return workload.test.images.read(np.arange(5))


@pytest.fixture
def write(tmp_path):
    """Write a small graph: one hidden layer, logits first, and whatever else is asked for."""
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    onnx = pytest.importorskip("onnx", reason="onnx, which writes the files to test with, is not installed")
    helper = onnx.helper

    def make(name="net.onnx", batch="n", outputs=("logits", "hidden"), softmax=False, inputs=1, **save):
        values = {
            "logits": ["n", 10],
            "probabilities": ["n", 10],
            "hidden": ["n", 16],
        }
        nodes = [
            helper.make_node("Flatten", ["images"], ["flat"]),
            helper.make_node("MatMul", ["flat", "W"], ["sums"]),
            helper.make_node("Relu", ["sums"], ["hidden"]),
            helper.make_node("MatMul", ["hidden", "H"], ["logits"]),
        ]
        if softmax:
            nodes.append(helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1))
        if inputs == 2:
            nodes[0] = helper.make_node("Add", ["images", "more"], ["sum"])
            nodes.insert(1, helper.make_node("Flatten", ["sum"], ["flat"]))
        floats = onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            nodes,
            "net",
            [helper.make_tensor_value_info(i, floats, [batch, 1, 8, 8]) for i in ("images", "more")[:inputs]],
            [helper.make_tensor_value_info(o, floats, [batch, *values[o][1:]]) for o in outputs],
            [onnx.numpy_helper.from_array(WEIGHTS, "W"), onnx.numpy_helper.from_array(HEAD, "H")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        onnx.save_model(model, tmp_path / name, **save)
        return tmp_path / name

    return make


def classifier(bed, workload, path, **parameters):
    return bed.classifier({"name": ONNX_FILE, "path": str(path), **parameters}, workload)


def hidden(images):
    return np.maximum(images.reshape(len(images), -1) @ WEIGHTS, 0)


def test_it_gives_logits_and_its_further_outputs_as_layers(bed, workload, images, write) -> None:
    made = classifier(bed, workload, write(), last_hidden="hidden")
    assert made.capabilities.logits
    assert not made.capabilities.gradients
    assert made.capabilities.layers == ("hidden", "flat", "sums", "last-hidden")
    assert made.nbytes is None
    seen = made.observe(images, ("last-hidden", "hidden"))
    logits = hidden(images) @ HEAD
    np.testing.assert_allclose(seen.logits, logits, rtol=1e-4, atol=1e-4)
    exponents = np.exp(logits - logits.max(1, keepdims=True))
    np.testing.assert_allclose(seen.probabilities, exponents / exponents.sum(1, keepdims=True), atol=1e-5)
    for layer in ("last-hidden", "hidden"):
        np.testing.assert_allclose(seen.activations[layer], hidden(images), rtol=1e-4, atol=1e-4)
    assert made.observe(images).activations == {}


def test_monitors_of_layers_work_and_those_of_gradients_do_not(bed, workload, write) -> None:
    made = classifier(bed, workload, write(), last_hidden="hidden")
    assert bed.fit(["oob", "max-softmax"], made, workload)
    with refused(UserError):
        bed.fit(["odin"], made, workload)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_fixed_batch_size_is_kept_to(bed, workload, images, write, batch) -> None:
    fixed = classifier(bed, workload, write(batch=batch))
    for n in (1, 2, 5):
        seen = fixed.observe(images[:n], ("hidden",))
        np.testing.assert_allclose(seen.activations["hidden"], hidden(images[:n]), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(seen.logits, hidden(images[:n]) @ HEAD, rtol=1e-4, atol=1e-4)


def test_normalisation_size_and_class_order(bed, workload, images, write) -> None:
    path = write()
    plain = classifier(bed, workload, path)
    turned = classifier(bed, workload, path, classes=list(workload.classes)[::-1])
    np.testing.assert_array_equal(turned.observe(images).logits, plain.observe(images).logits[:, ::-1])
    normalised = classifier(bed, workload, path, mean=[0.5], std=[0.25])
    expected = hidden((images - np.float32(0.5)) / np.float32(0.25)) @ HEAD
    np.testing.assert_allclose(normalised.observe(images).logits, expected, rtol=1e-3, atol=1e-3)
    larger = bed.workload({"name": "digits", "size": 16, "channels": 1})
    shrunk = classifier(bed, larger, path, size=[8, 8])
    assert shrunk.observe(larger.test.images.read(np.arange(3))).probabilities.shape == (3, 10)
    assert len({c.digest for c in (plain, turned, normalised, shrunk)}) == 4
    assert classifier(bed, workload, path).digest == plain.digest


def test_probabilities_are_taken_as_they_are(bed, workload, images, write) -> None:
    path = write(outputs=("probabilities",), softmax=True)
    made = classifier(bed, workload, path, outputs="probabilities")
    assert not made.capabilities.logits
    logits = hidden(images) @ HEAD
    assert np.diff(np.sort(logits, axis=1)[:, -2:]).min() > 1e-3, "no two classes are nearly as likely"
    np.testing.assert_array_equal(made.observe(images).predicted, logits.argmax(1))
    with refused(ExperimentError):
        classifier(bed, workload, path)
    with refused(ComponentFailure):
        classifier(bed, workload, write("b.onnx"), outputs="probabilities")


def test_weights_in_another_file_belong_to_it(bed, workload, images, write, tmp_path) -> None:
    kept = {"save_as_external_data": True, "location": "net.weights", "size_threshold": 0}
    path = write("net.onnx", **kept)
    made = classifier(bed, workload, path)
    np.testing.assert_allclose(made.observe(images).logits, hidden(images) @ HEAD, rtol=1e-4, atol=1e-4)
    weights = bytearray((tmp_path / "net.weights").read_bytes())
    weights[3] ^= 1
    (tmp_path / "net.weights").write_bytes(weights)
    assert classifier(bed, workload, path).digest != made.digest
    (tmp_path / "net.weights").unlink()
    with refused(DataError):
        classifier(bed, workload, path)


def test_files_that_cannot_be_read(bed, workload, write, tmp_path) -> None:
    whole = write().read_bytes()
    for content in (b"", b"no graph", whole[: len(whole) // 2]):
        (tmp_path / "bad.onnx").write_bytes(content)
        with refused(DataError):
            classifier(bed, workload, tmp_path / "bad.onnx")


def test_graphs_that_do_not_fit(bed, workload, write) -> None:
    path = write()
    larger = bed.workload({"name": "digits", "size": 16, "channels": 1})
    with refused(DataError):
        classifier(bed, larger, path)
    with refused(DataError):
        classifier(bed, workload, write("two.onnx", inputs=2))
    with refused(ComponentFailure):
        classifier(bed, workload, write("hidden.onnx", outputs=("hidden", "logits")))
    with refused(ParameterError):
        classifier(bed, workload, path, last_hidden="hiden")


def test_a_device_that_is_not_there(bed, workload, write) -> None:
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime has CUDA")
    with refused(ParameterError):
        classifier(bed, workload, write(), device="cuda")
    with refused(ParameterError):
        classifier(bed, workload, write(), device="abacus")


def test_without_onnxruntime_the_extra_is_named(bed, workload, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with refused(RequirementError):
        classifier(bed, workload, tmp_path / "net.onnx")


def test_an_onnxruntime_that_breaks_on_import_is_told(bed, workload, tmp_path, monkeypatch) -> None:
    whole = importlib.import_module

    def broken(name, *rest):
        if name == "onnxruntime":
            raise builtins.ImportError("libonnx.so is missing")
        return whole(name, *rest)

    monkeypatch.setattr(importlib, "import_module", broken)
    with refused(RequirementError):
        bed.classifier({"name": ONNX_FILE, "path": "net.onnx"}, workload)
