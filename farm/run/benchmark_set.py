"""Benchmark sets on disk: a stream's instances in order, which stream back unchanged, here and elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from farm.api import (
    FAULT_MEASURES,
    JSON,
    Batch,
    FloatArray,
    Images,
    IntArray,
    Objects,
    Split,
    StrArray,
    Stream,
    Workload,
    check_choice,
    check_images,
    check_labels,
    image_digests,
)
from farm.api.boxes import TRUE_BOX
from farm.errors import DataError
from farm.run.sources import check_not_taught, check_positions, check_unseen
from farm.run.streams import cut, together
from farm.store.files import check_files, file_digest, json_digest, new_folder, write_json
from farm.store.images import STORES
from farm.store.logs import CONDITION, condition_columns
from farm.store.plain_arrays import mapped_npy, write_npy
from farm.store.records import Form, read_record
from farm.store.run_tables import read_frame

SCHEMA = 1
_TEXT = ("ids", "category", "faultload", "track", "workload")
_MEASURED = tuple(f"fault_{name}" for name in FAULT_MEASURES)
_LOST = "object_lost"
"""Why an instance has neither box nor mask; the column is there where the set has any."""
_MASKS = "masks.npy"
_COLUMNS = (*_TEXT, "labels", "is_ood", "severity", "episode", *_MEASURED)


def write_benchmark(stream: Stream, folder: Path, *, images: str = "npy", batch_size: int = 256) -> None:
    """Save a stream's instances in order: images, `index.parquet` and `set.json`, checksummed.

    `images` is `npy`, one array that keeps every bit, or `png`, files of 8 bits that people can look at.
    Boxes go into the index, and masks into `masks.npy`, where the stream has any.
    """
    check_choice("images", images, tuple(STORES))
    if stream.length is None:
        raise DataError(
            "an endless stream cannot be written as a set; expected a finite one: give it a length"
        )
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    masks: list[Callable[[], NDArray[np.uint8]]] = []

    def pictures() -> Iterator[Images]:
        for batch in stream.batches(batch_size):
            values = {name: getattr(batch, name) for name in _COLUMNS}
            values |= {CONDITION.format(name): column for name, column in batch.conditions.items()}
            if (objects := batch.objects) is not None:
                values |= {_LOST: objects.lost}
                if objects.boxes is not None:
                    values |= dict(zip(TRUE_BOX, objects.boxes.T, strict=True))
                if objects.masks is not None:
                    # Eight pixels a byte, while they wait until all images are written.
                    packed, wide = np.packbits(objects.masks, axis=2), objects.masks.shape[2]
                    masks.append(partial(np.unpackbits, packed, axis=2, count=wide))
            for name, column in values.items():
                columns.setdefault(name, []).append(column)
            yield batch.images

    with new_folder(folder) as temporary:
        names = STORES[images].write(temporary, pictures(), stream.length)
        frame = pd.DataFrame({name: np.concatenate(parts) for name, parts in columns.items()})
        frame.insert(0, "order", np.arange(len(frame)))
        if images == "png":
            frame.insert(1, "file", names)
        if masks:
            shape = (stream.length, *masks[0]().shape[1:])
            write_npy(temporary / _MASKS, shape, "|b1", (unpacked() for unpacked in masks))
            names = [*names, _MASKS]
        frame.to_parquet(temporary / "index.parquet", index=False)
        record = {
            "schema": SCHEMA,
            "images": images,
            "classes": list(stream.classes),
            "made_by": dict(stream.provenance),
            "files": {name: file_digest(temporary / name) for name in (*names, "index.parquet")},
        }
        write_json(temporary / "set.json", record)


class SetForm(Form):
    """What `set.json` has to have."""

    files: dict[str, str]
    images: str
    classes: list[str] = Field(min_length=1)
    made_by: dict[str, Any]


def _checked(index: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """Return an index whose rows are numbered, and which has all columns that a stream has."""
    where = folder / "index.parquet"
    if missing := [name for name in _COLUMNS if name not in index]:
        raise DataError(f"{where}: column '{missing[0]}' is missing; expected {', '.join(_COLUMNS)}")
    if sorted(index["order"].tolist()) != list(range(len(index))) or index.empty:
        raise DataError(f"{where}: column 'order' does not count the {len(index)} instances from 0")
    if gaps := [name for name in ("labels", "is_ood", "episode") if index[name].isna().any()]:
        raise DataError(f"{where}: column '{gaps[0]}' has no value in some rows; expected one in each")
    return index


def _condition(column: pd.Series[Any]) -> StrArray | FloatArray:
    """Return a condition as a stream has it: numbers, or words."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64)
    return column.fillna("").to_numpy(dtype=object).astype(str)


