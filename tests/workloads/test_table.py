"""Workloads from an index: the German benchmark's own files unchanged, and every bad row named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from farm import registry
from farm.api import Context
from farm.errors import DataError, ParameterError
from farm.store.cache import DiskCache
from farm.workloads import image_files
from farm.workloads.table import Table
from tests.wording import refused, same_text
from tests.workloads import image_makers as make

N = 24
GERMAN = "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId"


@pytest.fixture
def frame(tmp_path):
    """Two classes of twelve grey images each, two of a group; written to `index.csv` by `write`."""
    rows = []
    for i in range(N):
        make.save(tmp_path / "images" / f"{i}.png", i)
        label = ("stop", "yield")[i % 2]
        rows.append({"path": f"images/{i}.png", "label": label, "group": f"{label}{i // 4}"})
    return pd.DataFrame(rows)


@pytest.fixture
def write(tmp_path):
    def make_index(frame, name="index.csv", **csv):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        if path.suffix == ".parquet":
            frame.to_parquet(path, index=False)
        else:
            frame.to_csv(path, index=False, **csv)
        return str(path)

    return make_index


def load(path, seed=0, cache=None, **parameters):
    context = Context(seed=seed) if cache is None else Context(seed=seed, cache=cache)
    return Table(path=path, **parameters).load(context)


def everything(split):
    return split.images.read(np.arange(len(split)))


def refuses(path, **parameters) -> str:
    with pytest.raises(DataError) as told:
        load(path, **parameters)
    assert "\n" not in str(told.value)
    return str(told.value)


# The index ---------------------------------------------------------------------------------------------


def test_an_index_becomes_a_workload_split_by_group(frame, write) -> None:
    workload = load(write(frame))
    assert (workload.name, workload.classes, workload.shape) == ("index", ("stop", "yield"), (3, 8, 8))
    assert [len(split) for split in workload.splits] == [16, 4, 4]
    assert not set(workload.train.groups) & {*workload.validation.groups, *workload.test.groups}
    for split in workload.splits:
        for name, label, image in zip(split.ids, split.labels, everything(split), strict=True):
            number = int(name.split("/")[-1].removesuffix(".png"))
            assert label == number % 2
            expected = make.pixels(number).transpose(2, 0, 1) / np.float32(255)
            np.testing.assert_array_equal(image, expected)


def test_csv_of_any_delimiter_and_parquet_are_the_same(frame, write) -> None:
    content = load(write(frame)).content_hash
    assert load(write(frame, "b.csv", sep=";"), title="index").content_hash == content
    assert load(write(frame, "c.csv", sep="\t"), title="index").content_hash == content
    assert load(write(frame, "d.parquet"), title="index").content_hash == content
    upper = frame.rename(columns=str.upper)
    assert load(write(upper, "e.csv"), title="index").content_hash == content


def test_splits_of_the_index_are_taken(frame, write) -> None:
    frame["split"] = ["train"] * 16 + ["val"] * 4 + ["Test"] * 4
    frame["group"] = ""
    workload = load(write(frame))
    assert [len(split) for split in workload.splits] == [16, 4, 4]
    assert workload.test.ids[-1] == "index/images/23.png"
    with refused(ParameterError):
        load(write(frame, "b.csv"), validation=0.5)


def test_a_column_of_tracks_is_one_of_groups(frame, write) -> None:
    groups, tracks = (
        Table(path=str(write(table, name)), title="signs").load(Context(seed=0)).train.groups.tolist()
        for table, name in ((frame, "groups.csv"), (frame.rename(columns={"group": "track"}), "tracks.csv"))
    )
    assert tracks == groups
    with refused(DataError):
        Table(path=str(write(frame.assign(track="one")))).load(Context(seed=0))


def test_a_group_that_straddles_two_splits_is_refused(frame, write) -> None:
    frame["split"] = ["train", "train", "test", "test"] * 6
    same_text(refuses(write(frame)))


def test_indices_of_their_own_for_splits(frame, write, tmp_path) -> None:
    train, test = write(frame[:16], "train.csv"), write(frame[16:], "test.csv")
    workload = load(train, test_path=test, title="w")
    assert [len(split) for split in workload.splits] == [12, 4, 8]
    assert workload.test.ids[0] == "w/test/images/16.png"
    # The same with paths from another folder.
    (tmp_path / "elsewhere").mkdir()
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    folder = str(tmp_path)
    moved = load(
        f"{folder}/elsewhere/train.csv",
        test_path=f"{folder}/elsewhere/test.csv",
        images=folder,
        test_images=folder,
        title="w",
    )
    assert moved.content_hash == workload.content_hash


def test_conditions_are_all_other_columns(frame, write) -> None:
    frame["weather"] = ["rain", "fog"] * 12
    frame["Lux"] = [*range(23), ""]
    workload = load(write(frame))
    train = workload.train
    assert set(train.conditions) == {"weather", "lux"}
    assert train.conditions["lux"].dtype == np.float64
    for name, weather, lux in zip(train.ids, *train.conditions.values(), strict=True):
        number = int(name.split("/")[-1].removesuffix(".png"))
        assert weather == ("rain", "fog")[number % 2]
        assert lux == number or (number == 23 and np.isnan(lux))


# Labels ------------------------------------------------------------------------------------------------


def test_numbers_become_classes_in_numerical_order(frame, write) -> None:
    frame["label"] = [(2, 10)[i % 2] for i in range(N)]
    workload = load(write(frame), title="signs")
    assert workload.classes == ("signs-02", "signs-10")
    assert load(write(frame, "p.parquet"), title="signs").classes == workload.classes


def test_classes_may_be_named_for_numbers_and_for_names(frame, write) -> None:
    assert load(write(frame), classes=["yield", "stop"]).classes == ("yield", "stop")
    frame["label"] = [i % 2 for i in range(N)]
    assert load(write(frame, "b.csv"), classes=["stop", "yield"]).classes == ("stop", "yield")
    with refused(ParameterError):
        load(write(frame, "c.csv"), classes=["stop", "stop"])


def test_labels_that_are_no_class(frame, write) -> None:
    frame.loc[5, "label"] = ""
    frame.loc[7, "label"] = "yeild"
    told = refuses(write(frame), classes=["stop", "yield"])
    same_text(told)
    frame["label"] = [i % 2 for i in range(N)]
    frame.loc[3, "label"] = -1
    same_text(refuses(write(frame)))
    frame.loc[3, "label"] = 7
    same_text(refuses(write(frame, "b.parquet"), classes=["a", "b"]))


def test_classes_in_test_but_not_in_train(frame, write) -> None:
    frame["group"] = ""
    frame["split"] = ["train"] * 18 + ["test"] * 6
    frame.loc[20:21, "label"] = "bend"
    frame.loc[22, "label"] = "danger"
    same_text(refuses(write(frame)))


# Boxes and masks ---------------------------------------------------------------------------------------


def test_boxes_are_scaled_with_their_images_of_any_size(tmp_path, write) -> None:
    rows = []
    for i in range(20):
        height, width = (10, 20) if i % 3 else (20, 40)
        make.save(tmp_path / f"{i}.png", i, height=height, width=width)
        box = {"left": width // 4, "top": height // 2, "right": width // 2, "bottom": height}
        rows.append({"path": f"{i}.png", "label": "ab"[i % 2], **box})
    workload = load(write(pd.DataFrame(rows)), size=[8, 8])
    for split in workload.splits:
        np.testing.assert_allclose(split.boxes, [[2, 4, 4, 8]] * len(split))
    same_text(refuses(write(pd.DataFrame(rows), "b.csv")))


def test_masks_are_read_and_resized(frame, write, tmp_path) -> None:
    for i in range(N):
        mask = np.zeros((8, 8), np.uint8)
        mask[:4, : 2 * (i % 2) + 2] = 255
        (tmp_path / "masks").mkdir(exist_ok=True)
        Image.fromarray(mask).save(tmp_path / "masks" / f"{i}.png")
    frame["mask"] = [f"masks/{i}.png" for i in range(N)]
    cache = DiskCache(tmp_path / "cache")
    workload = load(write(frame), size=[4, 4], cache=cache)
    assert workload.train.masks.dtype == np.bool_
    for label, mask in zip(workload.train.labels, workload.train.masks, strict=True):
        assert mask.sum() == (2, 4)[label]
        assert mask[:2, : 1 + label].all()
    again = load(write(frame), size=[4, 4], cache=cache)
    np.testing.assert_array_equal(again.test.masks, workload.test.masks)
    make.save(tmp_path / "masks" / "3.png", 1, height=9)
    make.truncated(tmp_path / "masks" / "5.png")
    told = refuses(write(frame), cache=cache)
    same_text(told)


def test_a_box_may_begin_at_the_edge_of_its_image(frame, write) -> None:
    workload = load(write(frame.assign(left=0, top=0, right=2, bottom=2)))
    assert (workload.train.boxes[:, :2] == 0).all()


def test_bad_boxes_are_told_at_once(frame, write) -> None:
    frame[["left", "top", "right", "bottom"]] = ["1", "1", "5", "5"]
    frame.loc[2, "left"] = "x"
    frame.loc[3, "bottom"] = ""
    frame.loc[4, "right"] = "1"
    told = refuses(write(frame))
    same_text(told)
    same_text(refuses(write(frame.drop(columns="bottom"), "b.csv")))


def test_a_box_outside_of_its_image_is_told_whether_the_index_tells_sizes_or_not(frame, write) -> None:
    frame[["left", "top", "right", "bottom"]] = [0, 0, 8, 8]
    assert load(write(frame, "whole.csv")).train.boxes.max() == 8
    frame.loc[3, ["left", "right"]] = [2, 9]
    frame.loc[5, "top"] = -1
    told = refuses(write(frame))
    same_text(told)
    sized = frame.assign(height=8, width=8)
    assert refuses(write(sized)) == told
    assert refuses(write(sized), size=[4, 4]) == told
    same_text(refuses(write(sized, "index.parquet")))


# The German benchmark ----------------------------------------------------------------------------------


@pytest.fixture
def german(tmp_path):
    """Its layout in small: class folders with a CSV each, two tracks of three frames, and a test index."""
    train, test = tmp_path / "Final_Training" / "Images", tmp_path / "Final_Test" / "Images"
    seed = 0
    for c in range(3):
        lines = [GERMAN]
        for track in range(4):
            for number in range(3):
                name, height, width = f"{track:05d}_{number:05d}.ppm", 20 + number, 24 + track
                make.save(train / f"{c:05d}" / name, seed := seed + 1, height=height, width=width)
                lines.append(f"{name};{width};{height};5;6;{width - 5};{height - 5};{c}")
        (train / f"{c:05d}" / f"GT-{c:05d}.csv").write_text("\r\n".join(lines) + "\r\n")
    lines = [GERMAN]
    for i in range(6):
        make.save(test / f"{i:05d}.ppm", seed := seed + 1, height=20, width=20)
        lines.append(f"{i:05d}.ppm;20;20;5;5;15;15;{i % 3}")
    (test / "GT-final_test.csv").write_text("\r\n".join(lines) + "\r\n")
    return train, test


def test_the_german_benchmark_loads_unchanged(german) -> None:
    train, test = german
    workload = load(str(train), test_path=f"{test}/GT-final_test.csv", size=[16, 16], title="gtsrb")
    assert workload.classes == ("gtsrb-00", "gtsrb-01", "gtsrb-02")
    assert [len(split) for split in workload.splits] == [27, 9, 6]
    assert set(np.unique(workload.train.groups, return_counts=True)[1]) == {3}
    assert workload.validation.groups[0].startswith("gtsrb/train/00000/0000")
    assert workload.test.ids[0] == "gtsrb/test/00000.ppm"
    assert len(set(workload.test.groups)) == 6
    np.testing.assert_allclose(workload.test.boxes, [[4, 4, 12, 12]] * 6)
    assert workload.train.conditions == {}


def test_its_test_index_may_lie_elsewhere(german, tmp_path) -> None:
    train, test = german
    (test / "GT-final_test.csv").rename(tmp_path / "GT-final_test.csv")
    index = f"{tmp_path}/GT-final_test.csv"
    workload = load(str(train), test_path=index, test_images=str(test), size=[16, 16])
    assert len(workload.test) == 6
    told = refuses(str(train), test_path=index, size=[16, 16])
    same_text(told)


def test_one_of_its_class_files_loads_alone(german) -> None:
    train, _ = german
    index = f"{train}/00001/GT-00001.csv"
    workload = load(index, size=[8, 8])
    assert workload.classes == ("GT-00001-01",)
    assert len(set(workload.train.groups)) == 2


def test_its_sizes_are_checked(german) -> None:
    train, test = german
    make.save(train / "00002" / "00001_00001.ppm", 5, height=30, width=30)
    told = refuses(str(train), test_path=f"{test}/GT-final_test.csv", size=[16, 16])
    same_text(told)


# Lazy --------------------------------------------------------------------------------------------------


def test_opening_reads_no_image(frame, write, german, monkeypatch) -> None:
    read = []
    whole = image_files.read_file
    monkeypatch.setattr(image_files, "read_file", lambda path: read.append(path) or whole(path))
    Table(path=write(frame))._load(Context())
    train, test = german
    Table(path=str(train), test_path=f"{test}/GT-final_test.csv", size=[8, 8], channels=3)._load(Context())
    assert read == []


# Bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "climbing", ["../x.png", "images/../../x.png", "/etc/x.png", "..\\x.png", "C:\\x.png", ".."]
)
def test_paths_that_climb_out_are_refused(frame, write, tmp_path, climbing) -> None:
    make.save(tmp_path.parent / "x.png", 1)
    frame.loc[4, "path"] = climbing
    frame.loc[9, "path"] = climbing
    told = refuses(write(frame))
    same_text(told)
    assert "index.csv, line 6" in told
    assert "index.csv, line 11" in told


def test_paths_within_the_folder_may_be_written_in_any_way(frame, write) -> None:
    frame.loc[4, "path"] = "./images/../images/4.png"
    frame.loc[5, "path"] = "images\\5.png"
    assert sum(len(split) for split in load(write(frame)).splits) == N


def test_an_index_below_a_folder_keeps_to_its_own(german) -> None:
    train, test = german
    index = train / "00001" / "GT-00001.csv"
    index.write_text(index.read_text().replace("00000_00000.ppm", "../00000/00000_00000.ppm"))
    told = refuses(str(train), test_path=f"{test}/GT-final_test.csv", size=[8, 8])
    same_text(told)


def test_all_that_is_wrong_is_told_at_once(frame, write) -> None:
    frame["split"] = "train"
    frame.loc[0, "path"] = "images/gone.png"
    frame.loc[1, "path"] = "nowhere/1.png"
    frame.loc[2, "path"] = ""
    frame.loc[3, "path"] = "../3.png"
    frame.loc[5, "split"] = "tran"
    frame.loc[6, "label"] = ""
    frame.loc[8, "path"] = "images/7.png"
    told = refuses(write(frame))
    assert ": 7 problems: " in told
    for part in (
        "empty path: '' in index.csv, line 4",
        "'../3.png' in index.csv, line 5",
        "'images/gone.png' in index.csv, line 2, 'nowhere/1.png' in index.csv, line 3",
        "split that is none of train, validation, test: 'tran' in index.csv, line 7",
        "empty label: index.csv, line 8",
        "listed twice (take one of the rows out): 'images/7.png' in index.csv, line 10",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("rename", "message"),
    [
        ({"path": "file"}, "column 'path' (or 'filename') is missing; found: file, label, group"),
        ({"label": "kind"}, "column 'label' (or 'classid') is missing; found: path, kind, group"),
        ({"label": "lable"}, "unknown column 'lable'; did you mean 'label'?"),
        ({"group": "groups"}, "unknown column 'groups'; did you mean 'group'?"),
    ],
)
def test_columns_that_are_missing_or_misspelt(frame, write, rename, message) -> None:
    assert message in refuses(write(frame.rename(columns=rename)))


def test_an_index_that_cannot_be_read(frame, write, tmp_path) -> None:
    path = write(frame, "index.parquet")
    whole = (tmp_path / "index.parquet").read_bytes()
    (tmp_path / "index.parquet").write_bytes(whole[: len(whole) // 2])
    same_text(refuses(path))
    (tmp_path / "none").mkdir()
    same_text(refuses(f"{tmp_path}/none"))
    same_text(refuses("gone.csv"))
    same_text(refuses(write(frame[:0], "empty.parquet")))


def test_indices_that_do_not_match(frame, write) -> None:
    train, test = write(frame[:16], "train.csv"), write(frame[16:].assign(weather="fog"), "test.csv")
    same_text(refuses(train, test_path=test))
    test = write(frame[16:].assign(split="train"), "b.csv")
    same_text(refuses(train, test_path=test))
    test = write(frame[16:].assign(left=1, top=1, right=2, bottom=2), "c.csv")
    same_text(refuses(train, test_path=test))


def test_a_bad_image_is_named_by_its_path(frame, write, tmp_path) -> None:
    make.truncated(tmp_path / "images" / "3.png")
    with refused(DataError):
        load(write(frame))


def test_as_names_a_table_and_all_in_it(write, frame) -> None:
    # Two indices of one name are two sets, as `farm crops` writes them.
    path = write(frame)
    made = registry.make("workload", "table", {"path": path}, alias="winter").load(Context())
    assert made.name == "winter"
    assert all(name.startswith("winter/") for name in made.train.ids)
    titled = registry.make("workload", "table", {"path": path, "title": "snow"}, alias="winter")
    assert titled.load(Context()).name == "snow"
