"""Images on their way in: where they lie, what is known of them, and one batch of a stream."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import (
    JSON,
    BoolArray,
    FloatArray,
    Images,
    IntArray,
    StrArray,
    check_images,
    check_labels,
)
from farm.api.component import Component
from farm.api.context import Context
from farm.errors import ComponentFailure, DataError, FarmError, one_line

L = TypeVar("L")


class ImageSource(Protocol):
    """Images that can be read by index; they need not be in memory."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width: the same for all."""
        ...

    def __len__(self) -> int: ...

    def read(self, indices: IntArray) -> Images:
        """Read these images, in this order, as float32 NCHW in [0, 1]."""
        ...


class ArrayImages:
    """Images in memory, N x C x H x W, as uint8 (a quarter of the space) or float32.

    Pixels are checked where their split and ids are known: see `check_workload`.
    """

    def __init__(self, array: NDArray[np.uint8] | Images) -> None:
        if array.ndim != 4:
            raise DataError(f"images have shape {array.shape}; expected N x C x H x W")
        if array.dtype not in (np.uint8, np.float32):
            raise DataError(f"images are {array.dtype}; expected uint8, or float32 in [0, 1]")
        self._array = array

    @property
    def array(self) -> NDArray[np.uint8] | Images:
        """All images, as they are kept."""
        return self._array

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        c, h, w = self._array.shape[1:]
        return c, h, w

    def __len__(self) -> int:
        return len(self._array)

    def read(self, indices: IntArray) -> Images:
        """Read these images as float32 in [0, 1]."""
        chosen = self._array[indices]
        if chosen.dtype == np.uint8:
            return np.divide(chosen, np.float32(255), dtype=np.float32)
        return np.asarray(chosen, dtype=np.float32)


def image_digests(images: Images) -> list[bytes]:
    """Return a hash an image, of its pixels at 8 bits.

    Eight bits, so that a copy is found whether it came as bytes or as floats, and so that a change
    nobody could see does not hide it.
    """
    eight_bits = np.rint(images * np.float32(255)).astype(np.uint8)
    shape = repr(images.shape[1:]).encode()
    return [hashlib.blake2b(shape + image.tobytes(), digest_size=16).digest() for image in eight_bits]


class ImageHashes(NamedTuple):
    """What tells images from others."""

    copies: list[bytes]
    """One an image, as `image_digests` has it."""
    exact: bytes
    """One of every bit of them all."""


class SomeImages:
    """Some of the images of another source, in this order."""

    def __init__(self, images: ImageSource, rows: IntArray) -> None:
        self._images, self._rows = images, rows

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        return self._images.shape

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, indices: IntArray) -> Images:
        """Read these images as the source gives them."""
        return self._images.read(self._rows[indices])


@dataclass(frozen=True)
class Split:
    """One of a workload's three parts, with what is known of each image.

    `groups` name what belongs together (frames of one track, views of one sign) and never straddles two
    splits. `boxes` are left, top, right, bottom in pixels; `masks` are True on the object; `conditions`
    are columns such as weather or light.
    """

    name: str
    images: ImageSource
    labels: IntArray
    ids: StrArray
    groups: StrArray
    boxes: FloatArray | None = None
    masks: BoolArray | None = None
    conditions: Mapping[str, StrArray | FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: dict[str, NDArray[np.generic] | None] = {"labels": self.labels, "ids": self.ids}
        given |= {"groups": self.groups, "boxes": self.boxes, "masks": self.masks, **self.conditions}
        for column, values in given.items():
            if values is not None and len(values) != len(self.images):
                raise DataError(f"{self.name}: {len(values)} {column} for {len(self.images)} images")
        if len(np.unique(self.ids)) != len(self.ids):
            raise DataError(f"{self.name}: ids repeat; expected one id an image")

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, chosen: IntArray) -> Split:
        """Return some of its images, with all that is known of them."""
        return Split(
            self.name,
            SomeImages(self.images, chosen),
            self.labels[chosen],
            self.ids[chosen],
            self.groups[chosen],
            boxes=None if self.boxes is None else self.boxes[chosen],
            masks=None if self.masks is None else self.masks[chosen],
            conditions={name: values[chosen] for name, values in self.conditions.items()},
        )

    def chunks(self, size: int) -> Iterator[IntArray]:
        """Cut the split into runs of indices."""
        for start in range(0, len(self), size):
            yield np.arange(start, min(start + size, len(self)))

    @property
    def digests(self) -> list[bytes]:
        """One hash an image, by which copies are found; pixels are range-checked on the way."""
        return self.hashes.copies

    def with_hashes(self, hashes: ImageHashes) -> Split:
        """Return it with what was hashed, and checked, when the same images were kept."""
        split = copy(self)
        split.__dict__["hashes"] = hashes
        return split

    @cached_property
    def hashes(self) -> ImageHashes:
        """What its images are told from others by; made once, and then each pixel's range is checked."""
        digests: list[bytes] = []
        exact = hashlib.blake2b(digest_size=16)
        for indices in self.chunks(1024):
            images = check_images(self.images.read(indices), self.name, self.ids[indices])
            digests += image_digests(images)
            exact.update(images.tobytes())
        return ImageHashes(digests, exact.digest())

    @cached_property
    def content_hash(self) -> str:
        """One hash of images (every bit of them), labels, ids and groups."""
        everything = hashlib.blake2b(self.hashes.exact, digest_size=16)
        everything.update(self.labels.tobytes())
        everything.update("\x1f".join([*self.ids, *self.groups]).encode())
        return everything.hexdigest()


