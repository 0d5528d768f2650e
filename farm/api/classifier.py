"""The contract of classifiers: images in, one `Observation` out, from one forward pass."""

from __future__ import annotations

import hashlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from farm.api.arrays import JSON, FloatArray, Images, IntArray, State, StrArray
from farm.api.boxes import check_boxes
from farm.api.component import Component, check_choice
from farm.api.context import Cache, Context
from farm.api.data import Workload
from farm.api.engine import AUTO, ENGINES, OWN, Engine
from farm.api.network import OwnNetwork
from farm.api.observation import (
    LAST_HIDDEN,
    NOTHING,
    POOLS,
    Observation,
    PooledLayer,
    all_read_only,
    plain_name,
    pooled,
    read_only,
)
from farm.api.once import Once
from farm.api.peak import peak
from farm.errors import (
    ComponentFailure,
    Failure,
    ParameterError,
    RequirementError,
    UserError,
    one_line,
    suggestion,
)

if TYPE_CHECKING:
    from torch import Tensor

ALL_MEMBERS = sys.maxsize
"""All that the classifier's answer is the mean of: the most that can be asked for, as a slice takes all."""
TAGS = {
    "logits": "logits",
    "gradients": "gradients",
    "head": "head",
    "members": "members",
    "boxes": "boxes",
    "box_spread": "a spread of its boxes",
}
"""What needs may ask of a classifier's capabilities, in words."""


@dataclass(frozen=True)
class Capabilities:
    """What a classifier can do beyond giving probabilities; a black box can do none of it.

    With `boxes` its outputs have a `box`, with `box_spread` also that. One that is `averaged` has an answer
    that is the mean of its members.
    """

    logits: bool = False
    layers: tuple[str, ...] = ()
    gradients: bool = False
    members: bool = False
    averaged: bool = False
    head: bool = False
    boxes: bool = False
    box_spread: bool = False


@dataclass(frozen=True)
class Needs:
    """What a monitor must be given. Checked against the classifier before anything is fitted.

    `head` is the last linear layer's weights, which turn the layer `last-hidden` into logits. `members` are
    so many passes or networks, or `ALL_MEMBERS`. `boxes` and `box_spread` are outputs: where the object is,
    and how surely.
    `networks` are networks of the monitor's own, `outliers` asks for a named validation fault, and
    `order` says that scores depend on what came before, so that tracks must not be split or reordered.
    Images need no tag: every observation has them.

    Layers that are maps (channels x height x width) come pooled over their places, one value a channel:
    `pool` is `mean`, `max` or `none`, one word for all layers or one for each. With `none` they come whole.
    A layer may be there twice, pooled in two ways: each then goes by a `PooledLayer`.
    """

    layers: tuple[str, ...] = ()
    pool: str | tuple[str, ...] = "mean"
    logits: bool = False
    gradients: bool = False
    head: bool = False
    members: int = 0
    boxes: bool = False
    box_spread: bool = False
    networks: tuple[OwnNetwork, ...] = ()
    outliers: bool = False
    order: bool = False

    def __post_init__(self) -> None:
        for pool in (self.pool,) if isinstance(self.pool, str) else self.pool:
            check_choice("pool", pool, POOLS)
        if not isinstance(self.pool, str) and len(self.pool) != len(self.layers):
            raise ParameterError(f"pool is {self.pool!r}; expected one word, or one for each of the layers")

    @property
    def observed(self) -> tuple[str, ...]:
        """The layers as a classifier is asked for them: those to be pooled by their pooled names.

        Examples
        --------
        >>> Needs(layers=("conv1", "conv2"), pool=("max", "none")).observed
        ('max of conv1', 'conv2')
        """
        pools = (self.pool,) * len(self.layers) if isinstance(self.pool, str) else self.pool
        pairs = zip(self.layers, pools, strict=True)
        return tuple(layer if pool == "none" else PooledLayer(layer, pool) for layer, pool in pairs)


