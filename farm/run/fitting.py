"""Fitting and calibrating monitors on in-distribution data, with one forward pass for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

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
from farm.errors import Failure
from farm.run.needs import check_needs
from farm.run.shared import CallObserver, NoObserver
from farm.store.fitted import FittedMonitors
from farm.store.full_disk import stop_where_full

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
    """Return every layer that some monitor needs, each once."""
    return tuple(dict.fromkeys(layer for m in monitors for layer in m.needs.layers))


def fit_monitors(
    monitors: Sequence[Monitor],
    classifier: Classifier,
    workload: Workload,
    rules: Mapping[str, CalibrationRule] | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    fitted: FittedMonitors | None = None,
    watch: CallObserver | None = None,
) -> dict[str, str]:
    """Fit and calibrate all monitors; give the reason of each that failed, by its name.

    A monitor that fails alone is a result, and the others go on without it. Those that `fitted` finds are not
    fitted again; where it finds all, the classifier does not run. `watch` is told which monitor is at work.
    """
    progress, watch = progress or Silent(), watch or NoObserver()
    check_needs(monitors, classifier)
    chosen = {m.name: (rules or {}).get(m.name, CalibrationRule()) for m in monitors}
    keys = fitted.keys(monitors, chosen, classifier, workload, seed) if fitted else {}
    missing = []
    for monitor in monitors:
        key = keys.get(monitor.name)
        if fitted is None or key is None:
            missing.append(monitor)
            continue
        with _watched(watch, monitor):
            if not fitted.restore(monitor, key, classifier):
                missing.append(monitor)
    if found := len(monitors) - len(missing):
        progress.note(f"{found} fitted monitor{'s' if found > 1 else ''} found in the cache")
    if not missing:
        return {}
    layers = union_of_layers(missing)
    members = max(m.needs.members for m in missing)
    material = Material(
        classes=workload.classes,
        seed=seed,
        train=ObservedSplit(classifier, workload.train, layers, members, progress),
        validation=ObservedSplit(classifier, workload.validation, layers, members, progress),
    )
    failures: dict[str, str] = {}
    for monitor in progress.track(missing, "fitting monitors"):

        def fit(monitor: Monitor = monitor) -> None:
            monitor.fit(material, classifier)
            monitor.calibrate(material.validation, chosen[monitor.name], len(workload.classes))

        key = keys.get(monitor.name)
        try:
            if fitted is None or key is None:
                with _watched(watch, monitor):
                    fit()
            else:
                fitted.fit(monitor, key, classifier, material.validation, fit, partial(_watched, watch))
        except Failure as failure:
            stop_where_full(str(failure), failure)
            failures[monitor.name] = str(failure)
            progress.note(str(failure))
    return failures


@contextmanager
def _watched(watch: CallObserver, monitor: Monitor) -> Iterator[None]:
    watch.begin(monitor.name, "fitting")
    try:
        yield
    finally:
        watch.end()
