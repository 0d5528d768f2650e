"""Networks that say what an image shows and where: vanilla, or the mean of passes with dropout."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import torch
from torch import nn

from farm.api import (
    BOX,
    JSON,
    Classifier,
    Context,
    SavedClassifier,
    Workload,
    check_choice,
    check_number,
)
from farm.errors import ParameterError
from models import training
from models._answers import LOGITS
from models._backbones import BACKBONES, WHOLE
from models._boxes import ENCODINGS, LOSSES, BoxDecoder, boxes_of
from models._branches import Branches
from models._goals import Boxes, LabelsAndBoxes
from models._trained import TrainedModel
from models.averaged import PassesClassifier, saved_part
from models.torch_classifier import Preprocessing, TorchClassifier
from models.training import Recipe

PLACES: Mapping[str, tuple[str, ...]] = {
    "vanilla": (),
    "last-layer": ("last",),
    "after-backbone": ("after",),
    "head": ("after", "between", "last"),
    "everywhere": ("backbone", "after", "between", "last"),
}
"""Where each variant has dropout."""
AUGMENTS = {"none": "none", "autoaugment": "autoaugment without moves"}
"""What may be done to training images, and what of it leaves boxes where they are."""
LAST_HIDDEN = f"{LOGITS}.out"


class WhatAndWhere(TrainedModel):
    """Two networks, or one with two heads, that give a class and a box: `outputs["box"]`, in pixels.

    A head is two linear layers with ReLU, and a linear one. Every variant but `vanilla` is trained with its
    dropout, and gives the mean of passes with dropout, the passes as `members`, and the standard deviation of
    the boxes over them as `outputs["box_spread"]` (`box_spread_ddof` in its notes tells by which divisor).
    What lies before the first dropout runs once. What is dropped follows from the seed, the pass and the
    image's id alone. At a rate of 0 it is `vanilla`, which has no spread.

    Parameters
    ----------
    backbone
        `cnn`, which is trained in seconds; `resnet50`, `efficientnet-b0` or `convnext-tiny`, which need the
        extra `vision`.
    weights
        A file with torchvision's weights that the backbone begins with; None begins with random ones.
    neurons
        Of each of a head's two hidden layers.
    networks
        `two`, which are trained apart, or `one` backbone with two heads.
    encoding
        What the network learns of a box: its `corners`, its `centre` with width and height, or these relative
        to an `anchor`, the mean box of the training data.
    box_loss
        `mae` or `mse` of the encoded numbers, `iou` or `distance-iou` of the boxes.
    box_weight
        How many times as much as the loss of classes it counts, where one network learns both.
    variant
        Where dropout is: `vanilla` has none; `last-layer`, before the last layer; `after-backbone`, right
        after it; `head`, at both places and between them; `everywhere`, in the backbone, too.
    dropout, box_dropout
        The share of values that is dropped on the way to classes, and to boxes (None: as many); a backbone
        that is one for both has the first.
    passes
        How many; as many members it gives to monitors.
    epochs
        At most this many passes over the training data.
    batch_size, weight_decay
        The optimiser's settings (AdamW, one cycle).
    learning_rate, box_learning_rate
        Its highest rate for classes, and for boxes (None: the same); one network has the first.
    patience
        Stop after this many epochs without a lower validation loss; None never stops early.
    augment
        `autoaugment` changes training images by AutoAugment's policy for CIFAR-10; `none` leaves them as they
        are. What learns boxes gets the policy without shears, translations and rotations, which would take
        objects out of them: one of two networks, or the one.

    Examples
    --------
    >>> WhatAndWhere(variant="head").parameters["passes"]
    20
    """

    kind = "what-and-where"
    reference = (
        "Diet, Kassem Sbeyti, Karg: Prediction accuracy and reliability: classification and object "
        "localization under distribution shift, 2024"
    )

    def __init__(
        self,
        *,
        backbone: str = "cnn",
        weights: str | None = None,
        neurons: int = 128,
        networks: str = "two",
        encoding: str = "corners",
        box_loss: str = "mae",
        box_weight: float = 10.0,
        variant: str = "vanilla",
        dropout: float = 0.05,
        box_dropout: float | None = None,
        passes: int = 20,
        epochs: int = 6,
        batch_size: int = 64,
        learning_rate: float = 5e-3,
        box_learning_rate: float | None = None,
        weight_decay: float = 1e-4,
        patience: int | None = None,
        augment: str = "none",
    ) -> None:
        check_choice("backbone", backbone, tuple(BACKBONES))
        check_number("neurons", neurons, low=1, whole=True)
        check_choice("networks", networks, ("two", "one"))
        check_choice("encoding", encoding, ENCODINGS)
        check_choice("box_loss", box_loss, LOSSES)
        check_number("box_weight", box_weight, above=0)
        check_choice("variant", variant, tuple(PLACES))
        check_number("dropout", dropout, low=0, high=0.95)
        box_dropout = dropout if box_dropout is None else box_dropout
        box_learning_rate = learning_rate if box_learning_rate is None else box_learning_rate
        check_number("box_dropout", box_dropout, low=0, high=0.95)
        if (dropout == 0) != (box_dropout == 0):
            raise ParameterError(
                f"dropout is {dropout:g} and box_dropout is {box_dropout:g}; expected both above 0, or both "
                "0: a network that drops nothing would seem sure of all"
            )
        check_number("passes", passes, low=2, whole=True)
        check_number("box_learning_rate", box_learning_rate, above=0)
        check_choice("augment", augment, tuple(AUGMENTS))
        self._backbone = BACKBONES[backbone]()
        if weights is not None and not self._backbone.takes_weights:
            raise ParameterError(
                f"weights is '{weights}', but backbone '{backbone}' is trained from random ones alone; leave "
                "weights out, or take another backbone, such as resnet50"
            )
        self.smallest = self._backbone.smallest  # type: ignore[misc] # that of its backbone
        self._weights, self._neurons, self._one = weights, neurons, networks == "one"
        self._encoding, self._box_loss, self._box_weight = encoding, box_loss, box_weight
        self._places, self._dropout, self._box_dropout = PLACES[variant], dropout, box_dropout
        self._passes = passes
        waits = epochs if patience is None else patience
        self._recipe = Recipe(epochs, batch_size, learning_rate, weight_decay, waits, augment)
        # Of what learns boxes alone, and of one network for both.
        self._box_recipe = replace(
            self._recipe,
            learning_rate=self._recipe.learning_rate if self._one else box_learning_rate,
            augment=AUGMENTS[augment],
        )

    def check(self, context: Context) -> None:
        """Look for what the backbone needs."""
        self._backbone.check()
        if self._weights is not None:
            context.find(self._weights, "classifier.weights")

    def restore(self, saved: SavedClassifier) -> Classifier:
        """Make it again from its weights, without training."""
        return super().restore(saved_part(saved, 0) if self._averaged else saved)

    @property
    def _averaged(self) -> bool:
        """Whether it has dropout."""
        return bool(self._places) and self._dropout > 0

    def _size(self, shape: tuple[int, int, int]) -> tuple[int, int] | None:
        return self._backbone.size(shape)

    def _versions(self) -> Mapping[str, JSON]:
        return self._backbone.versions()

    def _key(self, workload: Workload, context: Context) -> Mapping[str, JSON]:
        # The workload's own hash tells nothing of its boxes.
        boxes = [boxes_of(split, workload.name).numpy() for split in (workload.train, workload.validation)]
        told = hashlib.blake2b(b"".join(one.tobytes() for one in boxes), digest_size=16).hexdigest()
        return {**super()._key(workload, context), "boxes": told}

    def _network(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        decode = BoxDecoder(self._encoding, *(self._size(shape) or shape[1:]))
        trunk: dict[str, nn.Module] = {}
        branches: dict[str, dict[str, nn.Module]] = {LOGITS: {}, BOX: {}}
        shared = self._features(shape, trunk, self._dropout) if self._one else 0
        for name, parts in branches.items():
            columns, rate = (classes, self._dropout) if name == LOGITS else (4, self._box_dropout)
            width = shared or self._features(shape, parts, rate)
            for i, (here, wide) in enumerate((("between", width), ("last", self._neurons)), start=1):
                parts |= {f"fc{i}": nn.Linear(wide, self._neurons), f"relu_of_fc{i}": nn.ReLU()}
                parts |= self._dropped(here, rate)
            parts["out"] = nn.Linear(self._neurons, columns)
        branches[BOX]["decode"] = decode
        sequences = {name: nn.Sequential(OrderedDict(parts)) for name, parts in branches.items()}
        whole = Branches(nn.Sequential(OrderedDict(trunk)), sequences)
        return whole.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]

    def _features(self, shape: tuple[int, int, int], parts: dict[str, nn.Module], rate: float) -> int:
        """Put a backbone among the parts, with what follows it; return how many features come out."""
        found = self._backbone.make(shape, rate if "backbone" in self._places else 0)
        parts |= found.parts | self._dropped("after", rate)
        return found.width

    def _dropped(self, place: str, rate: float) -> dict[str, nn.Module]:
        return {f"dropout_{place}": nn.Dropout(rate)} if rate and place in self._places else {}

    def _parts(self, workload: Workload, context: Context) -> tuple[nn.Module, Preprocessing]:
        for split in (workload.train, workload.validation):
            boxes_of(split, workload.name)  # before anything is trained
        return super()._parts(workload, context)

    def _train(
        self, module: Any, preprocessing: Preprocessing, workload: Workload, context: Context
    ) -> Mapping[str, JSON]:
        if self._weights is not None:
            path = context.find(self._weights, "classifier.weights")
            for name, part in module.named_modules():
                if name.endswith(WHOLE):
                    self._backbone.load(part, path)
        whole = cast(Branches, module)
        branches = whole.branches
        *parts, last, decode = branches[BOX]
        assert isinstance(last, nn.Linear)
        assert isinstance(decode, BoxDecoder)
        boxes = nn.Sequential(*parts, last)
        goal = Boxes(self._box_loss, decode, workload.name, preprocessing.size)
        # From the mean box on: boxes that overlap with none would have no slope.
        decode.anchor.copy_(goal.targets(workload.train).mean(dim=0))
        last.bias.data.copy_(decode.encode(decode.anchor[None])[0])
        trunk = nn.Sequential(preprocessing, *whole.trunk)
        if self._one:
            both = Branches(trunk, {LOGITS: branches[LOGITS], BOX: boxes})
            weighed = LabelsAndBoxes(goal, self._box_weight)
            return training.train(both, workload, self._box_recipe, context, self.kind, weighed)
        classes = nn.Sequential(trunk, branches[LOGITS])
        notes = training.train(classes, workload, self._recipe, context, f"{self.kind} classes")
        where = Branches(trunk, {BOX: boxes})
        told = training.train(where, workload, self._box_recipe, context, f"{self.kind} boxes", goal)
        return {**notes, BOX: told}

    def _around(
        self, module: nn.Module, classes: tuple[str, ...], preprocessing: Preprocessing, seed: int
    ) -> Classifier:
        network = TorchClassifier(
            module,
            classes,
            name=self.name,
            preprocessing=preprocessing,
            last_hidden=LAST_HIDDEN,
            members_seed=seed,
            gives=(LOGITS, BOX),
        )
        if not self._averaged:
            return network
        return PassesClassifier(self.name, network, self._passes, own_masks=True)
