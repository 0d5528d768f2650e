"""The cache of one component, by what made the component itself too, and workloads that code renders.

No process need render them twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    JSON,
    ArrayImages,
    Component,
    Context,
    ImageHashes,
    NoCache,
    Split,
    State,
    Workload,
    WorkloadSource,
    check_workload,
)
from farm.errors import UserError
from farm.registry import Kind
from farm.store.cache import DiskCache
from farm.store.identity import Identities
from farm.store.identity.loaded import loaded_identity, surroundings
from farm.store.plain_arrays import pack, unpack

KIND: Final = "workloads"
FORMAT = 2
COLUMNS: Final = ("labels", "ids", "groups", "boxes", "masks")
_COPIES, _EXACT = "copies", "exact"
"""Hashes of images, an array of bytes each: an entry's checksum says that the images are those."""


class NotKept(Exception):  # noqa: N818 - no error: what was to be kept is made all the same
    """Why something cannot be found again by what made it."""


class ComponentCache:
    """A `farm.api.Cache` in whose keys are a component's class, code, parameters and files.

    Where they cannot be told, nothing is kept. Of its `data`, the recipe of a workload, all files are in the
    keys, too.
    """

    def __init__(
        self, kind: Kind, component: Component, context: Context, cache: DiskCache, data: JSON = None
    ) -> None:
        self._kind, self._component, self._context, self._cache = kind, component, context, cache
        self._data = data
        self._made_by = Identities(context.folder)

    def arrays(self, kind: str, key: Mapping[str, JSON], make: Callable[[], State]) -> State:
        """Return the arrays for this key and component."""
        if (whole := self._key(key)) is None:
            return make()
        return self._cache.arrays(kind, whole, make)

    def mapped(
        self,
        kind: str,
        key: Mapping[str, JSON],
        shape: Sequence[int],
        dtype: str,
        blocks: Callable[[], Iterable[NDArray[Any]]],
    ) -> NDArray[Any]:
        """Return one large array for this key and component."""
        if (whole := self._key(key)) is None:
            return NoCache().mapped(kind, key, shape, dtype, blocks)
        return self._cache.mapped(kind, whole, shape, dtype, blocks)

    def for_model(self, model: Component) -> ComponentCache:
        """Return the cache in whose keys is that model alone, on the same data."""
        return ComponentCache("model", model, self._context, self._cache, self._data)

    def _key(self, key: Mapping[str, JSON]) -> dict[str, JSON] | None:
        try:
            identity = loaded_identity(self._kind, self._component, self._made_by)
            files = self._made_by.files_of(self._data)
        except UserError as error:
            self._context.progress.note(f"{error}; what it makes is made anew each time")
            return None
        return {"made_by": identity, "files": files, "key": dict(key)}


def load_workload(source: WorkloadSource, context: Context, *, contents: bool = True) -> Workload:
    """Load a workload; one that says it is `rendered` is kept in the cache, and found there.

    What is found is checked as what was made is. Where not everything can be told that makes its images, or
    its code reads what no parameter names, it is made each time.
    """
    if not source.rendered or not isinstance(context.cache, DiskCache):
        return source.load(context, contents=contents)
    made: list[Workload] = []

    def make() -> State:
        made.append(source.load(context, contents=contents))
        return _packed(made[0])

    key = {"format": FORMAT, "seed": context.seed, **surroundings(context.threads)}
    try:
        kept = ComponentCache("workload", source, context, context.cache).arrays(KIND, key, make)
    except NotKept as error:
        context.progress.note(f"workload '{source.name}' is rendered anew each time: {error}")
    if made:
        return made[0]
    workload = _restored(kept)
    check_workload(workload, contents=contents)
    return workload


def _packed(workload: Workload) -> State:
    arrays: dict[str, NDArray[Any]] = {}
    for part, split in enumerate(workload.splits):
        if not isinstance(split.images, ArrayImages):
            raise NotKept(f"the images of its split '{split.name}' are not in memory")
        arrays[f"{part} images"] = split.images.array
        arrays[f"{part} {_COPIES}"] = np.frombuffer(b"".join(split.hashes.copies), np.uint8)
        arrays[f"{part} {_EXACT}"] = np.frombuffer(split.hashes.exact, np.uint8)
        for column in COLUMNS:
            if (values := getattr(split, column)) is not None:
                arrays[f"{part} {column}"] = values
        for condition, values in split.conditions.items():
            arrays[f"{part} condition {condition}"] = values
    record: dict[str, JSON] = {
        "name": workload.name,
        "classes": list(workload.classes),
        "splits": [split.name for split in workload.splits],
        "notes": workload.notes,
    }
    try:
        return pack(arrays, record)
    except (TypeError, ValueError) as error:
        raise NotKept(str(error)) from error


def _restored(kept: State) -> Workload:
    arrays, record = unpack(kept)
    train, validation, test = (
        _split(name, {said.partition(" ")[2]: one for said, one in arrays.items() if said[0] == str(part)})
        for part, name in enumerate(record["splits"])
    )
    return Workload(record["name"], tuple(record["classes"]), train, validation, test, notes=record["notes"])


def _split(name: str, arrays: Mapping[str, NDArray[Any]]) -> Split:
    conditions = {
        said.removeprefix("condition "): values
        for said, values in arrays.items()
        if said.startswith("condition ")
    }
    columns: dict[str, Any] = {column: arrays.get(column) for column in COLUMNS}
    split = Split(name, ArrayImages(np.asarray(arrays["images"])), **columns, conditions=conditions)
    copies = arrays[_COPIES].reshape(len(split), -1)
    return split.with_hashes(ImageHashes([row.tobytes() for row in copies], arrays[_EXACT].tobytes()))
