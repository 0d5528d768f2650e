"""Public datasets by way of torchvision, which is an extra: `pip install 'farm-testbed[vision]'`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import Context, Workload, WorkloadSource, check_choice, generator
from farm.errors import DataError, FarmError, RequirementError, one_line
from farm.workloads.decoding import UnusableImage, to_pixels
from farm.workloads.listing import SHARE, Listing, ListingSettings, make_workload
from farm.workloads.problems import Problems
from farm.workloads.splitting import SplitArrays, workload_of_parts


@dataclass(frozen=True)
class _Dataset:
    """How torchvision is asked for a part, and what the classes are called where its own names differ."""

    by_split: bool
    classes: tuple[str, ...] | None = None


_DIGITS = tuple(f"digit-{i}" for i in range(10))
# Equal things are called alike, so that no class counts as novel that another set merely names otherwise.
_STL10 = ("airplane", "bird", "automobile", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")
_DATASETS: Mapping[str, _Dataset] = {
    "GTSRB": _Dataset(by_split=True, classes=tuple(f"gtsrb-{i:02d}" for i in range(43))),
    "CIFAR10": _Dataset(by_split=False),
    "CIFAR100": _Dataset(by_split=False),
    "MNIST": _Dataset(by_split=False, classes=_DIGITS),
    "FashionMNIST": _Dataset(by_split=False),
    "SVHN": _Dataset(by_split=True, classes=_DIGITS),
    "STL10": _Dataset(by_split=True, classes=_STL10),
}


class TorchvisionSet(WorkloadSource):
    """GTSRB, CIFAR-10, CIFAR-100, MNIST, Fashion-MNIST, SVHN or STL-10, as torchvision keeps them.

    Needs the extra `vision`: `pip install 'farm-testbed[vision]'`. The published test split is the test
    split; the validation split is cut from the published training data, for GTSRB by track. Classes have
    the names that torchvision gives them, except: digits are `digit-0` to `digit-9`, GTSRB's classes
    `gtsrb-00` to `gtsrb-42`, and STL-10's `car` is an `automobile`, as in CIFAR-10.

    Parameters
    ----------
    dataset
        `GTSRB`, `CIFAR10`, `CIFAR100`, `MNIST`, `FashionMNIST`, `SVHN` or `STL10`.
    root
        The folder that torchvision keeps its datasets in; a relative one is looked for beside the experiment,
        here, and in `$FARM_DATA`.
    download
        Whether torchvision may fetch what is missing. Without it the network is left alone.
    title
        What to call it; the dataset's name in lower case where not given.
    size
        Height and width to resize all images to (antialiased); GTSRB's have different sizes and need it.
    channels
        1 turns all into grey, 3 into RGB; as the dataset has them where not given.
    validation
        The share of each class's training groups that becomes the validation split; 0.2 where not given.
    copies
        What to do with images that stand there twice: `error` where two splits share one, or `drop` the later
        ones (training data come first). What was dropped is kept with the results.

    Examples
    --------
    >>> TorchvisionSet(dataset="CIFAR10", root="data").parameters["download"]
    False
    """

    def __init__(
        self,
        *,
        dataset: str,
        root: str,
        download: bool = False,
        title: str | None = None,
        size: Sequence[int] | None = None,
        channels: int | None = None,
        validation: float | None = None,
        copies: str = "error",
    ) -> None:
        check_choice("dataset", dataset, tuple(_DATASETS))
        self._settings = ListingSettings.of(size, channels, validation, None, copies)
        self._dataset, self._root, self._download = dataset, root, download
        self._title = title or dataset.lower()

    def _load(self, context: Context) -> Workload:
        make = getattr(_torchvision_datasets(), self._dataset)
        if self._download and not any((p / self._root).exists() for p in (context.folder, Path())):
            root = context.folder / self._root
        else:
            root = context.find(self._root, f"workload '{self.name}'")
        train, test = (self._open(make, root, part) for part in ("train", "test"))
        classes = _DATASETS[self._dataset].classes or tuple(str(name) for name in train.classes)
        if self._dataset == "GTSRB":
            return self._of_files(root, {"train": train, "test": test}, classes, context)
        return self._of_arrays(root, {"train": train, "test": test}, classes, context)

    def _open(self, make: Any, root: Path, part: str) -> Any:
        which = {"split": part} if _DATASETS[self._dataset].by_split else {"train": part == "train"}
        try:
            return make(str(root), download=self._download, **which)
        except FarmError:
            raise
        except Exception as error:
            hint = "" if self._download else "; set download: true to fetch it, where there is a network"
            raise DataError(
                f"torchvision's {self._dataset} ({part}) cannot be opened in {root}: {one_line(error)}{hint}"
            ) from error

    def _of_files(
        self, root: Path, parts: Mapping[str, Any], classes: tuple[str, ...], context: Context
    ) -> Workload:
        """Make a workload of the files behind a dataset: their names tell the tracks."""
        paths: list[str] = []
        labels: list[int] = []
        groups: list[str] = []
        for part, dataset in parts.items():
            samples = getattr(dataset, "_samples", None)  # the only place where torchvision keeps the names
            if samples is None:
                raise DataError(
                    "this torchvision does not tell the names of GTSRB's files, and so no tracks; expected "
                    "another version: or use the workload 'table' on its files"
                )
            for path, label in samples:
                folder, file = os.path.split(path)
                track = file.rpartition("_")[0]
                groups.append(f"{part}/{os.path.basename(folder)}/{track}" if track else f"{part}/{file}")  # noqa: PTH119
                paths.append(str(path))
                labels.append(int(label))
        names = [os.path.relpath(path, root) for path in paths]
        counts = [len(parts[part]._samples) for part in parts]
        listing = Listing(
            where=str(root),
            classes=classes,
            paths=paths,
            names=names,
            ids=np.array([f"{self._title}/{Path(name).as_posix()}" for name in names]),
            labels=np.array(labels, dtype=np.int64),
            groups=np.array([f"{self._title}/{group}" for group in groups]),
            splits=np.repeat(list(parts), counts),
        )
        return make_workload(self._title, listing, self._settings, context)

    def _of_arrays(
        self, root: Path, parts: Mapping[str, Any], classes: tuple[str, ...], context: Context
    ) -> Workload:
        problems = Problems()
        read = {part: self._pixels(part, dataset, problems) for part, dataset in parts.items()}
        problems.check(f"torchvision's {self._dataset} in {root}")
        rng = generator(context.seed, "split", self._title, "validation")
        share, drop = self._settings.validation or SHARE, self._settings.copies == "drop"
        workload = workload_of_parts(self._title, classes, read, share, rng, drop=drop)
        return workload if drop else replace(workload, notes={})

    def _pixels(self, part: str, dataset: Any, problems: Problems) -> SplitArrays:
        """Read a part, image by image: the one way in that all of torchvision's datasets have."""
        images: list[NDArray[np.uint8]] = []
        labels: list[int] = []
        shape = None
        for i in range(len(dataset)):
            image, label = dataset[i]
            try:
                shape = shape or self._settings.layout.shape_of(
                    1 if image.mode in ("1", "L") else 3, image.height, image.width
                )
                images.append(to_pixels(image, shape, self._settings.layout))
            except UnusableImage as error:
                problems.add(str(error), [f"{part} {i}"])
            labels.append(int(label))
        ids = np.array([f"{self._title}/{part}/{i:06d}" for i in range(len(labels))])
        pixels = np.stack(images) if images else np.zeros((0, 1, 1, 1), dtype=np.uint8)
        return SplitArrays(pixels, np.array(labels, dtype=np.int64), ids, groups=ids)


def _torchvision_datasets() -> Any:
    try:
        return importlib.import_module("torchvision.datasets")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torchvision":
            raise RequirementError(f"torchvision cannot be imported: {error}") from error
        raise RequirementError(
            "workload 'torchvision' needs the package torchvision, which is not installed; "
            "try: pip install 'farm-testbed[vision]'"
        ) from None
    except (ImportError, RuntimeError, OSError) as error:
        # Beside a torch that it was not built for, it breaks on import.
        raise RequirementError(
            f"torchvision is installed but cannot be imported ({one_line(error)}); expected one that was "
            "built for the installed torch"
        ) from error
