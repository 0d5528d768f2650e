"""Workloads that code renders, found again by all that made them: no process need render them twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from farm.api import JSON, ArrayImages, Context, Split, State, Workload, WorkloadSource, check_workload
from farm.cache import DiskCache
from farm.component_cache import ComponentCache, NotKept
from farm.identity.circumstances import surroundings
from farm.plain_arrays import pack, unpack

KIND: Final = "workloads"
FORMAT = 1
COLUMNS: Final = ("labels", "ids", "groups", "boxes", "masks")


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
    return Split(name, ArrayImages(np.asarray(arrays["images"])), **columns, conditions=conditions)
