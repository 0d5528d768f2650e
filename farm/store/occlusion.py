"""Heat maps of a run: the probability of the predicted class where a patch hides a part of the image.

A run's folder has them as `occlusion.npz` (arrays, instance by instance) and `occlusion.json` (how the patch
was moved, and of each instance what is known). A run that was not asked for them has neither file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from farm.api.arrays import BoolArray, FloatArray, IntArray
from farm.config.specs import MOST_OCCLUDED, OcclusionSpec
from farm.errors import DataError
from farm.store.files import check_optional
from farm.store.pictures import LARGEST, check_below, count_rows
from farm.store.plain_arrays import read_npz
from farm.store.records import Form, read_record
from farm.store.run_form import signed_run
from farm.store.run_tables import INSTANCES

ARRAYS, RECORD = "occlusion.npz", "occlusion.json"
SCHEMA = 1
_KINDS: Mapping[str, type] = {
    "heat": np.float32,
    "occluding": np.bool_,
    "images": np.uint8,
    "masks": np.bool_,
}


@dataclass(frozen=True)
class OcclusionMaps:
    """Heat maps of some instances of a run.

    `heat` is instances x rows x columns: the probability of the class that was `predicted` without occlusion
    (then it is `plain`), with the patch at each position; its top left corner is at row x stride, column x
    stride. `occluding` says where the patch touches the object, and is False where nobody knows where that
    is: `why_no_mask` says why, and is empty elsewhere. `boxed` says whose mask is a filled box. `images`
    (N x H x W x C) and `masks` (N x H x W) are as streamed but small, as a run's pictures are; `size` is the
    height and width that the classifier saw.
    """

    asked: OcclusionSpec
    size: tuple[int, int]
    position: IntArray
    predicted: IntArray
    plain: FloatArray
    heat: NDArray[np.float32]
    occluding: BoolArray
    boxed: BoolArray
    why_no_mask: tuple[str, ...]
    images: NDArray[np.uint8]
    masks: BoolArray

    def __post_init__(self) -> None:
        n, (rows, columns) = len(self.position), positions(self.size, self.asked)
        for name in ("heat", "occluding"):
            shape = getattr(self, name).shape
            if shape != (n, rows, columns):
                raise DataError(
                    f"'{name}' has shape {shape}; expected {(n, rows, columns)}: a patch of "
                    f"{self.asked.window} pixels in steps of {self.asked.stride} over {_by(self.size)}"
                )
        shape = self.images.shape
        if len(shape) != 4 or len(self.images) != n or max(shape[1:3]) > LARGEST or shape[3] not in (1, 3):
            raise DataError(
                f"'images' has shape {shape}; expected {n} images of at most {LARGEST} x {LARGEST} x 1 or 3"
            )
        if self.masks.shape != shape[:3]:
            raise DataError(f"'masks' has shape {self.masks.shape}; expected {shape[:3]}, as its images have")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the measures must know."""
        boxed, unknown = int(self.boxed.sum()), sum(why != "" for why in self.why_no_mask)
        told = [(boxed, "have a box and no mask: the filled box stands for it")]
        told += [(unknown, "have neither, so that nobody knows what hides their object")]
        return tuple(f"{k:,} of {len(self.position):,} images {what}" for k, what in told if k)

    def save(self, folder: Path) -> tuple[str, str]:
        """Write both files into a run's new folder, and return their names."""
        np.savez(folder / ARRAYS, allow_pickle=False, **{name: getattr(self, name) for name in _KINDS})
        columns = (self.position.tolist(), self.predicted.tolist(), self.plain.tolist(), self.boxed.tolist())
        rows = zip(*columns, self.why_no_mask, strict=True)
        record = {
            "schema": SCHEMA,
            "asked": self.asked.model_dump(mode="json"),
            "size": list(self.size),
            "instances": [dict(zip(InstanceForm.model_fields, row, strict=True)) for row in rows],
        }
        (folder / RECORD).write_text(json.dumps(record, allow_nan=False), encoding="utf-8")
        return ARRAYS, RECORD


