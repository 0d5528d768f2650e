"""COCO's annotations: one file with images, annotations and categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from farm.errors import DataError
from farm.workloads.annotations.entry import AnnotationEntry
from farm.workloads.annotations.form import AnnotatedImage, AnnotatedObject


def read_coco(value: Any, path: Path) -> list[AnnotatedImage]:
    """Read what is in a file of COCO's form; other sets are converted to it.

    An annotation is occluded or truncated where it says so itself or in its `attributes`, and an image tells
    weather, scene and time of day likewise: COCO itself tells neither.

    Examples
    --------
    >>> images = [{"id": 1, "file_name": "a.jpg", "width": 64, "height": 48}]
    >>> annotations = [{"id": 7, "image_id": 1, "category_id": 3, "bbox": [1, 2, 10, 20], "iscrowd": 0}]
    >>> file = {"images": images, "annotations": annotations, "categories": [{"id": 3, "name": "car"}]}
    >>> read_coco(file, Path("a.json"))[0].objects[0].box
    (1.0, 2.0, 11.0, 22.0)
    """
    file = AnnotationEntry(value, f"{path}:")
    labels = {one.name("id"): one.text("name") for one in file.listed("categories")}
    objects: dict[int | str, list[AnnotatedObject]] = {}
    images: dict[int | str, AnnotationEntry] = {}
    for one in file.listed("images"):
        if (name := one.name("id")) in images:
            raise DataError(
                f"{one.where}.id is {name!r}, as of {images[name].where}; expected one id an image"
            )
        images[name], objects[name] = one, []
    for one in file.listed("annotations"):
        image, category = one.name("image_id"), one.name("category_id")
        for key, told, known in (("image_id", image, images), ("category_id", category, labels)):
            if told not in known:
                listed = "images" if known is images else "categories"
                raise DataError(f"{one.where}.{key} is {told!r}; expected an id from the file's {listed}")
        objects[image].append(_object(one, labels[category]))
    return [
        AnnotatedImage(
            one.text("file_name"),
            one.where,
            tuple(objects[name]),
            one.inside("attributes").conditions() | one.conditions(),
            *((one.whole("height"), one.whole("width")) if "height" in one or "width" in one else ()),
        )
        for name, one in images.items()
    ]


def _object(one: AnnotationEntry, label: str) -> AnnotatedObject:
    left, top, width, height = one.numbers("bbox", 4)
    more = one.inside("attributes")
    return AnnotatedObject(
        f"annotation {one.name('id')}" if "id" in one else one.where.rpartition(" ")[2],
        label,
        (left, top, left + width, top + height),
        occluded=one.flag("occluded") or more.flag("occluded"),
        truncated=one.flag("truncated") or more.flag("truncated"),
        region=one.flag("iscrowd"),
    )
