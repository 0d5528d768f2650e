"""OOD images: whatever pictures there are, without splits, labels or a number of images a class."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from farm import Readouts, registry
from farm.api import NO_ANSWER, ArrayImages, Context, OODImages, Split, WorkloadSource
from farm.cli import main
from farm.errors import DataError, ParameterError
from farm.run.testbed import Testbed
from farm.workloads.folder import Folder
from farm.workloads.npz import Npz
from farm.workloads.table import Table
from tests.wording import refused

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)


def draw(folder, *names, first=0):
    """Write images that differ, from the `first` on, and return their folder."""
    for i, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(PIXELS[first + i]).save(folder / name)
    return folder


def folder(path, **arguments):
    return Folder(path=str(path), **arguments).load_ood(Context())


def npz(path, arguments=None, **arrays):
    np.savez(path / "novel.npz", **arrays)
    return Npz(path=str(path / "novel.npz"), **(arguments or {})).load_ood(Context())


def table(path, *lines, **arguments):
    (path / "index.csv").write_text("\n".join(lines))
    return Table(path=str(path / "index.csv"), **arguments).load_ood(Context())


def told(ood):
    return {
        str(i).partition("/")[2]: int(label)
        for i, label in zip(ood.images.ids, ood.images.labels, strict=True)
    }


def pixels(ood):
    return np.rint(ood.images.images.read(np.arange(len(ood.images))) * 255).astype(np.uint8)


# Folders -----------------------------------------------------------------------------------------------


def test_a_flat_folder_is_enough_and_has_no_classes(tmp_path):
    ood = folder(draw(tmp_path / "novel", "b.png", "a.png"))
    assert (ood.name, ood.classes) == ("novel", ())
    assert told(ood) == {"a.png": NO_ANSWER, "b.png": NO_ANSWER}
    assert np.array_equal(pixels(ood), PIXELS[[1, 0]].transpose(0, 3, 1, 2))


def test_a_class_of_one_image_is_enough(tmp_path):
    ood = folder(draw(tmp_path / "novel", "elm/a.png"))
    assert (ood.classes, told(ood)) == (("elm",), {"elm/a.png": 0})


def test_images_beside_class_folders_are_used_without_a_class(tmp_path):
    ood = folder(draw(tmp_path / "novel", "elm/a.png", "loose.png"))
    assert told(ood) == {"elm/a.png": 0, "loose.png": NO_ANSWER}


def test_all_classes_are_used_whole_where_no_test_split_is_laid_out(tmp_path):
    ood = folder(draw(tmp_path / "novel", "elm/a.png", "elm/b.png", "fir/c.png"))
    assert told(ood) == {"elm/a.png": 0, "elm/b.png": 0, "fir/c.png": 1}


def test_a_test_folder_alone_is_enough_and_beside_training_data_only_it_is_used(tmp_path):
    assert told(folder(draw(tmp_path / "one", "test/a.png", "test/elm/b.png"))) == {
        "test/a.png": NO_ANSWER,
        "test/elm/b.png": 0,
    }
    both = draw(tmp_path / "two", "train/elm/a.png", "train/fir/c.png", "test/fir/b.png")
    assert told(folder(both)) == {"test/fir/b.png": 1}


def test_a_share_that_is_asked_for_is_cut_as_ever(tmp_path):
    root = draw(tmp_path / "novel", *(f"{c}/{i}.png" for c in ("elm", "fir") for i in range(6)))
    asked = Folder(path=str(root), test=0.5)
    assert asked.load_ood(Context()).images.content_hash == asked.load(Context()).test.content_hash


def test_copies_are_dropped_and_counted(tmp_path):
    root = draw(tmp_path / "novel", "a.png", "c.png")
    draw(root, "b.png")
    ood = folder(root)
    assert list(told(ood)) == ["a.png", "c.png"]
    assert ood.notes["copies_dropped"] == 1


def test_pictures_of_any_size_are_brought_to_that_of_id_images_unless_told_another(tmp_path):
    root = draw(tmp_path / "novel", "a.png", "b.png")
    Image.new("L", (20, 31)).save(root / "c.png")
    source = Folder(path=str(root))
    assert source.load_ood(Context(), (3, 8, 8)).images.images.shape == (3, 8, 8)
    same = folder(draw(tmp_path / "alike", "a.png", "b.png"))
    assert np.array_equal(pixels(same), pixels(source.load_ood(Context(), (3, 8, 8)))[:2])
    assert source.load_ood(Context(), (1, 5, 6)).images.images.shape == (1, 5, 6)
    assert Folder(path=str(root), size=[4, 4]).load_ood(Context(), (1, 5, 6)).images.images.shape == (1, 4, 4)
    with refused(DataError):
        folder(root)


def test_an_empty_folder_is_told(tmp_path):
    (tmp_path / "novel").mkdir()
    with refused(DataError):
        folder(tmp_path / "novel")


def test_a_flat_folder_of_id_images_is_told_what_it_would_be_good_for(tmp_path):
    with refused(DataError):
        Folder(path=str(draw(tmp_path / "novel", "a.png"))).load(Context())


# Arrays ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x_test", "x_train", "x"])
def test_images_alone_are_enough(tmp_path, name):
    ood = npz(tmp_path, **{name: PIXELS})
    assert (ood.classes, len(ood.images), set(ood.images.labels)) == ((), 12, {NO_ANSWER})
    assert np.array_equal(pixels(ood), PIXELS.transpose(0, 3, 1, 2))


def test_labels_may_leave_numbers_out(tmp_path):
    ood = npz(tmp_path, x_test=PIXELS[:2], y_test=np.array([5, 2]))
    assert [ood.classes[label] for label in ood.images.labels] == ["novel-05", "novel-02"]


def test_of_several_splits_without_training_labels_the_test_split_is_used(tmp_path):
    ood = npz(tmp_path, x_train=PIXELS[:5], x_test=PIXELS[5:])
    assert len(ood.images) == 7


def test_no_array_of_images_is_told(tmp_path):
    with refused(DataError):
        npz(tmp_path, images=PIXELS)


# Indices -----------------------------------------------------------------------------------------------


def test_an_index_without_labels_is_enough(tmp_path):
    draw(tmp_path, "a.png", "b.png")
    ood = table(tmp_path, "path,weather", "a.png,rain", "b.png,sun")
    assert (ood.classes, told(ood)) == ((), {"a.png": NO_ANSWER, "b.png": NO_ANSWER})
    assert ood.images.conditions["weather"].tolist() == ["rain", "sun"]


def test_some_labels_may_be_empty(tmp_path):
    draw(tmp_path, "a.png", "b.png", "c.png")
    ood = table(tmp_path, "path,label", "a.png,fir", "b.png,", "c.png,elm")
    assert (ood.classes, told(ood)) == (("elm", "fir"), {"a.png": 1, "b.png": NO_ANSWER, "c.png": 0})


def test_a_row_that_stands_there_twice_is_used_once(tmp_path):
    draw(tmp_path, "a.png", "b.png")
    ood = table(tmp_path, "path", "b.png", "a.png", "b.png")
    assert (list(told(ood)), ood.notes["listed_twice"]) == (["b.png", "a.png"], 1)


def test_an_index_without_labels_is_no_id_data(tmp_path):
    draw(tmp_path, "a.png")
    (tmp_path / "index.csv").write_text("path\na.png\n")
    with refused(DataError):
        Table(path=str(tmp_path / "index.csv")).load(Context())


def test_an_index_without_a_line_of_names_is_told_so(tmp_path):
    with refused(DataError):
        table(tmp_path, "a.png", "b.png")


# What serves as ever -----------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["train", "validation", "test"])
@pytest.mark.parametrize("name", ["digits", "noise-uniform", "farm.testing.fakes:TinySource"])
def test_of_a_workload_with_splits_the_asked_one_is_what_it_was(name, split):
    bed = Testbed(seed=3)
    ood, workload = bed.ood_images(name, split), bed.workload(name)
    assert ood.images.content_hash == getattr(workload, split).content_hash
    assert (ood.name, ood.classes, dict(ood.notes)) == (workload.name, workload.classes, {})


def test_another_split_than_test_needs_a_whole_workload(tmp_path):
    with refused(DataError):
        Testbed().ood_images({"name": "folder", "path": str(draw(tmp_path / "novel", "a.png"))}, "train")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_each_image_is_left_once_and_in_its_order(levels):
    class Levels(WorkloadSource):
        def _load(self, context):
            raise NotImplementedError

        def _load_ood(self, context, like):
            n = len(levels)
            images = np.repeat(np.array(levels, np.uint8), 4).reshape(n, 1, 2, 2)
            ids = np.array([f"{i:02d}" for i in range(n)])
            return OODImages(
                "levels", (), Split("test", ArrayImages(images), np.full(n, NO_ANSWER), ids, ids)
            )

    ood = Levels().load_ood(Context())
    first = sorted(levels.index(level) for level in set(levels))
    assert [int(i) for i in ood.images.ids] == first
    assert ood.notes["copies_dropped"] == len(levels) - len(first)


# Two files, two folders --------------------------------------------------------------------------------


def test_train_and_test_may_be_two_files(tmp_path):
    np.savez(tmp_path / "a.npz", x=PIXELS[:8], y=np.arange(8) % 2)
    np.savez(tmp_path / "b.npz", x=PIXELS[8:10], y=np.array([0, 1]))
    np.savez(tmp_path / "c.npz", x_validation=PIXELS[10:], y_validation=np.array([0, 1]), x_test=PIXELS[:1])
    paths = {name: str(tmp_path / f"{name}.npz") for name in "abc"}
    two = Npz(path=paths["a"], test_path=paths["b"]).load(Context())
    assert [len(split) for split in two.splits] == [6, 2, 2]
    three = Npz(path=paths["a"], test_path=paths["b"], validation_path=paths["c"]).load(Context())
    assert [len(split) for split in three.splits] == [8, 2, 2]
    assert np.array_equal(pixels_of(three.validation), PIXELS[10:].transpose(0, 3, 1, 2))
    np.savez(
        tmp_path / "d.npz",
        x_train=PIXELS[:4],
        y_train=np.arange(4) % 2,
        x_test=PIXELS[4:],
        y_test=np.zeros(8, int),
    )
    with refused(DataError):
        Npz(path=str(tmp_path / "d.npz"), test_path=paths["b"]).load(Context())
    with refused(DataError):
        Npz(path=paths["a"], validation_path=paths["c"], test_path=str(tmp_path / "c.npz")).load(Context())
    with refused(ParameterError):
        registry.workload("npz", path=paths["a"], test=paths["b"])


def pixels_of(split):
    return np.rint(split.images.read(np.arange(len(split))) * 255).astype(np.uint8)


def test_train_and_test_may_be_two_folders(tmp_path):
    train = draw(tmp_path / "a", "elm/0.png", "elm/1.png", "elm/2.png", "fir/0.png", "fir/1.png", "fir/2.png")
    test = draw(tmp_path / "b", "elm/0.png", first=6)
    both = Folder(path=str(train), test_path=str(test)).load(Context())
    assert [len(split) for split in both.splits] == [4, 2, 1]
    assert both.test.ids.tolist() == ["a/test/elm/0.png"]
    assert sorted(both.train.ids)[0].startswith("a/train/")
    laid_out = draw(tmp_path / "c", "train/elm/0.png", "train/elm/1.png", "test/elm/2.png")
    with refused(DataError):
        Folder(path=str(laid_out), test_path=str(test)).load(Context())
    with refused(ParameterError):
        Folder(path=str(train), test=str(test))


# Through the command line ------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs an experiment on novel images, and gives its readouts."""
    monkeypatch.chdir(tmp_path)

    def run(workload):
        experiment = {
            "workload": {"name": "farm.testing.fakes:TinySource"},
            "classifier": {"name": "farm.testing.fakes:TinyModel"},
            "faultload": {"name": "novelty", "workload": workload},
            "monitors": ["max-softmax"],
        }
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(experiment))
        assert main(["run", "mine.yaml", "--quiet", "--format", "json"]) == 0
        return Readouts.load(json.loads(capsys.readouterr().out)["folder"])

    return run


@pytest.mark.parametrize(
    "workload",
    [
        {"name": "folder", "path": "novel"},
        {"name": "npz", "path": "novel.npz"},
        {"name": "table", "path": "novel/index.csv"},
    ],
    ids=["folder", "npz", "table"],
)
def test_pictures_alone_are_enough_for_a_run(run, tmp_path, workload):
    draw(tmp_path / "novel", *(f"{i}.png" for i in range(12)))
    draw(tmp_path / "novel", "again.png")
    np.savez(tmp_path / "novel.npz", x_test=np.concatenate([PIXELS, PIXELS[:1]]))
    names = [path.name for path in sorted((tmp_path / "novel").glob("*.png"))]
    (tmp_path / "novel" / "index.csv").write_text("\n".join(["path", *names]))
    readouts = run(workload)
    ood = readouts.instances[readouts.instances["is_ood"]]
    assert (len(ood), set(ood["label"]), set(ood["category"])) == (12, {NO_ANSWER}, {"novelty"})
    assert readouts.run["stream"]["faults"][0]["notes"]["copies_dropped"] == 1
