"""Classifiers whose answer is a mean: of passes with dropout, and of networks trained apart."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import numpy as np
import pytest
import torch
from torch import nn

from farm import registry
from farm.api import Context, Needs, NoCache, TrainedNetwork, derived_seed
from farm.config.experiment import parse_experiment
from farm.errors import DataError, FarmError, ParameterError, RequirementError
from farm.guard import Guard
from farm.run.execution import run_experiment
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from models import _masks, _passes, training
from models.averaged import Ensemble, McDropout
from models.torch_classifier import TorchClassifier
from tests.wording import refused

PLAIN = {"name": "cnn", "epochs": 1, "filters": 3, "hidden": 8}
DROPPING = {**PLAIN, "dropout": 0.6}
DIGITS = {"name": "digits", "size": 8, "channels": 1}
THEIRS = """
import torch
from torch import nn

def dropping():
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.Flatten(), nn.ReLU(), nn.Dropout(0.5), nn.Linear(108, 10))

def plain():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))

def share(images):
    return torch.full((len(images), 10), 0.1).numpy()
"""


@pytest.fixture(scope="module")
def bed(tmp_path_factory) -> Testbed:
    return Testbed(seed=4, cache=DiskCache(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def digits(bed):
    return bed.workload(DIGITS)


@pytest.fixture(scope="module")
def images(digits):
    return digits.test.images.read(np.arange(64))


@pytest.fixture(scope="module")
def passes(bed, digits):
    return bed.classifier({"name": "mc-dropout", "of": DROPPING}, digits)


@pytest.fixture(scope="module")
def ensemble(bed, digits):
    return bed.classifier({"name": "ensemble", "of": PLAIN, "size": 3}, digits)


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    (tmp_path / "their_nets.py").write_text(THEIRS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "their_nets"
    sys.modules.pop("their_nets", None)


# The mean of passes ---------------------------------------------------------------------------------------


def test_passes_are_the_members_of_the_network_alone(bed, digits, images, passes) -> None:
    members = bed.classifier(DROPPING, digits).observe(images, members=10).members
    seen = passes.observe(images)
    assert seen.probabilities.dtype == np.float64
    np.testing.assert_allclose(seen.probabilities, members.mean(axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(seen.probabilities.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (seen.logits, seen.members, dict(seen.activations)) == (None, None, {})
    assert len({one.tobytes() for one in members}) == 10


@pytest.mark.parametrize("size", [1, 7])
def test_the_mean_of_an_image_depends_on_no_batch(images, passes, size) -> None:
    whole = passes.observe(images).probabilities
    parts = [passes.observe(images[i : i + size]).probabilities for i in range(0, len(images), size)]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-5, atol=1e-9)


def test_only_passes_with_dropout_are_computed_and_what_they_share_once(bed, digits, images) -> None:
    passes = bed.untrained(McDropout(of=DROPPING, passes=6), digits)
    calls = {"conv1": 0, "fc2": 0}
    for name in calls:

        def count(*_: object, name: str = name) -> None:
            calls[name] += 1

        getattr(passes._network._module, name).register_forward_hook(count)
    passes.observe(images)
    assert calls == {"conv1": 1, "fc2": 6}


@pytest.mark.parametrize("made", ["passes", "ensemble"])
def test_members_are_the_first_of_those_that_it_is_the_mean_of(request, images, made) -> None:
    classifier, most = request.getfixturevalue(made), {"passes": 10, "ensemble": 3}[made]
    every = classifier.observe(images, members=most)
    assert every.members.shape == (most, 64, 10)
    np.testing.assert_array_equal(every.members.mean(axis=0), every.probabilities)
    fewer = classifier.observe(images, members=2)
    np.testing.assert_array_equal(fewer.members, every.members[:2])
    np.testing.assert_array_equal(fewer.probabilities, every.probabilities)
    with refused(RequirementError):
        classifier.observe(images, members=most + 1)
    with refused(RequirementError):
        classifier.resolve(Needs(members=most + 1), "monitor 'mine'")


@pytest.mark.parametrize(
    "need", [{"logits": True}, {"gradients": True}, {"head": True}, {"layers": ("last-hidden",)}]
)
def test_what_a_mean_does_not_have_is_told(passes, need) -> None:
    with refused(RequirementError):
        passes.resolve(Needs(**need), "monitor 'mine'")
    if "layers" in need:
        with refused(RequirementError):
            passes.observe(np.zeros((1, 1, 8, 8), np.float32), need["layers"])


def test_a_network_without_dropout_is_refused_before_it_is_trained(bed, digits, monkeypatch) -> None:
    monkeypatch.setattr(training, "train", None)
    with refused(RequirementError):
        bed.classifier(McDropout(of=PLAIN), digits)
    with refused(RequirementError):
        bed.untrained(McDropout(of=PLAIN), digits)


def test_own_modules_with_dropout(bed, digits, images, theirs) -> None:
    source = McDropout(of={"name": "module", "factory": f"{theirs}:dropping"}, passes=5)
    made = bed.classifier(source, digits)
    assert not source.trained_here
    assert not made.trained_here
    alone = bed.classifier({"name": "module", "factory": f"{theirs}:dropping"}, digits)
    expected = alone.observe(images, members=5).members.mean(axis=0)
    np.testing.assert_array_equal(made.observe(images).probabilities, expected)
    for of in (
        {"name": "module", "factory": f"{theirs}:plain"},
        {"name": "function", "function": f"{theirs}:share"},
    ):
        with refused(RequirementError):
            bed.classifier(McDropout(of=of), digits)
    with refused(ParameterError):
        Ensemble(of={"name": "module", "factory": f"{theirs}:dropping"})


def test_masks_of_each_images_own_follow_its_id(bed, digits, images) -> None:
    source = McDropout(of=DROPPING, passes=5, masks="instance")
    made, ids = bed.classifier(source, digits), digits.test.ids[:64]
    whole = made.observe(images, ids=ids, members=5)
    part = made.observe(images[40:43], ids=ids[40:43], members=5)
    np.testing.assert_allclose(part.members, whole.members[:, 40:43], rtol=1e-4, atol=1e-7)
    same = made.observe(images[[7, 7]], ids=np.array(["a", "b"]), members=5).members
    assert not np.allclose(same[:, 0], same[:, 1], rtol=1e-3)
    shared = bed.classifier(McDropout(of=DROPPING, passes=5), digits)
    same = shared.observe(images[[7, 7]], ids=np.array(["a", "b"]), members=5).members
    np.testing.assert_allclose(same[:, 0], same[:, 1], rtol=1e-4)
    assert made.digest != shared.digest
    with refused(ParameterError):
        McDropout(of=DROPPING, masks="batch")


# Networks trained apart -----------------------------------------------------------------------------------


def test_an_ensemble_is_the_mean_of_networks_that_are_trained_apart(bed, digits, images, ensemble) -> None:
    alone = [
        bed.with_seed(derived_seed(4, "member", number)).classifier(PLAIN, digits) for number in (1, 2, 3)
    ]
    expected = np.stack([one.observe(images).probabilities for one in alone])
    seen = ensemble.observe(images, members=3)
    np.testing.assert_allclose(seen.probabilities, np.mean(expected, axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(seen.members, expected, rtol=0, atol=1e-12)
    assert len({one.tobytes() for one in seen.members}) == 3
    assert ensemble.nbytes == sum(one.nbytes for one in alone)
    assert ensemble.notes == {"members": [dict(one.notes) for one in alone]}


def test_digests_follow_seeds_and_numbers(bed, digits, passes, ensemble) -> None:
    def digest(seed: int, **recipe: object) -> str:
        return Testbed(seed=seed, cache=NoCache()).untrained(registry.model(**recipe), digits).digest

    sources = [
        {"name": name, "of": DROPPING, number: n}
        for name, number in (("mc-dropout", "passes"), ("ensemble", "size"))
        for n in (2, 3)
    ]
    made = [digest(seed, **source) for source in sources for seed in (0, 1)]
    assert len({*made, passes.digest, ensemble.digest}) == 10
    assert made == [digest(seed, **source) for source in sources for seed in (0, 1)]


# Both -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", ["passes", "ensemble"])
def test_they_come_back_from_their_arrays(request, digits, images, made) -> None:
    classifier = request.getfixturevalue(made)
    parameters = {name: value for name, value in classifier.recipe.items() if name != "name"}
    saved = TrainedNetwork(
        "model", classifier.name, parameters, digits.shape, digits.classes, classifier.state
    )
    again = registry.restored(saved)
    assert again.digest == classifier.digest
    np.testing.assert_array_equal(
        again.observe(images).probabilities, classifier.observe(images).probabilities
    )


def test_an_experiment_runs_end_to_end_and_a_guard_keeps_its_classifier(tmp_path) -> None:
    values = {
        "name": "mean-of-passes",
        "workload": {"name": "fixed", "of": DIGITS},
        "classifier": {"name": "mc-dropout", "of": DROPPING, "passes": 8},
        "monitors": ["max-softmax", "mc-dropout"],
        "faultload": {"name": "gaussian-noise", "severity": 3},
        "stream": {"length": 60},
    }
    readouts = run_experiment(parse_experiment(values, "x.yaml"), tmp_path)
    assert [monitor["failure"] for monitor in readouts.run["monitors"]] == [None, None]
    assert readouts.run["classifier"]["trained_here"] is True
    assert readouts.run["classifier"]["recipe"]["of"] == DROPPING
    del values["faultload"], values["stream"]
    guard = Guard.fit(parse_experiment(values, "x.yaml"), folder=tmp_path, monitor="mc-dropout")
    again = Guard.load(guard.save(tmp_path / "guard"))
    image = np.random.default_rng(0).random((1, 8, 8), dtype=np.float32)
    assert again(image).score == guard(image).score


def test_a_run_says_where_weights_were_brought_along(tmp_path, theirs) -> None:
    values = {
        "name": "brought-along",
        "workload": DIGITS,
        "classifier": {"name": "module", "factory": f"{theirs}:dropping"},
        "monitors": ["max-softmax"],
        "stream": {"length": 20},
    }
    run_experiment(parse_experiment(values, "x.yaml"), tmp_path).save(tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["classifier"]["trained_here"] is False


@pytest.mark.parametrize("engine", ["onnx", "eager"])
def test_it_is_still_told_on_another_engine(bed, digits, theirs, engine) -> None:
    if engine == "onnx":
        pytest.importorskip("onnxscript", reason="the extra 'fast' is not installed")
    made = bed.classifier({"name": "module", "factory": f"{theirs}:plain"}, digits)
    found = bed.on_engine(made, digits, engine=engine)
    assert found is not made
    assert not found.trained_here


@pytest.mark.parametrize("source", [McDropout, Ensemble])
def test_the_inner_recipe_is_checked(source) -> None:
    inner = source(of={"name": "cnn", "dropout": 0.5})
    assert inner.trained_here
    inner.check(Context())


def test_weights_that_are_not_there_are_told_before_anything_is_made(tmp_path, theirs) -> None:
    source = McDropout(of={"name": "module", "factory": f"{theirs}:dropping", "weights": "none.pt"})
    with pytest.raises(DataError):
        source.check(Context(folder=tmp_path))


@pytest.mark.parametrize("name", ["mc-dropout", "ensemble"])
@pytest.mark.parametrize(
    "of", ["cnnn", {"epochs": 3}, {"name": "cnn", "depth": 3}, {"name": "cnn", "filters": 0}, 3]
)
def test_mistakes_in_the_inner_recipe_name_the_key(name, of) -> None:
    with refused(FarmError) as told:
        registry.model(name, of=of)
    assert "of" in str(told.value)


@pytest.mark.parametrize(
    "recipe", [{"name": "mc-dropout", "of": "cnn", "passes": 0}, {"name": "ensemble", "of": "cnn", "size": 1}]
)
def test_numbers_out_of_range_are_told(recipe) -> None:
    with refused(ParameterError):
        registry.model(**recipe)


# Passes of sequences, whose beginning is computed once ----------------------------------------------------


class Copied(nn.Module):
    """A sequence's parts under the same names, in a module that is none."""

    def __init__(self, parts: Iterable[tuple[str, nn.Module]]) -> None:
        super().__init__()
        for name, part in parts:
            self.add_module(name, part)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self._modules.values():
            x = part(x)
        return x


