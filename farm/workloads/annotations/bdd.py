"""BDD100K's labels for detection, in all forms they were published in: one list, or a file an image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from farm.workloads.annotations.entry import AnnotationEntry
from farm.workloads.annotations.form import AnnotatedImage, AnnotatedObject


def read_bdd(value: Any, path: Path) -> list[AnnotatedImage]:
    """Read what is in a file: a list of frames, the same under `frames`, or one image by itself.

    Labels without `box2d` are lanes and areas, no objects.

    Examples
    --------
    >>> label = {"id": 4, "category": "car", "box2d": {"x1": 1, "y1": 2, "x2": 11, "y2": 22}}
    >>> frame = {"name": "a.jpg", "attributes": {"weather": "rainy"}, "labels": [label]}
    >>> (image,) = read_bdd([frame], Path("det.json"))
    >>> image.conditions, image.objects[0].key, image.objects[0].box
    ({'weather': 'rainy'}, 'label 4', (1.0, 2.0, 11.0, 22.0))
    """
    if isinstance(value, list):
        return [_image(AnnotationEntry(one, f"{path}: [{number}]")) for number, one in enumerate(value)]
    file = AnnotationEntry(value, f"{path}:")
    return [_image(file)] if "name" in file else [_image(one) for one in file.listed("frames")]


def _image(frame: AnnotationEntry) -> AnnotatedImage:
    return AnnotatedImage(
        frame.text("name"),
        frame.where.removesuffix(":"),
        tuple(_object(one) for one in _labels(frame) if "box2d" in one),
        frame.inside("attributes").conditions(),
    )


def _labels(frame: AnnotationEntry) -> Iterator[AnnotationEntry]:
    yield from frame.listed("labels")
    for one in frame.listed("frames"):
        yield from one.listed("objects")


def _object(one: AnnotationEntry) -> AnnotatedObject:
    box, more = one.inside("box2d"), one.inside("attributes")
    left, top, right, bottom = (box.number(key) for key in ("x1", "y1", "x2", "y2"))
    return AnnotatedObject(
        f"label {one.name('id')}" if "id" in one else one.where.rpartition(".")[2],
        one.text("category"),
        (left, top, right, bottom),
        occluded=more.flag("occluded"),
        truncated=more.flag("truncated"),
        region=more.flag("crowd"),
    )
