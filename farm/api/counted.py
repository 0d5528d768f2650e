"""A classifier as a monitor gets it: the same one, and it counts how often it is run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from farm.api.arrays import Images, StrArray
from farm.api.classifier import Classifier, Head, RawOutputs

if TYPE_CHECKING:
    from torch import Tensor


class CountedClassifier(Classifier):
    """Passes everything on to a classifier, and counts the forward passes asked of it.

    A monitor that runs the classifier again costs more than its score suggests; the count goes into the
    readouts, measured and not declared.
    """

    def __init__(self, classifier: Classifier) -> None:
        self._inner = classifier.inner if isinstance(classifier, CountedClassifier) else classifier
        self.name, self.classes, self.recipe = classifier.name, classifier.classes, classifier.recipe
        self.capabilities, self.lacks = classifier.capabilities, classifier.lacks
        self.engine, self.notes = classifier.engine, classifier.notes
        self.passes = 0

    @property
    def inner(self) -> Classifier:
        """The classifier itself."""
        return self._inner

    @property
    def digest(self) -> str:
        """The classifier's own."""
        return self._inner.digest

    @property
    def nbytes(self) -> int | None:
        """The classifier's own."""
        return self._inner.nbytes

    @property
    def head(self) -> Head:
        """The classifier's own."""
        return self._inner.head

    def differentiable(self, images: Tensor) -> Tensor:
        """Run the classifier, and count it."""
        self.passes += 1
        return self._inner.differentiable(images)

    def _forward(self, images: Images, layers: Sequence[str], members: int) -> RawOutputs:
        return self._forward_of(images, None, layers, members)

    def _forward_of(
        self, images: Images, ids: StrArray | None, layers: Sequence[str], members: int
    ) -> RawOutputs:
        self.passes += 1
        return self._inner._forward_of(images, ids, layers, members)
