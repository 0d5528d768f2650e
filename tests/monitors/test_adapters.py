"""Detectors of pytorch-ood and functions of one's own, as monitors.

A stand-in has a detector of each shape; where the library itself is there, all of its detectors are tried.
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib
import importlib.util
import sys
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn

from farm import registry
from farm.api import CalibrationRule, FunctionClassifier, collect
from farm.errors import ComponentFailure, ExperimentError, ParameterError, RequirementError
from monitors.adapters import NO_SCORE, PytorchOod
from monitors.own import OwnFunction
from tests.wording import refused

# The stand-in: one detector for each way in which the library's are made and entered ------------------------


class Base:
    requires_fit = False

    def predict(self, x):
        raise AssertionError("the network would be run once more")


class Coldest(Base):
    """Looks at logits."""

    def __init__(self, model, t: float = 1.0):
        assert model is None
        self.t = t

    def predict_logits(self, logits):
        return -logits.max(dim=1).values / self.t


class Weighted(Base):
    """Has a tensor among its settings."""

    def __init__(self, model, weights: torch.Tensor):
        self.weights = weights

    def predict_logits(self, logits):
        return logits @ self.weights


class MeanLogits(Base):
    """Is fitted on logits."""

    requires_fit = True

    def __init__(self, model):
        self.mean = None

    def fit_logits(self, logits, labels):
        self.mean = logits.mean(dim=0)
        assert labels.dtype == torch.int64
        assert len(labels) == len(logits)

    def predict_logits(self, logits):
        return (logits - self.mean).norm(dim=1)


class Nearest(Base):
    """Is fitted on features and labels; takes any further keyword, and has one that it lacks a value for."""

    requires_fit = True

    def __init__(self, encoder, first_class: int, **more):
        assert encoder is None
        self.first, self.more = first_class, more

    def fit_features(self, z, y):
        self.bank = z[y >= self.first]

    def predict_features(self, z):
        return torch.cdist(z.double(), self.bank.double()).amin(dim=1)


class Told(Nearest):
    """A setting tells it what it would learn."""

    def __init__(self, encoder, bank=None):
        self.first, self.bank = 0, None if bank is None else torch.tensor(bank)
        self._is_fitted = bank is not None


class Rebuilt(Base):
    """Makes logits anew from the head, and from the weights."""

    def __init__(self, encoder, head, w, b):
        assert isinstance(head, nn.Linear)
        self.head, self.w, self.b = head, w, b

    def predict_features(self, z):
        logits = self.head(z)
        assert torch.allclose(logits, z @ self.w.T + self.b, atol=1e-4)
        return -logits.max(dim=1).values


class Clipped(Base):
    """Looks at maps, and runs what comes after them."""

    requires_fit = True

    def __init__(self, backbone, head, percentile: float = 0.9):
        assert backbone is None
        if not 0 <= percentile <= 1:
            raise ValueError(f"percentile {percentile}")
        self.head, self.percentile = head, percentile

    def fit_feature_maps(self, maps, y):
        assert maps.ndim == 4
        self.clip = torch.quantile(maps, self.percentile)

    def predict_feature_maps(self, maps):
        return -torch.logsumexp(self.head(maps.clip(max=self.clip)), dim=1)


class Several(Base):
    """Looks at several layers."""

    requires_fit = True

    def __init__(self, model, alpha=None):
        self.alpha = alpha or [1.0] * len(model)

    def fit_structured(self, zs, y):
        self.means = [z.mean(dim=0) for z in zs]

    def predict_structured(self, zs):
        parts = zip(self.alpha, zs, self.means, strict=True)
        return sum(a * (z - m).norm(dim=1) for a, z, m in parts)


class Nudging(Base):
    """Runs the network itself, and backwards."""

    def __init__(self, model, eps: float = 0.01):
        self.model, self.eps = model, eps

    def predict(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(self.model(x).amax(dim=1).sum(), x)
        return -self.model(x.detach() + self.eps * gradient.sign()).amax(dim=1)


class NudgingFeatures(Base):
    """Is fitted on features, and wants images."""

    requires_fit = True

    def __init__(self, encoder):
        self.encoder = encoder

    def fit_features(self, z, y):
        self.mean = z.mean(dim=0)

    def predict(self, x):
        return (self.encoder(x) - self.mean).norm(dim=1)


class ByWeight(Base):
    """Differentiates by the network's weights."""

    def __init__(self, model, param_filter=None):
        self.model = model

    def predict(self, x):
        scores = []
        for row in x:
            with torch.enable_grad():
                self.model.requires_grad_(True)
                loss = -self.model(row[None]).log_softmax(dim=1).mean()
                (gradient,) = torch.autograd.grad(loss, [self.model.weight])
            scores.append(-gradient.abs().sum())
        return torch.stack(scores)


