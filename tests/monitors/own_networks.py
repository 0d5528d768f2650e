"""Data with outliers and with networks of monitors' own, and such networks, small enough to check by hand."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import softmax

from farm.api import (
    CalibrationRule,
    Classifier,
    Labelled,
    ModelSource,
    Monitor,
    Network,
    NetworkSource,
    Observation,
    OwnNetwork,
    SavedClassifier,
    State,
    TrainedNetwork,
    derived_seed,
)
from farm.testing.fakes import FakeClassifier

SHAPE = (1, 4, 4)
CLASSES = ("ash", "birch", "cedar")
HERE = "tests.monitors.own_networks"


@dataclass
class Given:
    """What a monitor is fitted on, as it is given."""

    train: Sequence[Labelled]
    validation: Sequence[Labelled]
    outliers: Iterable[Observation] | None = None
    networks: Mapping[OwnNetwork, TrainedNetwork] = field(default_factory=dict)
    classes: tuple[str, ...] = CLASSES
    seed: int = 0

    def __iter__(self) -> Iterator[Labelled]:
        return iter(self.train)


class Linear(Network):
    """Projects an image on some directions (`latent`) and back (`error`)."""

    outputs = ("latent", "error", "bits")
    runs = 0

    def __init__(self, basis: np.ndarray) -> None:
        self._basis = basis

    @property
    def state(self) -> State:
        return {"basis": self._basis}

    def compute(self, images: np.ndarray, output: str) -> np.ndarray:
        type(self).runs += 1
        flat = images.reshape(len(images), math.prod(images.shape[1:])).astype(np.float64)
        latent = flat @ self._basis
        if output == "latent":
            return latent
        error = np.square(flat - latent @ self._basis.T).mean(axis=1)
        return error if output == "error" else 3 * error


class LinearSource(NetworkSource):
    def __init__(self, *, loss: str = "mse", epochs: int = 1) -> None:
        pass

    def network(self, workload: Any, context: Any) -> Network:
        raise NotImplementedError

    def restore(self, state: State, shape: tuple[int, int, int]) -> Network:
        assert len(state["basis"]) == math.prod(shape)
        return Linear(state["basis"])


class LinearClassifier(FakeClassifier):
    """Logits that are a product."""

    runs = 0

    def __init__(self, weights: np.ndarray, classes: Sequence[str], *, black_box: bool = False) -> None:
        def logits(images: np.ndarray) -> np.ndarray:
            type(self).runs += 1
            return images.reshape(len(images), math.prod(images.shape[1:])) @ weights

        super().__init__(
            lambda images: softmax(logits(images).astype(np.float64), axis=1),
            classes,
            logits=None if black_box else logits,
            name="linear",
        )
        self._weights = weights

    @property
    def digest(self) -> str:
        return hashlib.blake2b(self._weights.tobytes()).hexdigest()


class LinearModel(ModelSource):
    def __init__(self, *, loss: str = "cross-entropy", black_box: bool = False) -> None:
        self._black_box = black_box

    def classifier(self, workload: Any, context: Any) -> Classifier:
        raise NotImplementedError

    def restore(self, saved: SavedClassifier) -> Classifier:
        return LinearClassifier(saved.state["weights"], saved.classes, black_box=self._black_box)


def trained_network(
    seed: int = 0, values: int = 2, shape: tuple[int, int, int] = SHAPE, **notes: Any
) -> TrainedNetwork:
    """Return one that projects on a few directions."""
    basis, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(math.prod(shape), values)))
    return TrainedNetwork(
        "network", f"{HERE}:LinearSource", {"epochs": 3}, shape, (), {"basis": basis}, notes
    )


def trained_classifier(
    seed: int = 0,
    classes: Sequence[str] = CLASSES,
    shape: tuple[int, int, int] = SHAPE,
    *,
    black_box: bool = False,
) -> TrainedNetwork:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(math.prod(shape), len(classes))).astype(np.float32)
    parameters = {"black_box": black_box}
    return TrainedNetwork(
        "model", f"{HERE}:LinearModel", parameters, shape, tuple(classes), {"weights": weights}
    )


class AnyNetworks(Mapping[OwnNetwork, TrainedNetwork]):
    """Gives whatever is asked for: a small network, which was never trained, another for each title."""

    def __init__(self, shape: tuple[int, int, int], classes: Sequence[str]) -> None:
        self._shape, self._classes = shape, classes

    def __getitem__(self, need: OwnNetwork) -> TrainedNetwork:
        seed = derived_seed(0, need.title)
        if need.network:
            return trained_network(seed, shape=self._shape)
        against = ("in-distribution", "outlier")
        return trained_classifier(seed, against if need.against_outliers else self._classes, self._shape)

    def __iter__(self) -> Iterator[OwnNetwork]:
        return iter(())

    def __len__(self) -> int:
        return 0


WATCHED = LinearClassifier(np.random.default_rng(99).normal(size=(16, 3)).astype(np.float32), CLASSES)
"""The classifier that the monitors watch."""


def images(n: int, seed: int, *, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, (n, *SHAPE)).astype(np.float32)


def batches(own: np.ndarray, size: int = 32) -> list[Observation]:
    return [WATCHED.observe(own[start : start + size]) for start in range(0, len(own), size)]


def labelled(own: np.ndarray) -> list[Labelled]:
    return [Labelled(seen, seen.predicted) for seen in batches(own)]


def given(
    networks: Mapping[OwnNetwork, TrainedNetwork] | None = None,
    *,
    inside: np.ndarray | None = None,
    outside: np.ndarray | None = None,
) -> Given:
    """Return dim images to fit on and brighter ones as outliers, unless told otherwise."""
    return Given(
        labelled(images(100, 1, high=0.6)),
        labelled(images(80, 2, high=0.6) if inside is None else inside),
        batches(images(50, 3, low=0.3) if outside is None else outside),
        networks or {},
    )


def together(observations: Iterable[Observation]) -> np.ndarray:
    return np.concatenate([seen.images for seen in observations])


def restored_as_fitted(monitor: Monitor, again: Monitor, seen: Observation) -> bool:
    """Say whether a state brought through plain bytes scores the same bit for bit."""
    state = {
        name: np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)
        for name, array in monitor.state.items()
    }
    assert not any(array.dtype.hasobject for array in state.values())
    again.restore(state, WATCHED)
    return again.score(seen).tobytes() == monitor.score(seen).tobytes() and again.notes() == monitor.notes()


ID_QUANTILE = CalibrationRule()
