"""Annotations of COCO, KITTI and BDD100K in one form; whatever is wrong is told by its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from farm.errors import DataError, ParameterError
from farm.workloads.annotations import AnnotatedImage, read_annotations
from tests.wording import refused
from tests.workloads.annotations import annotation_makers as make

MAKERS: dict[str, Callable[[Path], Path]] = {
    "coco": lambda folder: make.coco(make.STREET, folder / "a.json"),
    "kitti": lambda folder: make.kitti(make.STREET, folder / "labels"),
    "kitti results": lambda folder: make.kitti(make.STREET, folder / "labels", score=" 0.9"),
    "bdd": lambda folder: make.bdd(make.STREET, folder / "det.json"),
    "bdd files": lambda folder: make.bdd_files(make.STREET, folder / "labels"),
}


def told(images: list[AnnotatedImage]) -> make.Scene:
    return {
        image.name.removesuffix(".png"): [
            make.Thing(one.label, one.box, one.occluded, one.truncated) for one in image.objects
        ]
        for image in images
    }


@pytest.mark.parametrize("name", MAKERS)
def test_every_format_tells_the_same_street(tmp_path: Path, name: str) -> None:
    path = MAKERS[name](tmp_path)
    assert told(read_annotations(path)) == make.STREET
    assert told(read_annotations(path, name.split()[0])) == make.STREET


def test_a_file_with_frames_is_read_as_its_list_is(tmp_path: Path) -> None:
    path = tmp_path / "scalabel.json"
    path.write_text(json.dumps({"frames": make.frames(make.STREET), "config": {}}))
    assert told(read_annotations(path)) == make.STREET


@pytest.mark.parametrize("name", ["coco", "bdd", "bdd files"])
def test_conditions_are_told_where_the_format_has_them(tmp_path: Path, name: str) -> None:
    images = read_annotations(MAKERS[name](tmp_path))
    assert [image.conditions["weather"] for image in images] == list(make.WEATHER)
    assert ("timeofday" in images[0].conditions) == (name != "coco")


def test_only_coco_says_how_large_images_are(tmp_path: Path) -> None:
    (image, *_) = read_annotations(MAKERS["coco"](tmp_path))
    assert (image.height, image.width) == (make.HEIGHT, make.WIDTH)
    (image, *_) = read_annotations(MAKERS["bdd"](tmp_path))
    assert (image.height, image.width) == (0, 0)


def test_crowds_and_what_nobody_labelled_are_regions(tmp_path: Path) -> None:
    value = json.loads(MAKERS["coco"](tmp_path).read_text())
    value["annotations"][0]["iscrowd"] = 1
    assert [one.region for one in read(tmp_path, value)[0].objects] == [True, False]
    (labels := tmp_path / "kitti").mkdir()
    line = "DontCare -1 -1 -10 1 2 30 40 -1 -1 -1 -1000 -1000 -1000 -10\n"
    (labels / "1.txt").write_text(
        f"{line}\nCar 0 3 0 1 2 30 40 1 1 1 1 1 1 0\nVan 0.01 0 0 1 2 3 4 1 1 1 1 1 1 0"
    )
    objects = read_annotations(labels)[0].objects
    assert [(one.key, one.region) for one in objects] == [
        ("line 1", True),
        ("line 3", False),
        ("line 4", False),
    ]
    # Unknown is not "fully visible", and a hundredth has left the image, too.
    assert [(one.occluded, one.truncated) for one in objects] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_what_has_no_id_is_told_by_its_place(tmp_path: Path) -> None:
    frames = make.frames(make.STREET)
    del frames[0]["labels"][1]["id"]
    assert [one.key for one in read(tmp_path, frames)[0].objects] == ["label 0", "labels[1]"]


def read(folder: Path, value: Any) -> list[AnnotatedImage]:
    (path := folder / "a.json").write_text(json.dumps(value))
    return read_annotations(path)


def changed(maker: str, tmp_path: Path, keys: tuple[Any, ...], new: Any) -> Any:
    """Return a file's value with one thing changed in it; None takes it out."""
    value = json.loads(MAKERS[maker](tmp_path).read_text())
    at = value
    for key in keys[:-1]:
        at = at[key]
    if new is None:
        del at[keys[-1]]
    else:
        at[keys[-1]] = new
    return value