def positions(size: Sequence[int], asked: OcclusionSpec) -> tuple[int, int]:
    """Say in how many rows and columns a patch stands in images of this height and width.

    Only where it fits as a whole: of 33 pixels, a patch of 8 in steps of 2 leaves the last one free.

    Examples
    --------
    >>> positions((32, 33), OcclusionSpec(window=8, stride=2))
    (13, 13)
    """
    if asked.window > min(size):
        raise DataError(
            f"occlusion.window is {asked.window}, and images are {_by(size)}; expected a patch that fits in"
        )
    rows, columns = ((side - asked.window) // asked.stride + 1 for side in size)
    return rows, columns


def _by(size: Sequence[int]) -> str:
    return f"{size[0]} x {size[1]}"


# Reading --------------------------------------------------------------------------------------------------

Place = Annotated[int, Field(ge=0, lt=2**63)]
_LOW, _HIGH = -1e-6, 1 + 1e-3
"""Probabilities may be as far off as those of classifiers."""
Probability = Annotated[float, Field(ge=_LOW, le=_HIGH)]


class InstanceForm(Form):
    """What is known of one instance."""

    position: Place
    predicted: Place
    plain: Probability
    boxed: bool
    why_no_mask: str


class OcclusionForm(Form):
    """What `occlusion.json` has to have."""

    asked: OcclusionSpec
    size: Annotated[list[Place], Field(min_length=2, max_length=2)]
    instances: Annotated[list[InstanceForm], Field(max_length=MOST_OCCLUDED)]


def load_occlusion(folder: Path | str) -> OcclusionMaps | None:
    """Return the heat maps of a run's folder, if it keeps any; of files, only these are checked."""
    return read_occlusion(Path(folder), signed_run(Path(folder)))


def read_occlusion(folder: Path, run: Mapping[str, Any]) -> OcclusionMaps | None:
    """Return the heat maps of a run's folder that has this record, checked; None without."""
    if not check_optional(folder, run["files"], (ARRAYS, RECORD)):
        return None
    path = folder / RECORD
    record = read_record(path, SCHEMA, OcclusionForm)
    arrays = _checked_arrays(folder / ARRAYS)
    rows = record["instances"]
    known = {key: [row[key] for row in rows] for key in InstanceForm.model_fields}
    end = count_rows(folder / INSTANCES)
    check_below(path, "position", known["position"], end, "instances")
    if sorted(set(known["position"])) != known["position"]:
        raise DataError(f"{path}: positions do not rise; expected each once, in the order of the stream")
    if classes := run.get("classes"):
        check_below(path, "predicted", known["predicted"], len(classes), "classes")
    height, width = record["size"]
    try:
        return OcclusionMaps(
            asked=OcclusionSpec.model_validate(record["asked"]),
            size=(height, width),
            position=np.array(known["position"], dtype=np.int64),
            predicted=np.array(known["predicted"], dtype=np.int64),
            plain=np.array(known["plain"], dtype=np.float64),
            boxed=np.array(known["boxed"], dtype=np.bool_),
            why_no_mask=tuple(known["why_no_mask"]),
            **arrays,
        )
    except DataError as error:
        raise DataError(f"{folder / ARRAYS}: {error}; was it edited?") from None


def _checked_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays in a file, each there and of its type, and probabilities that are such."""
    arrays = read_npz(path)
    if sorted(arrays) != sorted(_KINDS):
        raise DataError(f"{path} holds {', '.join(arrays) or 'nothing'}; expected {', '.join(_KINDS)}")
    for name, kind in _KINDS.items():
        if arrays[name].dtype != kind:
            raise DataError(f"{path}: '{name}' is of type {arrays[name].dtype}; expected {np.dtype(kind)}")
    heat = arrays["heat"]
    if not ((heat >= _LOW) & (heat <= _HIGH)).all():
        raise DataError(f"{path}: 'heat' has a number that is no probability; expected 0 to 1")
    return arrays
