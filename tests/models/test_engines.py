"""Engines: they give what the network gives, or the network runs as it is and says why."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from farm.api import LAST_HIDDEN, Engine, FunctionClassifier, NoCache, engine_versions
from farm.api import engine as engine_module
from farm.errors import ComponentFailure, DataError, ExperimentError, ParameterError, RequirementError
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.store.files import signed
from farm.testing.small_system import CLASSIFIER, OUTLIERS, WORKLOAD
from models import engines
from models.torch_classifier import Preprocessing, TorchClassifier
from tests.monitors.making import NAMES, make_or_skip, wants_what_lenet_lacks
from tests.wording import refused

pytest.importorskip("onnxruntime", reason="onnxruntime, of the extra 'fast', is not installed")
pytest.importorskip("onnxscript", reason="onnxscript, of the extra 'fast', is not installed")

IMAGES = np.random.default_rng(0).random((40, 3, 8, 8), dtype=np.float32)
LAYERS = (LAST_HIDDEN, "conv")
TOLERANCE = 1e-4
"""Of the range of a monitor's scores: by so much they may differ when it is fitted on another engine."""


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.hidden = nn.Linear(4 * 36, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.hidden(torch.relu(self.conv(x)).flatten(1))))


class Deciding(Net):
    """Does something else with bright images, of which the validation split may have none."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) if x.mean() < 0.9 else super().forward(1 - x)


class Half(Net):
    """Computes in half precision."""

    def __init__(self) -> None:
        super().__init__()
        self.half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.half())


class Double(Net):
    """Computes in double precision, which onnxruntime has no convolutions for."""

    def __init__(self) -> None:
        super().__init__()
        self.double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.double())


class LikesTheDark(Net):
    """Does something else with bright images, and hides it from whoever exports it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bright = not torch.compiler.is_exporting() and bool(x.mean() > 0.9)
        return super().forward(1 - x if bright else x)


class Scaled(Net):
    """Has a number that is no weight, as of a file that its code reads."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scale * super().forward(x)


class TwoInputs(Net):
    """Takes a second input, which nobody gives."""

    def forward(self, x: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
        return super().forward(x) + more


class Unwritable(Net):
    """Has an operation that ONNX lacks."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x + 0 * torch.special.bessel_j0(x))


