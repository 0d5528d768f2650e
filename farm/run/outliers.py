"""The outliers of a named validation fault, and the workloads that networks are trained on beside them.

Where there is a validation fault, the ID validation data teach monitors what is to be accepted, so that no
network may choose its epoch by them: networks are trained on four fifths of the training data, and choose by
the last fifth.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from farm.api import (
    JSON,
    NO_ANSWER,
    VALIDATION_FAULT,
    CalibrationRule,
    FaultTargets,
    Images,
    ImageSource,
    IntArray,
    Split,
    StrArray,
    Workload,
    copies_of,
    cut_by_group,
    generator,
)
from farm.api.calibration_data import CLASS
from farm.errors import DataError, ExperimentError
from farm.run.faults import Fault, Generated, generate

HELD_OUT = 0.2
"""The share of what a network is trained on by which it chooses its epoch."""
IN_DISTRIBUTION, OUTLIER = "in-distribution", "outlier"
FEWEST = 10
"""Outliers below which nothing can be learned of them."""


@dataclass(frozen=True)
class Outliers:
    """What a validation fault gives: at most as many images as there are ID validation images, and all."""

    fault: Fault
    chosen: Split
    every: Split

    @property
    def name(self) -> str:
        """What reports call them: another workload's name, or the fault's."""
        return self.chosen.name

    def record(self) -> dict[str, JSON]:
        """Return what made them, and their hash, for the readouts."""
        sizes: dict[str, JSON] = {
            "n": len(self.chosen),
            "of": len(self.every),
            "hash": self.chosen.content_hash,
            "pixels": pixels_of(self.every),
        }
        return {**self.fault.provenance(timed=False), "outliers": self.name, **sizes}


def pixels_of(split: Split) -> str:
    """Return a hash of a split's images at 8 bits, in whatever order, under whatever names."""
    return hashlib.blake2b(b"".join(sorted(split.digests)), digest_size=16).hexdigest()


def outliers_of(fault: Fault, workload: Workload, seed: int) -> Outliers:
    """Return the outliers of a fault that was prepared with the validation split.

    None of them may be an image of the workload: what is called in-distribution is no outlier.
    """
    targets = fault.targets
    who = f"validation_fault '{fault.faultload.name}'"
    if len(targets.indices) < FEWEST:
        raise DataError(f"{who} gives {len(targets.indices)} images; expected at least {FEWEST}")
    own = targets.workload == workload.name
    split = targets.split.rows(targets.indices)
    name = fault.faultload.name if own else targets.workload
    made: ImageSource = FaultedImages(fault)
    labels = np.full(len(split), NO_ANSWER)
    # Changed validation images belong to the tracks of those that they were made of.
    every = Split(name, made, labels, split.ids, split.groups)
    for one in workload.splits:
        if (copies := copies_of(one, every.digests)).size:
            raise DataError(
                f"{who}: {copies.size} of its {len(every)} images are also in split '{one.name}' of workload "
                f"'{workload.name}', such as '{every.ids[int(copies[0])]}'; expected none, since those are "
                "in-distribution"
            )
    return Outliers(fault, _some(every, len(workload.validation), seed), every)