class Drawing(Base):
    """Its fit is random."""

    requires_fit = True

    def __init__(self, model):
        pass

    def fit_logits(self, logits, y):
        self.direction = torch.randn(logits.shape[1])

    def predict_logits(self, logits):
        return logits @ self.direction


class Overflowing(Base):
    """Its arithmetic fails on some rows; its parameters want gradients."""

    def __init__(self, model):
        self.factor = nn.Parameter(torch.ones(1))

    def predict_logits(self, logits):
        scores = logits[:, 0] * self.factor
        return torch.cat([torch.tensor([torch.nan, torch.inf, -torch.inf]), scores[3:]])


class MCD(Base):
    """A name that cannot work here."""

    def __init__(self, model):
        pass


DETECTORS = [
    *(Coldest, Weighted, MeanLogits, Nearest, Told, Rebuilt, Clipped, Several, Nudging, NudgingFeatures),
    *(ByWeight, Drawing, Overflowing, MCD),
]
SETTINGS = {
    "Weighted": {"weights": np.linspace(-1, 1, 10).tolist()},
    "Nearest": {"first_class": 0},
}


@pytest.fixture
def library(monkeypatch):
    """Put the stand-in in the place of pytorch-ood."""
    package, detector = ModuleType("pytorch_ood"), ModuleType("pytorch_ood.detector")
    for kind in DETECTORS:
        setattr(detector, kind.__name__, kind)
    detector.helper = len  # a module holds more than detectors
    package.detector, package.__version__ = detector, "0.4.0"
    monkeypatch.setitem(sys.modules, "pytorch_ood", package)
    monkeypatch.setitem(sys.modules, "pytorch_ood.detector", detector)


@pytest.fixture
def adapted(library, fitted):
    def make(name, **parameters):
        parameters.setdefault("settings", SETTINGS.get(name))
        return fitted(PytorchOod(detector=name, **parameters))

    return make


EVERY = [kind.__name__ for kind in DETECTORS if kind not in (MCD, Overflowing)]


@pytest.mark.parametrize("name", EVERY)
def test_a_detector_of_each_shape_keeps_the_rules_of_monitors(small, adapted, name) -> None:
    monitor = adapted(name)
    scores = monitor.score(small.test)
    assert scores.shape == (len(small.test),)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(monitor.score(small.test), scores)
    singly = [monitor.score(small.test.take(slice(i, i + 1)))[0] for i in range(5)]
    np.testing.assert_allclose(singly, scores[:5], rtol=1e-4, atol=1e-5)
    assert monitor.score(small.test.take(slice(0, 0))).shape == (0,)
    restored = PytorchOod(**monitor._arguments).restore(monitor.state, small.classifier)
    np.testing.assert_array_equal(restored.score(small.test), scores)
    assert not any(array.dtype.hasobject for array in monitor.state.values())


def test_a_detector_of_logits_sees_the_observed_ones(small, adapted) -> None:
    monitor = adapted("Coldest", settings={"t": 2})
    np.testing.assert_allclose(monitor.score(small.test), -small.test.logits.max(axis=1) / 2)
    assert monitor.needs.logits
    assert not monitor.needs.layers
    assert monitor.nbytes == 0
    assert monitor.notes() == {"pytorch_ood": "0.4.0", "sees": "logits"}


def test_lists_of_numbers_become_tensors_where_a_tensor_is_wanted(small, adapted) -> None:
    weights = SETTINGS["Weighted"]["weights"]
    np.testing.assert_allclose(
        adapted("Weighted").score(small.test), small.test.logits @ np.float32(weights), atol=1e-5
    )


@pytest.mark.parametrize("source", ["training", "validation"])
def test_it_is_fitted_on_the_source_asked_for(small, adapted, source) -> None:
    data = small.material if source == "training" else small.material.validation
    logits = np.concatenate([observation.logits for observation, _ in data])
    expected = np.linalg.norm(small.test.logits - logits.mean(axis=0), axis=1)
    monitor = adapted("MeanLogits", source=source)
    np.testing.assert_allclose(monitor.score(small.test), expected, rtol=1e-5)
    assert monitor.nbytes == logits.nbytes + 8 * len(logits) + 8, "what it was fitted on, and a seed"


