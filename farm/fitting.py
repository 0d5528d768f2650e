"""Fitting and calibrating monitors on in-distribution data, with one forward pass for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from farm.api import (
    CalibrationRule,
    Classifier,
    Labelled,
    Monitor,
    Observation,
    Progress,
    Silent,
    Split,
    Workload,
    read_only,
)
from farm.errors import Failure, RequirementError

# Fits and thresholds do not depend on the batch size that a stream is run with.
BATCH = 256


class ObservedSplit:
    """A split seen through the classifier: one forward pass, then read as often as monitors like.

    What the classifier gave is kept; images are read again each time, since they are the larger part.
    """

    def __init__(
        self,
        classifier: Classifier,
        split: Split,
        layers: Sequence[str] = (),
        members: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self._split = split
        self._seen: list[Observation] = []
        chunks = list(split.chunks(BATCH))
        for indices in (progress or Silent()).track(chunks, f"observing {split.name} data"):
            images = split.images.read(indices)
            seen = classifier.observe(
                images, layers, ids=split.ids[indices], track=split.groups[indices], members=members
            )
            nothing = np.empty((0, *images.shape[1:]), dtype=np.float32)
            self._seen.append(replace(seen, images=nothing))
        self._chunks = chunks

    def __iter__(self) -> Iterator[Labelled]:
        for indices, seen in zip(self._chunks, self._seen, strict=True):
            observation = replace(seen, images=read_only(self._split.images.read(indices)))
            yield Labelled(observation, self._split.labels[indices])


@dataclass(frozen=True)
class Material:
    """What monitors are fitted on: the `FitData` of the contract."""

    classes: tuple[str, ...]
    seed: int
    train: ObservedSplit
    validation: ObservedSplit
    outliers: Iterable[Observation] | None = None
    networks: Mapping[str, object] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Labelled]:
        return iter(self.train)


def union_of_layers(monitors: Iterable[Monitor]) -> tuple[str, ...]:
    """Give every layer that some monitor needs, each once."""
    return tuple(dict.fromkeys(layer for m in monitors for layer in m.needs.layers))


def check_needs(monitors: Iterable[Monitor], classifier: Classifier) -> None:
    """Check what monitors need before anything is fitted; the mistake is the user's, not the run's."""
    for monitor in monitors:
        who = f"monitor '{monitor.name}'"
        classifier.resolve(monitor.needs, who)
        if monitor.needs.outliers:
            raise RequirementError(f"{who} needs outliers, but this experiment names no validation fault")
        if monitor.needs.networks:
            names = ", ".join(monitor.needs.networks)
            raise RequirementError(f"{who} needs networks of its own ({names}), which nobody trained")


def fit_monitors(
    monitors: Sequence[Monitor],
    classifier: Classifier,
    workload: Workload,
    rules: Mapping[str, CalibrationRule] | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, str]:
    """Fit and calibrate all monitors; give the reason of each that failed, by its name.

    A monitor that fails alone is a result, and the others go on without it.
    """
    progress = progress or Silent()
    check_needs(monitors, classifier)
    layers = union_of_layers(monitors)
    members = max((m.needs.members for m in monitors), default=0)
    material = Material(
        classes=workload.classes,
        seed=seed,
        train=ObservedSplit(classifier, workload.train, layers, members, progress),
        validation=ObservedSplit(classifier, workload.validation, layers, members, progress),
    )
    failures: dict[str, str] = {}
    for monitor in progress.track(monitors, "fitting monitors"):
        rule = (rules or {}).get(monitor.name, CalibrationRule())
        try:
            monitor.fit(material, classifier)
            monitor.calibrate(material.validation, rule, len(workload.classes))
        except Failure as failure:
            failures[monitor.name] = str(failure)
            progress.note(str(failure))
    return failures
