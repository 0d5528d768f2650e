"""Networks of monitors' own: trained when they are looked up, once, and by which recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from farm import registry
from farm.api import (
    Classifier,
    Context,
    FloatArray,
    Images,
    ModelSource,
    Needs,
    Network,
    NetworkSource,
    OwnNetwork,
    SavedClassifier,
    State,
    Workload,
)
from farm.errors import DataError, ParameterError, RequirementError
from farm.run.networks import OwnNetworks, source_of_network, train_own
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.testing.fakes import FakeClassifier, FakeMonitor, TinyModel, TinySource
from tests.wording import refused

HERE = "tests.run.test_networks"
OUTLIERS = {
    "name": "novelty",
    "workload": {"name": "farm.testing.fakes:TinySource", "classes": ["oak", "pine"], "title": "foreign"},
    "split": "train",
}


class Mean(Network):
    """Knows one number."""

    outputs = ("latent",)

    def __init__(self, mean: float) -> None:
        self._mean = mean
        self.notes = {"seen": "all"}

    @property
    def state(self) -> State:
        return {"mean": np.array(self._mean)}

    def compute(self, images: Images, output: str) -> FloatArray:
        return np.asarray(images.mean(axis=(1, 2, 3), dtype=np.float64) - self._mean)


class MeanSource(NetworkSource):
    """The mean of the training images, times a factor, and the seed."""

    trained: ClassVar[list[tuple[Workload, int]]] = []

    def __init__(self, *, factor: float = 1.0) -> None:
        if factor <= 0:
            raise ParameterError(f"factor is {factor}; expected a number above 0")
        self._factor = factor

    def network(self, workload: Workload, context: Context) -> Network:
        def make() -> State:
            type(self).trained.append((workload, context.seed))
            images = workload.train.images.read(np.arange(len(workload.train)))
            return {"mean": np.array(float(images.mean()) * self._factor + context.seed % 1000)}

        key = {"workload": workload.content_hash, "seed": context.seed}
        return Mean(float(context.cache.arrays("mean", key, make)["mean"]))

    def restore(self, state: State, shape: tuple[int, int, int]) -> Network:
        return Mean(float(state["mean"]))


class Broken(MeanSource):
    """Cannot be trained."""

    def network(self, workload: Workload, context: Context) -> Network:
        raise ValueError("no numbers left")


class Guess(FakeClassifier):
    """Believes all classes alike, to some degree."""

    def __init__(self, n: int, classes: tuple[str, ...]) -> None:
        super().__init__(lambda images: np.full((len(images), len(classes)), 1 / len(classes)), classes)
        self.n = n

    @property
    def state(self) -> State:
        return {"n": np.array(self.n)}


class GuessModel(ModelSource):
    """Counts what it was trained on."""

    taught: ClassVar[list[Workload]] = []

    def __init__(self, *, loss: str = "cross-entropy") -> None:
        self._loss = loss

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        type(self).taught.append(workload)
        return Guess(len(workload.train), workload.classes)

    def restore(self, saved: SavedClassifier) -> Classifier:
        return Guess(int(saved.state["n"]), saved.classes)


@pytest.fixture
def bed(tmp_path: Path) -> Testbed:
    MeanSource.trained.clear()
    GuessModel.taught.clear()
    return Testbed(folder=tmp_path, cache=DiskCache(tmp_path / "cache"))


MEAN = OwnNetwork(f"{HERE}:MeanSource")
LOGISTIC = OwnNetwork(parameters=(("loss", "logistic"),))


def fitted(bed: Testbed, *needs: OwnNetwork, outliers: bool = False, model: Any = None) -> dict[str, Any]:
    """Fit a monitor that looks up its networks twice; return what it was given, or why it failed."""
    workload = bed.workload(TinySource())
    classifier = bed.classifier(model or GuessModel(), workload)
    got: dict[str, Any] = {}

    def fit(data: Any) -> dict[str, np.ndarray]:
        got["networks"] = [data.networks[need] for need in needs for _ in range(2)][::2]
        got["keys"] = list(data.networks)
        return {}

    monitor = FakeMonitor(needs=Needs(networks=needs, outliers=outliers), fit=fit)
    found = bed.outliers(OUTLIERS, workload, classifier) if outliers else None
    got["failures"] = bed.fit_all([monitor], classifier, workload, {}, found)
    return got


def test_a_registered_network_is_trained_once_and_found_again(bed: Testbed) -> None:
    (first,) = fitted(bed, MEAN)["networks"]
    (again,) = fitted(bed, MEAN)["networks"]
    assert len(MeanSource.trained) == 1
    assert (first.kind, first.name, first.notes) == ("network", f"{HERE}:MeanSource", {"seen": "all"})
    assert first.state["mean"] == again.state["mean"]
    workload = bed.workload(TinySource())
    restored = registry.restored(first)
    images = workload.test.images.read(np.arange(5))
    expected = images.mean(axis=(1, 2, 3), dtype=np.float64) - float(first.state["mean"])
    assert np.allclose(restored.output("latent")(images), expected)


def test_beside_outliers_it_learns_without_the_validation_images(bed: Testbed) -> None:
    fitted(bed, MEAN, outliers=True)
    ((workload, _),) = MeanSource.trained
    seen = {*workload.train.ids, *workload.validation.ids}
    assert seen == set(bed.workload(TinySource()).train.ids)


def test_members_draw_other_random_numbers(bed: Testbed) -> None:
    members = [OwnNetwork(MEAN.network, member=i) for i in range(3)]
    networks = fitted(bed, *members)["networks"]
    assert len({float(one.state["mean"]) for one in networks}) == 3
    assert MeanSource.trained[0][1] == 0, "the first is the network that others would get"


def test_the_classifiers_own_recipe_is_taken_with_other_parameters(bed: Testbed) -> None:
    (made,) = fitted(bed, LOGISTIC)["networks"]
    assert (made.kind, made.parameters) == ("model", {"loss": "logistic"})
    assert made.classes == bed.workload(TinySource()).classes
    assert registry.restored(made).state["n"] == made.state["n"]


def test_a_network_against_outliers_tells_two_classes_apart(bed: Testbed) -> None:
    (made,) = fitted(bed, OwnNetwork(against_outliers=True), outliers=True)["networks"]
    assert made.classes == ("in-distribution", "outlier")
    assert GuessModel.taught[-1].name == "tiny against foreign"


def test_only_what_was_asked_for_is_there(bed: Testbed) -> None:
    assert fitted(bed, MEAN, LOGISTIC)["keys"] == [MEAN, LOGISTIC]
    with pytest.raises(KeyError):
        OwnNetworks([MEAN], lambda need: None)[LOGISTIC]  # type: ignore[arg-type,return-value]


def test_a_network_that_cannot_be_trained_fails_its_monitor_alone(bed: Testbed) -> None:
    told = fitted(bed, OwnNetwork(f"{HERE}:Broken"))["failures"]
    assert list(told) == ["fake-monitor"]
    assert told["fake-monitor"].endswith("Broken' failed: ValueError: no numbers left")


@pytest.mark.parametrize(
    ("need", "model"),
    [
        (LOGISTIC, None),
        (LOGISTIC, TinyModel()),
        (OwnNetwork(parameters=(("depth", 3),)), GuessModel()),
    ],
)
def test_what_no_recipe_can_train_is_told(need: OwnNetwork, model: ModelSource | None) -> None:
    with refused(RequirementError):
        source_of_network(need, model, "monitor 'm'")


def test_a_registered_network_takes_its_own_parameters_alone() -> None:
    with refused(ParameterError):
        source_of_network(OwnNetwork("autoencoder", (("los", "mse"),)), None, "monitor 'm'")


def test_the_inner_split_of_too_little_is_named(bed: Testbed) -> None:
    workload = bed.workload(TinySource(tracks=(1, 6, 6)))
    classifier = bed.classifier(GuessModel(), workload)
    outliers = bed.outliers(OUTLIERS, workload, classifier)
    with refused(DataError):
        train_own(bed, MEAN, classifier=classifier, workload=workload, outliers=outliers)
