"""Workloads from `.npz` files: whatever the layout, with every defect told by file and rule."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm import registry
from farm.api import Context
from farm.errors import DataError, ParameterError
from farm.workloads.npz import Npz
from tests.wording import refused

N_TRAIN, N_TEST, CLASSES = 40, 12, 4


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(0)
    return {
        "x_train": rng.integers(0, 256, (N_TRAIN, 6, 6, 3), dtype=np.uint8),
        "y_train": np.arange(N_TRAIN) % CLASSES,
        "x_test": rng.integers(0, 256, (N_TEST, 6, 6, 3), dtype=np.uint8),
        "y_test": np.arange(N_TEST) % CLASSES,
    }


@pytest.fixture
def write(tmp_path, arrays):
    """Return a function that writes the arrays with changes; `None` leaves one out."""

    def make(name="signs.npz", save=np.savez, **changes):
        path = tmp_path / name
        save(path, **{k: v for k, v in (arrays | changes).items() if v is not None})
        return str(path)

    return make


def load(path, seed=0, **arguments):
    return Npz(path=path, **arguments).load(Context(seed=seed))


def pixels(split):
    return split.images.read(np.arange(len(split)))


def as_floats(array):
    return array.astype(np.float32) / np.float32(255)


# Layouts -----------------------------------------------------------------------------------------------


def test_channels_may_come_last_or_first(write, arrays):
    last = load(write())
    turned = {k: arrays[k].transpose(0, 3, 1, 2) for k in ("x_train", "x_test")}
    first = load(write("first.npz", **turned), title="signs")
    assert last.shape == (3, 6, 6)
    assert last.content_hash == first.content_hash
    assert np.array_equal(pixels(last.test), as_floats(arrays["x_test"].transpose(0, 3, 1, 2)))


def test_grey_images_may_come_with_or_without_a_channel(write, arrays):
    grey = {k: arrays[k][..., 0] for k in ("x_train", "x_test")}
    without = load(write(**grey))
    with_channel = load(write("c.npz", **{k: v[..., None] for k, v in grey.items()}), title="signs")
    assert without.shape == (1, 6, 6)
    assert without.content_hash == with_channel.content_hash


def test_bytes_and_floats_of_the_same_images_are_one_workload(write, arrays):
    floats = {k: as_floats(arrays[k]) for k in ("x_train", "x_test")}
    assert load(write()).content_hash == load(write("f.npz", **floats), title="signs").content_hash


def test_compressed_files_are_read_too(write):
    packed = load(write("packed.npz", save=np.savez_compressed), title="signs")
    assert packed.content_hash == load(write()).content_hash


def test_ids_say_where_an_image_lies_in_the_file(write, arrays):
    workload = load(write())
    for split in (workload.train, workload.validation):
        for name, image in zip(split.ids, pixels(split), strict=True):
            _, part, row = name.split("/")
            assert part == "train"
            assert np.array_equal(image, as_floats(arrays["x_train"][int(row)].transpose(2, 0, 1)))
    assert workload.test.ids[3] == "signs/test/000003"


# Names and splits --------------------------------------------------------------------------------------


def test_unnamed_classes_are_numbered_under_the_files_name(write):
    workload = load(write("trees.npz"))
    assert (workload.name, workload.classes[1]) == ("trees", "trees-01")
    assert load(write("trees.npz"), title="woods").classes[1] == "woods-01"


def test_classes_may_be_named(write):
    assert load(write(), classes=["a", "b", "c", "d"]).classes == ("a", "b", "c", "d")


def test_too_few_names_are_told(write):
    path = write()
    with refused(ParameterError):
        load(path, classes=["a", "b"])


def test_a_share_of_each_class_becomes_the_validation_split(write):
    workload = load(write(), validation=0.3)
    assert np.bincount(workload.validation.labels).tolist() == [3] * CLASSES
    assert np.bincount(workload.train.labels).tolist() == [7] * CLASSES


def test_the_cut_depends_on_the_seed_alone(write):
    path = write()
    assert load(path, seed=1).content_hash == load(path, seed=1).content_hash
    assert load(path, seed=1).validation.ids.tolist() != load(path, seed=2).validation.ids.tolist()
    assert load(path, seed=1).test.content_hash == load(path, seed=2).test.content_hash


def test_a_validation_split_of_the_file_is_taken_as_it_is(write, arrays):
    rng = np.random.default_rng(1)
    own = {
        "x_validation": rng.integers(0, 256, (8, 6, 6, 3), dtype=np.uint8),
        "y_validation": np.arange(8) % 4,
    }
    workload = load(write(**own))
    assert len(workload.train) == N_TRAIN
    assert np.array_equal(pixels(workload.validation), as_floats(own["x_validation"].transpose(0, 3, 1, 2)))


@given(
    st.lists(st.integers(0, 5), min_size=N_TRAIN, max_size=N_TRAIN), st.floats(0.05, 0.9), st.integers(0, 5)
)
def test_a_track_never_straddles_two_splits(tmp_path_factory, arrays, tracks, share, seed):
    # Six tracks a class: no track is of two classes, every class has one at least.
    tracks = np.array(tracks) * CLASSES + arrays["y_train"]
    path = tmp_path_factory.getbasetemp() / "tracks.npz"
    np.savez(path, **arrays, track_train=tracks)
    try:
        workload = load(str(path), seed, validation=share)
    except DataError as error:
        # Every class has one track, or only single images are left to train on: said, not bent.
        assert "split 'validation' is empty" in str(error) or "expected at least 2" in str(error)  # noqa: PT017
        return
    assert not set(workload.train.groups) & set(workload.validation.groups)
    assert len(workload.train) + len(workload.validation) == N_TRAIN
    assert set(workload.train.labels) == set(range(CLASSES))


def test_groups_are_the_tracks_of_the_file(write, arrays):
    workload = load(write(track_train=np.arange(N_TRAIN) // 8 * 4 + arrays["y_train"]))
    assert set(np.unique(workload.train.groups, return_counts=True)[1]) == {2}
    assert workload.train.groups[0].startswith("signs/train/track-")


# Copies ------------------------------------------------------------------------------------------------


@pytest.fixture
def with_copies(write, arrays):
    """Write a file in which one test image is also a training image, and one training image comes twice."""
    x_train, x_test = arrays["x_train"].copy(), arrays["x_test"].copy()
    x_test[5] = x_train[20]
    x_train[9] = x_train[1]
    return write(x_train=x_train, x_test=x_test)


def test_a_copy_across_splits_is_an_error_by_default(write, arrays):
    x_test = arrays["x_test"].copy()
    x_test[5] = arrays["x_train"][20]
    with refused(DataError):
        load(write(x_test=x_test))


def test_later_copies_are_dropped_and_counted_where_that_is_asked_for(with_copies):
    workload = load(with_copies, copies="drop")
    assert workload.notes == {"copies_dropped": 2}
    assert len(workload.train) + len(workload.validation) == N_TRAIN - 1
    assert "signs/test/000005" not in workload.test.ids
    assert len(workload.test) == N_TEST - 1
    kept = {*workload.train.ids, *workload.validation.ids}
    assert "signs/train/000001" in kept
    assert "signs/train/000009" not in kept


def test_without_copies_none_are_dropped(write):
    path = write()
    assert load(path, copies="drop").content_hash == load(path).content_hash
    assert load(path, copies="drop").notes == {"copies_dropped": 0}


def test_a_copy_in_the_files_own_validation_split_is_dropped_too(write, arrays):
    rng = np.random.default_rng(1)
    x_validation = rng.integers(0, 256, (8, 6, 6, 3), dtype=np.uint8)
    x_validation[2] = arrays["x_train"][0]
    path = write(x_validation=x_validation, y_validation=np.arange(8) % 4)
    workload = load(path, copies="drop")
    assert (len(workload.train), len(workload.validation), len(workload.test)) == (N_TRAIN, 7, N_TEST)


# Defects -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0, 30, 3000])
def test_a_truncated_file_is_told(write, keep):
    path = Path(write())
    path.write_bytes(path.read_bytes()[:keep])
    re.escape(f"{path} cannot be read as .npz (") + ".*is it truncated"
    with refused(DataError):
        load(str(path))


@pytest.mark.parametrize(
    "save",
    [
        np.savez,
        np.savez_compressed,
    ],
    ids=["stored", "compressed"],
)
def test_a_damaged_file_is_told(write, save, arrays):
    flat = {k: arrays[k] // 64 * 64 for k in ("x_train", "x_test")}  # something to compress
    path = Path(write(save=save, **flat))
    content = bytearray(path.read_bytes())
    for where in range(400, 600, 7):
        content[where] ^= 0xFF
    path.write_bytes(content)
    with refused(DataError):
        load(str(path))


@pytest.mark.parametrize("name", ["y_train", "x_train"])
def test_pickled_objects_are_never_loaded(write, name, arrays, tmp_path):
    class Trap:
        def __reduce__(self):
            return Path.touch, (tmp_path / "sprung",)

    objects = np.array([Trap()] * N_TRAIN, dtype=object)
    path = write(**{name: objects})
    with refused(DataError):
        load(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("missing", ["x_train", "y_train", "x_test", "y_test"])
def test_half_a_split_is_told(write, missing):
    path = write(**{missing: None})
    with refused(DataError):
        load(path)


@pytest.mark.parametrize("missing", ["train", "test"])
def test_a_missing_split_is_told_with_the_arrays_found(write, missing, arrays):
    gone = {f"x_{missing}", f"y_{missing}"}
    path = write(**dict.fromkeys(gone))
    with refused(DataError):
        load(path)


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize(
    "spoil",
    [lambda y: y[:-1], lambda y: y[:, None], lambda y: y.astype(float), lambda y: y.astype(str)],
    ids=["short", "column", "floats", "text"],
)
def test_labels_of_a_wrong_length_or_kind_are_told(write, arrays, split, spoil):
    labels = spoil(arrays[f"y_{split}"])
    path = write(**{f"y_{split}": labels})
    len(arrays[f"x_{split}"])
    with refused(DataError):
        load(path)


def test_a_negative_label_is_told(write, arrays):
    path = write(y_train=arrays["y_train"] - 1)
    with refused(DataError):
        load(path)


def test_another_image_size_in_the_test_data_is_told(write, arrays):
    with refused(DataError):
        load(write(x_test=arrays["x_test"][:, :5]))


def test_a_class_without_training_images_is_told(write, arrays):
    labels = arrays["y_test"].copy()
    labels[0] = 4
    with refused(DataError):
        load(write(y_test=labels))


def test_a_missing_file_is_told_with_the_places_looked_in(tmp_path):
    with refused(DataError):
        Npz(path="gone.npz").load(Context(folder=tmp_path))


@pytest.mark.parametrize(
    "arguments",
    [
        {"validation": 0},
        {"validation": 0.95},
        {"copies": "keep"},
        {"clases": ["a"]},
    ],
)
def test_a_wrong_parameter_is_told(arguments):
    with refused(ParameterError):
        registry.workload("npz", path="x.npz", **arguments)


def test_a_relative_path_is_found_beside_the_experiment(write, tmp_path):
    write("beside.npz")
    assert Npz(path="beside.npz").load(Context(folder=tmp_path)).name == "beside"


# Known gaps --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoil",
    [
        lambda x: x / 255.0,
        lambda x: x.astype(np.int64),
        lambda x: x.reshape(len(x), -1),
        lambda x: as_floats(x) * 2,
        lambda x: np.array(3),
    ],
    ids=["float64", "int64", "flat", "range", "scalar"],
)
def test_images_that_cannot_be_used_are_told_by_file_and_array(write, arrays, spoil):
    path = write(x_train=spoil(arrays["x_train"]))
    with refused(DataError):
        load(path)


def test_tracks_of_a_wrong_length_are_told(write):
    path = write(track_train=np.arange(5))
    with refused(DataError):
        load(path)


@pytest.mark.parametrize(
    ("split", "shape"),
    [("train", (N_TRAIN, 6, 6, 4)), ("test", (N_TEST, 2, 6, 6)), ("train", (N_TRAIN, 6, 6, 2))],
)
def test_other_numbers_of_channels_than_1_and_3_are_refused(write, split, shape):
    path = write(**{f"x_{split}": np.zeros(shape, np.uint8)})
    with refused(DataError):
        load(path)


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("split", ["train", "test"])
def test_a_wrong_dtype_is_told_by_file_and_array(write, arrays, split, dtype):
    path = write(**{f"x_{split}": arrays[f"x_{split}"].astype(dtype)})
    with refused(DataError):
        load(path)


@pytest.mark.parametrize("alone", ["x_validation", "y_validation"])
def test_half_a_validation_split_is_told(write, arrays, alone):
    path = write(**{alone: arrays[alone.replace("validation", "test")]})
    with refused(DataError):
        load(path)


def test_a_single_array_under_the_wrong_name_is_told(tmp_path, arrays):
    with (tmp_path / "x.npz").open("wb") as file:
        np.save(file, arrays["x_train"])
    with refused(DataError):
        load(str(tmp_path / "x.npz"))


def test_a_folder_in_its_place_is_told(tmp_path):
    with refused(DataError):
        load(str(tmp_path))


def test_real_signs_keep_their_tracks_together_and_lose_their_copies(data_folder):
    path = data_folder / "gtsrb.npz"
    if not path.is_file():
        pytest.skip(f"no {path.name} among the real data")
    workload = load(str(path), copies="drop")
    assert len(workload.classes) == 43
    assert workload.notes["copies_dropped"] >= 4
    assert not set(workload.train.groups) & set(workload.validation.groups)
    assert len(workload.train) + len(workload.validation) + len(workload.test) + workload.notes[
        "copies_dropped"
    ] == (19_605 + 12_630)