@dataclass(frozen=True)
class Workload:
    """In-distribution images with labels, in three splits that share no group and no image."""

    name: str
    classes: tuple[str, ...]
    train: Split
    validation: Split
    test: Split
    notes: Mapping[str, JSON] = field(default_factory=dict)
    """What a reader must know, such as duplicates that were dropped; goes into the readouts."""
    recipe: Mapping[str, JSON] = field(default_factory=dict)
    """The name and the parameters that made it."""

    @property
    def splits(self) -> tuple[Split, Split, Split]:
        """Train, validation, test."""
        return self.train, self.validation, self.test

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        return self.train.images.shape

    @cached_property
    def content_hash(self) -> str:
        """One hash of all splits and the class names."""
        parts = [*self.classes, *(split.content_hash for split in self.splits)]
        return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class OODImages:
    """Images that nothing is fitted on: they need no splits, no number of images a class, and no classes.

    The labels in `images` count `classes`; -1 is an image whose class nobody told.
    """

    name: str
    classes: tuple[str, ...]
    images: Split
    notes: Mapping[str, JSON] = field(default_factory=dict)
    """What a reader must know, such as copies that were dropped; goes into the readouts."""

    @classmethod
    def of(cls, workload: Workload, split: str = "test") -> OODImages:
        """Take one split of a workload, as it is."""
        images = {one.name: one for one in workload.splits}[split]
        return cls(workload.name, workload.classes, images)

    def without_copies(self) -> OODImages:
        """Leave out what stands there twice, and count it in the notes."""
        first = dict(reversed([(digest, i) for i, digest in enumerate(self.images.digests)]))
        kept = np.array(sorted(first.values()), dtype=np.int64)
        dropped = len(self.images) - len(kept)
        notes = {**self.notes, "copies_dropped": dropped}
        return replace(self, images=self.images.rows(kept) if dropped else self.images, notes=notes)


class WorkloadSource(Component, ABC):
    """A recipe that makes a workload. Subclasses write `_load`; the driver checks what came out.

    One whose data may lack splits or labels writes `_load_ood` too, so that they can serve as OOD images.
    """

    rendered: ClassVar[bool] = False
    """Whether code makes its images, from its parameters and the seed alone: such are kept in the cache."""

    def load(self, context: Context, *, contents: bool = True) -> Workload:
        """Make the workload and check it: labels, empty splits, groups, and the pixels of all images.

        Only who merely looks at a few images may leave out their `contents`, and so the search for copies.
        """
        workload = self._guarded(self._load, context)
        check_workload(workload, contents=contents)
        return workload

    def load_ood(self, context: Context, like: tuple[int, int, int] | None = None) -> OODImages:
        """Load what serves as OOD images alone, which nothing is fitted on.

        Of data with a test split beside their training data that split, as `load` has it; otherwise all that
        there is, of which copies are left out and counted. `like` is the shape of the ID images: files that
        are not told to be of another are brought to it.
        """
        made = self._guarded(partial(self._load_ood, like=like), context)
        ood = OODImages.of(made) if isinstance(made, Workload) else made
        where = f"workload '{ood.name}'"
        if len(set(ood.classes)) != len(ood.classes):
            raise DataError(f"{where}: class names repeat; expected each once")
        if not len(ood.images):
            raise DataError(f"{where} is empty; expected at least one image")
        check_labels(ood.images.labels, len(ood.classes), where, no_answer=True)
        return ood if isinstance(made, Workload) else ood.without_copies()

    def _guarded(self, load: Callable[[Context], L], context: Context) -> L:
        try:
            return load(context)
        except FarmError:
            raise
        except Exception as error:
            raise ComponentFailure(f"workload '{self.name}' failed: {one_line(error)}") from error

    @abstractmethod
    def _load(self, context: Context) -> Workload: ...

    def for_workload(self, workload: Workload) -> WorkloadSource:  # noqa: ARG002
        """Return the recipe of OOD images beside this workload: another where code makes them to measure."""
        return self

    def _load_ood(self, context: Context, like: tuple[int, int, int] | None) -> Workload | OODImages:  # noqa: ARG002
        """Return a workload, of which the test split serves, or images without splits."""
        return self._load(context)