@pytest.mark.parametrize(
    ("maker", "keys", "new"),
    [
        ("coco", ("annotations", 1, "bbox"), [1, 2, "3", 4]),
        ("coco", ("annotations", 1, "bbox"), [1, 2, 3]),
        ("coco", ("annotations", 1, "bbox"), None),
        ("coco", ("annotations", 1, "bbox"), [1, 2, 3, 10**400]),
        ("coco", ("annotations", 1, "image_id"), 77),
        ("coco", ("annotations", 1, "category_id"), "car"),
        ("coco", ("annotations", 1, "id"), 100),
        ("coco", ("annotations", 1), "car"),
        ("coco", ("annotations",), {"1": 2}),
        ("coco", ("images", 1, "id"), 0),
        ("coco", ("images", 1, "file_name"), "000000.png"),
        ("coco", ("images", 1, "file_name"), "../secret.png"),
        ("coco", ("images", 1, "file_name"), "C:\\secret.png"),
        ("coco", ("images", 1, "width"), 0),
        ("coco", ("images", 1, "height"), None),
        ("coco", ("categories", 0, "name"), "ca\nr"),
        ("coco", ("images",), []),
        ("bdd", (0, "labels", 1, "box2d", "x2"), None),
        ("bdd", (0, "labels", 1, "box2d", "x2"), True),
        ("bdd", (0, "labels", 1, "box2d"), [1, 2, 3, 4]),
        ("bdd", (0, "labels", 1, "category"), 7),
        ("bdd", (0, "labels", 1, "attributes", "occluded"), "perhaps"),
        ("bdd", (0, "labels"), "none"),
        ("bdd", (0, "name"), None),
        ("bdd", (0, "attributes", "weather"), 3),
    ],
)
def test_what_is_wrong_in_a_file_is_told_by_its_place(
    tmp_path: Path, maker: str, keys: tuple[Any, ...], new: Any
) -> None:
    value = changed(maker, tmp_path, keys, new)
    with refused(DataError):
        read(tmp_path, value)


@pytest.mark.parametrize(
    "line",
    [
        "Car 0 0 0 1 2 30 40",
        "Car 0 0 0 1 2 thirty 40 1 1 1 1 1 1 0",
        "Car 0 0 0 1 2 nan 40 1 1 1 1 1 1 0",
        "Car 0 0 0 1 2 30 40 1 1 1 1 1 1 0 0.9 7",
    ],
)
def test_what_is_wrong_in_a_line_is_told_by_its_number(tmp_path: Path, line: str) -> None:
    (folder := make.kitti(make.STREET, tmp_path / "labels"))
    with (folder / "000000.txt").open("a") as file:
        file.write(line)
    with refused(DataError):
        read_annotations(folder)


def test_a_format_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    both = make.kitti(make.STREET, make.bdd_files(make.STREET, tmp_path / "both"))
    (odd := tmp_path / "odd.json").write_text('{"a": 1}')
    (number := tmp_path / "number.json").write_text("7")
    (binary := tmp_path / "binary").mkdir()
    (binary / "1.txt").write_bytes(b"\xff\xfe")
    asked = [(tmp_path / "none", None), (tmp_path / "empty", None), (tmp_path / "empty", "bdd"), (both, None)]
    asked += [(odd, None), (odd, "kitti"), (odd, "coco"), (number, None), (number, "bdd"), (both, "coco")]
    asked += [(binary, None)]
    for path, form in asked:
        with refused(DataError):
            read_annotations(path, form)
    with refused(ParameterError):
        read_annotations(odd, "voc")
    assert len(read_annotations(both, "kitti")) == len(read_annotations(both, "bdd")) == 3