@pytest.mark.parametrize("layer", ["last-hidden", "conv2"])
def test_features_are_those_of_the_layer_with_their_labels(small, adapted, layer) -> None:
    found = collect(small.material, layer)
    bank = found.features[found.labels >= 4].astype(np.float64)
    own = small.test.features(layer)[:20]
    expected = [np.linalg.norm(bank - row, axis=1).min() for row in own]
    monitor = adapted("Nearest", settings={"first_class": 4, "p": 2}, layer=layer, pool="none")
    np.testing.assert_allclose(monitor.score(small.test)[:20], expected, rtol=1e-6, atol=1e-6)
    assert monitor.needs.layers == (layer,)


def test_what_a_setting_tells_is_not_learnt_over(small, adapted) -> None:
    point = small.test.features("last-hidden")[3]
    told = adapted("Told", settings={"bank": [point.tolist()]})
    assert told.score(small.test)[3] < 1e-6
    assert told.nbytes == 0
    assert adapted("Told").score(small.test)[3] > 0.1


def test_the_head_and_its_weights_are_filled_in(small, adapted) -> None:
    monitor = adapted("Rebuilt")
    np.testing.assert_allclose(monitor.score(small.test), -small.test.logits.max(axis=1), rtol=1e-5)
    assert monitor.needs.head


def test_maps_are_the_last_hidden_layer_and_the_head_follows(small, adapted) -> None:
    features = collect(small.material, "last-hidden").features
    weights, bias = small.classifier.head
    for percentile in (0.9, 0.5):
        clip = np.quantile(features, percentile)
        logits = np.minimum(small.test.features("last-hidden"), clip) @ weights.T + bias
        expected = -np.log(np.exp(logits).sum(axis=1))
        score = adapted("Clipped", settings={"percentile": percentile}).score(small.test)
        np.testing.assert_allclose(score, expected, rtol=1e-4)


def test_several_layers_are_means_over_places(small, adapted) -> None:
    layers = ["last-hidden", "conv2"]
    expected = np.zeros(len(small.test))
    for alpha, layer in zip((1.0, 3.0), layers, strict=True):
        train = np.concatenate([o.activations[layer] for o, _ in small.material])
        own = small.test.activations[layer]
        if train.ndim == 4:
            train, own = train.mean(axis=(2, 3)), own.mean(axis=(2, 3))
        expected += alpha * np.linalg.norm(own - train.mean(axis=0), axis=1)
    monitor = adapted("Several", layer=layers, settings={"alpha": [1.0, 3.0]})
    np.testing.assert_allclose(monitor.score(small.test), expected, rtol=1e-4)
    assert monitor.needs.layers == tuple(layers)


def test_one_that_runs_the_network_is_right_and_counted(small, adapted) -> None:
    pixels = torch.tensor(small.test.images, requires_grad=True)
    small.classifier.differentiable(pixels).amax(dim=1).sum().backward()
    after = small.classifier.observe((pixels.detach() + 0.05 * pixels.grad.sign()).numpy())
    monitor = adapted("Nudging", settings={"eps": 0.05})
    np.testing.assert_allclose(monitor.score(small.test), -after.logits.max(axis=1), rtol=1e-5)
    assert monitor.needs.gradients
    monitor.calibrate(small.material.validation, CalibrationRule(), 10)
    monitor.judge(small.test)
    monitor.judge(small.test)
    assert monitor.own_passes == 2
    unaware = adapted("Coldest")
    unaware.calibrate(small.material.validation, CalibrationRule(), 10)
    unaware.judge(small.test)
    assert unaware.own_passes == 0


def test_where_features_must_be_differentiable_they_are_logits(small, adapted) -> None:
    logits = np.concatenate([observation.logits for observation, _ in small.material])
    expected = np.linalg.norm(small.test.logits - logits.mean(axis=0), axis=1)
    monitor = adapted("NudgingFeatures")
    np.testing.assert_allclose(monitor.score(small.test), expected, rtol=1e-4)
    assert monitor.needs.gradients
    assert monitor.needs.logits


