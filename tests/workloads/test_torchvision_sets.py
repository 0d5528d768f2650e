"""Public datasets by way of torchvision, which a fake stands in for: nothing is downloaded."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from farm.api import Context
from farm.errors import DataError, ParameterError, RequirementError
from farm.workloads.torchvision_sets import TorchvisionSet
from tests.wording import refused
from tests.workloads import image_makers as make

N = {True: 40, False: 12}


class FakeSet:
    """Ten classes of 8 x 8 pictures, as torchvision's sets give them: a PIL image and a label."""

    classes = tuple("abcdefghij")
    channels = 3
    calls: list[dict[str, object]] = []  # noqa: RUF012 - read by the tests

    def __init__(self, root, train=True, download=False):
        self.calls.append({"root": root, "train": train, "download": download})
        self.train = train

    def __len__(self):
        return N[self.train]

    def __getitem__(self, i):
        image = make.pixels(1000 * self.train + i, channels=self.channels)
        return Image.fromarray(image), np.int64(i % 10)


class CIFAR10(FakeSet):
    pass


class MNIST(FakeSet):
    channels = 1
    classes = tuple(f"{i} - whatever" for i in range(10))


class STL10(FakeSet):
    def __init__(self, root, split="train", download=False):
        assert split in ("train", "test")
        super().__init__(root, split == "train", download)


class CIFAR100(FakeSet):
    def __init__(self, root, train=True, download=False):
        raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")


class GTSRB:
    def __init__(self, root, split="train", download=False):
        self._samples = []
        folders = range(43) if split == "train" else ()
        seed = 10_000 if split == "train" else 20_000
        for c in folders:
            for name in ("00000_00000", "00000_00001", "00001_00000", "00001_00001"):
                seed += 1
                path = make.save(self.place(root) / f"{c:05d}" / f"{name}.ppm", seed, height=8 + c % 3)
                self._samples.append((str(path), c))
        if split == "test":
            for i in range(5):
                path = make.save(self.place(root) / "Images" / f"{i:05d}.ppm", seed + i)
                self._samples.append((str(path), i))

    @staticmethod
    def place(root):
        from pathlib import Path

        return Path(root) / "gtsrb" / "GTSRB"


@pytest.fixture
def torchvision(monkeypatch):
    """Put a fake in the place of torchvision."""
    package, datasets = ModuleType("torchvision"), ModuleType("torchvision.datasets")
    for kind in (CIFAR10, CIFAR100, MNIST, STL10, GTSRB):
        setattr(datasets, kind.__name__, kind)
    package.datasets = datasets
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.datasets", datasets)
    FakeSet.calls.clear()
    return datasets


def load(dataset, root, **parameters):
    return TorchvisionSet(dataset=dataset, root=str(root), **parameters).load(Context())


def test_pixels_labels_and_names(torchvision, tmp_path) -> None:
    workload = load("CIFAR10", tmp_path)
    assert (workload.name, workload.classes, workload.shape) == ("cifar10", FakeSet.classes, (3, 8, 8))
    assert [len(split) for split in workload.splits] == [30, 10, 12]
    for split in (workload.train, workload.validation):
        for name, label, image in zip(
            split.ids, split.labels, split.images.read(np.arange(len(split))), strict=True
        ):
            i = int(name.split("/")[-1])
            assert label == i % 10
            expected = make.pixels(1000 + i).transpose(2, 0, 1) / np.float32(255)
            np.testing.assert_array_equal(image, expected)
    assert FakeSet.calls == [
        {"root": str(tmp_path), "train": True, "download": False},
        {"root": str(tmp_path), "train": False, "download": False},
    ]


def test_equal_classes_are_called_alike(torchvision, tmp_path) -> None:
    assert load("MNIST", tmp_path).classes[7] == "digit-7"
    assert load("STL10", tmp_path).classes[2] == "automobile"


def test_size_channels_share_and_title(torchvision, tmp_path) -> None:
    workload = load("MNIST", tmp_path, size=[16, 12], channels=3, validation=0.5, title="m")
    assert (workload.name, workload.shape, len(workload.validation)) == ("m", (3, 16, 12), 20)


def test_gtsrb_is_split_by_track(torchvision, tmp_path) -> None:
    workload = load("GTSRB", tmp_path, size=[8, 8])
    assert len(workload.classes) == 43
    assert set(np.unique(workload.train.groups)) & set(np.unique(workload.validation.groups)) == set()
    assert workload.train.ids[0].startswith("gtsrb/gtsrb/GTSRB/00000/0000")
    assert len(set(workload.test.groups)) == len(workload.test) == 5
    with refused(DataError):
        load("GTSRB", tmp_path)


def test_gtsrb_without_file_names_is_refused(torchvision, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(torchvision, "GTSRB", STL10)
    with refused(DataError):
        load("GTSRB", tmp_path, size=[8, 8])


def test_copies_may_be_dropped(torchvision, tmp_path, monkeypatch) -> None:
    whole = FakeSet.__getitem__
    monkeypatch.setattr(
        CIFAR10, "__getitem__", lambda s, i: whole(s, 3) if i == 13 else whole(s, i), raising=False
    )
    workload = load("CIFAR10", tmp_path, copies="drop")
    assert workload.notes == {"copies_dropped": 1}
    assert "cifar10/train/000013" not in {*workload.train.ids, *workload.validation.ids}


def test_a_set_that_is_not_there_is_told(torchvision, tmp_path) -> None:
    with refused(DataError):
        load("CIFAR100", tmp_path)
    with refused(DataError):
        load("CIFAR10", tmp_path / "gone")


def test_download_is_passed_on_and_needs_no_folder(torchvision, tmp_path) -> None:
    load("CIFAR10", tmp_path / "new", download=True)
    assert FakeSet.calls[0] == {"root": str(tmp_path / "new"), "train": True, "download": True}


def test_without_torchvision_the_extra_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.delitem(sys.modules, "torchvision.datasets", raising=False)
    with refused(RequirementError):
        load("CIFAR10", tmp_path)


def test_a_torchvision_that_breaks_on_import_is_told(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "torchvision"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    monkeypatch.delitem(sys.modules, "torchvision.datasets", raising=False)
    with refused(RequirementError):
        load("CIFAR10", tmp_path)


def test_an_unknown_dataset_is_told() -> None:
    with refused(ParameterError):
        TorchvisionSet(dataset="Imagenet", root="x")
