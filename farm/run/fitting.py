"""Fitting and calibrating monitors on in-distribution data, with one forward pass for all of them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    CalibrationRule,
    Classifier,
    Labelled,
    Monitor,
    Observation,
    Once,
    OwnNetwork,
    Progress,
    Silent,
    Split,
    TrainedNetwork,
    Workload,
    read_only,
)
from farm.errors import Failure, RequirementError
from farm.run.faults import chunk_size
from farm.run.needs import NOTHING, Given, check_needs
from farm.run.networks import OwnNetworks, Trainer
from farm.run.outliers import Outliers
from farm.run.shared import CallObserver, NoObserver
from farm.store.amounts import in_bytes, in_words
from farm.store.batch_arrays import BatchArrays, place_for
from farm.store.cache import default_cache_folder
from farm.store.fitted import FittedMonitors
from farm.store.full_disk import stop_where_full
from farm.store.provenance import peak_memory_bytes

# Fits and thresholds do not depend on the batch size that a stream is run with.
BATCH = 256

IN_MEMORY = 32 * 2**20
"""Layers and outputs of a pass that take more bytes lie on disk."""
LONG = 60.0
"""A pass of more seconds is told before."""
LAYER = "layer "
EMPTY = np.empty(0)


class ObservedSplit:
    """A split seen through the classifier: one forward pass, then read as often as monitors like.

    What the classifier gave is kept, on disk where it is much; images are read again each time, since they
    are the larger part.

    Parameters
    ----------
    layers, members
        What to observe, as `Needs.observed` has it.
    folder
        Where layers are kept on disk, the cache's where not given.
    more
        So many images of other splits are observed next, and want room too.
    """

    def __init__(
        self,
        classifier: Classifier,
        split: Split,
        layers: Sequence[str] = (),
        members: int = 0,
        progress: Progress | None = None,
        *,
        folder: Path | None = None,
        more: int = 0,
    ) -> None:
        progress = progress or Silent()
        self._split = split
        self._chunks = list(split.chunks(batch_size(split)))
        self._rest: list[Observation] = []
        self._kept = BatchArrays()
        self._columns: dict[str, list[NDArray[Any]]] = {}
        try:
            self._observe(classifier, layers, members, progress, folder, len(split) + more)
        finally:
            self._kept.close()

    def _observe(
        self,
        classifier: Classifier,
        layers: Sequence[str],
        members: int,
        progress: Progress,
        folder: Path | None,
        n: int,
    ) -> None:
        """Run the one pass; `n` images want room, these and those that are observed next."""
        split, started = self._split, time.perf_counter()
        for indices in progress.track(self._chunks, f"observing {split.name} data"):
            images = split.images.read(indices)
            seen = classifier.observe(
                images, layers, ids=split.ids[indices], track=split.groups[indices], members=members
            )
            arrays = _large(seen)
            if not self._rest:  # the first batch tells the sizes
                share = n / len(indices)
                nbytes = round(share * sum(array.nbytes for array in arrays.values()))
                seconds = share * (time.perf_counter() - started)
                self._kept = _kept(n, nbytes, seconds, folder, progress)
            for name, array in arrays.items():
                self._kept.add(name, array)
            self._rest.append(_small(seen, images.shape[1:]))
            self._columns = {name: [] for name in arrays}
        self._columns = {name: self._kept.batches(name) for name in self._columns}

    @property
    def nbytes(self) -> int:
        """What of the layers and outputs is held in memory."""
        return self._kept.nbytes

    def __iter__(self) -> Iterator[Labelled]:
        for i, (indices, rest) in enumerate(zip(self._chunks, self._rest, strict=True)):
            own: dict[str, Any] = {name: batches[i] for name, batches in self._columns.items()}
            images = read_only(self._split.images.read(indices))
            layers = MappingProxyType({name: own.pop(LAYER + name) for name in rest.activations})
            # What monitors make of it goes with it: kept with the rest, it would fill the memory.
            whole = replace(rest, **own, images=images, activations=layers, once=Once())
            yield Labelled(whole, self._split.labels[indices])


def _large(seen: Observation) -> dict[str, NDArray[Any]]:
    """Return by name what grows with the classes, the members and the layers' sizes."""
    plain = {name: getattr(seen, name) for name in ("probabilities", "logits", "members")}
    layers = {LAYER + name: values for name, values in seen.activations.items()}
    return {name: array for name, array in (plain | layers).items() if array is not None}


def _small(seen: Observation, shape: tuple[int, ...]) -> Observation:
    """Return what is left of an observation without these, and without its images."""
    return replace(
        seen,
        images=np.empty((0, *shape), dtype=np.float32),
        probabilities=EMPTY,
        logits=None,
        members=None,
        activations=dict.fromkeys(seen.activations, EMPTY.astype(np.float32)),
    )


