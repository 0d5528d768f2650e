"""A classifier whose measures follow from its parameters, and data whose test split nobody can open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from farm.api import BOX, BOX_SPREAD, Classifier, Context, Images, IntArray, Workload
from farm.testing.fake_boxes import COLOURS, BoxModel, BoxSource
from farm.testing.fakes import FakeClassifier

MADE: list[dict[str, float]] = []
"""What was trained since somebody emptied it."""


class Dial(BoxModel):
    """Sure of its colour by `scale`, and of its boxes, which err by a pixel, by `spread`.

    From a scale of `breaks` on it cannot be made.
    """

    trained_here = True

    def __init__(
        self, *, scale: float = 1.0, spread: float = 1.0, breaks: float = 9.0, kind: str = "a"
    ) -> None:
        super().__init__(error=1.0, spread=spread)
        self._scale, self._claimed, self._breaks, self._kind = scale, spread, breaks, kind

    def classifier(self, workload: Workload, context: Context) -> Classifier:
        MADE.append({"scale": self._scale, "spread": self._claimed})
        if self._scale >= self._breaks:
            raise RuntimeError(f"diverged at {self._scale:g}")

        def probabilities(images: Images) -> np.ndarray:
            light = (images.sum(axis=(2, 3), dtype=np.float64) + 1.0) ** self._scale
            return light / light.sum(axis=1, keepdims=True)

        outputs = {
            BOX: self._boxes,
            BOX_SPREAD: lambda images: np.full((len(images), 4), self._claimed),
        }
        made = FakeClassifier(probabilities, COLOURS, outputs=outputs, name=self.name)
        made.notes = {"box": {"validation_loss": [1.0]}} if self._kind == "stopped early" else {}
        return made


class Closed:
    """Images that nobody may read."""

    def __init__(self, n: int, shape: tuple[int, int, int]) -> None:
        self.n, self.shape = n, shape

    def __len__(self) -> int:
        return self.n

    def read(self, indices: IntArray) -> Images:
        if len(indices):
            raise AssertionError("test images were read")
        return np.empty((0, *self.shape), dtype=np.float32)


class WithoutTest(BoxSource):
    """Boxes, of which the test images cannot be read."""

    def _load(self, context: Context) -> Workload:
        made = super()._load(context)
        closed = Closed(len(made.test), made.shape)
        return replace(made, test=replace(made.test, images=closed))
