"""Cut-outs as files: each pixel and box from the right place, and a set that the workload `table` loads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from farm.api import Context
from farm.errors import DataError
from farm.workloads.annotations import AnnotatedImage, AnnotatedObject
from farm.workloads.crops import Crop, CropRules, choose, crop_card, cut, write_index
from farm.workloads.table import Table
from tests.wording import refused
from tests.workloads import image_makers

H, W = 90, 120


def made(
    folder: Path, name: str, box: Sequence[float], *, suffix: str = ".png", **told: str
) -> AnnotatedImage:
    """Draw a white object on black, as an annotated image that was found."""
    pixels = np.zeros((H, W), np.uint8)
    pixels[round(box[1]) : round(box[3]), round(box[0]) : round(box[2])] = 255
    pixels[0, 0] = sum(map(ord, name)) % 200  # no two are the same
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{suffix}"
    Image.fromarray(pixels).convert("RGB").save(path)
    one = AnnotatedObject("label 1", "car", (box[0], box[1], box[2], box[3]))
    return AnnotatedImage(path.name, "a.json", (one,), told, H, W, str(path))


def written(folder: Path, images: Sequence[AnnotatedImage], rules: CropRules) -> list[Crop]:
    crops = list(choose({("train", "validation", "test"): images}, rules).crops)
    folder.mkdir()
    cut(crops, folder, Context())
    write_index(crops, folder)
    return crops


def test_an_object_is_where_its_box_says(tmp_path: Path) -> None:
    images = [made(tmp_path / "in", f"{i}", (20 + i, 30, 56 + i, 52 + i)) for i in range(20)]
    for crop in written(tmp_path / "set", images, CropRules(size=96)):
        white = np.asarray(Image.open(tmp_path / "set" / crop.file).convert("L")) >= 128
        rows, columns = np.flatnonzero(white.any(axis=1)), np.flatnonzero(white.any(axis=0))
        drawn = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
        assert np.abs(np.subtract(drawn, crop.box)).max() <= 0.5 + 1e-9
        # A corner is bordered by black on two sides, so that it may be grey.
        assert (
            white[drawn[1] : drawn[3], drawn[0] : drawn[2]].sum()
            >= (drawn[2] - drawn[0]) * (drawn[3] - drawn[1]) - 4
        )


def test_pixels_are_those_of_the_place_and_no_others(tmp_path: Path) -> None:
    """Where a cut-out is not scaled, its pixels are the source's bit for bit; elsewhere they are averages."""
    rng = np.random.default_rng(0)
    source = rng.integers(0, 256, (H, W, 3), dtype=np.uint8)
    image = made(tmp_path, "a", (40, 40, 72, 72))
    Image.fromarray(source).save(image.path)
    same = Crop(image, image.objects[0], "car", "train", 30, 20, 64, 64)
    half = Crop(image, image.objects[0], "car", "validation", 30, 20, 64, 32)
    for crop in (same, half):
        (folder := tmp_path / f"{crop.size}").mkdir()
        cut([crop], folder, Context())
        got = np.asarray(Image.open(folder / crop.file)).astype(float)
        part = source[20:84, 30:94].astype(float)
        if crop is same:
            assert (got == part).all()
        else:
            # A triangle two source pixels to each side of a target's centre, cut off at the edge.
            apart = np.arange(64)[None] + 0.5 - 2 * (np.arange(32)[:, None] + 0.5)
            weights = np.maximum(1 - np.abs(apart) / 2, 0)
            weights /= weights.sum(axis=1, keepdims=True)
            expected = np.einsum("ij,jkc,lk->ilc", weights, part, weights)
            assert np.abs(got - expected).max() <= 1.5


def test_the_set_is_a_workload_as_it_is(tmp_path: Path) -> None:
    images = [
        made(tmp_path / "in", f"{i}", (20, 30, 56 + i, 52), weather=("rainy", "clear")[i % 2], scene="")
        for i in range(60)
    ]
    crops = written(tmp_path / "set", images, CropRules(size=32))
    workload = Table(path=str(tmp_path / "set" / "index.csv")).load(Context())
    assert (workload.classes, workload.shape) == (("car",), (3, 32, 32))
    for split in workload.splits:
        own = [crop for crop in crops if crop.split == split.name]
        assert len(own) == len(split) > 0
        assert split.boxes is not None
        assert split.boxes == pytest.approx(np.array([crop.box for crop in own]), abs=1e-12)
        assert [str(group).rpartition("group-")[2] for group in split.groups] == [c.image.name for c in own]
        assert split.conditions["weather"].tolist() == [crop.image.conditions["weather"] for crop in own]
        assert "scene" not in split.conditions
        assert split.conditions["enlarged"] == pytest.approx([32 / crop.side for crop in own], abs=1e-4)
    sources = pd.read_csv(tmp_path / "set" / "sources.tsv", sep="\t")
    assert sources["image"].tolist() == [crop.image.name for crop in crops]
    assert sources["side"].tolist() == [crop.side for crop in crops]


