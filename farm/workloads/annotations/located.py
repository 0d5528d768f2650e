"""Annotated images on the disk: where each lies, its size, and which boxes fit into it."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from farm.api import Context
from farm.workloads.annotations.form import AnnotatedImage, Box
from farm.workloads.boxes import EMPTY, EXPECTED, OUTSIDE, told_box
from farm.workloads.decoding import SUFFIXES, UnusableImage, header, read_file
from farm.workloads.image_files import on_all_cores
from farm.workloads.problems import Problems

HABIT = 2.0
"""Pixels by which boxes reach over their image's edge in the data as published: rounding, no mistake."""


@dataclass(frozen=True)
class Located:
    """Images that were found, with boxes that lie in them.

    `clipped` boxes reached over the edge by at most two pixels; `left_out` counts, by reason and class,
    objects whose boxes are none.
    """

    images: Sequence[AnnotatedImage]
    clipped: int = 0
    left_out: Mapping[tuple[str, str], int] = field(default_factory=Counter)


def locate(
    images: Sequence[AnnotatedImage], folder: Path, context: Context, *, drop: bool = False
) -> Located:
    """Find each image that has objects, and fit the boxes into it.

    Whatever is missing or no image is an error, told with its place. So is a box without an area, or one that
    leaves its image by more than two pixels; with `drop` its object is left out and counted instead.
    """
    wanted = [image for image in images if image.objects]
    problems, left_out, clipped = Problems(), Counter[tuple[str, str]](), 0
    sized = context.progress.track(
        on_all_cores(lambda image: _sized(image, folder), wanted),
        f"{folder}: looking for images",
        len(wanted),
    )
    found = []
    for image, (answer, problem) in zip(wanted, sized, strict=True):
        if problem:
            problems.add(problem, [f"{image.name!r} of {image.where}"])
            continue
        inside = []
        for one in answer.objects:
            box, wrong = fitted(one.box, answer.height, answer.width)
            if wrong and not drop:
                told = told_box(one.box, image.place(one), (answer.height, answer.width))
                problems.add(f"{wrong}; {EXPECTED[wrong]}, or --bad-boxes drop", [told])
            if wrong:
                left_out[wrong, one.label] += 1
            else:
                clipped += box != one.box
                inside.append(replace(one, box=box))
        found.append(replace(answer, objects=tuple(inside)))
    problems.check(str(folder))
    return Located(found, clipped, left_out)


def fitted(box: Box, height: int, width: int) -> tuple[Box, str]:
    """Return the part of a box that is in the image, and what is wrong with it, if anything.

    Examples
    --------
    >>> fitted((-0.5, 3, 10, 20), 20, 30), fitted((-3, 3, 10, 20), 20, 30)[1], fitted((9, 3, 2, 5), 20, 30)[1]
    (((0.0, 3, 10, 20), ''), 'box outside of its image', 'box without an area (are its corners swapped?)')
    """
    left, top, right, bottom = box
    if right <= left or bottom <= top:
        return box, EMPTY
    if min(left, top) < -HABIT or right > width + HABIT or bottom > height + HABIT:
        return box, OUTSIDE
    inside = max(left, 0.0), max(top, 0.0), min(right, float(width)), min(bottom, float(height))
    if inside[2] <= inside[0] or inside[3] <= inside[1]:
        return box, OUTSIDE
    return inside, ""


def _sized(image: AnnotatedImage, folder: Path) -> tuple[AnnotatedImage, str]:
    """Return the image with its path and its size, or what is wrong with it."""
    name = posixpath.normpath(image.name.replace("\\", "/"))
    # KITTI's names, and BDD100K's in a file an image, have no suffix.
    path = next((p for suffix in ("", *SUFFIXES) if (p := Path(f"{folder}/{name}{suffix}")).is_file()), None)
    if path is None:
        return image, f"no such image in {folder}"
    height, width = image.height, image.width
    if not height:
        try:
            _, height, width = header(read_file(str(path)))
        except UnusableImage as error:
            return image, str(error)
    return replace(image, path=str(path), height=height, width=width), ""
