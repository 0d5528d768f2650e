"""`farm crops` as a person meets it: from annotations to a set that loads, and one line where it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from farm.api import Context
from farm.cli import main
from farm.workloads.table import Table
from tests.wording import same_text
from tests.workloads.annotations import annotation_makers as make
from tests.workloads.annotations.annotation_makers import Thing

N = 24
SCENE = {
    f"{i:03d}": [
        Thing("car", (10 + i % 5, 20, 70, 60 + i % 7)),
        Thing("bicycle" if i % 2 else "motorcycle", (110, 30, 150.5, 80.25), occluded=i % 4 == 0),
        Thing("rider", (160, 5, 195, 20)),
    ]
    for i in range(N)
}
CLASSES = "bike: [bicycle, motorcycle]\ncar: car\ndrop: [rider]\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make.draw(SCENE, tmp_path / "images")
    make.coco(SCENE, tmp_path / "coco.json")
    make.bdd(SCENE, tmp_path / "det.json")
    make.bdd_files(SCENE, tmp_path / "frames")
    make.kitti(SCENE, tmp_path / "kitti")
    (tmp_path / "classes.yaml").write_text(CLASSES)
    return tmp_path


def crops(*arguments: str, images: str = "images") -> int:
    return main(["crops", *arguments, "--images", images, "--size", "32", "--quiet"])


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert crops(*arguments) == code
    printed = capsys.readouterr()
    return printed.err if code else printed.out


def test_a_set_is_written_and_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same_text(
        told(capsys, "det.json", "--out", "set", "--classes", "classes.yaml", "--keep-occluded", "bike")
    )
    workload = Table(path="set/index.csv").load(Context())
    card = json.loads((here / "set" / "card.json").read_text())
    assert workload.classes == ("bike", "car")
    loaded = {split.name: np.bincount(split.labels, minlength=2) for split in workload.splits}
    for number, row in enumerate(card["classes"]):
        assert row == {"name": ("bike", "car")[number], **{name: n[number] for name, n in loaded.items()}}
    assert (
        card["objects"]
        == 3 * N
        == sum(len(s) for s in workload.splits) + sum(r["n"] for r in card["left_out"])
    )
    assert card["made_by"]["class_map"] == {
        "bicycle": "bike",
        "motorcycle": "bike",
        "car": "car",
        "rider": None,
    }
    assert sorted(path.name for path in (here / "set").iterdir()) == [
        *("card.json", "card.md", "images", "index.csv", "samples.png", "sources.tsv")
    ]
    assert [split for split in workload.splits if set(split.conditions["weather"]) - set(make.WEATHER)] == []


@pytest.mark.parametrize("other", ["det.json", "frames", "kitti"])
def test_every_format_gives_the_same_objects(here: Path, other: str) -> None:
    """Which place each is cut from is keyed by its own id, which formats tell otherwise."""
    rows = []
    for number, path in enumerate(("coco.json", other)):
        out = f"set-{number}"
        assert crops(path, "--out", out, "--split", "train=1", "--other", "100") == 0
        sources = pd.read_csv(f"{out}/sources.tsv", sep="\t", dtype=str)
        names = sources["image"].str.removesuffix(".png")
        rows.append(sorted(zip(names, sources["class"], strict=True)))
    assert rows[0] == rows[1]
    assert len(rows[0]) == 3 * N - N // 4


def test_splits_are_those_that_the_files_are_for(here: Path) -> None:
    first = dict(list(SCENE.items())[:16])
    make.coco(first, here / "first.json")
    make.coco({name: things for name, things in SCENE.items() if name not in first}, here / "second.json")
    files = ("train+validation=first.json", "test=second.json")
    assert crops(*files, "--out", "set", "--split", "train=1,validation=1") == 0
    index = pd.read_csv(here / "set" / "index.csv")
    in_first = index["group"].str.removesuffix(".png").isin(list(first))
    assert set(index.loc[in_first, "split"]) == {"train", "validation"}
    assert set(index.loc[~in_first, "split"]) == {"test"}


def test_a_name_with_an_equals_sign_is_a_name(here: Path) -> None:
    (here / "det.json").rename(here / "a=det.json")
    assert crops("a=det.json", "--out", "set") == 0


def test_bad_boxes_are_told_or_counted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = (here / "kitti" / "003.txt").read_text()
    (here / "kitti" / "003.txt").write_text(
        labels.replace(" 13 20 70 ", " 70 20 13 ").replace(" 195 ", " 201.5 ")
    )
    same_text(told(capsys, "kitti", "--out", "set", code=2))
    assert not (here / "set").exists()
    same_text(told(capsys, "kitti", "--out", "set", "--bad-boxes", "drop"))
    card = json.loads((here / "set" / "card.json").read_text())
    assert (card["objects"], card["boxes_clipped"]) == (3 * N, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("none.json", "--out", "set"),
        ("det.json", "--out", "images"),
        ("det.json", "coco.json", "--out", "set"),
        ("train=det.json", "test=det.json", "--out", "set"),
        ("det.json", "--out", "set", "--images", "kitti"),
        ("det.json", "--out", "set", "--format", "kitti"),
        ("det.json", "--out", "set", "--classes", "none.yaml"),
        ("det.json", "--out", "set", "--other", "1/0"),
        ("det.json", "--out", "set", "--other", "a third"),
        ("det.json", "--out", "set", "--most", "train"),
        ("det.json", "--out", "set", "--most", "train=many"),
        ("det.json", "--out", "set", "--split", "train=0.8,tset=0.2"),
        ("det.json", "--out", "set", "--keep-occluded", "bike"),
        ("det.json", "--out", "set", "--narrowest", "500"),
    ],
)
def test_what_cannot_be_done_is_told_and_leaves_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    same_text(told(capsys, *arguments, code=2))
    assert not (here / "set").exists()


def test_no_folder_of_images_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert crops("det.json", "--out", "set", images="nowhere") == 2
    same_text(capsys.readouterr().err)


def test_a_class_missing_from_the_mapping_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "classes.yaml").write_text("car: car\nbike: bicycle\n")
    same_text(told(capsys, "coco.json", "--out", "set", "--classes", "classes.yaml", code=2))


def test_a_damaged_image_is_told_and_leaves_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = here / "images" / "005.png"
    picture.write_bytes(picture.read_bytes()[:200])
    same_text(told(capsys, "coco.json", "--out", "set", code=2))
    assert [path.name for path in here.iterdir() if "set" in path.name] == []