def _kept(n: int, nbytes: int, seconds: float, folder: Path | None, progress: Progress) -> BatchArrays:
    """Choose where the layers of so many images are kept; tell what they and the pass take, if it is much."""
    place = kept_in(n, nbytes, folder)
    memory = peak_memory_bytes() + (0 if place else nbytes)
    if place or seconds > LONG:
        where = f"on disk in {place}" if place else "of memory"
        progress.note(
            f"{n:,} images: layers take {in_bytes(nbytes)} {where}, {in_words(seconds)} to observe; "
            f"this process takes at least {in_bytes(memory)} of memory"
        )
    return BatchArrays(place)


def batch_size(split: Split) -> int:
    """Return how many images are observed at a time.

    Fewer where images are large: a network's own layers take many times the memory of an image.
    """
    return min(BATCH, chunk_size(split.images.shape), len(split))


def kept_in(n: int, nbytes: int, folder: Path | None = None) -> Path | None:
    """Return where the layers of n images lie on disk, None where memory holds them; raise without room."""
    if nbytes <= IN_MEMORY:
        return None
    folders = [folder or default_cache_folder(), Path(tempfile.gettempdir())]
    return place_for(nbytes, folders, f"the layers of {n:,} images")


@dataclass(frozen=True)
class Material:
    """What monitors are fitted on: the `FitData` of the contract."""

    classes: tuple[str, ...]
    seed: int
    train: ObservedSplit
    validation: ObservedSplit
    outliers: Iterable[Observation] | None = None
    networks: Mapping[OwnNetwork, TrainedNetwork] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Labelled]:
        return iter(self.train)


@dataclass(frozen=True)
class UnlabelledRows:
    """The observations of a split, without labels: of outliers there are none."""

    rows: Iterable[Labelled]

    def __iter__(self) -> Iterator[Observation]:
        return (observation for observation, _ in self.rows)


def hash_of(outliers: Outliers | None) -> str | None:
    """Return what tells outliers from others; that of all, since networks learn from more than are chosen."""
    return None if outliers is None else f"{outliers.name} {outliers.every.content_hash}"


def untrained(need: OwnNetwork) -> TrainedNetwork:
    """Say that nobody trains networks here."""
    raise RequirementError(
        f"{need.title} is needed, and nobody trains it here; fit by farm.run.testbed.Testbed"
    )


def union_of_layers(monitors: Iterable[Monitor]) -> tuple[str, ...]:
    """Return every layer that some monitor needs, pooled as it needs it, each once."""
    return tuple(dict.fromkeys(layer for m in monitors for layer in m.needs.observed))


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
    folder: Path | None = None,
    given: Given = NOTHING,
    outliers: Outliers | None = None,
    train: Trainer | None = None,
) -> dict[str, str]:
    """Fit and calibrate all monitors; give the reason of each that failed, by its name.

    A monitor that fails alone is a result, and the others go on without it. Those that `fitted` finds are not
    fitted again; where it finds all, the classifier does not run. `watch` is told which monitor is at work.
    Layers that take much room lie in `folder` meanwhile, or in that of the cache. `outliers` are those of a
    validation fault, and `train` trains a network of a monitor's own.
    """
    progress, watch = progress or Silent(), watch or NoObserver()
    check_needs(monitors, classifier, given)
    chosen = {m.name: (rules or {}).get(m.name, CalibrationRule()) for m in monitors}
    keys = fitted.keys(monitors, chosen, classifier, workload, seed, hash_of(outliers)) if fitted else {}
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
    splits = [workload.train, workload.validation, *([outliers.chosen] if outliers else [])]
    observed = [
        ObservedSplit(
            classifier, split, layers, members, progress, folder=folder, more=sum(map(len, splits[i + 1 :]))
        )
        for i, split in enumerate(splits)
    ]
    asked = [need for monitor in missing for need in monitor.needs.networks]
    material = Material(
        classes=workload.classes,
        seed=seed,
        train=observed[0],
        validation=observed[1],
        outliers=UnlabelledRows(observed[2]) if outliers else None,
        networks=OwnNetworks(asked, train or untrained),
    )
    failures: dict[str, str] = {}
    for monitor in progress.track(missing, "fitting monitors"):

        def fit(monitor: Monitor = monitor) -> None:
            monitor.fit(material, classifier)
            monitor.calibrate(
                material.validation,
                chosen[monitor.name],
                len(workload.classes),
                material.outliers,
                conditions=workload.validation.conditions,
                seed=seed,
            )

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
