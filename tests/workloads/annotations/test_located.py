"""Annotated images are found on the disk, and boxes must fit into them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from farm.api import Context
from farm.errors import DataError
from farm.workloads.annotations import locate, read_annotations
from farm.workloads.annotations.located import HABIT, fitted
from tests.wording import refused
from tests.workloads import image_makers
from tests.workloads.annotations import annotation_makers as make
from tests.workloads.annotations.annotation_makers import Thing

H, W = make.HEIGHT, make.WIDTH
EDGES = st.floats(-6, 14).map(lambda value: round(value * 4) / 4)


def located(folder: Path, *things: Thing, drop: bool = False):
    scene = {"a": [Thing("car", (10, 10, 50, 50)), *things]}
    images = read_annotations(make.bdd(scene, folder / "a.json"))
    return locate(images, make.draw(scene, folder / "images"), Context(), drop=drop)


@pytest.mark.parametrize("maker", [make.kitti, make.bdd_files])
def test_names_without_a_suffix_are_found(tmp_path: Path, maker) -> None:
    images = read_annotations(maker(make.STREET, tmp_path / "labels"))
    folder = make.draw(make.STREET, tmp_path / "images", ".jpg")
    found = locate(images, folder, Context()).images
    # The third has no object, and is not looked for.
    assert [Path(image.path).name for image in found] == ["000000.jpg", "000001.jpg"]
    assert {(image.height, image.width) for image in found} == {(H, W)}


def test_a_box_over_the_edge_by_little_is_clipped_and_counted(tmp_path: Path) -> None:
    found = located(tmp_path, Thing("car", (-1.5, 60, 50, H + 2)), Thing("van", (60, 0, W, H)))
    assert [one.box for one in found.images[0].objects[1:]] == [(0, 60, 50, H), (60, 0, W, H)]
    assert (found.clipped, dict(found.left_out)) == (1, {})


BAD = [
    Thing("car", (-2.25, 60, 50, 90)),
    Thing("car", (60, 10, W + 3, 60)),
    Thing("van", (50, 60, 20, 90)),
    Thing("van", (50, 60, 70, 60)),
    Thing("van", (W + 1, 60, W + 2, 70)),
]


def test_boxes_that_do_not_fit_are_told_with_their_places(tmp_path: Path) -> None:
    with refused(DataError):
        located(tmp_path, *BAD)


def test_boxes_that_do_not_fit_may_be_left_out_and_counted(tmp_path: Path) -> None:
    found = located(tmp_path, *BAD, drop=True)
    assert [one.box for one in found.images[0].objects] == [(10, 10, 50, 50)]
    assert {label: n for (_, label), n in found.left_out.items()} == {"car": 2, "van": 1}
    assert sum(found.left_out.values()) == 5


def test_images_that_are_none_are_told(tmp_path: Path) -> None:
    scene = {name: [Thing("car", (1, 1, 5, 5))] for name in ("good", "missing", "broken", "text")}
    folder = make.draw(scene, tmp_path / "images")
    (folder / "missing.png").unlink()
    image_makers.truncated(folder / "broken.png")
    image_makers.no_image(folder / "text.png")
    with refused(DataError):
        locate(read_annotations(make.bdd(scene, tmp_path / "a.json")), folder, Context())


def test_a_path_below_the_folder_is_followed(tmp_path: Path) -> None:
    (image,) = located(tmp_path).images
    (tmp_path / "images" / "below").mkdir()
    Image.new("RGB", (60, 50)).save(tmp_path / "images" / "below" / "b.jpg")
    other = replace(image, name=".\\below//b.jpg", height=0)
    (found,) = locate([other], tmp_path / "images", Context()).images
    assert found.path.endswith("images/below/b.jpg")


@given(left=EDGES, top=EDGES, right=EDGES, bottom=EDGES)
def test_a_box_that_fits_is_the_part_in_the_image(left, top, right, bottom) -> None:
    """Counted over quarters of pixels, of an image of 8 x 10."""
    box, wrong = fitted((left, top, right, bottom), 8, 10)
    xs = [x / 4 for x in range(-100, 100) if left <= x / 4 < right and 0 <= x / 4 < 10]
    ys = [y / 4 for y in range(-100, 100) if top <= y / 4 < bottom and 0 <= y / 4 < 8]
    far = max(-left, -top, right - 10, bottom - 8) > HABIT
    assert bool(wrong) == (far or not xs or not ys)
    if not wrong:
        assert box == (xs[0], ys[0], xs[-1] + 0.25, ys[-1] + 0.25)