def test_one_that_differentiates_by_weights_gets_the_last_layer(small, adapted) -> None:
    p = small.test.probabilities - 0.1
    features = small.test.features("last-hidden").astype(np.float64)
    expected = -np.abs(p).sum(axis=1) * np.abs(features).sum(axis=1)
    monitor = adapted("ByWeight")
    np.testing.assert_allclose(monitor.score(small.test), expected, rtol=1e-3)
    assert monitor.needs.layers == ("last-hidden",)
    assert monitor.needs.head


def test_a_random_fit_depends_on_the_seed_alone_and_leaves_torchs_generator(small, library) -> None:
    def scores(seed: int) -> np.ndarray:
        data = dataclasses.replace(small.material, seed=seed)
        return PytorchOod(detector="Drawing").fit(data, small.classifier).score(small.test)

    before = torch.random.get_rng_state()
    first = scores(3)
    torch.testing.assert_close(torch.random.get_rng_state(), before)
    torch.rand(5)
    np.testing.assert_array_equal(scores(3), first)
    assert not np.allclose(scores(4), first)


def test_making_one_takes_nothing_from_torchs_generator(adapted) -> None:
    before = torch.random.get_rng_state()
    adapted("Rebuilt")
    torch.testing.assert_close(torch.random.get_rng_state(), before)


def test_without_a_number_an_instance_is_as_anomalous_as_can_be(small, adapted) -> None:
    scores = adapted("Overflowing").score(small.test)
    assert scores[:3].tolist() == [NO_SCORE, NO_SCORE, -NO_SCORE]
    np.testing.assert_array_equal(scores[3:], small.test.logits[3:, 0])


def test_the_classifier_and_the_observation_stay_as_they_were(small, adapted) -> None:
    before = small.classifier.digest
    for name in EVERY:
        adapted(name).score(small.test)
    assert small.classifier.digest == before
    assert not any(p.requires_grad or p.grad is not None for p in small.classifier._module.parameters())


def test_a_black_box_serves_none_that_looks_inside(library) -> None:
    blind = FunctionClassifier(lambda x: np.full((len(x), 2), 0.5), ("a", "b"))
    with refused(RequirementError):
        blind.resolve(PytorchOod(detector="Nudging").needs, "monitor 'pytorch-ood'")


IMPOSSIBLE = [
    {"detector": "Clippd"},
    {"detector": "nearest"},
    {"detector": "helper"},
    {"detector": "MCD"},
    {"detector": "Nearest"},
    {"detector": "Coldest", "settings": {"tt": 1}},
    {"detector": "Coldest", "settings": {"model": 1}},
    {"detector": "Coldest", "layer": "conv2"},
    {"detector": "Rebuilt", "layer": "conv2"},
    {"detector": "Told", "layer": ["conv1", "conv2"]},
    {"detector": "Several", "layer": []},
    {"detector": "Coldest", "source": "test"},
]


def test_what_cannot_be_is_refused_when_it_is_made(library) -> None:
    for parameters in IMPOSSIBLE:
        with refused(ParameterError):
            PytorchOod(**parameters)


def test_a_setting_that_the_detector_refuses_is_the_users_mistake(adapted) -> None:
    with refused(ParameterError):
        adapted("Clipped", settings={"percentile": 2})


def test_the_missing_package_is_named_with_its_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pytorch_ood", None)
    monkeypatch.delitem(sys.modules, "pytorch_ood.detector", raising=False)
    with refused(RequirementError):
        PytorchOod(detector="KNN")


def test_a_package_that_breaks_on_import_says_why(monkeypatch) -> None:
    real = importlib.import_module

    def breaking(name, *more):
        if name.startswith("pytorch_ood"):
            raise RuntimeError("operator torchvision::nms does not exist")
        return real(name, *more)

    monkeypatch.setattr(importlib, "import_module", breaking)
    with refused(RequirementError):
        PytorchOod(detector="KNN")


def test_the_library_is_not_imported_before_it_is_asked_for(monkeypatch) -> None:
    real, asked = builtins.__import__, []
    monkeypatch.setattr(
        builtins, "__import__", lambda name, *rest: (asked.append(name), real(name, *rest))[1]
    )
    for module in ("monitors.adapters", "monitors._detectors"):
        monkeypatch.delitem(sys.modules, module)
        importlib.import_module(module)
    assert asked
    assert not any(name.startswith("pytorch_ood") for name in asked)


# The library itself ---------------------------------------------------------------------------------------

