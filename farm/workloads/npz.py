"""Images in one `.npz` file: arrays `x_train`, `y_train`, `x_test`, `y_test`, and what else there is."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from farm.api import (
    ArrayImages,
    Context,
    IntArray,
    Split,
    StrArray,
    Workload,
    WorkloadSource,
    check_choice,
    check_images,
    check_labels,
    check_number,
    generator,
)
from farm.errors import DataError, ParameterError
from farm.workloads.splitting import cut_by_group, first_of_each

Part = tuple[np.ndarray, IntArray, StrArray, StrArray]
"""Images, labels, ids, groups."""


class Npz(WorkloadSource):
    """A workload from arrays: uint8 or float32 in [0, 1], N x H x W, N x H x W x C or N x C x H x W.

    A validation split is taken from `x_validation` and `y_validation`, or cut from the training data: by the
    groups in `track_train` where there are any, so that no physical object is on both sides.

    Parameters
    ----------
    path
        The file; a relative path is looked for beside the experiment, here, and in `$FARM_DATA`.
    title
        What to call it; the file's name where not given. Unnamed classes are called `title-00`, ...
    classes
        The class names, in the order of the labels.
    validation
        The share of each class's training groups that becomes the validation split.
    copies
        What to do with images that stand there twice: `error`, or `drop` the later ones (training data come
        first). What was dropped is kept with the results.
    """

    def __init__(
        self,
        *,
        path: str,
        title: str | None = None,
        classes: Sequence[str] | None = None,
        validation: float = 0.2,
        copies: str = "error",
    ) -> None:
        check_number("validation", validation, above=0, high=0.9)
        check_choice("copies", copies, ("error", "drop"))
        self._path, self._title, self._classes = path, title, classes
        self._validation, self._copies = validation, copies

    def _load(self, context: Context) -> Workload:
        path = context.find(self._path, f"workload '{self.name}'")
        arrays = _read(path)
        title = self._title or path.stem
        parts = {split: _part(arrays, split, title, path) for split in ("train", "validation", "test")}
        train, validation, test = parts["train"], parts["validation"], parts["test"]
        if train is None or test is None:
            raise DataError(
                f"{path}: expected arrays x_train, y_train, x_test and y_test; found {sorted(arrays)}"
            )
        n_classes = int(max(train[1].max(initial=-1), test[1].max(initial=-1))) + 1
        classes = tuple(self._classes or (f"{title}-{i:02d}" for i in range(n_classes)))
        if len(classes) < n_classes:
            raise ParameterError(f"classes has {len(classes)} names; {path} counts {n_classes} classes")
        check_labels(train[1], len(classes), f"{path}, y_train")
        dropped = 0
        if self._copies == "drop":
            given = [part for part in (train, validation, test) if part is not None]
            kept, dropped = _without_copies(given)
            train, test = kept[0], kept[-1]
            validation = kept[1] if validation is not None else None
        if validation is None:
            rng = generator(context.seed, "npz", title, "validation")
            stay, move = cut_by_group(train[1], train[3], self._validation, rng)
            train, validation = _rows(train, stay), _rows(train, move)
        return Workload(
            name=title,
            classes=classes,
            train=_split("train", train),
            validation=_split("validation", validation),
            test=_split("test", test),
            notes={"copies_dropped": dropped},
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as handle:
            file = np.load(handle, allow_pickle=False)
            if isinstance(file, np.ndarray):
                raise DataError(f"{path} holds a single array; expected several by name, as np.savez writes")
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} cannot be read as .npz ({error}); is it truncated?") from error


def _part(arrays: dict[str, Any], split: str, title: str, path: Path) -> Part | None:
    images, labels = arrays.get(f"x_{split}"), arrays.get(f"y_{split}")
    if images is None and labels is None:
        return None
    if images is None or labels is None:
        there, missing = ("x", "y") if labels is None else ("y", "x")
        raise DataError(f"{path} has {there}_{split} and no {missing}_{split}; expected both")
    if images.ndim not in (3, 4):
        raise DataError(f"{path}: x_{split} has shape {images.shape}; expected N x H x W or with channels")
    if images.dtype not in (np.uint8, np.float32):
        raise DataError(f"{path}: x_{split} is {images.dtype}; expected uint8, or float32 in [0, 1]")
    if len(images) != len(labels) or labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise DataError(
            f"{path}: y_{split} is {labels.dtype} of shape {labels.shape}; "
            f"expected {len(images)} whole numbers"
        )
    if images.ndim == 3:
        images = images[:, None]
    elif images.shape[-1] in (1, 3):
        images = images.transpose(0, 3, 1, 2)
    if images.shape[1] not in (1, 3):
        raise DataError(
            f"{path}: x_{split} has shape {images.shape}; expected 1 or 3 channels, first or last"
        )
    ids = np.array([f"{title}/{split}/{i:06d}" for i in range(len(labels))])
    tracks = arrays.get(f"track_{split}")
    if tracks is not None and tracks.shape != labels.shape:
        raise DataError(f"{path}: track_{split} has shape {tracks.shape}; expected {labels.shape}")
    if images.dtype == np.float32:
        check_images(images[:, None] if images.ndim == 3 else images, f"{path}, x_{split}", ids)
    groups = ids if tracks is None else np.array([f"{title}/{split}/track-{t}" for t in tracks])
    return np.ascontiguousarray(images), labels.astype(np.int64), ids, groups


def _without_copies(parts: list[Part]) -> tuple[list[Part], int]:
    rows = first_of_each([ArrayImages(part[0]) for part in parts])
    kept = [_rows(part, first) for part, first in zip(parts, rows, strict=True)]
    return kept, sum(len(part[1]) for part in parts) - sum(len(part[1]) for part in kept)


def _rows(part: Part, rows: IntArray) -> Part:
    images, labels, ids, groups = part
    return images[rows], labels[rows], ids[rows], groups[rows]


def _split(name: str, part: Part) -> Split:
    images, labels, ids, groups = part
    return Split(name, ArrayImages(images), labels, ids, groups)
