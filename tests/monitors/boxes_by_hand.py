"""Boxes of an example that is worked by hand, and all kinds of box monitors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from farm.api import FunctionClassifier, Labelled
from monitors.boxes import BoxMonitor
from monitors.oob import OutsideTheBox, OutsideTheBoxPCA
from monitors.oob_isomap import OutsideTheBoxIsomap
from tests.monitors.points import seen

ALL_BOXES = [
    pytest.param(lambda **p: OutsideTheBox(neurons="all", **p), id="oob"),
    pytest.param(OutsideTheBoxPCA, id="oob-pca"),
    pytest.param(lambda **p: OutsideTheBoxIsomap(landmarks=30, **p), id="oob-isomap"),
]
Make = Callable[..., BoxMonitor]
BOTH = ["conv2", "last-hidden"]

# Class 0 fills the boxes (0..1, 0..2) and (10..12, 10..11), class 1 (5..6, 5..6) and (20..21, 20..21).
POINTS = np.array(
    [
        [0, 0],
        [1, 2],
        [0.5, 1],
        [10, 10],
        [12, 11],
        [11, 10.5],
        [5, 5],
        [6, 6],
        [5.5, 5.5],
        [20, 20],
        [21, 21],
    ],
    dtype=np.float32,
)
LABELS = np.array([0] * 6 + [1] * 5)


class ByHand:
    """Training data of the example; the last instance is misclassified and must not widen a box."""

    classes = ("a", "b")
    seed = 0
    outliers = None
    networks: dict[str, object] = {}  # noqa: RUF012

    def __iter__(self) -> Iterator[Labelled]:
        points = np.vstack([POINTS, [[100, 100]]])
        predicted = np.append(LABELS, 1)
        yield Labelled(seen(points, predicted), np.append(LABELS, 0))

    @property
    def validation(self) -> Iterator[Labelled]:
        return iter(self)


class WhiteBox(FunctionClassifier):
    capabilities = type(FunctionClassifier.capabilities)(layers=("last-hidden",))


def fit(**parameters: object) -> OutsideTheBox:
    box = WhiteBox(lambda images: np.full((len(images), 2), 0.5), ("a", "b"))
    return OutsideTheBox(clusters=2, **parameters).fit(ByHand(), box)  # type: ignore[arg-type]