def check_workload(workload: Workload, *, contents: bool = True) -> None:
    """Raise a `DataError` where a workload breaks a rule that results rest on."""
    n_classes = len(workload.classes)
    if len(set(workload.classes)) != n_classes:
        raise DataError(f"workload '{workload.name}': class names repeat; expected each once")
    for split in workload.splits:
        where = f"workload '{workload.name}', split '{split.name}'"
        if not len(split):
            raise DataError(f"{where} is empty; expected at least one image")
        check_labels(split.labels, n_classes, where)
        if split.images.shape != workload.shape:
            shape = split.images.shape
            raise DataError(f"{where}: images are {shape}; expected {workload.shape} as in train")
    counts = np.bincount(workload.train.labels, minlength=n_classes)
    for label in np.flatnonzero(counts < 2):
        name = workload.classes[label]
        raise DataError(
            f"workload '{workload.name}', split 'train': class '{name}' has {counts[label]} "
            "image(s); expected at least 2: add images or leave the class out (a set of OOD images, such as "
            "the workload of 'novelty', needs no classes)"
        )
    for i, first in enumerate(workload.splits):
        for second in workload.splits[i + 1 :]:
            check_disjoint(workload.name, first, second, contents=contents)


def check_disjoint(workload: str, first: Split, second: Split, *, contents: bool = True) -> None:
    """Raise where two splits share a group or, with `contents`, an image."""
    where = f"workload '{workload}': splits '{first.name}' and '{second.name}'"
    groups = np.intersect1d(first.groups, second.groups)
    if groups.size:
        raise DataError(f"{where} share {groups.size} group(s), such as '{groups[0]}'; expected none")
    copies = copies_of(first, second.digests) if contents else np.empty(0, dtype=np.int64)
    if copies.size:
        i = int(copies[0])
        raise DataError(
            f"{where} share {copies.size} identical image(s), such as '{second.ids[i]}' "
            f"(class '{second.labels[i]}'); expected none: set copies: drop, or drop "
            "them from one split"
        )


def copies_of(reference: Split, digests: Sequence[bytes]) -> IntArray:
    """Say which of these images are also in the reference split."""
    known = set(reference.digests)
    return np.array([i for i, digest in enumerate(digests) if digest in known], dtype=np.int64)


@dataclass(frozen=True)
class Objects:
    """Where the object of each instance is to be seen.

    `boxes` are left, top, right, bottom in pixels, NaN where there is none; `masks` are True on the object.
    Either is None where nothing in the stream has any. `lost` says why an instance has neither, and is empty
    where it has.
    """

    boxes: FloatArray | None
    masks: BoolArray | None
    lost: StrArray


@dataclass(frozen=True)
class Batch:
    """Consecutive instances of a stream, with the truth that only the oracle may see.

    `episode` numbers the faults that come over a stream with time (-1: outside of any); the last
    three columns are what faults measured of their change (NaN: nothing). `conditions` are those of
    `Split.conditions`, the same in all batches of a stream: numbers (NaN: not known),
    or words ("": not known).
    """

    ids: StrArray
    images: Images
    labels: IntArray
    is_ood: BoolArray
    category: StrArray
    faultload: StrArray
    severity: FloatArray
    track: StrArray
    workload: StrArray
    episode: IntArray
    fault_linf: FloatArray
    fault_l2: FloatArray
    fault_success: FloatArray
    conditions: Mapping[str, StrArray | FloatArray] = field(default_factory=dict)
    find_objects: InitVar[Callable[[], Objects] | None] = None
    """Says where the objects are, where that is known; only when asked, since few ask."""

    def __post_init__(self, find_objects: Callable[[], Objects] | None) -> None:
        object.__setattr__(self, "find_objects", find_objects)  # here, so that it is in a replaced batch, too

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def objects(self) -> Objects | None:
        """Where the objects are, after all faults; None where nothing in the stream has boxes or masks."""
        find: Callable[[], Objects] | None = self.__dict__["find_objects"]
        return find() if find else None


class Stream(Protocol):
    """Instances in the order in which they arrive; `length` is None for an endless one."""

    @property
    def classes(self) -> tuple[str, ...]: ...

    @property
    def length(self) -> int | None: ...

    @property
    def longest_track(self) -> int:
        """How many ID instances of one track come in a row at most."""
        ...

    @property
    def uses_classifier(self) -> bool:
        """Whether making the instances runs a classifier, so that it cannot be done ahead."""
        ...

    @property
    def provenance(self) -> Mapping[str, JSON]:
        """What made this stream: sets, hashes, order, share, seed."""
        ...

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield batches of at most this many instances; each call starts over."""
        ...

    def at(self, positions: IntArray) -> Batch:
        """Return some instances by their places in the stream, just as they come, in any order."""
        ...

    def guard(self, workload: Workload) -> None:
        """Raise where an instance, or one of its group, is in the workload's training or validation data."""
        ...

    def guard_against(self, split: Split, what: str) -> None:
        """Raise where an instance is one of these images, of which something was learned."""
        ...
