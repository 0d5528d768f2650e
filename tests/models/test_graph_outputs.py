"""Programs and ONNX graphs show layers: the same as the module that they were made from, seen by hooks."""

from __future__ import annotations

import json
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
from torch.nn import functional as F

from farm.api import LAST_HIDDEN, Classifier, Needs
from farm.errors import ParameterError, RequirementError, UserError
from farm.run.testbed import Testbed
from farm.testing.fakes import FakeMonitor
from models._onnx_bytes import nodes, with_outputs
from models.graph_outputs import LinearEnd, Step, linear_end
from models.torch_classifier import TorchClassifier
from tests.wording import refused, same_text

EXPORTED, ONNX_FILE = "models.exported:Exported", "models.onnx_file:OnnxFile"
SIZE = 8
MONITORS = ["oob", "knn", "vim", "react", "patterns", "dice", "ash", "mahalanobis", "max-softmax"]


class LeNetLike(nn.Module):
    """Layers in a row, some in place, and a linear end."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.fc1, self.drop, self.fc2 = nn.Linear(36, 16), nn.Dropout(0.5), nn.Linear(16, 10)

    def forward(self, images):
        hidden = F.relu(self.fc1(self.features(images).flatten(1)))
        return self.fc2(self.drop(hidden))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.conv2, self.relu = nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(inplace=True)

    def forward(self, images):
        inner = self.conv2(self.relu(self.bn(self.conv1(images))))
        inner += images
        return self.relu(inner)


class ResNetLike(nn.Module):
    """Blocks that add their input, with a part that runs twice, and a linear end without bias."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3)
        self.layer1 = nn.Sequential(Block(), Block())
        self.pool, self.fc = nn.AdaptiveAvgPool2d(2), nn.Linear(16, 10, bias=False)

    def forward(self, images):
        return self.fc(torch.flatten(self.pool(self.layer1(self.stem(images))), 1))