class StoredStream:
    """A benchmark set read from disk; images stay there until they are streamed."""

    def __init__(self, folder: Path) -> None:
        record = read_record(folder / "set.json", SCHEMA, SetForm)
        listed = record["files"]
        index = {name: digest for name, digest in listed.items() if name == "index.parquet"}
        check_files(folder, index, ["index.parquet"])
        check_choice(f"{folder / 'set.json'}: images", record["images"], tuple(STORES))
        self._store = STORES[record["images"]]
        self._index = _checked(read_frame(folder / "index.parquet"), folder).sort_values("order")
        check_files(folder, listed, self._store.files(len(self._index)))
        self._conditions = condition_columns(self._index.columns)
        self._classes, self._record = tuple(record["classes"]), record
        self._folder = folder
        labels = self._index["labels"].to_numpy()
        check_labels(labels, len(self._classes), str(folder), no_answer=True)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that its labels count."""
        return self._classes

    @property
    def uses_classifier(self) -> bool:
        """Reading runs no classifier."""
        return False

    @property
    def length(self) -> int:
        """How many instances there are."""
        return len(self._index)

    @property
    def longest_track(self) -> int:
        """How many ID instances of one track come in a row at most; shuffled, each comes by itself."""
        if self._record["made_by"].get("order") == "shuffled":
            return 1
        track = self._index["track"].where(~self._index["is_ood"])
        return int(track.groupby(track.ne(track.shift()).cumsum()).count().clip(lower=1).max())

    @property
    def provenance(self) -> Mapping[str, JSON]:
        """What made this set, with the hash of its record."""
        n_ood = int(self._index["is_ood"].sum())
        return {
            "benchmark_hash": json_digest(self._record),
            "length": self.length,
            "n_ood": n_ood,
            "ood_share": n_ood / self.length,
            "made_by": self._record["made_by"],
        }

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield batches of at most this many instances, from the start."""
        step = together(size, self._batch(self._index.iloc[:1]).images.shape[1:])
        for start in range(0, self.length, step):
            yield from cut(self._batch(self._index.iloc[start : start + step]), size)

    def at(self, positions: IntArray) -> Batch:
        """Return some instances by their places in the stream, just as they come, in any order."""
        return self._batch(self._index.iloc[check_positions(positions, self.length)])

    def _batch(self, rows: pd.DataFrame) -> Batch:
        images = self._store.read(self._folder, rows["order"].to_numpy(dtype=np.int64))
        text = {c: rows[c].to_numpy(dtype=object).astype(str) for c in _TEXT}
        return Batch(
            images=check_images(images, str(self._folder), text["ids"]),
            labels=rows["labels"].to_numpy(dtype=np.int64),
            is_ood=rows["is_ood"].to_numpy(dtype=np.bool_),
            severity=rows["severity"].to_numpy(dtype=np.float64),
            episode=rows["episode"].to_numpy(dtype=np.int64),
            **{name: rows[name].to_numpy(dtype=np.float64) for name in _MEASURED},
            **text,
            conditions={name: _condition(rows[column]) for name, column in self._conditions.items()},
            find_objects=partial(self._objects, rows) if _LOST in rows else None,
        )

    def _objects(self, rows: pd.DataFrame) -> Objects:
        boxes = rows[list(TRUE_BOX)].to_numpy(dtype=np.float64) if set(TRUE_BOX) <= set(rows) else None
        masks = None
        if _MASKS in self._record["files"]:
            masks = np.asarray(mapped_npy(self._folder / _MASKS)[rows["order"].to_numpy()], dtype=np.bool_)
        return Objects(boxes, masks, rows[_LOST].to_numpy(dtype=object).astype(str))

    def guard(self, workload: Workload) -> None:
        """Raise where an image, or one of its group, is in the workload's training or validation data."""
        digests = [digest for batch in self.batches(1024) for digest in image_digests(batch.images)]
        ids, track = (self._index[column].to_numpy(dtype=object).astype(str) for column in ("ids", "track"))
        check_unseen(workload, digests, track, ids, str(self._folder))

    def guard_against(self, split: Split, what: str) -> None:
        """Raise where an instance is one of these images, of which something was learned."""
        digests = [digest for batch in self.batches(1024) for digest in image_digests(batch.images)]
        check_not_taught(split, digests, str(self._folder), what)
