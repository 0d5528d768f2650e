"""Which format annotations have, and reading them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from farm.api import check_choice
from farm.errors import DataError
from farm.store.files import read_json_value
from farm.workloads.annotations.bdd import read_bdd
from farm.workloads.annotations.coco import read_coco
from farm.workloads.annotations.form import AnnotatedImage
from farm.workloads.annotations.kitti import read_kitti
from farm.workloads.problems import Problems

FORMATS = ("coco", "kitti", "bdd")
_EXPECTED = "expected COCO's file, a folder of KITTI's labels, or BDD100K's list or folder of files"
_MOST = 2**30
"""Bytes of an annotation file that are read at most: those of COCO have half as many."""


def read_annotations(path: Path, form: str | None = None) -> list[AnnotatedImage]:
    """Read an annotation file, or a folder of them; the format is found by looking, or said.

    Boxes are as they stand there: `locate` checks that they fit their images.
    """
    if form is not None:
        check_choice("--format", form, FORMATS)
    if not path.exists():
        raise DataError(f"{path} does not exist; {_EXPECTED}")
    images = _of_folder(path, form) if path.is_dir() else _of_file(path, form)
    if not images:
        raise DataError(f"{path} has no image; {_EXPECTED}")
    _check_names(images, path)
    return images


def _of_folder(path: Path, form: str | None) -> list[AnnotatedImage]:
    files = {suffix: sorted(path.rglob(f"*{suffix}")) for suffix in (".txt", ".json")}
    if form == "coco":
        raise DataError(f"{path} is a folder; expected a file: COCO's annotations are in one")
    kitti = form == "kitti" or (form is None and bool(files[".txt"]))
    if form is None and files[".txt"] and files[".json"]:
        raise DataError(f"{path} has both .txt and .json files; say --format kitti or --format bdd")
    if not (chosen := files[".txt" if kitti else ".json"]):
        wanted = " or ".join(files) if form is None else ".txt" if kitti else ".json"
        raise DataError(f"{path} has no {wanted} file in it; {_EXPECTED}")
    if kitti:
        return [read_kitti(file, file.relative_to(path).with_suffix("").as_posix()) for file in chosen]
    return [image for file in chosen for image in read_bdd(_json(file), file)]


def _of_file(path: Path, form: str | None) -> list[AnnotatedImage]:
    if form == "kitti":
        raise DataError(f"{path} is a file; expected a folder: KITTI's labels are a file an image")
    value = _json(path)
    keys = set(value) if isinstance(value, dict) else set()
    if form == "coco" or (form is None and {"images", "annotations"} <= keys):
        return read_coco(value, path)
    if form == "bdd" or isinstance(value, list) or "frames" in keys:
        return read_bdd(value, path)
    raise DataError(f"{path} is of no format that is known; {_EXPECTED}")


def _json(path: Path) -> Any:
    return read_json_value(path, _MOST)


def _check_names(images: Sequence[AnnotatedImage], path: Path) -> None:
    """Raise where an image, or an object of one, is told twice, or a name leads out of the images' folder."""
    problems, places = Problems(), dict[str, str]()
    for image in images:
        name = image.name.replace("\\", "/")
        if name.startswith("/") or ".." in PurePosixPath(name).parts or re.match(r"[A-Za-z]:", name):
            problems.add("name that leads out of the folder of images", [f"{image.name!r} in {image.where}"])
        if image.name in places:
            problems.add("image told twice", [f"{image.name!r} in {places[image.name]} and {image.where}"])
        places[image.name] = image.where
        counted = Counter(one.key for one in image.objects)
        twice = [f"{image.where}, {key}" for key, n in counted.items() if n > 1]
        problems.add("object that has another one's id", twice)
    problems.check(str(path))