class Head(NamedTuple):
    """The last linear layer: logits are `last-hidden @ weights.T + bias`."""

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RawOutputs:
    """What a classifier's own code returns, before it is checked and completed.

    Where there are logits, probabilities may be left out: they are their softmax, in double precision, since
    in single confident instances saturate to ties. Of `outputs`, `box` and `box_spread` say where the object
    is (`farm.api.boxes`); without a spread the uncertainty of boxes is undefined.
    """

    probabilities: NDArray[np.floating] | None = None
    logits: NDArray[np.float32] | None = None
    activations: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    members: FloatArray | None = None
    outputs: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)


class Classifier(ABC):
    """Predicts. `observe` is the driver and is final; a subclass writes `_forward`."""

    name: str
    classes: tuple[str, ...]
    capabilities: Capabilities = Capabilities()
    lacks: Mapping[str, str] = {}
    """Why it cannot give something, and what to do about it: by the tag, a layer's name, or `layers`."""
    recipe: Mapping[str, Any] | None = None
    """The name and the parameters that made it, where a recipe did."""
    engine: Engine = Engine(OWN)
    """What runs it."""
    notes: Mapping[str, JSON] = {}
    """How its training went, where it was trained here; goes into the readouts."""
    trained_here: bool = True
    """Whether its recipe may train it here; one that is brought along may have seen any data."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """A hash of everything that decides the outputs: weights, preprocessing, code."""

    @property
    @abstractmethod
    def nbytes(self) -> int | None:
        """The memory its parameters take; None where nobody can tell."""

    @abstractmethod
    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs: ...

    def _forward_of(
        self,
        images: Images,
        ids: StrArray | None,  # noqa: ARG002
        layers: Sequence[str],
        members: int,
    ) -> RawOutputs:
        """Do what `_forward` does, which knows no ids. Whoever draws random numbers an instance overrides it.

        `ids` are None where nobody names the images.
        """
        return self._forward(images, layers, members)

    @property
    def state(self) -> State:
        """The arrays from which, with the recipe, `ModelSource.restore` makes it again."""
        raise RequirementError(f"classifier '{self.name}' cannot be saved")

    @property
    def head(self) -> Head:
        """The last linear layer's weights (capability `head`)."""
        raise RequirementError(f"classifier '{self.name}' does not show its last layer's weights")

    def differentiable(self, images: Tensor) -> Tensor:  # noqa: ARG002
        """Return logits through which gradients flow back to the images (capability `gradients`)."""
        raise RequirementError(f"classifier '{self.name}' gives no gradients")

    def on_engine(self, requested: str, layers: Sequence[str], images: Images, cache: Cache) -> Classifier:  # noqa: ARG002
        """Return it on another engine that gives these layers; it is checked on these images when built.

        What nobody can look into has its own engine alone.
        """
        check_choice("engine", requested, ENGINES)
        if requested not in (AUTO, self.engine.name):
            how = "by itself" if self.engine.name == OWN else f"by the engine '{self.engine.name}' alone"
            raise ParameterError(
                f"engine is '{requested}', but classifier '{self.name}' runs {how}; leave engine out"
            )
        return self

    @property
    def engine_state(self) -> State:
        """The arrays from which `on_saved_engine` has its engine again."""
        return {}

    def on_saved_engine(self, state: State, shape: Sequence[int]) -> Classifier:  # noqa: ARG002
        """Return it on an engine that `engine_state` gave; `shape` is that of an image.

        One that cannot run here is a `RequirementError`, and one of another network a `DataError`.
        """
        return self

    def observe(
        self,
        images: Images,
        layers: Sequence[str] = (),
        *,
        ids: StrArray | None = None,
        track: StrArray | None = None,
        members: int = 0,
    ) -> Observation:
        """Run the classifier once and check what it gives.

        `layers` are the activations wanted, where they are to be pooled as `Needs.observed` has them;
        `members` how many passes or networks besides.
        """
        names = tuple(dict.fromkeys(map(plain_name, layers)))
        try:
            raw = self._forward_of(images, ids, names, members)
        except (UserError, Failure):
            raise
        except Exception as error:
            raise ComponentFailure(f"classifier '{self.name}' failed: {one_line(error)}") from error
        n = len(images)
        once, logits = Once(), None if raw.logits is None else read_only(raw.logits)
        if raw.probabilities is None and logits is not None:
            probabilities, predicted, confidence = self._softmax(logits, n, once)
        else:
            probabilities, predicted, confidence = self._checked(np.asarray(raw.probabilities), n)
        for layer in names:
            if layer not in raw.activations or len(raw.activations[layer]) != n:
                raise ComponentFailure(
                    f"classifier '{self.name}' gave no values of layer '{layer}' for {n} instances"
                )
        if raw.outputs:
            check_boxes(raw.outputs, n, self.name)
        return Observation(
            ids=read_only(np.arange(n).astype(str) if ids is None else ids),
            images=read_only(images),
            probabilities=read_only(probabilities),
            predicted=predicted,
            confidence=confidence,
            logits=logits,
            activations=all_read_only(_as_asked(raw.activations, layers)) if names else NOTHING,
            track=None if track is None else read_only(track),
            members=None if raw.members is None else read_only(raw.members),
            outputs=all_read_only(raw.outputs) if raw.outputs else NOTHING,
            once=once,
        )

    def _softmax(
        self, logits: NDArray[np.float32], n: int, once: Once
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return what `_checked` does, from logits; monitors find what it is made of in `once`."""
        if logits.shape != (n, len(self.classes)):
            self._checked(logits, n)
        seen = peak(logits)
        once.put(peak, logits, seen)
        probabilities, confidence = seen.softmax()
        if (unclear := seen.unclear()) is not None:
            self._checked(np.where(unclear[:, None], np.nan, probabilities), n)
        return probabilities, seen.top, confidence

    def _checked(
        self, probabilities: NDArray[np.floating], n: int
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return probabilities that are such, the likeliest class of each row, and its probability."""
        expected = (n, len(self.classes))
        if probabilities.shape != expected:
            raise ComponentFailure(
                f"classifier '{self.name}' returned shape {probabilities.shape}; expected {expected}: "
                "one probability an instance and class"
            )
        result = probabilities.astype(np.float64, copy=False)
        if (likeliest := _likeliest(result)) is not None:
            return result, *likeliest
        if np.isnan(result).any():
            i = int(np.flatnonzero(np.isnan(result).any(axis=1))[0])
            raise ComponentFailure(
                f"classifier '{self.name}' returned {_short(result[i])} for instance {i}; expected numbers: "
                "are its weights whole, and are mean and std those that it was trained with?"
            )
        totals = result.sum(axis=1)
        wrong = ~((result >= -1e-6).all(axis=1) & (abs(totals - 1.0) <= 1e-3))
        i = int(np.flatnonzero(wrong)[0])
        raise ComponentFailure(
            f"classifier '{self.name}' returned {_short(result[i])} for instance {i} "
            f"(sum {totals[i]:.4g}); expected probabilities that sum to 1: does it return logits? Then put "
            "a softmax behind it"
        )

    def resolve(self, needs: Needs, who: str) -> None:
        """Raise a `RequirementError` where this classifier lacks what is needed."""
        can, lacks = self.capabilities, self.lacks
        for layer in needs.layers:
            if not can.layers and "layers" not in lacks:
                raise RequirementError(
                    f"{who} needs the layer '{layer}', but classifier '{self.name}' is a black box that "
                    "gives no activations: use a white-box classifier or a monitor of outputs"
                )
            if layer not in can.layers:
                hint = lacks.get(layer) if can.layers else lacks["layers"]
                if layer == LAST_HIDDEN and can.layers and not hint:
                    known = suggestion(layer, can.layers)
                    hint = f"{known}; set the monitor's layer, or the classifier's last_hidden"
                raise RequirementError(
                    f"{who} needs the layer '{layer}', which classifier '{self.name}' does not have: "
                    f"{hint or suggestion(layer, can.layers)}"
                )
        for tag, what in TAGS.items():
            if getattr(needs, tag) and not getattr(can, tag):
                hint = f": {lacks[tag]}" if tag in lacks else ""
                raise RequirementError(
                    f"{who} needs {what}, which classifier '{self.name}' does not give{hint}"
                )
        if needs.members == ALL_MEMBERS and not can.averaged:
            raise RequirementError(
                f"{who} needs all members of a mean, and classifier '{self.name}' gives no mean, but as many "
                "members as it is asked for; ask for a number of them, or take mc-dropout of it"
            )


class FunctionClassifier(Classifier):
    """A black box: any function from images to probabilities.

    Examples
    --------
    >>> coin = FunctionClassifier(lambda images: np.full((len(images), 2), 0.5), classes=("heads", "tails"))
    >>> coin.observe(np.zeros((3, 1, 8, 8), np.float32)).confidence
    array([0.5, 0.5, 0.5])
    """

    def __init__(
        self,
        function: Callable[[Images], ArrayLike],
        classes: Sequence[str],
        *,
        name: str = "function",
        version: str = "",
    ) -> None:
        self.name = name
        self.classes = tuple(classes)
        self._function = function
        self._version = version

    @property
    def digest(self) -> str:
        """A hash of the function's name and of the version its owner states: its code is not seen."""
        where = f"{self._function.__module__}:{getattr(self._function, '__qualname__', '')}"
        text = "\x1f".join([where, self._version, *self.classes])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @property
    def nbytes(self) -> None:
        """Unknown for a black box."""
        return

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        if layers or members:
            raise RequirementError(f"classifier '{self.name}' is a black box: no layers, no members")
        return RawOutputs(np.asarray(self._function(images), dtype=np.float64))


@dataclass(frozen=True)
class SavedClassifier:
    """What is known of a classifier when it is made again: its task, and its arrays."""

    name: str
    """The workload's name."""
    classes: tuple[str, ...]
    shape: tuple[int, int, int]
    """Channels, height and width of the images."""
    state: State


class ModelSource(Component, ABC):
    """A recipe for a classifier: trained here on a workload, or brought along by the user."""

    trained_here: bool = True
    """Whether making it may take training; where not, a dry run makes it too."""

    @abstractmethod
    def classifier(self, workload: Workload, context: Context) -> Classifier:
        """Make the classifier for this workload."""

    def untrained(self, workload: Workload, context: Context) -> Classifier | None:
        """Make it as far as no training is needed, for a dry run; None where nothing comes of that."""
        return None if self.trained_here else self.classifier(workload, context)

    def trainings(self) -> Sequence[ModelSource]:
        """Return the recipes of the networks that are trained for it, one an item."""
        return [self] if self.trained_here else []

    def check(self, context: Context) -> None:
        """Raise where something is missing, as far as that can be told before anything is computed."""

    def restore(self, saved: SavedClassifier) -> Classifier:  # noqa: ARG002
        """Make a classifier again from what its `state` gave, without the workload."""
        raise RequirementError(f"model '{self.name}' cannot be made again from saved arrays")


def _likeliest(rows: FloatArray) -> tuple[IntArray, FloatArray] | None:
    """Return each row's greatest place and value; None where one has a negative number or does not sum to 1.

    NaN is neither.
    """
    if len(rows) == 1:  # one image at a time: Python's arithmetic is faster than NumPy's
        row: list[float] = rows[0].tolist()
        if not (min(row) >= -1e-6 and abs(sum(row) - 1.0) <= 1e-3):
            return None
        best = max(row)
        found = np.array([row.index(best)]), np.array([best])
    else:
        if len(rows) and not (rows.min() >= -1e-6 and abs(rows.sum(axis=1) - 1.0).max() <= 1e-3):
            return None
        found = rows.argmax(axis=1), rows.max(axis=1)
    for array in found:
        array.setflags(write=False)
    return found


def _as_asked(
    given: Mapping[str, NDArray[np.float32]], layers: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    """Return the layers asked for; those without places go by their plain names, however to be pooled."""
    found = {}
    for layer in layers:
        values = given[plain_name(layer)]
        found[layer if values.ndim > 3 else plain_name(layer)] = pooled(values, layer)
    return found


def _short(row: FloatArray) -> str:
    values = ", ".join(f"{v:.4g}" for v in row[:4])
    return f"[{values}{', ...' if len(row) > 4 else ''}]"