def test_names_of_any_kind_are_files_and_rows_of_their_own(tmp_path: Path) -> None:
    names = ["a b", "a_b", 'quo"te', "com,ma", "semi;colon", "ünïcode", "-dash", "=1+1"]
    images = [made(tmp_path / "in", name, (20, 30, 56, 52)) for name in names]
    crops = written(tmp_path / "set", images, CropRules(size=32, shares={"train": 1}))
    assert len({crop.file for crop in crops}) == len(names)
    index = pd.read_csv(tmp_path / "set" / "index.csv")
    assert sorted(index["group"]) == sorted(image.name for image in images)
    assert all((tmp_path / "set" / path).is_file() for path in index["path"])


def test_the_same_again_is_the_same_to_the_last_byte(tmp_path: Path) -> None:
    images = [made(tmp_path / "in", f"{i}", (20, 30, 56 + i, 52), suffix=".jpg") for i in range(12)]
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        written(folder, images, CropRules(size=64))
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert len(files) == 12 + 2
    assert all((one / file).read_bytes() == (two / file).read_bytes() for file in files)


def test_what_cannot_be_cut_is_told(tmp_path: Path) -> None:
    images = {
        name: made(tmp_path / "in", name, (20, 30, 56, 52)) for name in ("half", "large", "gone", "page")
    }
    image_makers.truncated(Path(images["half"].path))
    Image.new("RGB", (W + 1, H)).save(images["large"].path)
    Path(images["gone"].path).unlink()
    image_makers.no_image(Path(images["page"].path))
    with refused(DataError):
        written(tmp_path / "set", list(images.values()), CropRules())


def test_a_jpeg_that_ends_early_is_told(tmp_path: Path) -> None:
    image = made(tmp_path / "in", "a", (20, 30, 56, 52), suffix=".jpg")
    whole = Path(image.path).read_bytes()
    Path(image.path).write_bytes(whole[: len(whole) * 3 // 4])
    with refused(DataError):
        written(tmp_path / "set", [image], CropRules())


def test_one_image_under_two_names_is_in_one_split(tmp_path: Path) -> None:
    images = [made(tmp_path / "in", f"{i}", (20, 30, 56, 52)) for i in range(2)]
    Path(images[1].path).write_bytes(Path(images[0].path).read_bytes())
    together = choose({("train",): images}, CropRules()).crops
    (tmp_path / "together").mkdir()
    digests = cut(together, tmp_path / "together", Context())
    assert len(set(digests.values())) == 1
    apart = choose({("train",): images[:1], ("test",): images[1:]}, CropRules()).crops
    (tmp_path / "apart").mkdir()
    with refused(DataError):
        cut(apart, tmp_path / "apart", Context())


def test_the_card_counts_what_there_is(tmp_path: Path) -> None:
    images = [made(tmp_path / "in", f"{i}", (20, 30, 56, 52), weather=("rainy", "")[i % 2]) for i in range(9)]
    images.append(made(tmp_path / "in", "narrow", (20, 30, 40, 52)))
    rules = CropRules(keep_occluded={"car"})
    plan = choose({("train",): images[:4], ("test",): images[4:]}, rules)
    card = crop_card(plan, rules, clipped=2, images={"b": "2", "a": "1"}, made_from={"sources": []})
    assert card["classes"] == [{"name": "car", "train": 4, "validation": 0, "test": 5}]
    assert card["conditions"] == {
        "weather": [
            {"name": "rainy", "train": 2, "validation": 0, "test": 3},
            {"name": "not told", "train": 2, "validation": 0, "test": 2},
        ]
    }
    assert card["left_out"] == [{"reason": "narrower than 30 pixels", "class": "car", "n": 1}]
    assert (card["objects"], card["boxes_clipped"], card["images"]["n"]) == (10, 2, 2)
    assert card["made_by"]["seed"] == 0
    again = crop_card(plan, rules, clipped=2, images={"a": "1", "b": "2"}, made_from={})
    assert again["images"] == card["images"]
