"""Faults at work: what dear ones make of a stream's instances is made once, and found again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    FAULT_MEASURES,
    JSON,
    Cache,
    Coherence,
    Context,
    FaultContext,
    Faulted,
    Faultload,
    FaultTargets,
    IntArray,
    ModelSource,
    NoCache,
)
from farm.errors import RequirementError, UserError
from farm.store.identity import Identities
from farm.store.identity.loaded import circumstances, loaded_identity
from farm.store.threads import limited_threads

DRIFT = 25
"""In so many instances a drifting draw has moved to the next, unless it is told another number."""
CHUNK = 256
"""At most so many images are attacked together, whatever the stream's batches are."""
CHUNK_PIXELS = 2**22
"""Fewer where images are large, since gradients take many times the memory of an image."""


@dataclass(frozen=True)
class Fault:
    """A faultload at work: the instances it acts upon, at one severity.

    `share` is its part of the OOD instances, relative to the other faults' of the same stream. `context` is
    what the faultload was prepared with, and `model` the recipe of its classifier: without them, images that
    are dear to make are not found again.
    """

    faultload: Faultload
    targets: FaultTargets
    severity: float | None = None
    share: float = 1.0
    context: FaultContext | None = None
    model: ModelSource | None = None
    coherence: Coherence | None = None
    drift: int = DRIFT

    def lasting(self, *, timed: bool) -> Coherence:
        """Say how long a draw lasts; without time, for one instance, unless somebody asks for another."""
        return self.coherence or (self.faultload.coherence if timed else "instance")

    def provenance(self, *, timed: bool) -> dict[str, JSON]:
        """What made it."""
        coherence = self.lasting(timed=timed)
        return {
            "name": self.faultload.name,
            "parameters": self.faultload.parameters,
            "origin": self.faultload.origin,
            "severity": self.severity,
            "share": self.share,
            "coherence": coherence,
            **({"drift": self.drift} if coherence == "drifting" else {}),
            "targets": self.targets.workload,
            "targets_hash": self.targets.split.content_hash,
            "notes": dict(self.targets.notes),
        }


class Generated:
    """The images, labels and measures that a fault made of some of its targets, on disk where they are kept.

    Parameters
    ----------
    drawn
        The places among the fault's targets, rising.
    records
        What was made of each.
    """

    def __init__(self, drawn: IntArray, records: NDArray[np.void]) -> None:
        self._drawn, self._records = drawn, records

    def read(self, places: IntArray) -> Faulted:
        """Read what was made of the targets at these places."""
        found = self._records[np.searchsorted(self._drawn, places)]
        measured = {name: np.array(found[name]) for name in FAULT_MEASURES}
        return Faulted(np.array(found["image"]), np.array(found["label"]), measured)


def generate(fault: Fault, drawn: IntArray) -> Generated:
    """Apply a fault to the drawn ones of its targets, or find in the cache what it made of them.

    It is applied in the order of the targets and in chunks that depend on the images' size alone. So no pixel
    depends on the stream's order and batches, as it otherwise does where gradients, which are sums, change in
    their last bits with the batch and a sign turns a bit into a step.

    Without the fault's context or model, or where code lies in no file, or in one that was changed since this
    process started, not all that makes the images can be told: they are made in memory and not kept. What a
    black box cannot show, such as the model behind a service, its recipe must tell (`version`).
    """
    faultload, targets = fault.faultload, fault.targets
    base = fault.context.base if fault.context else Context()
    level = faultload.check_severity(fault.severity)
    shape = targets.split.images.shape
    kind = record_type(shape)
    step = chunk_size(shape)

    def blocks() -> Iterator[NDArray[Any]]:
        starts = range(0, len(drawn), step)
        for start in base.progress.track(starts, f"making {faultload.name} images", len(starts)):
            places = drawn[start : start + step]
            indices = targets.indices[places]
            images, ids = targets.split.images.read(indices), targets.split.ids[indices]
            made = faultload.apply(images, targets.labels[places], ids, np.full(len(places), level))
            records = np.zeros(len(places), kind)
            records["image"], records["label"] = made.images, made.labels
            for name in FAULT_MEASURES:
                records[name] = made.measured.get(name, np.nan)
            yield records.view(np.uint8).reshape(len(places), kind.itemsize)

    def images(
        cache: Cache, key: Mapping[str, JSON], made: Callable[[], Iterable[NDArray[Any]]]
    ) -> Generated:
        rows = cache.mapped("faults", key, (len(drawn), kind.itemsize), "uint8", made)
        return Generated(drawn, rows.view(kind)[:, 0])

    # Whoever asks for the stream: what is kept was made on as many threads as its key says.
    with limited_threads(base.threads):
        if fault.context is None or not len(drawn) or isinstance(base.cache, NoCache):
            return images(NoCache(), {}, blocks)
        try:
            key = _key(fault, fault.context, drawn)
        except UserError as error:
            base.progress.note(f"{error}; its images are made anew each time")
            return images(NoCache(), {}, blocks)
        return images(base.cache, key, blocks)


def _key(fault: Fault, context: FaultContext, drawn: IntArray) -> dict[str, JSON]:
    """Return everything that makes the images; raise where it cannot be told."""
    base, classifier, targets = context.base, context.classifier, fault.targets
    if fault.model is None:
        raise RequirementError(
            f"faultload '{fault.faultload.name}': classifier '{classifier.name}' was not made by a recipe"
        )
    level = fault.faultload.check_severity(fault.severity)
    made_by = Identities(base.folder)
    identity = loaded_identity("faultload", fault.faultload, made_by)
    return {
        **circumstances(classifier, fault.model, threads=base.threads, identities=made_by),
        "faultload": identity,
        "severity": None if np.isnan(level) else level,
        "seed": base.seed,
        # All of its splits: a surrogate is trained on them, and a fault may show instances of others.
        "workload": context.workload.content_hash,
        "files": made_by.files_of(context.workload.recipe),
        "targets": targets.split.content_hash,
        "drawn": _digest(targets.indices[drawn]),
        "labels": _digest(targets.labels[drawn]),
        "notes": dict(targets.notes),
    }


def _digest(numbers: IntArray) -> str:
    return hashlib.blake2b(numbers.astype("<i8").tobytes(), digest_size=16).hexdigest()


def chunk_size(shape: Sequence[int]) -> int:
    """Say how many images of a shape are attacked together.

    Examples
    --------
    >>> chunk_size((3, 32, 32)), chunk_size((3, 224, 224))
    (256, 27)
    """
    return int(np.clip(CHUNK_PIXELS // int(np.prod(shape)), 1, CHUNK))


def record_type(shape: tuple[int, int, int]) -> np.dtype[np.void]:
    """Return the type of one instance's record: one array, so that no part is kept alone.

    Examples
    --------
    >>> record_type((3, 32, 32)).names
    ('image', 'label', 'linf', 'l2', 'success')
    """
    measures = [(name, "<f8") for name in FAULT_MEASURES]
    return np.dtype([("image", "<f4", shape), ("label", "<i8"), *measures], align=True)
