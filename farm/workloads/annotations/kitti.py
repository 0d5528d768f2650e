"""KITTI's labels for object detection: a text file an image, a line an object."""

from __future__ import annotations

import math
from pathlib import Path

from farm.api import read_text
from farm.errors import DataError
from farm.workloads.annotations.form import AnnotatedImage, AnnotatedObject

_NUMBERS = (
    *("truncated", "occluded", "alpha", "left", "top", "right", "bottom", "height", "width", "length"),
    *("x", "y", "z", "rotation_y", "score"),
)
"""The columns after the class; only results have a score."""


def read_kitti(path: Path, name: str) -> AnnotatedImage:
    """Read the labels of one image, which is called like their file.

    Truncated is what has left the image by any part. Occluded is what is not fully visible, or of which that
    is unknown. `DontCare` are regions that nobody labelled.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "000000.txt"
    ...     _ = file.write_text("Car 0.00 1 -1.6 10 20 60.5 50 1.4 1.7 3.4 0.3 1.8 17.7 -1.6\\n")
    ...     (car,) = read_kitti(file, "000000").objects
    >>> car.key, car.label, car.box, car.occluded, car.truncated
    ('line 1', 'Car', (10.0, 20.0, 60.5, 50.0), True, False)
    """
    try:
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}; expected KITTI's labels of an image") from None
    objects = [_object(line.split(), n, path) for n, line in enumerate(lines, start=1) if line.strip()]
    return AnnotatedImage(name, str(path), tuple(objects))


def _object(words: list[str], line: int, path: Path) -> AnnotatedObject:
    if len(words) not in (len(_NUMBERS), len(_NUMBERS) + 1) or not words[0].isprintable():
        raise DataError(
            f"{path}, line {line}: {len(words)} columns; expected {len(_NUMBERS)} as in KITTI's labels: "
            f"type, {', '.join(_NUMBERS[:-1])}; or one more, a score"
        )
    values = dict(zip(_NUMBERS, (_number(word) for word in words[1:]), strict=False))
    for column, (name, value) in enumerate(values.items(), start=2):
        if not math.isfinite(value):
            told = f"column {column} ({name}) is {words[column - 1]!r}"
            raise DataError(f"{path}, line {line}: {told}; expected a number")
    left, top, right, bottom = (values[edge] for edge in ("left", "top", "right", "bottom"))
    return AnnotatedObject(
        f"line {line}",
        words[0],
        (left, top, right, bottom),
        occluded=values["occluded"] > 0,
        truncated=values["truncated"] > 0,
        region=words[0] == "DontCare",
    )


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan
