"""Networks of monitors' own: each trained when a monitor looks it up, once for all monitors of a testbed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from farm import registry
from farm.api import (
    Classifier,
    ModelSource,
    NetworkSource,
    OwnNetwork,
    TrainedNetwork,
    Workload,
    derived_seed,
)
from farm.errors import ParameterError, RequirementError

if TYPE_CHECKING:
    from farm.run.outliers import Outliers
    from farm.run.testbed import Testbed

Trainer = Callable[[OwnNetwork], TrainedNetwork]


class OwnNetworks(Mapping[OwnNetwork, TrainedNetwork]):
    """The networks that some monitors ask for, by what they ask; `train` is called once for each."""

    def __init__(self, asked: Sequence[OwnNetwork], train: Trainer) -> None:
        self._asked, self._train = dict.fromkeys(asked), train
        self._trained: dict[OwnNetwork, TrainedNetwork] = {}

    def __getitem__(self, need: OwnNetwork) -> TrainedNetwork:
        if need not in self._asked:
            raise KeyError(need.title)
        if need not in self._trained:
            self._trained[need] = self._train(need)
        return self._trained[need]

    def __iter__(self) -> Iterator[OwnNetwork]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)


def source_of_network(need: OwnNetwork, model: ModelSource | None, who: str) -> ModelSource | NetworkSource:
    """Return the recipe of a network that a monitor asks for; `model` made the classifier under watch."""
    parameters: dict[str, Any] = dict(need.parameters)
    if need.network:
        return registry.network(need.network, **parameters)
    if model is None:
        raise RequirementError(
            f"{who} needs a network by {need.title}, but no recipe made the classifier here; make it by "
            "name, as an experiment does"
        )
    if not model.trained_here:
        raise RequirementError(
            f"{who} needs a network by {need.title}, but model '{model.name}' brings its weights along; use "
            "a model that is trained here, such as vgg-small"
        )
    try:
        made = type(model)(**{**model._arguments, **parameters})
    except ParameterError as error:
        raise RequirementError(
            f"{who} needs a network by {need.title}, which model '{model.name}' cannot train: {error}"
        ) from None
    made.name = model.name
    return made


def train_own(
    bed: Testbed,
    need: OwnNetwork,
    *,
    classifier: Classifier,
    workload: Workload,
    outliers: Outliers | None,
) -> TrainedNetwork:
    """Train a network of a monitor's own, or find it in the cache.

    Beside outliers, ID validation data are for the monitor: the network chooses its epoch by a fifth of what
    it is trained on.
    """
    # Here, since whoever loads a guard looks at needs, and trains nothing.
    from farm.run.outliers import against_outliers, inner

    seed = bed.context.seed
    source = source_of_network(need, bed.source_of(classifier), "a monitor")
    if need.against_outliers and outliers is not None:
        task = against_outliers(workload, outliers, seed)
    else:
        task = workload if outliers is None else inner(workload, seed)
    own = bed.with_seed(derived_seed(seed, "member", need.member)) if need.member else bed
    # Its class by its place, which the registry finds whatever an experiment calls it.
    name = f"{type(source).__module__}:{type(source).__qualname__}"
    if isinstance(source, NetworkSource):
        network = own.network(source, task)
        return TrainedNetwork(
            "network", name, source.parameters, task.shape, (), network.state, network.notes
        )
    made = own.classifier(source, task)
    return TrainedNetwork("model", name, source.parameters, task.shape, task.classes, made.state, made.notes)
