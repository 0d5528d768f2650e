"""Made images with one coloured box each, and a classifier that finds it with an error of a known size.

By `module:attribute` an experiment can name them: `farm.testing.fake_boxes:BoxSource`.
"""

from __future__ import annotations

import hashlib

import numpy as np

from farm.api import (
    BOX,
    BOX_SPREAD,
    SPREAD_DDOF,
    ArrayImages,
    Context,
    FloatArray,
    Images,
    ModelSource,
    Split,
    Workload,
    WorkloadSource,
    check_number,
    generator,
)
from farm.testing.fakes import FakeClassifier

COLOURS = ("red", "green", "blue")
LIT = 0.4
"""What is brighter is the object."""


class BoxSource(WorkloadSource):
    """The recipe of black images with a filled box of one colour, whose class that is.

    Parameters
    ----------
    size
        Height and width, at least 16.
    tracks
        Groups a class in train, validation and test.
    frames
        Images a group.
    boxless
        The share of the test images of which no box is told.
    seed
        Other images for another seed.

    Examples
    --------
    >>> workload = BoxSource().load(Context())
    >>> len(workload.test), workload.test.boxes.shape
    (90, (90, 4))
    """

    def __init__(
        self,
        *,
        size: int = 32,
        tracks: tuple[int, int, int] = (8, 6, 10),
        frames: int = 3,
        boxless: float = 0.0,
        seed: int = 0,
    ) -> None:
        check_number("size", size, low=16, whole=True)
        check_number("boxless", boxless, low=0, high=1)
        self._size, self._tracks, self._frames = size, tracks, frames
        self._boxless, self._seed = boxless, seed

    def _load(self, context: Context) -> Workload:
        del context
        train, validation, test = map(self._split, ("train", "validation", "test"), self._tracks)
        return Workload("boxes", COLOURS, train, validation, test)

    def _split(self, name: str, tracks: int) -> Split:
        random, n = generator(self._seed, "boxes", name), len(COLOURS) * tracks * self._frames
        group = np.arange(n) // self._frames
        labels = group % len(COLOURS)
        # In the middle half, so that what moves a little stays in sight.
        low, high = self._size // 4, self._size // 2
        start = random.integers(low, high, (n, 2))
        boxes = np.hstack([start, start + random.integers(4, self._size // 4 + 1, (n, 2))])
        images = np.zeros((n, len(COLOURS), self._size, self._size), np.uint8)
        for image, label, (left, top, right, bottom) in zip(images, labels, boxes, strict=True):
            image[label, top:bottom, left:right] = random.integers(160, 256)
        known = boxes.astype(np.float64)
        if name == "test":
            known[: round(self._boxless * n)] = np.nan
        return Split(
            name,
            ArrayImages(images),
            labels.astype(np.int64),
            np.array([f"boxes/{name}/{i:05d}" for i in range(n)]),
            np.array([f"boxes/{name}/track-{i:04d}" for i in group]),
            boxes=known,
        )


class BoxModel(ModelSource):
    """The recipe of a classifier that sees where the object is, and errs by a normal number a side.

    The error follows from the image alone, whatever batch it is in.

    Parameters
    ----------
    error
        The standard deviation of the error, in pixels.
    spread
        What it claims that to be; None claims nothing.

    Examples
    --------
    >>> workload = BoxSource().load(Context())
    >>> images = workload.test.images.read(np.arange(2))
    >>> seen = BoxModel(error=0.0).classifier(workload, Context()).observe(images)
    >>> np.array_equal(seen.outputs["box"], workload.test.boxes[:2]), seen.outputs["box_spread"][0].tolist()
    (True, [1.0, 1.0, 1.0, 1.0])
    """

    trained_here = False

    def __init__(self, *, error: float = 1.0, spread: float | None = 1.0) -> None:
        check_number("error", error, low=0)
        self._error, self._spread = error, spread

    def classifier(self, workload: Workload, context: Context) -> FakeClassifier:
        """Make it: nothing has to be learned."""
        del workload, context
        outputs = {BOX: self._boxes}
        if self._spread is not None:
            claimed = self._spread
            outputs[BOX_SPREAD] = lambda images: np.full((len(images), 4), claimed)
        made = FakeClassifier(_colours, COLOURS, outputs=outputs, name=self.name)
        made.notes = {SPREAD_DDOF: 1} if self._spread is not None else {}
        return made

    def _boxes(self, images: Images) -> FloatArray:
        return np.array([_seen(one) + self._error * _normal(one) for one in images]).reshape(-1, 4)


def _colours(images: Images) -> FloatArray:
    light = images.sum(axis=(2, 3), dtype=np.float64)[:, : len(COLOURS)] + 1.0
    return np.asarray(light / light.sum(axis=1, keepdims=True))


def _seen(image: Images) -> FloatArray:
    """Return the extent of what is lit; of nothing, the whole image."""
    lit = image.max(axis=0) > LIT
    if not lit.any():
        return np.array([0.0, 0.0, *lit.shape[::-1]])
    down, across = np.flatnonzero(lit.any(axis=1)), np.flatnonzero(lit.any(axis=0))
    return np.array([across[0], down[0], across[-1] + 1, down[-1] + 1], dtype=np.float64)


def _normal(image: Images) -> FloatArray:
    digest = hashlib.blake2b(np.ascontiguousarray(image).tobytes(), digest_size=8).hexdigest()
    return generator(0, "box error", digest).standard_normal(4)
