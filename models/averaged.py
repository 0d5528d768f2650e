"""Classifiers whose answer is the mean of several: passes with dropout, or networks trained apart."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from farm.api import (
    ALL_MEMBERS,
    BOX,
    EAGER,
    SPREAD_DDOF,
    Capabilities,
    Classifier,
    Context,
    Engine,
    Images,
    ModelSource,
    Needs,
    RawOutputs,
    SavedClassifier,
    State,
    StrArray,
    Workload,
    check_choice,
    check_number,
    derived_seed,
    image_digests,
)
from farm.errors import ParameterError, RequirementError, UserError
from farm.registry import make
from models._boxes import DDOF, mean_box
from models._network import NetworkClassifier, Passes

NO_SINGLE_PASS = "its answer is a mean, which no single pass gives; take the model that its 'of' names"


class AveragedClassifier(Classifier, ABC):
    """Several classifiers' mean probabilities; `members` are the first of those that it is the mean of."""

    capabilities = Capabilities(members=True, averaged=True)
    lacks: Mapping[str, str] = dict.fromkeys(("logits", "layers", "gradients", "head"), NO_SINGLE_PASS)
    engine = Engine(EAGER, EAGER)
    number: ClassVar[str]
    """The parameter that says how many there are."""
    _settings: tuple[str, ...] = ()
    """What else decides the answer."""

    def __init__(self, name: str, parts: Sequence[Classifier], size: int) -> None:
        self.name, self.classes = name, parts[0].classes
        self._parts, self._size = parts, size
        boxes, several = parts[0].capabilities.boxes, size > DDOF
        self.capabilities = replace(self.capabilities, boxes=boxes, box_spread=boxes and several)
        if boxes and several:
            self.notes = {SPREAD_DDOF: DDOF}
        few = {} if several else {"box_spread": f"there is one alone; set its {self.number} to 2 or more"}
        own = {tag: why for tag, why in parts[0].lacks.items() if tag == "boxes"}
        self.lacks = {**self.lacks, **few, **own}

    @abstractmethod
    def _every(self, images: Images, ids: StrArray | None) -> Passes:
        """Return what the answer is the mean of."""

    @property
    def digest(self) -> str:
        """A hash of what it is the mean of."""
        parts = (part.digest for part in self._parts)
        made_of = [type(self).__qualname__, str(self._size), *self._settings, *parts]
        return hashlib.blake2b("\x1f".join(made_of).encode(), digest_size=16).hexdigest()

    @property
    def nbytes(self) -> int | None:
        """The memory of all parameters."""
        sizes = [part.nbytes for part in self._parts]
        return None if None in sizes else sum(cast(list[int], sizes))

    @property
    def state(self) -> State:
        """The arrays of each network, behind its number."""
        return {
            f"{i} {key}": values for i, part in enumerate(self._parts) for key, values in part.state.items()
        }

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        return self._forward_of(images, None, layers, members)

    def _forward_of(
        self, images: Images, ids: StrArray | None, layers: Sequence[str], members: int
    ) -> RawOutputs:
        self.resolve(Needs(layers=tuple(layers), members=members), "what observes it")
        every, boxes = self._every(images, ids)
        return RawOutputs(
            every.mean(axis=0),
            members=every[:members] if members else None,
            outputs={} if boxes is None else mean_box(boxes),
        )

    def resolve(self, needs: Needs, who: str) -> None:
        """Raise where this classifier lacks what is needed, or has fewer members than that."""
        super().resolve(needs, who)
        if self._size < needs.members < ALL_MEMBERS:
            raise RequirementError(
                f"{who} needs {needs.members} members, and classifier '{self.name}' has {self._size}; "
                f"expected at most {self._size}: ask for fewer, or set its {self.number} to {needs.members}"
            )


class PassesClassifier(AveragedClassifier):
    """The mean of passes of one network with dropout; without dropout it is never run."""

    number = "passes"

    def __init__(self, name: str, network: NetworkClassifier, passes: int, *, own_masks: bool) -> None:
        super().__init__(name, [network], passes)
        self._network, self._own_masks = network, own_masks
        self._settings = ("own masks",) if own_masks else ()
        self.notes = {**network.notes, **self.notes}

    def _every(self, images: Images, ids: StrArray | None) -> Passes:
        if self._own_masks and ids is None:  # nobody names the images, so that they do it themselves
            ids = np.array([digest.hex() for digest in image_digests(images)])
        # torch warns of what nobody may write to
        pixels = np.require(images, requirements=["C", "W"])
        return self._network._members(pixels, self._size, ids if self._own_masks else None)


class EnsembleClassifier(AveragedClassifier):
    """The mean of several networks."""

    number = "size"

    def _every(self, images: Images, ids: StrArray | None) -> Passes:
        seen = [part.observe(images, ids=ids) for part in self._parts]
        boxes = [one.outputs[BOX] for one in seen] if self.capabilities.boxes else []
        probabilities = np.stack([one.probabilities for one in seen])
        return Passes(probabilities, np.stack(boxes).astype(np.float32) if boxes else None)


