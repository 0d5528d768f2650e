"""What one forward pass of the classifier tells, and the data that monitors are fitted on."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from mmap import mmap
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import Features, FloatArray, Images, IntArray, StrArray
from farm.api.network import OwnNetwork, TrainedNetwork
from farm.api.once import Once
from farm.errors import RequirementError

A = TypeVar("A", bound=NDArray[Any])

LAST_HIDDEN = "last-hidden"
"""The layer name that every white-box classifier understands: what enters its last linear layer."""

POOLS = ("mean", "max", "none")
"""What may become of a layer's maps: one value a channel, over all places, or all values as they are."""


NOTHING: Mapping[str, Any] = MappingProxyType({})
VALIDATION = "validation"


class PooledLayer(str):
    """What a layer's pooled maps go by in an observation.

    Examples
    --------
    >>> PooledLayer("conv2", "max")
    'max of conv2'
    """

    layer: str
    pool: str

    def __new__(cls, layer: str, pool: str) -> PooledLayer:
        """Remember what it is made of."""
        self = super().__new__(cls, f"{pool} of {layer}")
        self.layer, self.pool = layer, pool
        return self

    def __reduce__(self) -> tuple[type[PooledLayer], tuple[str, str]]:
        """Copies are made of the same."""
        return PooledLayer, (self.layer, self.pool)


def layer_named(name: str) -> str:
    """Return the layer that goes by a name: a pooled one where the name says so.

    Examples
    --------
    >>> layer_named("max of conv2").layer, type(layer_named("conv2"))
    ('conv2', <class 'str'>)
    """
    pool, between, layer = name.partition(" of ")
    return PooledLayer(layer, pool) if between and pool in POOLS[:2] else name


def plain_name(layer: str) -> str:
    """Return the classifier's own name of a layer, pooled or not."""
    return layer.layer if isinstance(layer, PooledLayer) else layer


def pooled(values: NDArray[np.float32], layer: str) -> NDArray[np.float32]:
    """Return maps (instances x channels x places) as this layer is asked for; flat values have no places.

    Examples
    --------
    >>> maps = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
    >>> pooled(maps, PooledLayer("conv2", "mean")), pooled(maps, "conv2").shape
    (array([[1.5, 5.5]], dtype=float32), (1, 2, 2, 2))
    """
    if not isinstance(layer, PooledLayer) or values.ndim < 4:
        return values
    places = values.reshape(*values.shape[:2], math.prod(values.shape[2:]))
    if layer.pool == "max":
        greatest: NDArray[np.float32] = places.max(axis=2)
        return greatest
    # In double precision, since the sum of what float32 can hold may be more than that.
    means: FloatArray = places.mean(axis=2, dtype=np.float64)
    return means.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that monitors may look at, from one forward pass; never a label or `is_ood`.

    `members` holds several passes or networks (members x instances x classes) where they were asked
    for; `outputs` holds what a task beyond classes gives, such as boxes and their spread. What several
    monitors make of one of its arrays, such as its softmax, they make by `once`.
    """

    ids: StrArray
    images: Images
    probabilities: FloatArray
    predicted: IntArray
    confidence: FloatArray
    logits: NDArray[np.float32] | None = None
    activations: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    track: StrArray | None = None
    members: FloatArray | None = None
    outputs: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    once: Once = field(default_factory=Once, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.predicted)

    def take(self, rows: slice | IntArray) -> Observation:
        """Return some of its instances, as an observation of their own."""
        return replace(
            self,
            ids=self.ids[rows],
            images=self.images[rows],
            probabilities=self.probabilities[rows],
            predicted=self.predicted[rows],
            confidence=self.confidence[rows],
            logits=None if self.logits is None else self.logits[rows],
            activations={layer: values[rows] for layer, values in self.activations.items()},
            track=None if self.track is None else self.track[rows],
            members=None if self.members is None else self.members[:, rows],
            outputs={name: values[rows] for name, values in self.outputs.items()},
            once=Once(),
        )

    def features(self, layer: str) -> Features:
        """Return a layer's values as one row an instance."""
        if layer not in self.activations:
            raise RequirementError(f"layer '{layer}' was not observed; declare it in the monitor's needs")
        values = self.activations[layer]
        return values if values.ndim == 2 else values.reshape(len(values), math.prod(values.shape[1:]))


def read_only(array: A) -> A:
    """Return a view that nobody can write to: all monitors look at the same arrays.

    Whoever made the array keeps it as it was; one that nobody can write to is returned itself.
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(write=False)
    return view


def all_read_only(arrays: Mapping[str, A]) -> Mapping[str, A]:
    """Do this to each of a mapping's arrays, and to the mapping itself."""
    return MappingProxyType({name: read_only(array) for name, array in arrays.items()})


class Labelled(NamedTuple):
    """A batch of in-distribution observations with their labels."""

    observation: Observation
    labels: IntArray


