"""The few images of a run that a report shows, and where instances lie in a plane of a monitor's.

A run's folder has them as `pictures.npy` (uint8, N x H x W x C, small) and `pictures.json` (which instance
each is, and why it is shown). A run that keeps no pictures has neither file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import Field

from farm.api.arrays import BoolArray, IntArray
from farm.errors import DataError
from farm.store.files import check_optional
from farm.store.parquet_table import told_parquet
from farm.store.plain_arrays import mapped_npy
from farm.store.records import Form, read_record
from farm.store.run_form import signed_run
from farm.store.run_tables import INSTANCES

IMAGES, SHOWN = "pictures.npy", "pictures.json"
SCHEMA = 1
MOST = 600
"""Different images that a run keeps at most."""
LARGEST = 128
"""Pixels of a kept image's longer side, at most: so all of them take 30 MB at most."""
TYPES: Mapping[str, type] = {
    "picture": np.int64,
    "position": np.int64,
    "monitor": object,
    "why": object,
    "rank": np.int64,
    "explanation": object,
}


@dataclass(frozen=True)
class Pictures:
    """Images of a run, small, and what they are shown for.

    `shown` has a row for each reason to show one: its `picture` (the row in `images`), its `position` in the
    stream, the `monitor` (None for samples), `why`, the `rank` among those that are shown for the same (0 is
    worst), and the monitor's `explanation`. `missed` are wrong decisions that the monitor let pass,
    `cancelled` right ones that it had cancelled; `id` and `ood` are samples. `planes` say where instances of
    one predicted class lie for a monitor: its name, the group of OOD instances (`faultload`, `category`,
    `severity`), `predicted`, `axes`, `boxes`, `points`, and their `positions`.
    """

    images: NDArray[np.uint8]
    shown: pd.DataFrame
    planes: Sequence[Mapping[str, Any]] = ()

    def save(self, folder: Path) -> tuple[str, str]:
        """Write both files into a run's new folder, and return their names."""
        np.save(folder / IMAGES, self.images, allow_pickle=False)
        record = {"schema": SCHEMA, "shown": self.shown.to_dict("records"), "planes": list(self.planes)}
        (folder / SHOWN).write_text(json.dumps(record, allow_nan=False), encoding="utf-8")
        return IMAGES, SHOWN


def shown_frame(rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a frame of the columns and types that `Pictures.shown` has."""
    return pd.DataFrame(list(rows), columns=list(TYPES), dtype=object).astype(TYPES)


def bounded(shown: pd.DataFrame) -> pd.DataFrame:
    """Leave as many rows as a run keeps images for: all that are shown first, then all second, and so on."""
    in_turn = np.argsort(shown["rank"].to_numpy(), kind="stable")
    kept = np.empty(len(shown), dtype=np.bool_)
    kept[in_turn] = first_different(shown["position"].to_numpy()[in_turn], MOST)
    return shown[kept].reset_index(drop=True)


def first_different(values: IntArray, room: int) -> BoolArray:
    """Say which values are among the first so many different ones.

    Examples
    --------
    >>> first_different(np.array([7, 3, 7, 5, 3]), room=2).tolist()
    [True, True, True, False, True]
    """
    _, first, which = np.unique(values, return_index=True, return_inverse=True)
    return np.isin(which, np.argsort(first)[:room])


def joined(parts: Iterable[tuple[Pictures | None, str | None]]) -> Pictures | None:
    """Put together, of each part, what it shows of one monitor (None: its samples), each image once."""
    there = [(part, of) for part, of in parts if part is not None]
    if not there:
        return None
    images = [part.images for part, _ in there]
    rows = [
        part.shown[[name == of for name in part.shown["monitor"]]].assign(part=number)
        for number, (part, of) in enumerate(there)
    ]
    shown = bounded(pd.concat(rows, ignore_index=True))
    once = shown.drop_duplicates("position").sort_values("position")
    taken = [images[part][picture] for part, picture in zip(once["part"], once["picture"], strict=True)]
    shown["picture"] = np.searchsorted(once["position"], shown["position"])
    return Pictures(
        np.stack(taken) if taken else images[0][:0],
        shown.drop(columns="part"),
        [plane for part, of in there for plane in part.planes if plane["monitor"] == of],
    )


# Reading --------------------------------------------------------------------------------------------------

Place = Annotated[int, Field(ge=0, lt=2**63)]


class ShownForm(Form):
    """Why an image is shown."""

    picture: Place
    position: Place
    monitor: str | None
    why: Literal["missed", "cancelled", "id", "ood"]
    rank: Place
    explanation: str


class PlaneForm(Form):
    """Where instances lie for a monitor."""

    monitor: str
    faultload: str | None
    category: str | None
    severity: float | None
    predicted: Place
    axes: Annotated[list[str], Field(min_length=2, max_length=2)]
    boxes: list[Annotated[list[float], Field(min_length=4, max_length=4)]]
    points: list[Annotated[list[float], Field(min_length=2, max_length=2)]]
    positions: list[Place]


class PicturesForm(Form):
    """What `pictures.json` has to have."""

    shown: list[ShownForm]
    planes: list[PlaneForm]


def load_pictures(folder: Path | str) -> Pictures | None:
    """Return the pictures of a run's folder, if it keeps any; of files, only these are checked."""
    return read_pictures(Path(folder), signed_run(Path(folder))["files"])


def read_pictures(folder: Path, files: Mapping[str, str]) -> Pictures | None:
    """Return the pictures of a run's folder whose record lists these files, checked; None without."""
    if not check_optional(folder, files, (IMAGES, SHOWN)):
        return None
    path = folder / SHOWN
    record = read_record(path, SCHEMA, PicturesForm)
    images = mapped_npy(folder / IMAGES)
    _check_images(folder / IMAGES, images)
    length = count_rows(folder / INSTANCES)
    shown = shown_frame(record["shown"])
    check_below(path, "picture", shown["picture"], len(images), "images")
    check_below(path, "position", shown["position"], length, "instances")
    for plane in record["planes"]:
        check_below(path, "a plane's position", plane["positions"], length, "instances")
        if len(plane["positions"]) != len(plane["points"]):
            counts = f"{len(plane['points'])} points for {len(plane['positions'])} positions"
            raise DataError(f"{path}: a plane of '{plane['monitor']}' has {counts}; was it edited?")
    return Pictures(images, shown, record["planes"])


def _check_images(path: Path, images: NDArray[Any]) -> None:
    small = images.ndim == 4 and len(images) <= MOST and max(images.shape[1:3]) <= LARGEST
    if images.dtype != np.uint8 or not small or images.shape[3] not in (1, 3):
        raise DataError(
            f"{path}: an array of {images.dtype} of shape {images.shape}; expected uint8, at most {MOST} x "
            f"{LARGEST} x {LARGEST} x 1 or 3"
        )


def count_rows(path: Path) -> int:
    """Return how many rows a Parquet file has, from its end alone."""
    with told_parquet(path):
        rows: int = pq.read_metadata(path).num_rows
        return rows


def check_below(path: Path, what: str, numbers: Iterable[int], end: int, of: str) -> None:
    """Raise where one of the numbers that a file has is none of a place among so many."""
    if (highest := max(numbers, default=-1)) >= end:
        raise DataError(f"{path}: {what} is {highest}; expected less than {end}, as there are {end} {of}")
