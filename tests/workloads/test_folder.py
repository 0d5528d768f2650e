"""Workloads from folders of images: listed at once, decoded when needed, every bad file named."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from farm.api import Context
from farm.errors import DataError, ParameterError
from farm.run.testbed import Testbed
from farm.store.cache import DiskCache
from farm.workloads import decoding, image_files
from farm.workloads.folder import Folder
from tests.wording import refused, same_text
from tests.workloads import image_makers as make

CLASSES = ("give-way", "stop")


@pytest.fixture
def root(tmp_path):
    """Two classes of ten images each, without splits."""
    for c, name in enumerate(CLASSES):
        for i in range(10):
            make.save(tmp_path / "signs" / name / f"{i}.png", 100 * c + i)
    return tmp_path / "signs"


@pytest.fixture
def split_root(tmp_path):
    """Two classes below train, validation and test."""
    for s, (split, n) in enumerate({"train": 6, "validation": 2, "test": 3}.items()):
        for c, name in enumerate(CLASSES):
            for i in range(n):
                make.save(tmp_path / "signs" / split / name / f"{i}.png", 1000 * s + 100 * c + i)
    return tmp_path / "signs"


def load(root, seed=0, cache=None, **parameters):
    context = Context(seed=seed) if cache is None else Context(seed=seed, cache=cache)
    return Folder(path=str(root), **parameters).load(context)


def everything(split):
    return split.images.read(np.arange(len(split)))


# What comes out ----------------------------------------------------------------------------------------


def test_pixels_labels_and_ids_belong_together(root) -> None:
    workload = load(root)
    assert workload.classes == CLASSES
    assert workload.shape == (3, 8, 8)
    assert workload.name == "signs"
    for split in workload.splits:
        for name, label, image in zip(split.ids, split.labels, everything(split), strict=True):
            _, folder, file = name.split("/")
            assert folder == CLASSES[label]
            expected = make.pixels(100 * int(label) + int(file[0])).transpose(2, 0, 1) / np.float32(255)
            np.testing.assert_array_equal(image, expected)


def test_images_come_in_the_order_asked_for(root) -> None:
    train = load(root).train
    np.testing.assert_array_equal(train.images.read(np.array([3, 0, 3])), everything(train)[[3, 0, 3]])


@pytest.mark.parametrize("suffix", [".png", ".PNG", ".ppm", ".bmp", ".webp", ".jpg", ".jpeg"])
def test_every_format_is_read(tmp_path, suffix) -> None:
    lossless = {"lossless": True} if suffix == ".webp" else {}
    for c in range(2):
        for i in range(5):
            path = tmp_path / "w" / f"c{c}" / f"{i}{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(make.pixels(10 * c + i)).save(path, **lossless)
    train = load(tmp_path / "w").train
    first = int(train.ids[0].split("/")[-1][0])
    difference = np.abs(everything(train)[0] - make.pixels(first).transpose(2, 0, 1) / 255)
    assert difference.max() < (1 if "j" in suffix else 1e-6)
    assert difference.mean() < (0.2 if "j" in suffix else 1e-6)


def test_palettes_grey_and_black_and_white_images_are_read(tmp_path) -> None:
    for c in range(2):
        for i in range(5):
            save = make.save(tmp_path / "w" / f"c{c}" / f"{i}.png", 10 * c + i)
            Image.open(save).convert("RGB").quantize(200).save(save)
    assert load(tmp_path / "w").shape == (3, 8, 8)
    for c in range(2):
        for i in range(5):
            save = make.save(tmp_path / "v" / f"c{c}" / f"{i}.png", 10 * c + i, channels=1)
            if i == 0:
                Image.open(save).convert("1").save(save)
    assert load(tmp_path / "v").shape == (1, 8, 8)


def test_splits_that_are_laid_out_are_taken(split_root) -> None:
    workload = load(split_root)
    assert [len(split) for split in workload.splits] == [12, 4, 6]
    assert workload.test.ids[0] == "signs/test/give-way/0.png"


def test_val_is_validation_and_a_missing_test_split_is_cut(split_root) -> None:
    (split_root / "validation").rename(split_root / "val")
    for file in sorted((split_root / "test").rglob("*.png")):
        file.unlink()
    for folder in ("stop", "give-way", ""):
        (split_root / "test" / folder).rmdir()
    workload = load(split_root, test=0.34)
    assert [len(split) for split in workload.splits] == [8, 4, 4]


def test_the_cut_depends_on_the_seed_alone_and_shares_are_of_groups(root) -> None:
    sizes = [len(split) for split in load(root, test=0.3, validation=0.3).splits]
    assert sizes == [10, 4, 6]
    assert load(root, seed=1).content_hash == load(root, seed=1).content_hash
    assert load(root, seed=1).test.ids.tolist() != load(root, seed=2).test.ids.tolist()


def test_a_class_may_be_called_train(tmp_path) -> None:
    for c, name in enumerate(("bus", "train")):
        for i in range(10):
            make.save(tmp_path / "w" / name / f"{i}.png", 10 * c + i)
    assert load(tmp_path / "w").classes == ("bus", "train")


def test_images_in_a_deeper_folder_are_a_group(tmp_path) -> None:
    for i in range(40):
        make.save(tmp_path / "w" / f"c{i % 2}" / f"track{i // 2 % 5}" / f"{i}.png", i)
    workload = load(tmp_path / "w")
    assert {len(np.unique(split.groups)) for split in workload.splits} == {6, 2}
    assert workload.train.groups[0].startswith("w/c0/track")


def test_a_pattern_makes_groups_of_names(tmp_path) -> None:
    for i in range(40):
        make.save(tmp_path / "w" / f"c{i % 2}" / f"{i // 2 % 5:05d}_{i:05d}.png", i)
    workload = load(tmp_path / "w", groups=r"(\d+)_")
    assert {len(np.unique(split.groups)) for split in workload.splits} == {6, 2}
    with refused(DataError):
        load(tmp_path / "w", groups="frame")
    with refused(ParameterError):
        Folder(path="w", groups="(")


# Size and channels -------------------------------------------------------------------------------------


def test_size_resizes_without_aliasing(tmp_path) -> None:
    stripes = np.zeros((64, 48, 3), np.uint8)
    stripes[::2] = 255  # every other row: without averaging all black or all white
    for i in range(20):
        path = make.save(tmp_path / "w" / f"c{i % 2}" / f"{i}.png", i)
        image = stripes.copy()
        image[:4, :4] = 10 * i
        Image.fromarray(image).save(path)
    workload = load(tmp_path / "w", size=[16, 12])
    assert workload.shape == (3, 16, 12)
    inner = everything(workload.train)[:, :, 3:-3, 3:-3]
    assert np.abs(inner - 0.5).max() < 0.05


def test_channels_turn_all_into_one_form(root) -> None:
    make.save(root / "stop" / "grey.png", 77, channels=1)
    with refused(DataError):
        load(root)
    assert load(root, channels=3).shape == (3, 8, 8)
    assert load(root, channels=1).shape == (1, 8, 8)


@pytest.mark.parametrize(
    "parameters",
    [
        {"size": [8]},
        {"size": [8, 0]},
        {"channels": 4},
        {"validation": 0.0},
        {"test": 1},
        {"copies": "keep"},
    ],
)
def test_parameters_out_of_range(parameters) -> None:
    with refused(ParameterError):
        Folder(path="w", **parameters)


def test_a_share_that_would_have_no_effect_is_told(split_root) -> None:
    with refused(ParameterError):
        load(split_root, test=0.3)


# Lazy, parallel, cached --------------------------------------------------------------------------------


def test_opening_decodes_nothing_and_reads_one_header_at_most(root, monkeypatch) -> None:
    read = []
    whole = image_files.read_file
    monkeypatch.setattr(image_files, "read_file", lambda path: read.append(path) or whole(path))
    workload = Folder(path=str(root))._load(Context())
    assert (len(workload.train), read) == (12, [])
    assert workload.shape == (3, 8, 8)
    assert len(read) == 1


def test_many_files_open_without_a_question_to_each(tmp_path, monkeypatch) -> None:
    for c in range(4):
        (tmp_path / "w" / f"c{c}").mkdir(parents=True)
        for i in range(500):
            (tmp_path / "w" / f"c{c}" / f"{i}.png").touch()
    scanned = []
    whole = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: scanned.append(path) or whole(path))
    workload = Folder(path=str(tmp_path / "w"))._load(Context())
    assert sum(len(split) for split in workload.splits) == 2000
    assert len(scanned) == 5


def test_decoded_images_are_kept_under_their_content(root, tmp_path, monkeypatch) -> None:
    cache = DiskCache(tmp_path / "cache")
    before = load(root, cache=cache)
    decoded = []
    whole = image_files.decode
    monkeypatch.setattr(image_files, "decode", lambda *a: decoded.append(1) or whole(*a))
    again = load(root, cache=cache)
    assert (decoded, again.content_hash) == ([], before.content_hash)
    pixels = again.train.images._files.pixels
    assert isinstance(pixels, np.memmap)
    assert not pixels.flags.writeable
    assert pixels.dtype == np.uint8
    # Another place, other names: the same content.
    root.rename(tmp_path / "moved")
    assert load(tmp_path / "moved", cache=cache, title="signs").content_hash == before.content_hash
    assert decoded == []
    make.save(tmp_path / "moved" / "stop" / "0.png", 555)
    assert load(tmp_path / "moved", cache=cache).content_hash != before.content_hash
    assert len(decoded) == 20


def test_without_a_cache_the_images_are_the_same(root, tmp_path) -> None:
    assert load(root).content_hash == load(root, cache=DiskCache(tmp_path / "c")).content_hash


def test_a_refusal_does_not_hide_behind_the_cache(root, tmp_path) -> None:
    cache = DiskCache(tmp_path / "cache")
    make.save(root / "stop" / "grey.png", 77, channels=1)
    load(root, cache=cache, channels=3)
    with refused(DataError):
        load(root, cache=cache)
    with refused(DataError):
        load(root, cache=cache)


# Boxes -------------------------------------------------------------------------------------------------


@pytest.fixture
def boxed(tmp_path):
    """Return what writes boxes of two images, and other rows, beside ten images a class, half as large."""
    for i in range(20):
        size = {"height": 10, "width": 20} if i % 4 > 1 else {"height": 20, "width": 40}
        make.save(tmp_path / "signs" / CLASSES[i % 2] / f"{i:02d}.png", i, **size)

    def write(*rows: str, name: str = "boxes.csv") -> str:
        lines = ["image,left,top,right,bottom", "stop/01.png,10,5,20,20", "./stop\\03.png,5,2.5,10,10", *rows]
        (tmp_path / "signs" / name).write_text("\n".join(lines))
        return str(tmp_path / "signs")

    return write


def test_boxes_are_scaled_with_their_images_and_others_have_none(boxed) -> None:
    workload = load(boxed(), size=[8, 8], boxes="boxes.csv")
    told = {
        image: box for split in workload.splits for image, box in zip(split.ids, split.boxes, strict=True)
    }
    assert len(told) == 20
    there = {image: box.tolist() for image, box in told.items() if np.isfinite(box).any()}
    assert there == {f"signs/stop/{name}.png": [2, 2, 4, 8] for name in ("01", "03")}
    assert load(boxed(), size=[8, 8]).train.boxes is None


def test_boxes_may_be_parquet_and_lie_elsewhere(boxed, tmp_path) -> None:
    root = boxed()
    frame = pd.read_csv(f"{root}/boxes.csv")
    frame.to_parquet(tmp_path / "b.parquet", index=False)
    read = load(root, size=[8, 8], boxes="boxes.csv"), load(root, size=[8, 8], boxes=f"{tmp_path}/b.parquet")
    np.testing.assert_array_equal(*(workload.train.boxes for workload in read))
    with refused(DataError):
        load(root, size=[8, 8], boxes="gone.csv")


def test_boxes_of_splits_go_by_the_names_of_their_images(split_root, tmp_path) -> None:
    rows = [f"{split}/stop/0.png,0,0,{edge},8" for split, edge in (("train", 4), ("test", 6))]
    (tmp_path / "b.csv").write_text("\n".join(["image,left,top,right,bottom", *rows]))
    workload = load(split_root, boxes=f"{tmp_path}/b.csv")
    for split, edge in ((workload.train, 4), (workload.test, 6)):
        (row,) = np.flatnonzero(np.isfinite(split.boxes).any(axis=1))
        assert (split.ids[row].rpartition("/")[2], split.boxes[row].tolist()) == ("0.png", [0, 0, edge, 8])
    assert np.isnan(workload.validation.boxes).all()
    ood = Folder(path=str(split_root), boxes=f"{tmp_path}/b.csv").load_ood(Context(), (3, 4, 4))
    assert np.nanmax(ood.images.boxes) == 4


@pytest.mark.parametrize(
    "row",
    [
        "stop/05.png,1,1,41,5",
        "stop/05.png,-1,1,4,5",
        "stop/05.png,5,1,1,5",
        "stop/05.png,1,5,5,1",
        "stop/05.png,1,1,1,5",
        "stop/5.png,1,1,4,5",
        "stop/01.png,1,1,4,5",
        "stop/05.png,1,x,4,5",
        "stop/05.png,1,1,,5",
        "stop/05.png,1,1,inf,5",
        ",1,1,4,5",
    ],
)
def test_a_bad_box_is_told_by_its_file_and_row(boxed, row) -> None:
    with refused(DataError) as told:
        load(boxed(row), size=[8, 8], boxes="boxes.csv")
    assert "boxes.csv, line 4" in str(told.value)


def test_all_bad_boxes_are_told_at_once(boxed) -> None:
    root = boxed("stop/05.png,5,1,1,5", "stop/05.png,1,1,4,5", "stop/07.png,x,1,4,5", "bend/1.png,1,1,4,5")
    with refused(DataError):
        load(root, size=[8, 8], boxes="boxes.csv")


@pytest.mark.parametrize(
    "header", ["path,left,top,right,bottom", "image,left,top,right", "image,x1,y1,x2,y2"]
)
def test_columns_that_are_missing_are_told(boxed, tmp_path, header) -> None:
    root, values = boxed(), ["stop/01.png", "1", "1", "4", "5"][: header.count(",") + 1]
    (tmp_path / "signs" / "boxes.csv").write_text(f"{header}\n{','.join(values)}\n")
    with refused(DataError):
        load(root, size=[8, 8], boxes="boxes.csv")


# Bad input ---------------------------------------------------------------------------------------------

EXPECTED = "expected one still image, grey or RGB, 8 bits a channel: convert it, or take it out"


@pytest.mark.parametrize(
    "spoil",
    [
        make.truncated,
        make.empty,
        make.no_image,
        make.cmyk,
        make.sixteen_bit_grey,
        make.sixteen_bit_rgb,
        make.sixteen_bit_ppm,
        make.alpha,
        make.transparent_palette,
        make.animated,
        lambda path: make.save(path, 1, height=9),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(root, spoil) -> None:
    spoil(root / "stop" / "spoilt.png")
    with refused(DataError):
        load(root)


@pytest.mark.parametrize("suffix", ["png", "jpg", "ppm", "bmp", "webp"])
@pytest.mark.parametrize("keep", [10, 40, -12])
def test_a_truncated_file_of_any_format_is_noticed(root, suffix, keep) -> None:
    path = make.save(root / "stop" / f"cut.{suffix}", 3)
    path.write_bytes(path.read_bytes()[:keep])
    with refused(DataError):
        load(root)


@pytest.mark.parametrize("suffix", ["bmp", "png"])
def test_a_wide_image_has_no_more_bits_for_it(tmp_path, suffix) -> None:
    for i in range(20):
        make.save(tmp_path / "w" / CLASSES[i % 2] / f"{i}.{suffix}", i, height=4, width=300)
    assert load(tmp_path / "w").shape == (3, 4, 300)


def test_a_header_that_claims_more_pixels_than_its_file_can_hold_is_told_alone(root) -> None:
    first = sorted(root.rglob("*.png"))[0]
    first.unlink()
    make.save(path := first.with_suffix(".ppm"), 999)
    path.write_bytes(path.read_bytes().replace(b"8 8", b"7000 7000"))
    with refused(DataError):
        load(root)


def test_all_bad_files_are_told_at_once(root) -> None:
    for i in range(5):
        make.truncated(root / "stop" / f"cut{i}.png")
    make.cmyk(root / "give-way" / "print.jpg")
    make.save(root / "give-way" / "large.png", 1, width=40)
    with pytest.raises(DataError) as told:
        load(root)
    text = str(told.value)
    assert "\n" not in text
    assert text.startswith(f"{root}: 7 problems: ")
    same_text(text)
    assert f"CMYK; {EXPECTED}: give-way/print.jpg" in text
    same_text(text)


def test_what_is_bad_in_the_layout_is_told_at_once(split_root) -> None:
    make.save(split_root / "test" / "yield" / "0.png", 1)
    make.save(split_root / "validation" / "parking" / "0.png", 2)
    (split_root / "train" / "danger").mkdir()
    (split_root / "train" / "bend").mkdir()
    with pytest.raises(DataError) as told:
        load(split_root)
    assert str(told.value) == (
        f"{split_root}: 4 problems: class folders without an image: train/bend, train/danger; "
        "classes in validation but not in train: parking; classes in test but not in train: yield"
    )


def test_folders_that_cannot_be_read_are_told(root, monkeypatch) -> None:
    whole = os.scandir

    def guarded(path):
        if str(path).endswith("stop"):
            raise PermissionError(13, "Permission denied")
        return whole(path)

    monkeypatch.setattr(os, "scandir", guarded)
    with refused(DataError):
        load(root)


def test_a_file_that_vanishes_after_the_listing_is_told(root) -> None:
    workload = Folder(path=str(root))._load(Context())
    (root / "stop" / "4.png").unlink()
    with refused(DataError):
        workload.train.images.read(np.array([0]))


@pytest.mark.parametrize(
    "prepare",
    [
        lambda p: p.write_text("x"),
        lambda p: p.mkdir(),
        lambda p: (p / "train").mkdir(parents=True),
        lambda p: (p / "stop").mkdir(parents=True),
    ],
)
def test_a_folder_without_images_is_told(tmp_path, prepare) -> None:
    prepare(tmp_path / "w")
    with refused(DataError):
        load(tmp_path / "w")


def test_a_missing_folder_is_told(tmp_path) -> None:
    with refused(DataError):
        load(tmp_path / "gone")


def test_files_of_other_kinds_are_left_out_and_counted(root) -> None:
    (root / "stop" / "GT-00001.csv").touch()
    (root / "stop" / "README").touch()
    (root / "give-way" / ".DS_Store").touch()
    workload = load(root)
    assert workload.notes == {"files_left_out": {".csv": 1, "no suffix": 1}}


def test_a_link_that_leads_back_up_does_not_hang(root) -> None:
    (root / "stop" / "again").symlink_to(root)
    assert sum(len(split) for split in load(root).splits) == 20


# Copies ------------------------------------------------------------------------------------------------


def test_a_copy_across_splits_is_an_error_and_may_be_dropped(split_root, tmp_path) -> None:
    copy = (split_root / "train" / "stop" / "3.png").read_bytes()
    (split_root / "test" / "stop" / "1.png").write_bytes(copy)
    (split_root / "train" / "stop" / "5.png").write_bytes(copy)
    with refused(DataError):
        load(split_root)
    workload = load(split_root, copies="drop", cache=DiskCache(tmp_path / "cache"))
    assert workload.notes == {
        "copies_dropped": 2,
        "dropped": ["signs/test/stop/1.png", "signs/train/stop/5.png"],
    }
    assert [len(split) for split in workload.splits] == [11, 4, 5]


def test_the_testbed_loads_it(root) -> None:
    bed = Testbed(seed=0, folder=root.parent)
    workload = bed.workload({"name": "farm.workloads.folder:Folder", "path": "signs"})
    assert workload.recipe["path"] == "signs"
    assert workload.content_hash == load(root).content_hash


def test_expected_forms_are_said_once() -> None:
    assert decoding.EXPECTED == EXPECTED