class FitData(Protocol):
    """What a monitor is fitted on. It can be iterated again and again, in batches of training data."""

    @property
    def classes(self) -> tuple[str, ...]: ...

    @property
    def seed(self) -> int:
        """The experiment's seed; derive generators from it with `generator`."""
        ...

    @property
    def validation(self) -> Iterable[Labelled]:
        """In-distribution validation data, for choosing a method's own parameters."""
        ...

    @property
    def outliers(self) -> Iterable[Observation] | None:
        """The named validation fault, where the monitor's needs say `outliers`."""
        ...

    @property
    def networks(self) -> Mapping[OwnNetwork, TrainedNetwork]:
        """The networks that the testbed trains for this monitor, each when it is looked up."""
        ...

    def __iter__(self) -> Iterator[Labelled]: ...


@dataclass(frozen=True)
class ViewedData:
    """The `FitData` of one monitor, made of that of all: what only others asked for is not there."""

    whole: FitData
    view: Callable[[Observation], Observation]
    shows_outliers: bool = True
    asked: Collection[OwnNetwork] | None = None
    """The networks that it may look up; None for all."""
    looked_at: set[str] = field(default_factory=set)
    """What it has taken beside training data, as far as a threshold depends on that."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classifier's classes."""
        return self.whole.classes

    @property
    def seed(self) -> int:
        """The experiment's seed."""
        return self.whole.seed

    @property
    def validation(self) -> Iterable[Labelled]:
        """In-distribution validation data."""
        self.looked_at.add(VALIDATION)
        return _ViewedRows(self.whole.validation, self.view)

    @property
    def outliers(self) -> Iterable[Observation] | None:
        """The named validation fault."""
        given = self.whole.outliers
        if given is None:
            return None
        if not self.shows_outliers:
            raise RuntimeError("it reads outliers, which its needs do not declare: Needs(outliers=True)")
        return _ViewedObservations(given, self.view)

    @property
    def networks(self) -> Mapping[OwnNetwork, TrainedNetwork]:
        """The networks of its own."""
        given = self.whole.networks
        # Their training ends where validation data say so.
        self.looked_at.add(VALIDATION)
        if self.asked is None:
            return given
        return _Some(given, self.asked)

    def __iter__(self) -> Iterator[Labelled]:
        return iter(_ViewedRows(self.whole, self.view))


@dataclass(frozen=True)
class _ViewedObservations:
    """Can be iterated again and again."""

    rows: Iterable[Observation]
    view: Callable[[Observation], Observation]

    def __iter__(self) -> Iterator[Observation]:
        return map(self.view, self.rows)


class _Some(Mapping[OwnNetwork, TrainedNetwork]):
    """Some of the networks that there are; none is trained before it is looked up."""

    def __init__(self, given: Mapping[OwnNetwork, TrainedNetwork], asked: Collection[OwnNetwork]) -> None:
        self._given, self._asked = given, asked

    def __getitem__(self, need: OwnNetwork) -> TrainedNetwork:
        if need not in self._asked:
            raise KeyError(need.title)
        return self._given[need]

    def __iter__(self) -> Iterator[OwnNetwork]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)


@dataclass(frozen=True)
class _ViewedRows:
    """Can be iterated again and again."""

    rows: Iterable[Labelled]
    view: Callable[[Observation], Observation]

    def __iter__(self) -> Iterator[Labelled]:
        for observation, labels in self.rows:
            yield Labelled(self.view(observation), labels)


class CollectedFeatures(NamedTuple):
    """A layer's values over the whole training data."""

    features: NDArray[np.float32]
    labels: IntArray
    predicted: IntArray


def collect(data: Iterable[Labelled], layer: str) -> CollectedFeatures:
    """Gather a layer's values, labels and predictions over all batches.

    The values are read-only: where they are many they stay on disk, and are read as they are looked at.
    """
    parts, *rest = zip(*((o.features(layer), labels, o.predicted) for o, labels in data), strict=True)
    labels, predicted = (np.concatenate(column) for column in rest)
    return CollectedFeatures(read_only(joined(parts).astype(np.float32, copy=False)), labels, predicted)


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put batches one after the other; those that already lie so in one piece of memory are not copied."""
    first, whole = parts[0], _whole(parts[0])
    start = end = _address(first)
    for part in parts:
        alike = part.dtype == first.dtype and part.shape[1:] == first.shape[1:] and part.flags.c_contiguous
        if not alike or _address(part) != end or _whole(part) is not whole:
            return np.concatenate(parts)
        end += part.nbytes
    if not whole.flags.c_contiguous:
        return np.concatenate(parts)
    from_here = slice(start - _address(whole), end - _address(whole))
    shape = (sum(map(len, parts)), *first.shape[1:])
    return whole.reshape(-1).view(np.uint8)[from_here].view(first.dtype).reshape(shape)


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _whole(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array that this one is a view of, perhaps of only a part."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def off_disk(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that outlives a memory-mapped file: itself, or a copy where it is a part of one."""
    return array.copy(order="K") if isinstance(_whole(array).base, mmap) else array
