"""One monitor on trial: made, fitted and copied, so that no rule's finding disturbs another's."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import numpy as np

from farm.api import (
    JSON,
    Classifier,
    FitData,
    FloatArray,
    Labelled,
    Monitor,
    Needs,
    Observation,
    OwnNetwork,
    State,
    TrainedNetwork,
)
from farm.api.component import C, another
from farm.api.observation import ViewedData
from farm.registry import Kind
from farm.run.fitting import Material
from farm.run.networks import OwnNetworks
from farm.testing.observations import batches, declared, fresh
from farm.testing.small_system import Observed, SmallSystem
from farm.testing.surroundings import Seen, chance, watched

if TYPE_CHECKING:
    from farm.testing.new_process import Elsewhere

BATCH = 64
SEED = 20_000
"""Of the global random generators, which nobody should read."""


@dataclass(frozen=True, eq=False)
class LentData(ViewedData):
    """What monitors are fitted on, in batches of one's own; notes what is asked for."""

    asked_for: set[str] = field(default_factory=set)
    lent: list[weakref.ref[Any]] = field(default_factory=list)
    """The validation data that were given out."""

    @property
    def validation(self) -> Iterable[Labelled]:
        """In-distribution validation data."""
        given = super().validation
        self.lent.append(weakref.ref(given))
        return given

    @property
    def outliers(self) -> Iterable[Observation] | None:
        """Images of noise, as the validation fault."""
        self.asked_for.add("outliers")
        return super().outliers

    @property
    def networks(self) -> Mapping[OwnNetwork, TrainedNetwork]:
        """The networks of its own, each trained when it is looked up."""
        self.asked_for.add("networks")
        return super().networks


@dataclass(frozen=True)
class FirstFit:
    """The first fit, and all that was seen of it."""

    monitor: Monitor
    seen: Seen
    asked_for: frozenset[str]
    keeps_data: bool


class ComponentTrial(Generic[C]):
    """Makes a component anew as often as rules want it."""

    kind: ClassVar[Kind]

    def __init__(self, given: C, elsewhere: Elsewhere) -> None:
        self.given, self.elsewhere = given, elsewhere
        elsewhere.add(self)

    @property
    def name(self) -> str:
        """What it is called."""
        return self.given.name

    @property
    def arguments(self) -> dict[str, Any]:
        """What it was made with."""
        return dict(self.given._arguments)

    @property
    def target(self) -> str:
        """Where its class is: `module:Class`."""
        return f"{type(self.given).__module__}:{type(self.given).__qualname__}"

    @property
    def job(self) -> dict[str, JSON]:
        """What a new process is told of it."""
        return {"kind": self.kind, "target": self.target, "name": self.name, "arguments": self.arguments}

    @property
    def sent(self) -> State:
        """The arrays that a new process gets."""
        return {}

    def make(self) -> C:
        """Make it anew."""
        return another(self.given)


class Trial(ComponentTrial[Monitor]):
    """Makes and fits the monitor as often as rules want it."""

    kind = "monitor"

    def __init__(self, given: Monitor, system: SmallSystem, elsewhere: Elsewhere) -> None:
        super().__init__(given, elsewhere)
        self.system = system

    @property
    def job(self) -> dict[str, JSON]:
        """What a new process is told of it, with the system that it was fitted on."""
        return {**super().job, "system": self.system.recipe, "digest": self.system.classifier.digest}

    @property
    def sent(self) -> State:
        """Its state after the first fit."""
        return self.first.monitor.state

    @cached_property
    def needs(self) -> Needs:
        """What it declares to need."""
        return self.make().needs

    @property
    def observed(self) -> Observed:
        """What there is to fit it on and to score."""
        return self.system.observed(self.needs)

    def lent(self, *, declared_alone: bool = False) -> LentData:
        """Return what it is fitted on, as an object of its own; all of it, or what it declares to need."""
        seen, workload = self.observed, self.system.workload
        noise = [fresh(seen.strange["noise"])]
        networks = OwnNetworks(self.needs.networks, self.system.network)
        material = Material(workload.classes, self.system.seed, seen.train, seen.validation, noise, networks)

        def own(observation: Observation) -> Observation:
            shown = fresh(observation)
            return declared(shown, self.needs) if declared_alone else shown

        return LentData(material, own)

    def fit(
        self,
        monitor: Monitor | None = None,
        *,
        data: FitData | None = None,
        classifier: Classifier | None = None,
        seed: int = SEED,
    ) -> Monitor:
        """Fit a new one, or the one given, while the global generators are set."""
        own = copied(self.system.classifier) if classifier is None else classifier
        with chance(seed), watched(own):
            return (monitor or self.make()).fit(self.lent() if data is None else data, own)

    @contextmanager
    def watching(self, monitor: Monitor, *, seed: int = SEED) -> Iterator[Seen]:
        """Watch what a fitted one does, while the global generators are set."""
        with chance(seed), watched(monitor.classifier) as seen:
            yield seen

    @cached_property
    def first(self) -> FirstFit:
        """Fit it for the first time, and watch."""
        data, own = self.lent(), copied(self.system.classifier)
        with chance(SEED), watched(own) as seen:
            monitor = self.make().fit(data, own)
        asked_for = frozenset(data.asked_for)
        alive: list[weakref.ref[Any]] = [weakref.ref(data), *data.lent]
        del data
        if any(lent() is not None for lent in alive):
            gc.collect()  # perhaps it is only a cycle that nobody has come to collect
        return FirstFit(monitor, seen, asked_for, any(lent() is not None for lent in alive))

    @cached_property
    def first_scoring(self) -> Seen:
        """Score the sample with a fitted one, have it explain, and watch."""
        monitor = self.fitted()
        with self.watching(monitor) as seen:
            for part in batches(self.observed.sample, 32):
                monitor.score(part)
            monitor.explain(self.observed.sample.take(slice(0, 2)))
        return seen

    def fitted(self) -> Monitor:
        """Return a fitted one that nobody else uses, with a classifier of its own."""
        try:
            return copy.deepcopy(self.first.monitor)
        except Exception:  # noqa: BLE001 - what it holds may have no copy; then it is fitted once more
            return self.fit()

    def score(
        self, monitor: Monitor, observation: Observation, *, size: int = BATCH, seed: int = SEED
    ) -> FloatArray:
        """Score from the beginning of a stream, in batches of a size."""
        monitor.restart()
        with self.watching(monitor, seed=seed):
            parts = [monitor.score(part) for part in batches(fresh(observation), size)]
        return np.concatenate([np.empty(0), *parts])


def copied(classifier: Classifier) -> Classifier:
    """Copy a classifier, so that a monitor may break it; one that has no copy is given as it is."""
    try:
        return copy.deepcopy(classifier)
    except Exception:  # noqa: BLE001
        return classifier