class FaultedImages:
    """The images that a fault makes of all its targets, made when they are read."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        targets: FaultTargets = fault.targets
        self._made: Generated | None = None
        if fault.faultload.uses_classifier:  # dear, and the same bits only in the same company
            self._made = generate(fault, np.arange(len(targets.indices)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        return self._fault.targets.split.images.shape

    def __len__(self) -> int:
        return len(self._fault.targets.indices)

    def read(self, indices: IntArray) -> Images:
        """Make these images."""
        if self._made is not None:
            order, back = np.unique(indices, return_inverse=True)
            return self._made.read(order).images[back]
        fault, targets = self._fault, self._fault.targets
        rows = targets.indices[indices]
        severity = np.full(len(rows), fault.faultload.check_severity(fault.severity))
        split = targets.split
        made = fault.faultload.apply(
            split.images.read(rows), targets.labels[indices], split.ids[rows], severity
        )
        return made.images


def inner(workload: Workload, seed: int) -> Workload:
    """Return a workload whose validation split is a fifth of its training data, cut by groups."""
    train = workload.train
    rng = generator(seed, "inner split", workload.name)
    stay, move = cut_by_group(train.labels, train.groups, HELD_OUT, rng)
    if not len(move):
        raise DataError(
            f"workload '{workload.name}': its training data cannot be split in two, since no class has two "
            "groups; expected more images, or smaller groups"
        )
    held_out = replace(train.rows(move), name="validation")
    return replace(workload, train=train.rows(stay), validation=held_out)


def against_outliers(workload: Workload, outliers: Outliers, seed: int) -> Workload:
    """Return the task of telling ID images, those of training and validation, from outliers.

    As many of one as of the other; a fifth of each is for choosing the epoch.
    """
    parts = [workload.train, workload.validation]
    ours = _joined(IN_DISTRIBUTION, parts)
    n = min(len(ours), len(outliers.every))
    sides = [_some(ours, n, seed), _some(outliers.every, n, seed)]
    whole = _joined(OUTLIER, sides)
    labels = np.repeat([0, 1], [len(side) for side in sides])
    task = replace(whole, name="train", labels=labels)
    both = replace(
        workload,
        name=f"{workload.name} against {outliers.name}",
        classes=(IN_DISTRIBUTION, OUTLIER),
        train=task,
        validation=task,
        test=task,
        recipe={},
    )
    split = inner(both, seed)
    for part in (split.train, split.validation):
        if len(np.unique(part.labels)) < 2:
            missing = (IN_DISTRIBUTION, OUTLIER)[int(1 - part.labels[0])]
            raise DataError(
                f"{both.name}: a fifth is held out to choose an epoch by, which leaves no {missing} image on "
                "one side, since there are too few groups of images; expected at least two groups of each"
            )
    return replace(split, test=split.validation)


def _some(split: Split, n: int, seed: int) -> Split:
    """Return n of the images, drawn without replacement, in their order."""
    if n >= len(split):
        return split
    rng = generator(seed, "outliers", split.name)
    return split.rows(np.sort(rng.permutation(len(split))[:n]))


class JoinedImages:
    """The images of several sources, one after the other."""

    def __init__(self, sources: Sequence[ImageSource]) -> None:
        self._sources = sources
        self._ends = np.cumsum([len(source) for source in sources])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        return self._sources[0].shape

    def __len__(self) -> int:
        return int(self._ends[-1])

    def read(self, indices: IntArray) -> Images:
        """Read these images from where they lie."""
        of = np.searchsorted(self._ends, indices, side="right")
        images = np.empty((len(indices), *self.shape), dtype=np.float32)
        for number in np.unique(of):
            rows = of == number
            start = self._ends[number] - len(self._sources[number])
            images[rows] = self._sources[number].read(indices[rows] - start)
        return images


def _joined(name: str, parts: Sequence[Split]) -> Split:
    """Return several splits as one; ids and groups of each are told apart by its name."""

    def named(column: str) -> StrArray:
        return np.concatenate([np.strings.add(f"{part.name}/", getattr(part, column)) for part in parts])

    labels = np.concatenate([part.labels for part in parts])
    images = JoinedImages([part.images for part in parts])
    return Split(name, images, labels, named("ids"), named("groups"))


def check_rules(rules: Mapping[str, CalibrationRule], there_are: bool, conditions: Collection[str]) -> None:
    """Raise where a threshold is to be chosen on outliers, or by a condition, and there are none."""
    for name, rule in rules.items():
        if rule.by not in (None, CLASS, *conditions):
            raise ExperimentError(
                f"monitor '{name}': calibration.by is '{rule.by}', which the workload does not tell of its "
                f"validation data; expected one of: {', '.join([CLASS, *conditions])}"
            )
        if rule.method == VALIDATION_FAULT and not there_are:
            raise ExperimentError(
                f"monitor '{name}': calibration.method is '{VALIDATION_FAULT}', and the experiment has no "
                "validation_fault; name one, or choose another method"
            )
