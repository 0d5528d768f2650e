"""Images with boxes of objects, in whatever format they were annotated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels of the image: edges, so that the right one may be the image's width."""


@dataclass(frozen=True, slots=True)
class AnnotatedObject:
    """One object of an image.

    `key` tells it from the image's other objects, and says where it stands in the annotation file. With
    `region` it is a place where objects were not told apart: a crowd, or what nobody labelled.
    """

    key: str
    label: str
    box: Box
    occluded: bool = False
    truncated: bool = False
    region: bool = False


@dataclass(frozen=True, slots=True)
class AnnotatedImage:
    """An image with its objects; `where` is the annotation file, and the place in it.

    Annotations may tell neither `height` nor `width`: then both are 0 until the file was found, and `path`
    says where. `conditions` are such as weather.
    """

    name: str
    where: str
    objects: tuple[AnnotatedObject, ...]
    conditions: Mapping[str, str] = field(default_factory=dict)
    height: int = 0
    width: int = 0
    path: str = ""

    def place(self, one: AnnotatedObject) -> str:
        """Say where an object stands."""
        return f"{self.where}, {one.key}"
