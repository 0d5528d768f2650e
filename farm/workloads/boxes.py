"""Boxes of objects as tables tell them: which are none, and those of a file beside the images."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from farm.api import FloatArray, IntArray
from farm.errors import DataError
from farm.workloads.index_file import BOX, read_index
from farm.workloads.problems import Problems

EMPTY, OUTSIDE = "box without an area (are its corners swapped?)", "box outside of its image"
EXPECTED = {
    EMPTY: "expected left < right and top < bottom",
    OUTSIDE: "expected sides from 0 to its width and height",
}
IMAGE = "image"
"""The column of a file of boxes that names the image."""


def read_boxes(
    path: Path, images: Sequence[str], problems: Problems
) -> tuple[FloatArray, Callable[[int], str]]:
    """Return the box of each of these images, NaN where a file tells none, and where it tells that of one.

    What is wrong in the file is noted.
    """
    index = read_index(path)
    if missing := [name for name in (IMAGE, *BOX) if name not in index]:
        raise DataError(
            f"{path}: column '{missing[0]}' is missing; found: {', '.join(index.columns)}; expected "
            f"{', '.join((IMAGE, *BOX))}"
        )
    told = np.stack([index.numbers(column, problems) for column in BOX], axis=1)
    names = [posixpath.normpath(name.replace("\\", "/")) for name in index.columns[IMAGE]]
    known = {name: row for row, name in enumerate(images)}
    rows: dict[int, int] = {}
    strange, again = [], []
    for row, name in enumerate(names):
        if name not in known:
            strange.append(row)
        elif rows.setdefault(known[name], row) != row:
            again.append(row)

    def place(image: int) -> str:
        return index.place(rows[image])

    problems.add_rows(
        f"box of an image that is not there (expected a path such as '{images[0]}')",
        strange,
        lambda row: f"{index.columns[IMAGE][row]!r} in {index.place(row)}",
    )
    problems.add_rows(
        "second box of an image (expected one row an image)",
        again,
        lambda row: f"{names[row]!r} in {place(known[names[row]])} and {index.place(row)}",
    )
    found = np.full((len(images), len(BOX)), np.nan)
    found[list(rows)] = told[list(rows.values())]
    note_boxes(found, None, place, problems)
    return found, place


def note_boxes(
    boxes: FloatArray, sizes: IntArray | None, place: Callable[[int], str], problems: Problems
) -> None:
    """Note boxes without an area, and those that leave their image where heights and widths are known.

    A row without a box is none that is wrong.

    Examples
    --------
    >>> problems = Problems()
    >>> boxes, sizes = np.array([[0, 0, 8, 8], [0, 0, 8, 9], [5, 1, 1, 5]]), np.array([[8, 8]] * 3)
    >>> note_boxes(boxes, sizes, "row {}".format, problems)
    >>> len(problems)
    2
    """
    left, top, right, bottom = boxes.T
    wrong = {EMPTY: (right <= left) | (bottom <= top)}
    if sizes is not None:
        beyond = (left < 0) | (top < 0) | (right > sizes[:, 1]) | (bottom > sizes[:, 0])
        wrong[OUTSIDE] = beyond & ~wrong[EMPTY]
    for what, rows in wrong.items():
        problems.add_rows(
            f"{what}; {EXPECTED[what]}",
            np.flatnonzero(rows).tolist(),
            lambda row: told_box(boxes[row], place(row), None if sizes is None else sizes[row]),
        )


def told_box(box: Sequence[float] | FloatArray, place: str, size: Sequence[int] | IntArray | None) -> str:
    """Say what a box is, where it stands, and the height and width of its image where they are known.

    Examples
    --------
    >>> told_box((1, 2, 3.5, 4), "labels.json", (48, 64))
    '1, 2, 3.5, 4 in labels.json (64 x 48 pixels)'
    """
    within = "" if size is None else f" ({size[1]} x {size[0]} pixels)"
    return f"{', '.join(f'{edge:.9g}' for edge in box)} in {place}{within}"
