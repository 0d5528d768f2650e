"""Workloads that code renders, found again by all that made them: no process need render them twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from farm.api import JSON, ArrayImages, Context, Split, State, Workload, WorkloadSource, check_workload
from farm.cache import DiskCache
from farm.errors import UserError
from farm.identity.circumstances import surroundings
from farm.identity.component import Identities
from farm.identity.loaded import loaded_identity
from farm.identity.reads import Recorder
from farm.identity.undeclared import advice, undeclared_by
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
    cache, made_by = context.cache, Identities(context.folder)
    made: list[Workload] = []

    def check(recorder: Recorder | None = None) -> None:
        if files := undeclared_by([made_by], recorder=recorder, apart=[cache.folder]):
            raise _NotKept(f"its code {advice(files)}")

    def make() -> State:
        with Recorder() as recorder:
            made.append(source.load(context, contents=contents))
        check(recorder)
        return _packed(made[0])

    try:
        key = _key(source, context, made_by)
        check()
        kept = cache.arrays(KIND, key, make)
    except _NotKept as error:
        context.progress.note(f"workload '{source.name}' is rendered anew each time: {error}")
        return made[0] if made else source.load(context, contents=contents)
    if made:
        return made[0]
    workload = _restored(kept)
    check_workload(workload, contents=contents)
    return workload


class _NotKept(Exception):  # noqa: N818 - no error: it is rendered as if nothing were kept
    """Why a workload cannot be found again by what made it."""


def _key(source: WorkloadSource, context: Context, made_by: Identities) -> dict[str, JSON]:
    """Give everything that makes the images; `made_by` gets to know it."""
    try:
        identity = loaded_identity("workload", source, context.folder, made_by)
    except UserError as error:
        raise _NotKept(str(error)) from error
    return {"format": FORMAT, "workload": identity, "seed": context.seed, **surroundings(context.threads)}


def _packed(workload: Workload) -> State:
    arrays: dict[str, NDArray[Any]] = {}
    for part, split in enumerate(workload.splits):
        if not isinstance(split.images, ArrayImages):
            raise _NotKept(f"the images of its split '{split.name}' are not in memory")
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
        raise _NotKept(str(error)) from error


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