class Cosine(nn.Module):
    """An end that is no linear layer: likeness to a learnt direction a class."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.directions = nn.Linear(64, 16), nn.Parameter(torch.randn(10, 16))

    def forward(self, images):
        hidden = torch.relu(self.fc(images.flatten(1)))
        return F.normalize(hidden) @ F.normalize(self.directions).T * (1 + hidden.mean(1, keepdim=True))


def net(kind: type[nn.Module] = LeNetLike, *last: nn.Module) -> nn.Module:
    torch.manual_seed(3)
    made = kind()
    for part in made.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.uniform_(-0.5, 0.5)
            part.running_var.uniform_(0.5, 2)
    return (nn.Sequential(made, *last) if last else made).eval()


def to_export(module: nn.Module, path: Path, batch: int | None = None, **how: Any) -> dict[str, Any]:
    dynamic = None if batch else ({0: torch.export.Dim("n")},)
    program = torch.export.export(
        module,
        (torch.zeros(batch or 2, 1, SIZE, SIZE),),
        dynamic_shapes=dynamic,
        strict=how.get("strict", False),
    )
    if how.get("decomposed"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about itself
            program = program.run_decompositions()
    torch.export.save(program, path)
    return {"name": EXPORTED, "path": str(path)}


def to_onnx(module: nn.Module, path: Path, batch: int | None = None) -> dict[str, Any]:
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    pytest.importorskip("onnx", reason="onnx, which writes the files to test with, is not installed")
    free = None if batch else {"images": {0: "n"}, "logits": {0: "n"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            (torch.zeros(batch or 2, 1, SIZE, SIZE),),
            str(path),
            dynamic_axes=free,
            input_names=["images"],
            output_names=["logits"],
            dynamo=False,
        )
    return {"name": ONNX_FILE, "path": str(path)}


WRITE: dict[str, Callable[..., dict[str, Any]]] = {"net.pt2": to_export, "net.onnx": to_onnx}


@pytest.fixture(scope="module")
def bed(tmp_path_factory) -> Testbed:
    return Testbed(seed=0, folder=tmp_path_factory.mktemp("graphs"))


@pytest.fixture(scope="module")
def workload(bed):
    return bed.workload({"name": "digits", "size": SIZE, "channels": 1})


@pytest.fixture(scope="module")
def images(workload):
    return workload.test.images.read(np.arange(7))


def truth(module: nn.Module, workload) -> TorchClassifier:
    return TorchClassifier(module, workload.classes, name="truth")


def same(one, other) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


LAYERS = {
    LeNetLike: ["features", "features.0", "features.1", "features.2", "fc1", "drop", "fc2"],
    ResNetLike: ["stem", "layer1", "layer1.0", "layer1.1", "layer1.1.bn", "layer1.0.conv2", "pool", "fc"],
}


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("how", [{}, {"strict": True}, {"decomposed": True}, {"batch": 1}, {"batch": 3}])
def test_a_program_has_the_modules_layers_by_their_names(bed, workload, images, tmp_path, kind, how) -> None:
    module = net(kind)
    made = bed.classifier(to_export(module, tmp_path / "net.pt2", **how), workload)
    layers = [LAST_HIDDEN, *LAYERS[kind]]
    seen, expected = made.observe(images, layers), truth(module, workload).observe(images, layers)
    assert list(seen.activations) == layers
    for layer in layers:
        assert seen.activations[layer].dtype == np.float32
        same(seen.activations[layer], expected.activations[layer])
    same(seen.logits, expected.logits)
    for mine, theirs in zip(made.head, truth(module, workload).head, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("batch", [None, 1, 3])
@pytest.mark.parametrize("kind", LAYERS)
def test_an_onnx_graph_has_the_modules_layers(bed, workload, images, tmp_path, kind, batch) -> None:
    module = net(kind)
    made = bed.classifier(to_onnx(module, tmp_path / "net.onnx", batch), workload)
    named = {
        LeNetLike: {"/features/features.2/MaxPool_output_0": "features", "/fc1/Gemm_output_0": "fc1"},
        ResNetLike: {
            "/layer1/layer1.0/relu_1/Relu_output_0": "layer1.0",
            "/layer1/layer1.1/conv2/Conv_output_0": "layer1.1.conv2",
        },
    }[kind] | {LAST_HIDDEN: LAST_HIDDEN}
    assert set(named) <= set(made.capabilities.layers)
    seen = made.observe(images, list(named))
    expected = truth(module, workload).observe(images, list(named.values()))
    for mine, theirs in named.items():
        same(seen.activations[mine], expected.activations[theirs])
    same(seen.logits, expected.logits)
    for mine, theirs in zip(made.head, truth(module, workload).head, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    everything = made.observe(images, made.capabilities.layers)
    assert {len(values) for values in everything.activations.values()} == {len(images)}


def test_of_a_part_that_runs_twice_both_outputs_can_be_had(bed, workload, images, tmp_path) -> None:
    made = bed.classifier(to_export(net(ResNetLike), tmp_path / "net.pt2"), workload)
    layers = ["layer1.0.relu", "layer1.0.relu@1", "layer1.0", "layer1.0.bn", "layer1.0.conv2"]
    seen = made.observe(images, layers).activations
    np.testing.assert_array_equal(seen["layer1.0.relu@1"], seen["layer1.0"])
    np.testing.assert_array_equal(seen["layer1.0.relu"], np.maximum(seen["layer1.0.bn"], 0))
    assert (seen["layer1.0.conv2"] < 0).any(), "what comes next works in place"


@pytest.mark.parametrize("name", WRITE)
@pytest.mark.parametrize("kind", LAYERS)
def test_monitors_score_as_they_do_on_the_module(bed, workload, images, tmp_path, kind, name) -> None:
    module = net(kind)
    graph = bed.classifier(WRITE[name](module, tmp_path / name), workload)
    white = truth(module, workload)
    for mine, theirs in zip(*(bed.fit(MONITORS, one, workload) for one in (graph, white)), strict=True):
        layers = mine.needs.layers
        scores = [m.score(c.observe(images, layers)) for m, c in ((mine, graph), (theirs, white))]
        np.testing.assert_allclose(*scores, rtol=1e-3, atol=1e-3, err_msg=mine.name)
        assert mine.calibration.threshold == pytest.approx(theirs.calibration.threshold, rel=1e-2, abs=1e-2)


@pytest.mark.parametrize("name", WRITE)
def test_a_graph_that_ends_in_softmax_has_its_linear_layer_all_the_same(
    bed, workload, images, tmp_path, name
) -> None:
    module = net(LeNetLike, nn.Identity(), nn.Softmax(1), nn.Flatten())
    recipe = WRITE[name](module, tmp_path / name) | {"outputs": "probabilities"}
    made = bed.classifier({**recipe, "classes": list(workload.classes)[::-1]}, workload)
    white = truth(module[0], workload)
    seen = made.observe(images, (LAST_HIDDEN,))
    same(seen.activations[LAST_HIDDEN], white.observe(images, (LAST_HIDDEN,)).activations[LAST_HIDDEN])
    np.testing.assert_array_equal(made.head.weights, white.head.weights[::-1])
    np.testing.assert_array_equal(made.head.bias, white.head.bias[::-1])
    assert bed.fit(["oob", "react", "ash"], made, workload)
    with refused(RequirementError):
        bed.fit(["vim"], made, workload)


@pytest.mark.parametrize("name", WRITE)
def test_a_head_that_is_not_linear_is_told(bed, workload, images, tmp_path, name) -> None:
    recipe = WRITE[name](net(Cosine), tmp_path / name)
    made = bed.classifier(recipe, workload)
    assert LAST_HIDDEN not in made.capabilities.layers
    assert not made.capabilities.head
    for monitor in ("oob", "react"):
        with refused(UserError):
            bed.fit([monitor], made, workload)
    with refused(RequirementError):
        made.resolve(Needs(head=True), "it")
    named = next(n for n in made.capabilities.layers if "relu" in n.lower())
    told = bed.classifier({**recipe, "last_hidden": named}, workload)
    assert bed.fit(["oob", "knn"], told, workload)
    assert told.digest != made.digest
    with refused(ParameterError):
        bed.classifier({**recipe, "last_hidden": f"{named}x"}, workload)


def test_a_graph_that_takes_no_outputs_is_as_good_as_its_own(
    bed, workload, images, tmp_path, monkeypatch
) -> None:
    def broken(content: bytes) -> Any:
        raise ValueError("no protobuf message")

    monkeypatch.setattr("models.graph_outputs.nodes", broken)
    made = bed.classifier(to_onnx(net(), tmp_path / "net.onnx"), workload)
    same(made.observe(images).logits, truth(net(), workload).observe(images).logits)
    with refused(RequirementError):
        bed.fit(["oob"], made, workload)


@pytest.mark.parametrize("kind", LAYERS)
def test_bytes_are_read_and_added_to_as_the_package_onnx_does(tmp_path, kind) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx, which reads the files to compare, is not installed")
    content = Path(to_onnx(net(kind, nn.Softmax(1)), tmp_path / "net.onnx")["path"]).read_bytes()
    graph = onnx.load_from_string(content).graph
    mine = nodes(content)
    assert [(n.kind, n.takes, n.makes) for n in mine] == [
        (n.op_type, list(n.input), list(n.output)) for n in graph.node
    ]
    for one, node in zip(mine, graph.node, strict=True):
        for name, number in one.numbers.items():
            (attribute,) = [a for a in node.attribute if a.name == name]
            if attribute.type in (onnx.AttributeProto.INT, onnx.AttributeProto.FLOAT):
                assert number % 2**64 == onnx.helper.get_attribute_value(attribute) % 2**64
    more = onnx.load_from_string(with_outputs(content, ["a" * 200, "b"])).graph
    assert [output.name for output in more.output] == ["logits", "a" * 200, "b"]
    assert more.node == graph.node
    assert more.initializer == graph.initializer
    for damaged in (content[:-1], b"\xff" * 40, b"\x3a\xff\x01"):
        with pytest.raises(ValueError, match="no protobuf message"):
            nodes(damaged)


def test_torchscript_refuses_layers_with_the_way_to_export(bed, workload, images, tmp_path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(net(), torch.zeros(2, 1, SIZE, SIZE)).save(str(tmp_path / "net.ts"))
    made = bed.classifier({"name": EXPORTED, "path": str(tmp_path / "net.ts")}, workload)
    with refused(RequirementError):
        made.observe(images, ("fc1",))
    with refused(ParameterError):
        bed.classifier({"name": EXPORTED, "path": str(tmp_path / "net.ts"), "last_hidden": "fc1"}, workload)


@pytest.mark.parametrize("name", WRITE)
def test_what_is_asked_for_changes_no_answer(bed, workload, images, tmp_path, name) -> None:
    made = bed.classifier(WRITE[name](net(ResNetLike), tmp_path / name), workload)
    alone, digest = made.observe(images), made.digest
    for layers in ((LAST_HIDDEN,), made.capabilities.layers[:2]):
        seen = made.observe(images, layers)
        np.testing.assert_allclose(seen.logits, alone.logits, rtol=1e-5, atol=1e-6)
        if name == "net.pt2":
            np.testing.assert_array_equal(seen.logits, alone.logits)
    np.testing.assert_array_equal(made.observe(images).logits, alone.logits)
    assert made.digest == digest
    assert made.capabilities.gradients == (name == "net.pt2")


@pytest.mark.parametrize("name", WRITE)
def test_a_name_that_is_not_there_is_told_with_the_nearest(bed, workload, images, tmp_path, name) -> None:
    made = bed.classifier(WRITE[name](net(ResNetLike), tmp_path / name), workload)
    with refused(RequirementError):
        made.resolve(Needs(layers=("conv2",)), "it")
    with refused(RequirementError):
        made.observe(images, ("layer9",))


def test_of_hundreds_of_names_the_nearest_few_are_told(bed, workload, tmp_path) -> None:
    module = nn.Sequential(*(nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU()) for _ in range(90)), LeNetLike())
    made = bed.classifier(to_export(net(lambda: module), tmp_path / "net.pt2"), workload)
    assert len(made.capabilities.layers) > 250
    with refused(RequirementError):
        made.resolve(Needs(layers=("fc1",)), "it")


def test_a_layer_that_nobody_needs_is_not_asked_for(bed, workload, images, tmp_path, monkeypatch) -> None:
    made = bed.classifier(to_export(net(), tmp_path / "net.pt2"), workload)
    asked: list[tuple[str, ...]] = []
    run = made._graph.run
    monkeypatch.setattr(
        made._graph, "run", lambda x, values=(): asked.append(tuple(values)) or run(x, values)
    )
    made.observe(images)
    made.observe(images, ("features.2", "features", "fc1"))
    assert asked == [(), ("max_pool2d", "linear")], "one pass, and each value once"


@pytest.mark.parametrize("name", WRITE)
def test_a_graph_can_be_saved_and_used_in_a_new_process(
    bed, workload, tmp_path, monkeypatch, capfd, name
) -> None:
    from farm.cli import main

    monkeypatch.chdir(tmp_path)
    recipe = WRITE[name](net(), tmp_path / name)
    np.save("image.npy", workload.test.images.read(np.arange(1))[0])
    (tmp_path / "e.yaml").write_text(
        "name: e\nworkload: {name: digits, size: 8, channels: 1}\n"
        f"classifier: {{name: {'exported' if name == 'net.pt2' else 'onnx'}, path: {name}}}\n"
        "monitors: [{name: react, as: m}, vim]\n"
    )
    for monitor in ("m", "vim"):
        assert main(["fit", "e.yaml", "--monitor", monitor, "--out", f"guard-{monitor}", "--quiet"]) == 0
    Path(recipe["path"]).unlink()
    code = (
        "import sys, json, numpy as np\nfrom farm.guard import Guard\n"
        "image = np.load('image.npy').astype('float32')\n"
        "print(json.dumps([Guard.load(folder)(image).score for folder in sys.argv[1:]]))"
    )
    there = subprocess.run(
        [sys.executable, "-c", code, "guard-m", "guard-vim"], check=True, capture_output=True, text=True
    )
    from farm.guard import Guard

    image = np.load("image.npy").astype("float32")
    here = [Guard.load(folder)(image).score for folder in ("guard-m", "guard-vim")]
    assert json.loads(there.stdout) == here


def test_weights_beside_a_graph_serve_its_layers_too(bed, workload, images, tmp_path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx, which writes the files to test with, is not installed")
    recipe = to_onnx(net(), tmp_path / "whole.onnx")
    onnx.save_model(
        onnx.load(recipe["path"]),
        tmp_path / "net.onnx",
        save_as_external_data=True,
        location="net.weights",
        size_threshold=0,
    )
    apart = bed.classifier({"name": ONNX_FILE, "path": str(tmp_path / "net.onnx")}, workload)
    whole = bed.classifier(recipe, workload)
    layers = (LAST_HIDDEN, "/fc1/Gemm_output_0")
    for layer in layers:
        np.testing.assert_array_equal(
            *(one.observe(images, layers).activations[layer] for one in (apart, whole))
        )
    np.testing.assert_array_equal(apart.head.weights, whole.head.weights)


def test_a_run_by_the_command_line_names_what_cannot_run(tmp_path, monkeypatch, capsys) -> None:
    from farm.cli import main

    monkeypatch.chdir(tmp_path)
    to_onnx(net(), tmp_path / "net.onnx")
    (tmp_path / "e.yaml").write_text(
        "name: e\nworkload: {name: digits, size: 8, channels: 1}\nclassifier: {name: onnx, path: net.onnx}\n"
        "monitors: [oob, odin, {name: knn, layer: fc1}, vim]\n"
    )
    assert main(["run", "e.yaml", "--quiet", "--out", "r"]) == 1
    same_text(line for line in capsys.readouterr().err.splitlines() if line.startswith("farm: failed"))


def test_a_linear_end_is_found_by_hand() -> None:
    shapes = {"h": ("n", 4), "W": (4, 3), "end": ("n", 3), "wide": ("n", 6), "map": ("n", 2, 4)}

    def found(*steps: tuple[str, str, list[str]], answer: str = "end", moving="h end sum map wide") -> Any:
        named = {name: Step(does, takes) for name, does, takes in steps}
        return linear_end(named, answer, set(moving.split()), shapes.get)

    product = ("sum", "transposed", ["h", "W"])
    assert found(product, ("end", "add", ["B", "sum"])) == LinearEnd("h", "W", "B", True)
    assert found(product, ("end", "add", ["sum", "h"])) is None, "what is added is no bias"
    assert found(("end", "transposed", ["map", "W"])) is None, "the hidden values are no vector"
    assert found(product, ("wide", "through", ["sum"]), answer="wide") is None, "rows are put together"
    assert found(("end", "transposed", ["W", "h"])) is None, "the weights hang on the images"
    assert found(("end", "other", ["h"])) is None
    assert found() is None


def test_a_file_that_is_swapped_while_it_is_in_use_is_told(bed, workload, images, tmp_path) -> None:
    made: Classifier = bed.classifier(to_onnx(net(), tmp_path / "net.onnx"), workload)
    to_onnx(net(ResNetLike), tmp_path / "net.onnx")
    with refused(UserError):
        made.observe(images, (LAST_HIDDEN,))
    assert bed.fit([FakeMonitor()], made, workload)