class Dropping(Net):
    """Draws at random, also when it is evaluated."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(F.dropout(x, training=True))


def classifier(net: nn.Module | None = None, **more: Any) -> TorchClassifier:
    torch.manual_seed(0)
    return TorchClassifier(net or Net(), "abc", name="net", **more)


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "cache")


# What they give ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 40])
def test_onnx_gives_what_the_network_gives(size) -> None:
    plain = classifier(preprocessing=Preprocessing([0.5], [0.3], (12, 12)), order=[2, 0, 1])
    plain._module.hidden = nn.Linear(4 * 100, 6)
    on = plain.on_engine("onnx", LAYERS, IMAGES, NoCache())
    assert (on.engine.name, on.engine.reason, on.engine.layers) == ("onnx", "", ("conv", LAST_HIDDEN))
    assert on.engine.max_diff is not None
    assert 0 < on.engine.max_diff <= engines.TOLERANCE
    eager, onnx = (one.observe(IMAGES[:size], LAYERS) for one in (plain, on))
    np.testing.assert_allclose(onnx.probabilities, eager.probabilities, atol=1e-6)
    np.testing.assert_array_equal(onnx.predicted, eager.predicted)
    np.testing.assert_allclose(onnx.logits, eager.logits, atol=1e-5)
    for layer in LAYERS:
        np.testing.assert_allclose(onnx.activations[layer], eager.activations[layer], atol=1e-5)
    assert on.digest == plain.digest


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler: g++ is not here")
def test_compiled_gives_what_the_network_gives(cache) -> None:
    plain = classifier()
    for on in [plain.on_engine("compiled", LAYERS, IMAGES, cache) for _ in range(2)]:  # built, and found
        assert (on.engine.name, on.engine.reason) == ("compiled", "")
        for size in (1, 5, 40):
            eager, compiled = (one.observe(IMAGES[:size], LAYERS) for one in (plain, on))
            np.testing.assert_array_equal(compiled.predicted, eager.predicted)
            for layer in LAYERS:
                np.testing.assert_allclose(
                    compiled.activations[layer], eager.activations[layer], rtol=1e-4, atol=1e-5
                )


def test_gradients_and_the_head_are_those_of_the_network() -> None:
    plain = classifier()
    on = plain.on_engine("onnx", (), IMAGES, NoCache())
    pixels = torch.tensor(IMAGES[:3], requires_grad=True)
    both = [torch.autograd.grad(one.differentiable(pixels).sum(), pixels)[0] for one in (plain, on)]
    assert torch.equal(*both)
    np.testing.assert_array_equal(on.head.weights, plain.head.weights)


def test_a_layer_that_an_engine_was_not_built_with_is_refused() -> None:
    on = classifier().on_engine("onnx", ["conv"], IMAGES, NoCache())
    assert on.capabilities.layers == ("conv",)
    with refused(RequirementError):
        make_or_skip("knn").fit(iter(()), on)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def system() -> tuple[Any, ...]:
    bed = Testbed(seed=0)
    workload = bed.workload(dict(WORKLOAD))
    return bed, workload, bed.classifier(dict(CLASSIFIER), workload)


@pytest.mark.parametrize("name", NAMES)
def test_every_monitor_says_the_same_on_both_engines(system, name) -> None:
    bed, workload, plain = system
    if wants_what_lenet_lacks(make_or_skip(name)):
        pytest.skip("LeNet has no dropout, and so no members, and says of no object where it is")
    engines_of = [bed.on_engine(plain, workload, [make_or_skip(name)], engine=e) for e in ("eager", "onnx")]
    says_the_same(name, bed, workload, *engines_of)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler: g++ is not here")
def test_every_monitor_says_the_same_when_compiled(system) -> None:
    bed, workload, plain = system
    compiled = bed.on_engine(plain, workload, engine="compiled", layers=[LAST_HIDDEN])
    assert compiled.engine.name == "compiled"
    names = [
        name for name in NAMES if name != "pytorch-ood" and not wants_what_lenet_lacks(make_or_skip(name))
    ]
    for name in names:
        says_the_same(name, bed, workload, plain, compiled)
    assert len(names) > 35


def says_the_same(name: str, bed: Testbed, workload: Any, *both: Any) -> None:
    """Fit on the engine that it is asked on; rows that differ are counted, and there must be none."""
    said = []
    for on in both:
        monitor = make_or_skip(name)
        outliers = bed.outliers(OUTLIERS, workload, on)
        assert bed.fit_all([monitor], on, workload, {}, outliers) == {}
        test, needs = workload.test, monitor.needs
        images = test.images.read(np.arange(len(test)))
        seen = on.observe(images, needs.observed, ids=test.ids, track=test.groups, members=needs.members)
        monitor.restart()
        said.append((monitor.judge(seen), seen.predicted))
    (eager, predicted), (onnx, its) = said
    assert (predicted != its).sum() == 0
    near = TOLERANCE * max(np.ptp(eager.scores), 1e-9)
    assert (np.abs(eager.scores - onnx.scores) > near).sum() == 0
    surely = np.abs(eager.scores - eager.thresholds) > near
    assert (eager.alarms != onnx.alarms)[surely].sum() == 0


# What cannot be ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("net", "why"),
    [
        (Deciding, "onnx: the network cannot be exported: what it does depends on the values of its images"),
        (Half, "onnx: its "),
        (Double, "onnx: onnxruntime cannot run it: "),
        (LikesTheDark, "onnx: it"),
        (
            Unwritable,
            "onnx: the network cannot be written as ONNX: ONNX has nothing for its operation prims.be",
        ),
        (Dropping, "onnx: it"),
    ],
)
@pytest.mark.parametrize("asked", ["auto", "onnx"])
def test_what_cannot_be_exported_or_differs_runs_eager_and_says_why(net, why, asked, cache) -> None:
    plain = classifier(net())
    for on in [plain.on_engine(asked, LAYERS, IMAGES, cache) for _ in range(2)]:
        assert (on.engine.name, on.engine.requested, on.engine.max_diff) == ("eager", asked, None)
        assert on.engine.reason.startswith(why)
        assert on.observe(IMAGES, LAYERS).activations.keys() == set(LAYERS)
        assert on.capabilities == plain.capabilities


def test_a_network_of_several_inputs_is_refused_with_any_engine() -> None:
    on = classifier(TwoInputs()).on_engine("auto", (), IMAGES, NoCache())
    assert on.engine.name == "eager"
    assert "more" in on.engine.reason
    with pytest.raises(ComponentFailure, match="more"):
        on.observe(IMAGES)


class Boxed(TorchClassifier):
    """Says where something is: the engine runs its classes alone, unless it is told the boxes, too."""

    beside = 0.0
    lost = False

    def _forward(self, images, layers, members):
        found = super()._forward(images, layers, members)
        own = np.ptp(images, axis=(2, 3)).mean(axis=1, keepdims=True) * np.ones((1, 4))
        if self._session is None:
            return replace(found, outputs={"box": own})
        return found if self.lost else replace(found, outputs={"box": own + self.beside})


@pytest.mark.parametrize(
    ("beside", "lost", "why"),
    [
        (0.0, False, ""),
        (0.5, False, "onnx: its outputs 'box' differ by "),
        (0.0, True, "onnx: it does not give 'box', which the network gives beside its classes"),
    ],
)
def test_an_engine_without_the_boxes_or_with_others_is_not_used(beside, lost, why) -> None:
    plain = Boxed(Net(), "abc", name="net")
    plain.beside, plain.lost = beside, lost
    on = plain.on_engine("auto", (), IMAGES, NoCache())
    assert on.engine.name == ("eager" if why else "onnx")
    assert on.engine.reason.startswith(why)
    assert "box" in on.observe(IMAGES).outputs


def test_a_black_box_has_its_own_engine_alone() -> None:
    coin = FunctionClassifier(lambda images: np.full((len(images), 2), 0.5), classes=("a", "b"))
    assert coin.on_engine("auto", (), IMAGES, NoCache()) is coin
    assert coin.engine.name == "own"
    for engine in ("eager", "onnx", "compiled"):
        with refused(ParameterError):
            coin.on_engine(engine, (), IMAGES, NoCache())


def test_without_the_packages_auto_is_eager_and_onnx_an_error(monkeypatch) -> None:
    monkeypatch.setitem(engine_module.PACKAGES, "onnx", ("no-such-package",))
    on = classifier().on_engine("auto", (), IMAGES, NoCache())
    assert on.engine == Engine(
        "eager", "auto", reason="no-such-package is not installed; try: pip install 'farm-testbed[fast]'"
    )
    with refused(RequirementError):
        classifier().on_engine("onnx", (), IMAGES, NoCache())


def test_an_engine_that_cannot_be_used_is_told_before_anything_is_trained(monkeypatch, tmp_path) -> None:
    from farm.config.experiment import parse_experiment
    from farm.run.builder import build

    monkeypatch.setitem(engine_module.PACKAGES, "onnx", ("no-such-package",))
    values = {"name": "e", "workload": "digits", "monitors": ["oob"]}
    build(parse_experiment({**values, "classifier": {"name": "lenet", "engine": "auto"}}, "e.yaml"))
    with refused(RequirementError):
        build(parse_experiment({**values, "classifier": {"name": "lenet", "engine": "onnx"}}, "e.yaml"))
    with refused(ExperimentError):
        parse_experiment({**values, "classifier": {"name": "lenet", "engine": "fast"}}, "e.yaml")


# When one is built anew -------------------------------------------------------------------------------------


class Counting(DiskCache):
    made = 0

    def arrays(self, kind, key, make):
        def counted():
            self.made += 1
            return make()

        return super().arrays(kind, key, counted)


def test_an_engine_is_built_again_only_for_other_weights_layers_versions_or_images(
    tmp_path, monkeypatch
) -> None:
    cache = Counting(tmp_path / "cache")
    plain, other = classifier(), classifier()

    def built(one=plain, layers=LAYERS, images=IMAGES) -> bool:
        before = cache.made
        one.on_engine("onnx", layers, images, cache)
        return cache.made > before

    assert built()
    assert not built(layers=tuple(reversed(LAYERS)))
    assert not built(other)  # of the same weights
    with torch.no_grad():
        other._module.head.bias += 1
    assert built(other)
    assert built(layers=["hidden"])
    assert built(images=IMAGES[::-1])
    found = engine_versions("onnx")
    monkeypatch.setattr("models._network.engine_versions", lambda name: {**found, "onnxruntime": "99"})
    assert built()


def test_what_no_key_tells_is_seen_in_the_answers(cache) -> None:
    """Of two networks with the same weights and another number beside, each runs as it is."""
    for scale in (1.0, -1.0, 1.0):
        plain = classifier(Scaled(scale))
        on = plain.on_engine("onnx", (), IMAGES, cache)
        assert on.engine.name == "onnx"
        np.testing.assert_allclose(on.observe(IMAGES).logits, plain.observe(IMAGES).logits, atol=1e-5)


def test_an_engine_is_built_from_the_network_whatever_runs_it_now(cache) -> None:
    plain = classifier()
    one = plain.on_engine("onnx", [LAST_HIDDEN], IMAGES, cache)
    two = one.on_engine("onnx", LAYERS, IMAGES, cache)
    assert (two.engine.name, two.engine.layers, two.engine.reason) == ("onnx", ("conv", LAST_HIDDEN), "")
    back = two.on_engine("eager", (), IMAGES, cache)
    assert back.engine.name == "eager"
    assert back.capabilities == plain.capabilities
    assert back.lacks == plain.lacks


def test_weights_that_were_changed_behind_an_engine_are_noticed() -> None:
    plain = classifier()
    on = plain.on_engine("onnx", (), IMAGES, NoCache())
    with torch.no_grad():
        plain._module.head.bias += 1
    with refused(ComponentFailure):
        _ = on.digest


def test_a_layer_that_the_network_has_not_is_an_error(cache) -> None:
    with refused(RequirementError):
        classifier().on_engine("onnx", ["cnov"], IMAGES, cache)


def test_an_engine_of_no_known_name_is_refused() -> None:
    with refused(ParameterError):
        classifier().on_engine("tensorrt", (), IMAGES, NoCache())


def test_a_monitor_of_another_engine_is_refused(system) -> None:
    from farm.run.system import SystemUnderTest

    bed, workload, plain = system
    monitors = bed.fit(["oob"], plain, workload)
    on = bed.on_engine(plain, workload, monitors, engine="onnx")
    with refused(ExperimentError):
        SystemUnderTest(on, monitors)
    SystemUnderTest(plain, monitors)


def test_exporters_say_nothing_of_their_own(tmp_path) -> None:
    code = (
        "import numpy as np\nfrom farm.api import NoCache\n"
        "from tests.models.test_engines import Deciding, Net, Unwritable, classifier\n"
        "for net in (Net, Deciding, Unwritable):\n"
        "    classifier(net()).on_engine('onnx', (), np.zeros((3, 3, 8, 8), np.float32), NoCache())\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (told.stdout, told.stderr) == ("", "")


def test_a_saved_engine_of_other_weights_is_refused() -> None:
    plain = classifier()
    state = plain.on_engine("onnx", LAYERS, IMAGES, NoCache()).engine_state
    assert plain.on_saved_engine(state, IMAGES.shape[1:]).engine.name == "onnx"
    with torch.no_grad():
        plain._module.head.bias += 1
    with refused(DataError):
        plain.on_saved_engine(state, IMAGES.shape[1:])


def test_a_graph_tells_nothing_of_where_it_was_made() -> None:
    state = classifier().on_engine("onnx", LAYERS, IMAGES, NoCache()).engine_state
    content = np.asarray(state["graph"]).tobytes()
    assert str(Path(__file__).parent).encode() not in content
    assert b"site-packages" not in content


# In experiments, campaigns and guards -----------------------------------------------------------------------


EXPERIMENT = """
name: engines
workload: {name: digits, size: 16, channels: 1}
classifier: {name: lenet, epochs: 1, engine: ENGINE}
faultload: fgsm
monitors: [oob, odin, max-softmax]
stream: {length: 60}
"""


def run(folder: Path, engine: str) -> tuple[dict[str, Any], Any]:
    from farm.run.execution import run_experiment
    from farm.run.loading import load_experiment

    file = folder / f"{engine}.yaml"
    file.write_text(EXPERIMENT.replace("ENGINE", engine))
    readouts = run_experiment(*load_experiment(str(file)))
    return readouts.run, readouts


def test_readouts_name_the_engine_and_faults_do_not_depend_on_it(tmp_path) -> None:
    (eager, first), (onnx, second) = run(tmp_path, "eager"), run(tmp_path, "onnx")
    nothing = {"max_diff": None, "reason": ""}
    assert eager["classifier"]["engine"] == {"name": "eager", "requested": "eager", **nothing}
    told = onnx["classifier"]["engine"]
    assert (told["name"], told["requested"], told["reason"]) == ("onnx", "onnx", "")
    assert 0 < told["max_diff"] < engines.TOLERANCE
    assert eager["classifier"]["digest"] == onnx["classifier"]["digest"]
    assert onnx["experiment"]["classifier"]["engine"] == "onnx"
    same = ["id", "label", "is_ood", "fault_linf", "fault_l2", "predicted"]
    assert first.instances[same].equals(second.instances[same])
    # Fitted anew for the other engine: what was found in the cache would be the same bit for bit.
    scores = [
        one.alarms["score"][one.alarms["monitor"] == "max-softmax"].to_numpy() for one in (first, second)
    ]
    assert (scores[0] != scores[1]).any()
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-5)


def test_a_gate_says_that_the_engine_changed_though_all_is_well(tmp_path, monkeypatch, capsys) -> None:
    from farm.cli import main

    monkeypatch.chdir(tmp_path)
    for engine in ("eager", "onnx"):
        run(tmp_path, engine)[1].save(tmp_path / f"on-{engine}")
    Path("criteria.yaml").write_text(
        "criteria: [specific.fpr not worse than baseline:b.yaml by 0.5 for oob]\n"
    )
    assert main(["baseline", "save", "on-eager", "--out", "b.yaml"]) == 0
    capsys.readouterr()
    for engine in ("eager", "onnx"):
        assert main(["check", f"on-{engine}", "--criteria", "criteria.yaml"]) == 0
        told = " ".join(capsys.readouterr().out.split())
        noted = "passed, but the classifier runs on the engine 'onnx', in the baseline on 'eager'" in told
        assert noted == (engine == "onnx")


def test_a_guard_runs_on_the_engine_that_it_was_fitted_on(tmp_path) -> None:
    from farm.guard import Guard

    file = tmp_path / "e.yaml"
    file.write_text(EXPERIMENT.replace(", engine: ENGINE", ""))
    guard = Guard.fit(file, monitor="oob")
    assert guard.classifier.engine.name == "onnx"
    guard.save(tmp_path / "guard")
    saved = json.loads((tmp_path / "guard/guard.json").read_text())
    assert saved["classifier"]["engine"] == guard.classifier.engine.record()
    image = np.zeros((1, 16, 16), np.float32)
    again = Guard.load(tmp_path / "guard")
    assert again.notes == ()
    assert again(image).score == guard(image).score
    for engine in ("onnx", "eager"):
        on = Guard.load(tmp_path / "guard", engine=engine)
        assert on.classifier.engine.name == engine
        assert bool(on.notes) == (engine == "eager")
    with refused(ExperimentError):
        Guard.load(tmp_path / "guard", engine="compiled")
    # Saved again while it ran eager, it still knows what it was fitted on.
    Guard.load(tmp_path / "guard", engine="eager").save(tmp_path / "again")
    assert Guard.load(tmp_path / "again").classifier.engine.name == "onnx"
    assert Guard.load(tmp_path / "again")(image).score == guard(image).score
    # One from before there were engines was fitted eager.
    of_old = json.loads((tmp_path / "guard/guard.json").read_text())
    del of_old["classifier"]["engine"], of_old["files"]["engine.npz"]
    (tmp_path / "again/guard.json").write_text(json.dumps(signed(of_old)))
    old = Guard.load(tmp_path / "again")
    assert (old.classifier.engine.name, old.notes) == ("eager", ())


def test_a_guard_whose_network_has_one_engine_takes_no_other(tmp_path) -> None:
    from farm.guard import Guard

    file = tmp_path / "e.yaml"
    lenet = "{name: lenet, epochs: 1, engine: ENGINE}"
    file.write_text(EXPERIMENT.replace(lenet, "{name: function, function: 'my_guess:predict'}"))
    guess = "import numpy as np\n\n\ndef predict(images):\n    return np.full((len(images), 10), 0.1)\n"
    (tmp_path / "my_guess.py").write_text(guess)
    Guard.fit(file, monitor="max-softmax").save(tmp_path / "guard")
    assert Guard.load(tmp_path / "guard").classifier.engine.name == "own"
    with refused(ExperimentError):
        Guard.load(tmp_path / "guard", engine="eager")


def test_a_guard_runs_eager_where_onnxruntime_is_missing(tmp_path) -> None:
    from farm.guard import Guard

    file = tmp_path / "e.yaml"
    file.write_text(EXPERIMENT.replace(", engine: ENGINE", ""))
    Guard.fit(file, monitor="max-softmax").save(tmp_path / "guard")
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from farm.guard import Guard\n"
        f"guard = Guard.load({str(tmp_path / 'guard')!r})\n"
        "print(guard.classifier.engine.name, *guard.notes)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.startswith("eager the network runs eager (onnxruntime cannot be imported")


# Networks that come as files ------------------------------------------------------------------------


def brought(folder: Path, name: str) -> Any:
    """Return a classifier of a network's file."""
    bed = Testbed(seed=0, folder=folder)
    workload = bed.workload({"name": "farm.testing.fakes:TinySource"})
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(192, 6), nn.ReLU(), nn.Linear(6, len(workload.classes))
    ).eval()
    example, path = torch.rand(2, *workload.shape), folder / "net.pt2"
    if name == "exported":
        sizes = {"input": {0: torch.export.Dim("n")}}
        torch.export.save(torch.export.export(net, (example,), dynamic_shapes=sizes), path)
    elif name == "one-size":
        torch.export.save(torch.export.export(net, (example,)), path)
    else:
        torch.jit.trace(net, example).save(str(path))
    return bed, workload, bed.classifier({"name": "exported", "path": str(path)}, workload)


