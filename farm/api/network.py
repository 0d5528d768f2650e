"""Networks of a monitor's own: what it asks for, what it is given, and the recipes that train them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from farm.api.arrays import JSON, FloatArray, Images, State
from farm.api.component import Component
from farm.api.context import Context
from farm.api.data import Workload

Parameters = tuple[tuple[str, JSON], ...]
"""Names and values, in an order: what may be the key of a dictionary."""


@dataclass(frozen=True)
class OwnNetwork:
    """A network that a monitor wants trained for it; the testbed trains equal ones once, for all monitors.

    Parameters
    ----------
    network
        A registered network, such as `autoencoder`. Where not given, it is a classifier by the recipe of the
        one under watch.
    parameters
        The network's parameters, or those of the classifier's recipe that are to be others.
    member
        Networks that differ in nothing but this number draw other random numbers.
    against_outliers
        Whether the classifier learns to tell in-distribution images from outliers, its second class, instead
        of the workload's classes.

    Examples
    --------
    >>> OwnNetwork("autoencoder", (("loss", "mse"),)).title
    "network 'autoencoder' (loss: mse)"
    >>> OwnNetwork(parameters=(("loss", "logistic"),)).title
    "the classifier's own recipe (loss: logistic)"
    """

    network: str = ""
    parameters: Parameters = ()
    member: int = 0
    against_outliers: bool = False

    @property
    def title(self) -> str:
        """What to call it."""
        said = [f"{name}: {value}" for name, value in self.parameters]
        said += [f"member {self.member}"] if self.member else []
        said += ["told from outliers"] if self.against_outliers else []
        what = f"network '{self.network}'" if self.network else "the classifier's own recipe"
        return f"{what} ({', '.join(said)})" if said else what


@dataclass(frozen=True)
class TrainedNetwork:
    """A trained network as its recipe and its arrays, from which `farm.registry.restored` makes it."""

    kind: Literal["network", "model"]
    name: str
    parameters: Mapping[str, JSON]
    shape: tuple[int, int, int]
    """Channels, height and width of the images."""
    classes: tuple[str, ...]
    """What a classifier tells apart; nothing of another network."""
    state: State
    notes: Mapping[str, JSON] = field(default_factory=dict)
    """How its training went."""


class Network(ABC):
    """A trained network that is no classifier: images in, one of its outputs out, a row an image."""

    outputs: tuple[str, ...]
    """What can be asked of it, such as `latent` or `error`."""
    notes: Mapping[str, JSON] = {}
    """How its training went."""

    @property
    @abstractmethod
    def state(self) -> State:
        """The arrays from which its recipe makes it again."""

    @abstractmethod
    def compute(self, images: Images, output: str) -> FloatArray:
        """Return one of its outputs, a row an image."""

    @cached_property
    def digest(self) -> str:
        """A hash of its kind and its arrays."""
        seen = hashlib.blake2b(f"{type(self).__module__}:{type(self).__qualname__}".encode(), digest_size=16)
        for name, array in sorted(self.state.items()):
            seen.update(f"{name} {array.dtype} {array.shape}".encode())
            seen.update(np.ascontiguousarray(array).tobytes())
        return seen.hexdigest()

    def output(self, name: str) -> NetworkOutput:
        """Return an output as a function of images, which `Observation.once` calls once for all monitors."""
        return NetworkOutput(self.digest, name, self)


@dataclass(frozen=True)
class NetworkOutput:
    """One output of a network; those of equal networks are equal."""

    digest: str
    name: str
    network: Network = field(compare=False, repr=False)

    def __call__(self, images: Images) -> FloatArray:
        made = self.network.compute(images, self.name)
        made.setflags(write=False)
        return made


class NetworkSource(Component, ABC):
    """A recipe for a network that is no classifier: trained on a workload, kept in the cache."""

    @abstractmethod
    def network(self, workload: Workload, context: Context) -> Network:
        """Train it on the training split, with the epoch that the validation split likes best."""

    def untrained(self, workload: Workload, context: Context) -> Network | None:  # noqa: ARG002
        """Make it with the weights that training begins with, for a dry run; None where that cannot be."""
        return None

    @abstractmethod
    def restore(self, state: State, shape: tuple[int, int, int]) -> Network:
        """Make it again from what its `state` gave, without training."""
