"""Images in one `.npz` file: arrays `x_train`, `y_train`, `x_test`, `y_test`, and what else there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import (
    NO_ANSWER,
    ArrayImages,
    Context,
    IntArray,
    OODImages,
    Split,
    Workload,
    WorkloadSource,
    check_choice,
    check_images,
    check_labels,
    check_number,
    generator,
)
from farm.errors import DataError, ParameterError
from farm.store.plain_arrays import read_npz
from farm.workloads.listing import SPLITS
from farm.workloads.splitting import SplitArrays, workload_of_parts

MOST_CLASSES = 100_000
"""A larger label counts no classes, unless there are as many images."""


class Npz(WorkloadSource):
    """A workload from arrays: uint8 or float32 in [0, 1], N x H x W, N x H x W x C or N x C x H x W.

    A validation split is taken from `x_validation` and `y_validation`, or cut from the training data: by the
    groups in `track_train` where there are any, so that no physical object is on both sides.

    As OOD images (the workload of `novelty`) `x_test` alone is enough, or any other `x`: all images are used,
    copies apart, unless a test split stands beside training data.

    Parameters
    ----------
    path
        The file; a relative path is looked for beside the experiment, here, and in `$FARM_DATA`. Arrays
        `x` and `y`, of no split by name, are for training.
    validation_path, test_path
        A file of its own for a split, with its arrays by name (`x_test`) or without (`x`, `y`, `track`).
    title
        What to call it; where not given, the name that `as` gives, or that of the file. Unnamed classes are
        called `title-00`, ...
    classes
        The class names, in the order of the labels.
    validation
        The share of each class's training groups that becomes the validation split.
    ignore
        A label that is no class, such as 255: images with it are left out and counted.
    copies
        What to do with images that stand there twice: `error`, or `drop` the later ones (training data come
        first). What was dropped is kept with the results.
    """

    def __init__(
        self,
        *,
        path: str,
        validation_path: str | None = None,
        test_path: str | None = None,
        title: str | None = None,
        classes: Sequence[str] | None = None,
        validation: float = 0.2,
        ignore: int | None = None,
        copies: str = "error",
    ) -> None:
        check_number("validation", validation, above=0, high=0.9)
        check_choice("copies", copies, ("error", "drop"))
        others = {"validation": validation_path, "test": test_path}
        self._others = {split: other for split, other in others.items() if other is not None}
        self._path, self._title, self._classes = path, title, classes
        self._validation, self._copies, self._ignore = validation, copies, ignore

    def _load(self, context: Context) -> Workload:
        path, arrays = self._arrays(context)
        return self._workload(path, arrays, context)

    def _load_ood(self, context: Context, like: tuple[int, int, int] | None) -> Workload | OODImages:
        del like  # arrays are taken as they are
        path, arrays = self._arrays(context)
        if all(f"{letter}_{split}" in arrays for letter in "xy" for split in ("train", "test")):
            return self._workload(path, arrays, context)
        title = self._title or self.alias or path.stem
        names = ("test",) if "x_test" in arrays else SPLITS
        for name in names:  # a class may be told, and need not
            if (images := arrays.get(f"x_{name}")) is not None:
                arrays.setdefault(f"y_{name}", np.full(len(images), NO_ANSWER))
        parts = [part for name in names if (part := _part(arrays, name, title, path, self._ignore))]
        if not parts:
            raise DataError(f"{path}: expected an array x_test; found {sorted(arrays)}: save it by that name")
        if len({part.images.shape[1:] for part in parts}) > 1:
            raise DataError(f"{path}: its parts have images of different shapes; expected one")
        images, labels, ids, groups = (np.concatenate(column) for column in zip(*parts, strict=True))
        if labels.max(initial=-1) >= max(len(labels), MOST_CLASSES) and not self._classes:
            _check_counted(np.unique(labels), path)
        classes = self._names(title, int(labels.max(initial=-1)) + 1, path)
        return OODImages(title, classes, Split("test", ArrayImages(images), labels, ids, groups))

    def _arrays(self, context: Context) -> tuple[Path, dict[str, Any]]:
        """Read all files into arrays by split; `x` without one is of the split that its file is for."""
        what = f"workload '{self.name}'"
        main = context.find(self._path, what)
        arrays: dict[str, Any] = {}
        for split, path in {
            "train": main,
            **{s: context.find(p, what) for s, p in self._others.items()},
        }.items():
            if path.is_dir():
                raise DataError(f"{path} is a folder; expected a .npz file: the workload 'folder' reads it")
            read = read_npz(path)
            for name in ("x", "y", "track"):
                if name in read:
                    read.setdefault(f"{name}_{split}", read.pop(name))
            if split in self._others:
                if f"x_{split}" not in read:
                    raise DataError(
                        f"{path}: expected arrays x_{split} and y_{split}, or x and y; found {sorted(read)}"
                    )
                read = {name: values for name, values in read.items() if name.endswith(f"_{split}")}
                if f"x_{split}" in arrays:
                    raise DataError(
                        f"{main} has x_{split} though {split}_path is given; expected one of them"
                    )
            arrays |= read
        return main, arrays

    def _names(self, title: str, n_classes: int, path: Path) -> tuple[str, ...]:
        classes = tuple(self._classes or (f"{title}-{i:02d}" for i in range(n_classes)))
        if len(classes) < n_classes:
            raise ParameterError(f"classes has {len(classes)} names; {path} counts {n_classes} classes")
        return classes

    def _workload(self, path: Path, arrays: dict[str, Any], context: Context) -> Workload:
        title = self._title or self.alias or path.stem
        parts = {split: _part(arrays, split, title, path, self._ignore) for split in SPLITS}
        train, test = parts["train"], parts["test"]
        if train is None or test is None:
            raise DataError(
                f"{path}: expected arrays x_train, y_train, x_test and y_test; found {sorted(arrays)}: "
                "save them by these names; test_path names a file for the test data (and OOD images need "
                "x_test alone)"
            )
        n_classes = int(max(train.labels.max(initial=-1), test.labels.max(initial=-1))) + 1
        if not self._classes:
            _check_counted(np.union1d(train.labels, test.labels), path)
        classes = self._names(title, n_classes, path)
        check_labels(train.labels, len(classes), f"{path}, y_train")
        given = {split: part for split, part in parts.items() if part is not None}
        rng = generator(context.seed, "npz", title, "validation")
        drop, ignored = self._copies == "drop", {}
        if self._ignore is not None:
            ignored = {"images_ignored": sum(len(arrays[f"y_{s}"]) - len(p.labels) for s, p in given.items())}
        made = workload_of_parts(title, classes, given, self._validation, rng, drop=drop)
        return replace(made, notes={**made.notes, **ignored})


def _check_counted(labels: IntArray, path: Path) -> None:
    """Raise where labels leave numbers out: before each number up to the largest is given a name."""
    if labels.size and (largest := int(labels[-1])) >= len(labels):
        raise DataError(
            f"{path}: labels go up to {largest}, and {len(labels)} different ones occur; expected 0 to "
            f"{len(labels) - 1}, none left out: number them anew, name all classes with 'classes', or set "
            f"ignore: {largest} if that marks images which are to be left out"
        )


def _mended(labels: NDArray[Any]) -> str:
    """Say what would turn labels into numbers of classes."""
    if labels.ndim == 2:
        return "save y.ravel()" if labels.shape[1] == 1 else "save y.argmax(axis=1)"
    if labels.dtype.kind in "US":
        return "save np.unique(y, return_inverse=True)[1], and name the classes with 'classes'"
    return "save y.astype(int)" if labels.ndim == 1 and labels.dtype.kind == "f" else "one label an image"


def _part(
    arrays: dict[str, Any], split: str, title: str, path: Path, ignore: int | None
) -> SplitArrays | None:
    images, labels = arrays.get(f"x_{split}"), arrays.get(f"y_{split}")
    if images is None and labels is None:
        return None
    if images is None or labels is None:
        there, missing = ("x", "y") if labels is None else ("y", "x")
        hint = " (only OOD images need no y)" if there == "x" else ""
        raise DataError(f"{path} has {there}_{split} and no {missing}_{split}; expected both{hint}")
    if images.ndim not in (3, 4):
        raise DataError(f"{path}: x_{split} has shape {images.shape}; expected N x H x W or with channels")
    if images.dtype not in (np.uint8, np.float32):
        raise DataError(
            f"{path}: x_{split} is {images.dtype}; expected uint8, or float32 in [0, 1]: "
            "save x.astype('uint8') where it counts to 255, else x.astype('float32')"
        )
    if labels.ndim != 1 or len(images) != len(labels) or not np.issubdtype(labels.dtype, np.integer):
        raise DataError(
            f"{path}: y_{split} is {labels.dtype} of shape {labels.shape}; "
            f"expected {len(images)} whole numbers, the class of each image: {_mended(labels)}"
        )
    if images.ndim == 3:
        images = images[:, None]
    elif images.shape[-1] in (1, 3):
        images = images.transpose(0, 3, 1, 2)
    if images.shape[1] not in (1, 3):
        raise DataError(
            f"{path}: x_{split} has shape {images.shape}; expected 1 or 3 channels, first or last"
            + (": x[..., :3] leaves the fourth out" if images.shape[1] == 4 or images.shape[-1] == 4 else "")
        )
    ids = np.array([f"{title}/{split}/{i:06d}" for i in range(len(labels))])
    tracks = arrays.get(f"track_{split}")
    if tracks is not None and tracks.shape != labels.shape:
        raise DataError(f"{path}: track_{split} has shape {tracks.shape}; expected {labels.shape}")
    if images.dtype == np.float32:
        check_images(images, f"{path}, x_{split}", ids)
    groups = ids if tracks is None else np.array([f"{title}/{split}/track-{t}" for t in tracks])
    part = SplitArrays(np.ascontiguousarray(images), labels.astype(np.int64), ids, groups)
    return part if ignore is None else part.rows(np.flatnonzero(labels != ignore))
