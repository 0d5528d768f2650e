"""What a component keeps is found by what made the component, and is not kept where that is not all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import farm.store.identity.loaded
from farm.api import Classifier, Context, FunctionClassifier, ModelSource, State, Workload
from farm.errors import ComponentFailure
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.store.component_cache import ComponentCache
from tests.store.test_fitted import Notes
from tests.wording import refused


class Learner(ModelSource):
    """Learns a number, and keeps it under a key that tells nothing of itself."""

    trainings = 0
    number = 1.0

    def __init__(self, *, rate: float = 1.0) -> None:
        self._rate = rate

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        def make() -> State:
            Learner.trainings += 1
            return {"number": np.array(self.learnt())}

        learnt = context.cache.arrays("learnt", {}, make)["number"]
        n = len(workload.classes)
        made = FunctionClassifier(lambda images: np.full((len(images), n), 1 / n), workload.classes)
        made.learnt = float(learnt)  # type: ignore[attr-defined]
        return made

    def learnt(self) -> float:
        return self.number * self._rate


class Other(Learner):
    """The same key, other code."""

    number = 2.0


@pytest.fixture(autouse=True)
def as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Learner, "trainings", 0)


@pytest.fixture
def progress() -> Notes:
    return Notes()


@pytest.fixture
def bed(tmp_path: Path, progress: Notes) -> Testbed:
    return Testbed(cache=DiskCache(tmp_path / "cache"), progress=progress)


@pytest.fixture(scope="module")
def digits() -> Workload:
    return Testbed().workload({"name": "digits", "size": 8, "channels": 1})


def learnt(bed: Testbed, source: ModelSource, workload: Workload) -> float:
    return float(bed.classifier(source, workload).learnt)  # type: ignore[attr-defined]


def test_it_is_found_again(bed: Testbed, digits: Workload) -> None:
    assert [learnt(bed, Learner(), digits) for _ in range(3)] == [1.0] * 3
    assert Learner.trainings == 1


def test_another_class_or_parameter_finds_nothing_of_it(bed: Testbed, digits: Workload) -> None:
    sources = (Learner(), Other(), Learner(rate=3.0), Other())
    assert [learnt(bed, source, digits) for source in sources] == [1.0, 2.0, 3.0, 2.0]
    assert Learner.trainings == 3


class Around(Learner):
    """Learns nothing of its own."""

    def __init__(self, *, of: int = 1, rate: float = 1.0) -> None:
        self._inner = Learner(rate=rate)

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        cache = context.cache.for_model(self._inner)
        return self._inner.classifier(workload, replace(context, cache=cache))


def test_what_a_model_makes_another_by_is_found_by_that_alone(bed: Testbed, digits: Workload) -> None:
    sources = (Around(of=1), Around(of=2), Learner(), Around(rate=3.0), Learner(rate=3.0))
    assert [learnt(bed, source, digits) for source in sources] == [1.0, 1.0, 1.0, 3.0, 3.0]
    assert Learner.trainings == 2


def test_code_that_may_be_older_in_memory_is_not_kept(
    bed: Testbed, digits: Workload, progress: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(farm.store.identity.loaded, "in_memory_is_current", lambda _: False)
    learnt(bed, Learner(), digits)
    learnt(bed, Learner(), digits)
    assert Learner.trainings == 2
    assert len([line for line in progress.said if "made anew each time" in line]) == 2


def test_a_model_that_keeps_nothing_is_told_nothing(bed: Testbed, digits: Workload, progress: Notes) -> None:
    class Typed(ModelSource):
        """Lies in no file that could be found again."""

        def classifier(self, workload: Workload, context: Context) -> Classifier:
            del context
            n = len(workload.classes)
            return FunctionClassifier(lambda images: np.full((len(images), n), 1 / n), workload.classes)

    bed.classifier(Typed(), digits)
    assert progress.said == []


def test_large_arrays_too(tmp_path: Path, progress: Notes) -> None:
    context = Context(progress=progress)
    made = []

    def of(source: Learner) -> list[float]:
        def blocks() -> Iterator[NDArray[np.float64]]:
            made.append(source)
            yield np.array([source.learnt()])

        own = ComponentCache("model", source, context, DiskCache(tmp_path / "cache"))
        return own.mapped("large", {}, (1,), "float64", blocks).tolist()

    assert [of(Learner()), of(Learner()), of(Other())] == [[1.0], [1.0], [2.0]]
    assert len(made) == 2


def test_a_failing_training_is_not_tried_twice(
    bed: Testbed, digits: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: Learner) -> float:
        raise ValueError("it diverged")

    monkeypatch.setattr(Learner, "learnt", failing)
    with refused(ComponentFailure):
        learnt(bed, Learner(), digits)
    assert Learner.trainings == 1