def with_parts_twice() -> nn.Sequential:
    relu, drop = nn.ReLU(), nn.Dropout(0.5)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), relu, drop, nn.Conv2d(4, 4, 3), relu, drop, nn.Flatten(), nn.Linear(64, 3)
    )


def with_dropout_deep_inside() -> nn.Sequential:
    inside = nn.Sequential(nn.Hardtanh(-0.1, 0.1, inplace=True), nn.Dropout(0.5), nn.Conv2d(4, 4, 3))
    return nn.Sequential(nn.Conv2d(3, 4, 3), inside, nn.Flatten(), nn.Linear(64, 3))


def with_dropout_in_place() -> nn.Sequential:
    drop = nn.Dropout(0.3, inplace=True)
    return nn.Sequential(nn.Flatten(), nn.ReLU(inplace=True), drop, nn.ReLU(inplace=True), nn.Linear(192, 3))


@pytest.mark.parametrize("make", [with_parts_twice, with_dropout_deep_inside, with_dropout_in_place])
def test_passes_of_a_sequence_are_those_of_any_other_module(make) -> None:
    torch.manual_seed(1)
    sequence = make()
    whole = Copied(sequence._modules.items())
    pixels = np.random.default_rng(1).random((5, 3, 8, 8), dtype=np.float32)
    one, other = (TorchClassifier(net, "abc", name="net", members_seed=9) for net in (sequence, whole))
    before = pixels.copy()
    members = [classifier.observe(pixels.copy(), members=4).members for classifier in (one, other)]
    np.testing.assert_array_equal(*members)
    assert len({one.tobytes() for one in members[0]}) == 4
    np.testing.assert_array_equal(pixels, before)


def test_passes_are_the_same_in_chunks_and_without_masks_that_are_kept(monkeypatch, passes, images) -> None:
    whole = passes.observe(images).probabilities
    monkeypatch.setattr(_masks, "MOST_MASKS", 0)
    for name, value in (("TOGETHER", 5), ("PIXELS", 1)):
        monkeypatch.setattr(_passes, name, value)
    passes._network._passes._masks.clear()
    np.testing.assert_allclose(passes.observe(images).probabilities, whole, rtol=1e-5, atol=1e-9)
    assert passes._network._passes._masks == {}
    assert passes.observe(images[:0]).probabilities.shape == (0, 10)