REAL_SETTINGS = {
    "DICE": {"p": 0.9},
    "ViM": {"d": 64},
    "WeightedEBO": {"weights": [1.0, 2.0] * 5},
    "MCM": {"text_embeddings": np.eye(10, 128).tolist()},
}
LOGITS = ["EnergyBased", "Entropy", "GEN", "KLMatching", "MaxLogit", "MaxSoftmax", "TemperatureScaling"]
FEATURES = ["fDBD", "DICE", "GMM", "KNN", "LTS", "Mahalanobis", "MCM", "NCI", "NNGuide", "PNML", "RMD"]
OTHERS = ["ASH", "ReAct", "SCALE", "VRA", "MultiMahalanobis", "ODIN", "MahalanobisODIN", "GradNorm"]
WORKING = [*LOGITS, "WeightedEBO", *FEATURES, "SHE", "ViM", *OTHERS, "GradUncertainty"]
NOT_WORKING = ["Gram", "NACUE", "MCD", "OpenMax", "RankFeat"]


@pytest.fixture(scope="module")
def theirs(pytorch_ood: None) -> ModuleType:
    """Return the library's module of detectors, or skip the test where it is not installed."""
    if importlib.util.find_spec("pytorch_ood") is None:
        pytest.skip("the extra 'ood' is not installed")
    return importlib.import_module("pytorch_ood.detector")


def test_the_librarys_detectors_work(theirs, small, fitted) -> None:
    """All of them, each by itself; every one that breaks a rule is listed."""
    broken = {}
    for name in WORKING:
        try:
            check_detector(name, small, fitted)
        except Exception as error:  # noqa: BLE001 - the others are tried as well
            broken[name] = f"{type(error).__name__}: {error}"
    assert broken == {}


def check_detector(name: str, small, fitted) -> None:
    """Raise where a detector's scores are no numbers, say nothing, or depend on what else is in a batch."""
    monitor = fitted(PytorchOod(detector=name, settings=REAL_SETTINGS.get(name)))
    scores = monitor.score(small.test)
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() < NO_SCORE
    assert scores.std() > 0
    np.testing.assert_array_equal(monitor.score(small.test), scores)
    singly = [monitor.score(small.test.take(slice(i, i + 1)))[0] for i in range(10)]
    np.testing.assert_allclose(singly, scores[:10], rtol=1e-4, atol=1e-4)
    assert monitor.score(small.test.take(slice(0, 0))).shape == (0,)
    restored = PytorchOod(**monitor._arguments).restore(monitor.state, small.classifier)
    np.testing.assert_array_equal(restored.score(small.test), scores)
    huge = {layer: np.full_like(v, 1e20) for layer, v in small.test.activations.items()}
    extreme = dataclasses.replace(small.test, activations=huge, logits=np.full_like(small.test.logits, 1e20))
    assert np.isfinite(monitor.score(extreme)).all()


def test_the_librarys_other_detectors_are_refused_with_the_reason(theirs) -> None:
    for name in NOT_WORKING:
        with refused(ParameterError):
            PytorchOod(detector=name)


def test_every_detector_of_the_library_is_in_one_list_or_the_other(theirs) -> None:
    names = {n for n in theirs.__all__ if isinstance(getattr(theirs, n), type)}
    assert names == {*WORKING, *NOT_WORKING}


def test_openmax_is_refused_because_others_in_the_batch_count(theirs, small) -> None:
    rows = [(observation.logits, labels) for observation, labels in small.material]
    logits, labels = (torch.tensor(np.concatenate(column)) for column in zip(*rows, strict=True))
    theirs_own = theirs.OpenMax(None).fit_logits(logits, labels)
    test = torch.tensor(np.array(small.test.logits))
    assert not torch.allclose(theirs_own.predict_logits(test)[:1], theirs_own.predict_logits(test[:1]))


def test_scores_are_those_of_the_library_called_by_hand(theirs, small, fitted) -> None:
    found = collect(small.material, "last-hidden")
    z, y = torch.tensor(found.features), torch.tensor(found.labels)
    own = torch.tensor(small.test.features("last-hidden"))
    by_hand = theirs.KNN(None, k=7).fit_features(z, y).predict_features(own)
    adapted = fitted(PytorchOod(detector="KNN", settings={"k": 7}))
    np.testing.assert_allclose(adapted.score(small.test), by_hand.numpy(), rtol=1e-5)
    odin = theirs.ODIN(small.classifier.differentiable, eps=0.01)
    by_hand = odin.predict(torch.tensor(small.test.images))
    adapted = fitted(PytorchOod(detector="ODIN", settings={"eps": 0.01}))
    np.testing.assert_allclose(adapted.score(small.test), by_hand.numpy(), rtol=1e-5)