def test_an_exported_program_runs_by_another_engine_with_its_layers(tmp_path) -> None:
    bed, workload, plain = brought(tmp_path, "exported")
    monitor = make_or_skip("knn")
    on = bed.on_engine(plain, workload, [monitor], engine="onnx")
    assert (on.engine.name, on.engine.reason, on.engine.layers) == ("onnx", "", (LAST_HIDDEN,))
    images = workload.test.images.read(np.arange(5))
    eager, onnx = (one.observe(images, [LAST_HIDDEN]) for one in (plain, on))
    np.testing.assert_allclose(onnx.logits, eager.logits, atol=1e-5)
    np.testing.assert_allclose(onnx.features(LAST_HIDDEN), eager.features(LAST_HIDDEN), atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "why"), [("one-size", "takes batches of 2 alone"), ("script", "cannot be exported again")]
)
def test_a_program_that_cannot_be_exported_again_runs_eager(tmp_path, name, why) -> None:
    bed, workload, plain = brought(tmp_path, name)
    on = bed.on_engine(plain, workload, engine="auto")
    assert on.engine.name == "eager"
    assert why in on.engine.reason


def test_what_engine_runs_is_told_by_the_command_that_fits(tmp_path, monkeypatch, capsys) -> None:
    from farm.cli import main

    monkeypatch.chdir(tmp_path)
    Path("e.yaml").write_text(EXPERIMENT.replace(", engine: ENGINE", ""))
    for engine in ("auto", "eager"):
        assert (
            main(["fit", "e.yaml", "--monitor", "oob", "--engine", engine, "--out", engine, "--quiet"]) == 0
        )
        told = capsys.readouterr().out
        assert f"engine      {'onnx, which differs' if engine == 'auto' else 'eager'}" in told


class Dropping(Net):
    """Drops hidden values."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.drop(torch.relu(self.hidden(torch.relu(self.conv(x)).flatten(1)))))


@pytest.mark.parametrize("engine", ["onnx", "compiled"])
def test_members_run_eager_whatever_runs_the_network(engine) -> None:
    torch.manual_seed(0)
    eager = TorchClassifier(Dropping(), "abc", name="net", members_seed=3)
    found = eager.on_engine(engine, (), IMAGES, NoCache())
    if found.engine.name != engine:  # a compiler may not work on a processor, and the network then runs eager
        pytest.skip(f"no engine '{engine}' here: {found.engine.reason}")
    assert found.capabilities.members
    np.testing.assert_array_equal(
        found.observe(IMAGES, members=3).members, eager.observe(IMAGES, members=3).members
    )
