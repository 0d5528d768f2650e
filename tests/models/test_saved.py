"""Classifiers that are made again from saved arrays: the same bits, without the workload."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from farm import registry
from farm.api import Capabilities, Classifier, NoCache, SavedClassifier
from farm.errors import DataError, ExperimentError, RequirementError
from farm.guard.arrays import write_arrays
from farm.run.testbed import Testbed
from farm.store.plain_arrays import read_npz
from tests.models.boxed import with_boxes
from tests.wording import refused

THEIRS = """
import numpy as np
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.register_buffer("seen", torch.tensor(7))
        self.register_buffer("mask", torch.tensor([True, False, True, True]))
        self.head = nn.Linear(4 * 36, 10)
        self.tied = self.head

    def forward(self, x):
        return self.head((torch.relu(self.norm(self.conv(x))) * self.mask[:, None, None]).flatten(1))

def make_net():
    return Net()

def predict(images):
    scores = np.abs(images.reshape(len(images), -1)[:, :10]) + 0.1
    return scores / scores.sum(axis=1, keepdims=True)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "theirs.py").write_text(THEIRS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("theirs", None)


@pytest.fixture(scope="module")
def digits():
    bed = Testbed()
    return {n: bed.workload({"name": "digits", "size": n, "channels": 1}) for n in (8, 16)}


def small_net() -> nn.Module:
    torch.manual_seed(5)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10)).eval()


def lenet(folder: Path) -> dict[str, Any]:
    return {"name": "lenet", "epochs": 1}


def vgg_small(folder: Path) -> dict[str, Any]:
    return {"name": "vgg-small", "epochs": 1, "width": 4}


def residual_small(folder: Path) -> dict[str, Any]:
    return {"name": "residual-small", "epochs": 1, "width": 4}


def cnn(folder: Path) -> dict[str, Any]:
    return {"name": "cnn", "epochs": 1, "filters": 4}


def mc_dropout(folder: Path) -> dict[str, Any]:
    return {"name": "mc-dropout", "of": {**cnn(folder), "dropout": 0.5}, "passes": 3}


def ensemble(folder: Path) -> dict[str, Any]:
    return {"name": "ensemble", "of": cnn(folder), "size": 2}


def ensemble_member(folder: Path) -> dict[str, Any]:
    return {"name": "ensemble-member", "of": cnn(folder), "number": 2}


def four_convolutions(folder: Path) -> dict[str, Any]:
    return {"name": "four-convolutions", "epochs": 1, "width": 4}


def vgg16(folder: Path) -> dict[str, Any]:
    return of_torchvision("vgg16")


def resnet50(folder: Path) -> dict[str, Any]:
    return of_torchvision("resnet50")


def what_and_where(folder: Path) -> dict[str, Any]:
    return {"name": "what-and-where", "epochs": 1, "neurons": 4, "variant": "head", "passes": 3}


def of_torchvision(name: str) -> dict[str, Any]:
    try:
        from torchvision.models import vgg16
    except Exception as error:  # noqa: BLE001 - missing, or built for another torch
        pytest.skip(f"torchvision cannot be imported: {error}")
    if not callable(vgg16) or isinstance(vgg16, type):
        pytest.skip("something stands in for torchvision")
    return {"name": name, "epochs": 1}


def module(folder: Path) -> dict[str, Any]:
    import theirs

    torch.manual_seed(2)
    net = theirs.make_net()
    for parameter in net.parameters():
        parameter.data = parameter.data.mT.contiguous().mT if parameter.ndim > 1 else parameter.data
    net.norm(torch.rand(8, 4, 3, 3))
    torch.save(net.state_dict(), folder / "net.pt")
    return {
        "name": "module",
        "factory": "theirs:make_net",
        "weights": "net.pt",
        "mean": [0.5],
        "std": [0.25],
        "classes": [f"digit-{i}" for i in reversed(range(10))],
    }


def function(folder: Path) -> dict[str, Any]:
    return {"name": "function", "function": "theirs:predict", "mean": [0.1]}


def exported(folder: Path) -> dict[str, Any]:
    export = torch.export.export(
        small_net(), (torch.zeros(2, 1, 8, 8),), dynamic_shapes=({0: torch.export.Dim("n")},)
    )
    torch.export.save(export, folder / "net.pt2")
    return {"name": "exported", "path": "net.pt2", "std": [0.5]}