# Functions of one's own -------------------------------------------------------------------------------------

SOURCE = """
import numpy as np

def distrust(observation):
    return 1 - observation.confidence

def shortest(observation):
    return np.abs(observation.features("conv2")).sum(axis=1)

def off(observation, state):
    return np.linalg.norm(observation.logits - state["mean"], axis=1)

def centre(data):
    return {"mean": np.mean([batch.observation.logits.mean(axis=0) for batch in data], axis=0)}

def again(observation, *, classifier):
    return -classifier.observe(observation.images[:, :, ::-1]).confidence

def steps(data, *, classifier):
    return {"weights": classifier.head.weights}

def weighed(observation, state, *, classifier):
    assert (state["weights"] == classifier.head.weights).all()
    return np.zeros(len(observation))

def a_list(data):
    return [1, 2]

def wrong_shape(observation):
    return 0.5

constant = 3
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "their_functions.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("their_functions", None)


def own(function, **parameters):
    if "fit" in parameters:
        parameters["fit"] = f"their_functions:{parameters['fit']}"
    return OwnFunction(function=f"their_functions:{function}", **parameters)


def test_a_function_is_a_monitor(mine, small, fitted) -> None:
    monitor = fitted(own("distrust"))
    np.testing.assert_array_equal(monitor.score(small.test), 1 - small.test.confidence)
    assert monitor.nbytes == 0
    monitor.calibrate(small.material.validation, CalibrationRule(), 10)
    assert monitor.judge(small.test).alarms.any()


def test_a_function_sees_the_layers_it_names_and_no_others(mine, small, fitted) -> None:
    score = fitted(own("shortest", layers=["conv2"], pool="none")).score(small.test)
    np.testing.assert_allclose(score, np.abs(small.test.features("conv2")).sum(axis=1))
    with refused(RequirementError):
        fitted(own("shortest")).score(small.test)


def test_needs_are_what_it_says(mine) -> None:
    needs = own("distrust", needs=["logits", "gradients", "head"], layers=["a", "b"]).needs
    assert (needs.logits, needs.gradients, needs.head, needs.layers) == (True, True, True, ("a", "b"))
    assert own("distrust").needs == type(needs)()
    with refused(ParameterError):
        own("distrust", needs=["logit"])


def test_a_function_gets_what_its_fit_returned_and_it_is_the_state(mine, small, fitted) -> None:
    monitor = fitted(own("off", fit="centre", needs=["logits"]))
    mean = np.mean([o.logits.mean(axis=0) for o, _ in small.material], axis=0)
    expected = np.linalg.norm(small.test.logits - mean, axis=1)
    np.testing.assert_allclose(monitor.score(small.test), expected, rtol=1e-6)
    assert monitor.nbytes == mean.nbytes
    again = own("off", fit="centre").restore(monitor.state, small.classifier)
    np.testing.assert_array_equal(again.score(small.test), monitor.score(small.test))


def test_runs_of_the_classifier_are_counted(mine, small, fitted) -> None:
    monitor = fitted(own("again", classifier=True))
    flipped = small.classifier.observe(small.test.images[:, :, ::-1])
    np.testing.assert_allclose(monitor.score(small.test), -flipped.confidence)
    monitor.calibrate(small.material.validation, CalibrationRule(), 10)
    monitor.judge(small.test)
    assert monitor.own_passes == 1


def test_the_fit_gets_the_classifier_too(mine, small, fitted) -> None:
    monitor = fitted(own("weighed", fit="steps", needs=["head"], classifier=True))
    assert (monitor.score(small.test) == 0).all()


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"function": "distrst"}, ExperimentError),
        ({"function": "constant"}, ExperimentError),
        ({"function": "distrust", "fit": "nope"}, ExperimentError),
    ],
)
def test_a_function_that_is_none_is_refused(mine, parameters, error) -> None:
    with refused(error):
        own(**parameters)


def test_rubbish_is_a_failure_that_names_the_function(mine, small, fitted) -> None:
    with refused(ComponentFailure):
        fitted(own("off", fit="a_list"))
    with refused(ComponentFailure):
        fitted(own("wrong_shape")).score(small.test)


def test_types_in_a_file_are_checked(mine) -> None:
    with refused(ParameterError):
        registry.make("monitor", "monitors.own:OwnFunction", {"function": "x:y", "layers": "conv2"})