class McDropout(ModelSource):
    """The mean probabilities of several passes of one network with dropout.

    Masks follow from the experiment's seed. Where the network gives boxes, their mean and their standard
    deviation over the passes (`box_spread`) come with it.

    Parameters
    ----------
    of
        The network: a model's name, or a mapping with its name and parameters. It has to have dropout.
    passes
        How many; as many members it gives to monitors.
    masks
        `pass`: a pass has masks of its own, the same for all images; `instance`: those of an image follow
        from its id, too.

    Examples
    --------
    >>> McDropout(of={"name": "cnn", "dropout": 0.6, "epochs": 8}).parameters["passes"]
    10
    """

    reference = "Gal, Ghahramani: Dropout as a Bayesian approximation, ICML 2016"

    def __init__(self, *, of: str | Mapping[str, Any], passes: int = 10, masks: str = "pass") -> None:
        check_number("passes", passes, low=1, whole=True)
        check_choice("masks", masks, ("pass", "instance"))
        self._of, self._passes, self._own_masks = _inner(of), passes, masks == "instance"
        self.trained_here = self._of.trained_here

    def trainings(self) -> Sequence[ModelSource]:
        """Return the network's recipe, where it is trained."""
        return self._of.trainings()

    def check(self, context: Context) -> None:
        """Check the network's recipe."""
        self._of.check(context)

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        """Train the network, or find it in the cache, or load the user's own."""
        if self.trained_here:  # a network that will not do is not trained first
            self.untrained(workload, context)
        own = replace(context, cache=context.cache.for_model(self._of))
        return self._around(self._of.classifier(workload, own))

    def untrained(self, workload: Workload, context: Context) -> Classifier | None:
        """Make it of the network as far as no training is needed."""
        network = self._of.untrained(workload, context)
        return None if network is None else self._around(network)

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Make the network again."""
        return self._around(self._of.restore(saved_part(saved, 0)))

    def _around(self, network: Classifier) -> Classifier:
        if not (network.capabilities.members and isinstance(network, NetworkClassifier)):
            why = network.lacks.get("members", "it is no single network of torch with dropout")
            raise RequirementError(
                f"model '{self.name}': of is '{self._of.name}', which gives no passes with dropout: {why}; "
                "or set its dropout, as in of: {name: cnn, dropout: 0.6}"
            )
        return PassesClassifier(self.name, network, self._passes, own_masks=self._own_masks)


class Ensemble(ModelSource):
    """The mean probabilities of several networks by one recipe, each trained from other random numbers.

    Where they give boxes, their mean and their standard deviation over the networks come with it.

    Parameters
    ----------
    of
        The recipe: a model's name, or a mapping with its name and parameters. It has to be trained here.
    size
        How many networks; as many members it gives to monitors.

    Examples
    --------
    >>> Ensemble(of="lenet", size=3).parameters
    {'of': 'lenet', 'size': 3}
    """

    reference = (
        "Lakshminarayanan, Pritzel, Blundell: Simple and scalable predictive uncertainty, NeurIPS 2017"
    )

    def __init__(self, *, of: str | Mapping[str, Any], size: int = 5) -> None:
        check_number("size", size, low=2, whole=True)
        self._of, self._count = recipe_of_members(of), size

    def trainings(self) -> Sequence[ModelSource]:
        """Return the recipe as often as a network is trained by it."""
        return [*self._of.trainings()] * self._count

    def check(self, context: Context) -> None:
        """Check the recipe."""
        self._of.check(context)

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        """Train each network, or find it in the cache."""
        networks = [self._of.classifier(workload, own) for own in self._contexts(context)]
        made = EnsembleClassifier(self.name, networks, self._count)
        made.notes = {"members": [dict(network.notes) for network in networks], **made.notes}
        return made

    def untrained(self, workload: Workload, context: Context) -> Classifier | None:
        """Make each network with the weights that training begins with."""
        networks = [self._of.untrained(workload, own) for own in self._contexts(context)]
        whole = [network for network in networks if network is not None]
        return EnsembleClassifier(self.name, whole, self._count) if len(whole) == self._count else None

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Make each network again."""
        networks = [self._of.restore(saved_part(saved, i)) for i in range(self._count)]
        return EnsembleClassifier(self.name, networks, self._count)

    def _contexts(self, context: Context) -> list[Context]:
        return [context_of_member(context, self._of, i + 1) for i in range(self._count)]


def recipe_of_members(of: str | Mapping[str, Any]) -> ModelSource:
    """Make the recipe that several networks are trained by; one that trains none is refused."""
    recipe = _inner(of)
    if not recipe.trained_here:
        raise ParameterError(
            f"of is '{recipe.name}', which brings its weights along, so that all would be the same; "
            "expected a model that is trained here, such as cnn"
        )
    return recipe


def context_of_member(context: Context, of: ModelSource, number: int) -> Context:
    """Return what a network is trained with that is called by a number, from 1.

    Its random numbers are its own. In its key is nothing of who asks for it, so that whoever does finds it.
    """
    return replace(
        context, seed=derived_seed(context.seed, "member", number), cache=context.cache.for_model(of)
    )


def _inner(of: str | Mapping[str, Any]) -> ModelSource:
    said: dict[str, Any] = {"name": of} if isinstance(of, str) else dict(of)
    if not isinstance(name := said.pop("name", None), str):
        raise ParameterError(
            f"of is {of!r}; expected a model's name, or a mapping with a name and parameters"
        )
    try:
        return cast(ModelSource, make("model", name, said))
    except UserError as error:
        raise type(error)(f"of: {error}") from None


def saved_part(saved: SavedClassifier, part: int) -> SavedClassifier:
    """Return what is known of one network."""
    mine = f"{part} "
    own = {key.removeprefix(mine): array for key, array in saved.state.items() if key.startswith(mine)}
    return replace(saved, state=own)