def script(folder: Path) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(small_net(), torch.zeros(2, 1, 8, 8), check_trace=False).save(str(folder / "net.ts"))
    return {"name": "exported", "path": "net.ts"}


def onnx(folder: Path, **save: Any) -> dict[str, Any]:
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    writer = pytest.importorskip("onnx", reason="onnx, which writes the files to test with, is not installed")
    helper, floats = writer.helper, writer.TensorProto.FLOAT
    rng = np.random.default_rng(0)
    arrays = {"W": rng.normal(size=(64, 16)), "H": rng.normal(size=(16, 10))}
    nodes = [
        helper.make_node("Flatten", ["images"], ["flat"]),
        helper.make_node("MatMul", ["flat", "W"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "H"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("images", floats, ["n", 1, 8, 8])],
        [helper.make_tensor_value_info(o, floats, ["n", k]) for o, k in (("logits", 10), ("hidden", 16))],
        [writer.numpy_helper.from_array(a.astype(np.float32), n) for n, a in arrays.items()],
    )
    net = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    writer.save_model(net, folder / "net.onnx", **save)
    return {"name": "onnx", "path": "net.onnx", "last_hidden": "hidden"}


def onnx_with_weights_beside(folder: Path) -> dict[str, Any]:
    return onnx(folder, save_as_external_data=True, location="net.weights", size_threshold=0)


MAKERS: tuple[Callable[[Path], dict[str, Any]], ...] = (
    lenet,
    vgg_small,
    residual_small,
    cnn,
    mc_dropout,
    ensemble,
    ensemble_member,
    vgg16,
    resnet50,
    what_and_where,
    four_convolutions,
    module,
    function,
    exported,
    script,
    onnx,
    onnx_with_weights_beside,
)


def make(
    folder: Path, digits: Any, maker: Callable[[Path], dict[str, Any]]
) -> tuple[dict[str, Any], Any, Any]:
    recipe = maker(folder)
    workload = with_boxes(digits[16 if recipe["name"] == "lenet" else 8])
    bed = Testbed(folder=folder, cache=NoCache())
    return recipe, workload, bed.classifier(recipe, workload)


def saved(path: Path, classifier: Classifier, workload: Any) -> SavedClassifier:
    write_arrays(path, classifier.state)
    return SavedClassifier(workload.name, workload.classes, workload.shape, read_npz(path))


def model(recipe: dict[str, Any]):
    return registry.model(**recipe)


def test_every_registered_model_is_tried() -> None:
    tried = {"onnx" if "onnx" in m.__name__ else m.__name__.replace("_", "-") for m in MAKERS} - {"script"}
    assert tried == set(registry.entries("model"))


@pytest.mark.parametrize("maker", MAKERS)
def test_it_comes_back_with_the_same_bits(folder, digits, maker) -> None:
    recipe, workload, classifier = make(folder, digits, maker)
    path = folder / "saved.npz"
    kept = saved(path, classifier, workload)
    images = workload.test.images.read(np.arange(7))
    layers = tuple(n for n in classifier.capabilities.layers if n == "last-hidden")
    expected = classifier.observe(images, layers)
    for name in ("net.pt", "net.pt2", "net.ts", "net.onnx", "net.weights"):
        (folder / name).unlink(missing_ok=True)
    again = model(recipe).restore(kept)
    assert again.digest == classifier.digest
    assert again.capabilities == classifier.capabilities
    assert again.classes == classifier.classes
    assert again.name == classifier.name
    seen = again.observe(images, layers)
    np.testing.assert_array_equal(seen.probabilities, expected.probabilities)
    assert {k: v.tobytes() for k, v in seen.outputs.items()} == {
        k: v.tobytes() for k, v in expected.outputs.items()
    }
    for layer in layers:
        np.testing.assert_array_equal(seen.activations[layer], expected.activations[layer])
    # And what was made again can be saved again.
    assert {k: v.tobytes() for k, v in again.state.items()} == {k: v.tobytes() for k, v in kept.state.items()}


def test_it_comes_back_with_the_same_bits_in_a_new_process(folder, digits) -> None:
    recipe, workload, classifier = make(folder, digits, lenet)
    saved(folder / "saved.npz", classifier, workload)
    images = workload.test.images.read(np.arange(7))
    np.save(folder / "images.npy", images)
    code = f"""
import numpy as np, sys
import torch
torch.set_num_threads(1)
from farm import registry
from farm.api import SavedClassifier
from farm.store.plain_arrays import read_npz
kept = SavedClassifier("digits", {workload.classes!r}, {workload.shape!r}, read_npz(sys.argv[1]))
again = registry.model(**{recipe!r}).restore(kept)
np.save(sys.argv[3], again.observe(np.load(sys.argv[2])).probabilities)
print(again.digest)
"""
    files = [str(folder / name) for name in ("saved.npz", "images.npy", "seen.npy")]
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == classifier.digest
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    np.testing.assert_array_equal(np.load(files[2]), classifier.observe(images).probabilities)
    torch.set_num_threads(before)


def test_restoring_neither_reads_nor_moves_the_global_generator(folder, digits) -> None:
    recipe, workload, classifier = make(folder, digits, lenet)
    kept = saved(folder / "saved.npz", classifier, workload)
    before = torch.get_rng_state()
    model(recipe).restore(kept)
    assert torch.equal(before, torch.get_rng_state())


def test_a_module_whose_code_has_changed_is_told(folder, digits) -> None:
    recipe, workload, classifier = make(folder, digits, module)
    kept = saved(folder / "saved.npz", classifier, workload)
    for old, new in (
        ("4 * 36, 10)", "4 * 36, 10, bias=False)"),
        ("4 * 36, 10)", "4 * 36, 11)"),
        ("torch.tensor(7)", "torch.tensor(7.0)"),
        ("self.tied =", "self.more = nn.Linear(2, 2); self.tied ="),
    ):
        (folder / "theirs.py").write_text(THEIRS.replace(old, new))
        sys.modules.pop("theirs")
        with refused(DataError):
            model(recipe).restore(kept)


def test_a_function_whose_source_has_changed_has_another_digest(folder, digits) -> None:
    recipe, workload, classifier = make(folder, digits, function)
    kept = saved(folder / "saved.npz", classifier, workload)
    (folder / "theirs.py").write_text(THEIRS.replace("+ 0.1", "+ 0.2"))
    sys.modules.pop("theirs")
    assert model(recipe).restore(kept).digest != classifier.digest
    (folder / "theirs.py").unlink()
    sys.modules.pop("theirs")
    with refused(ExperimentError):
        model(recipe).restore(kept)


@pytest.mark.parametrize("maker", [exported, onnx])
def test_a_program_that_was_changed_since_it_was_loaded_is_not_saved(folder, digits, maker) -> None:
    recipe, _, classifier = make(folder, digits, maker)
    path = folder / recipe["path"]
    path.write_bytes(path.read_bytes() + b"\0")
    with refused(DataError):
        _ = classifier.state
    path.unlink()
    with refused(DataError):
        _ = classifier.state


def test_weights_of_a_graph_in_a_folder_below_cannot_be_saved(folder, digits) -> None:
    (folder / "below").mkdir()

    def maker(place: Path) -> dict[str, Any]:
        kept = {"save_as_external_data": True, "location": "net.weights", "size_threshold": 0}
        recipe = onnx(place, **kept)
        graph = (place / "net.onnx").read_bytes()
        assert graph.count(b"\x0bnet.weights") == 2
        (place / "below" / "a").write_bytes((place / "net.weights").read_bytes())
        (place / "net.onnx").write_bytes(graph.replace(b"\x0bnet.weights", b"\x0bbelow/././a"))
        return recipe

    _, _, classifier = make(folder, digits, maker)
    with refused(RequirementError):
        _ = classifier.state


def test_a_black_box_stays_one(folder, digits) -> None:
    _, _, classifier = make(folder, digits, function)
    assert classifier.state == {}
    assert classifier.capabilities == Capabilities()


@pytest.mark.parametrize("given", [(0.5,), [0.5]])
def test_a_digest_does_not_tell_tuples_from_lists(folder, digits, given) -> None:
    exported(folder)
    bed = Testbed(folder=folder)
    one = {"name": "exported", "path": "net.pt2", "mean": given}
    assert bed.classifier(one, digits[8]).digest == bed.classifier({**one, "mean": [0.5]}, digits[8]).digest
